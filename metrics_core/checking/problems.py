"""InputError: what is wrong with a table, an argument or a key of params.yaml, where, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass

AT_MOST = 20  # problems named in one message


@dataclass(frozen=True)
class Problem:
    """One thing to mend: where it is, what is wrong (with the value), what to change."""

    where: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{_plain(self.where)}: {_plain(self.what)}\n  fix: {_plain(self.fix)}"


def _plain(text: str) -> str:
    """Names come from files: what is no printable character is shown by its code, so that no terminal obeys it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class InputError(ValueError):
    """Input or params.yaml that Concord refuses; carries every problem that was found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        shown = [str(problem) for problem in self.problems[:AT_MOST]]
        if len(self.problems) > AT_MOST:
            shown.append(f"… and {len(self.problems) - AT_MOST} more problems")
        super().__init__("\n".join(shown))


def refuse(where: str, what: str, fix: str) -> InputError:
    """An InputError with a single problem."""
    return InputError([Problem(where, what, fix)])
