"""InputError: what is wrong with a table, an argument or a key of params.yaml, where, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

AT_MOST = 20  # problems named in one message


@dataclass(frozen=True)
class Affected:
    """Of which rows a problem tells, so that those of the parts of a table add up to that of the whole.

    rule        : the check that found it; checks are told in this order
    first       : what the first of its rows is first by
    rows, users : how many there are; None: the problem does not say it
    said        : what is wrong, without these counts
    """

    rule: tuple[int, ...]
    first: tuple[Any, ...]
    rows: int | None
    users: int | None
    said: str

    @property
    def what(self) -> str:
        """What is wrong, and of how many rows or users."""
        counts = ((self.rows, "row"), (self.users, "user"))
        told = " of ".join(in_words(number, noun) for number, noun in counts if number is not None)
        return f"{self.said}; {told} affected" if told else self.said


@dataclass(frozen=True)
class Problem:
    """One thing to mend: where it is, what is wrong (with the value), what to change.

    affected : its rows, where the parts of a table may each have some
    """

    where: str
    what: str
    fix: str
    affected: Affected | None = field(default=None, compare=False, repr=False)

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


def affecting(where: str, fix: str, affected: Affected) -> Problem:
    """A problem that says how many rows or users it has."""
    return Problem(where, affected.what, fix, affected)


def in_words(number: int, noun: str) -> str:
    """`1 row`, `1,204 rows`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def refuse(where: str, what: str, fix: str) -> InputError:
    """An InputError with a single problem."""
    return InputError([Problem(where, what, fix)])
