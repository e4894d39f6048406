"""Errors: what is wrong with a table, an argument or a key of params.yaml, where, and how to fix it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

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


@dataclass(frozen=True)
class Refusal:
    """Why the users of a partition are not scored.

    said    : in words; may show {users}, {first!r}, {highest:g} and {grades}
    at      : which of the computations refused: the earlier one is told
    users   : how many users are refused; `first`: the first of them
    highest : the highest grade that is refused; `grades`: all that are refused
    """

    said: str
    at: tuple[int, ...] = ()
    users: int = 0
    first: Any = None
    highest: float = 0.0
    grades: tuple[float, ...] = ()

    def __str__(self) -> str:
        shown = {"users": self.users, "first": self.first, "highest": self.highest}
        return self.said.format(**shown, grades=list(self.grades))

    def as_dict(self) -> dict[str, Any]:
        """What `Refusal(**…)` takes."""
        return asdict(self)


class ScoringError(ValueError):
    """Lists and truth that the conventions refuse."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(str(refusal))

    def inside(self, *outer: int) -> "ScoringError":
        """The same, of a computation that is part of others."""
        return ScoringError(replace(self.refusal, at=(*outer, *self.refusal.at)))


def literal(text: str) -> str:
    """A text as `Refusal.said` has it, where it shows nothing."""
    return text.replace("{", "{{").replace("}", "}}")


def first_of(refusals: Iterable[Refusal]) -> Refusal:
    """The refusal that all users at once would meet, from those of partitions."""
    found = list(refusals)
    at = min(tuple(each.at) for each in found)
    told = sorted((each for each in found if tuple(each.at) == at), key=lambda each: each.said)
    firsts = [each.first for each in told if each.first is not None]
    return replace(
        told[0],
        users=sum(each.users for each in told),
        first=min(firsts, default=None),
        highest=max(each.highest for each in told),
        grades=tuple(sorted({grade for each in told for grade in each.grades})),
    )


class Settings(Protocol):
    """What a fix says to set, in the words of whoever gave the table."""

    def path(self) -> str:
        """What to do where there is no such file."""

    def columns(self, ours: str, theirs: str = "…") -> str:
        """The setting that names the table's own column."""

    def all_columns(self) -> str:
        """The setting that names columns, as a whole."""

    def format(self, form: str = "") -> str:
        """The setting that says in which format a file is."""

    def unit(self) -> str:
        """The setting that says which columns name a request."""

    def requests(self, columns: Sequence[str]) -> str:
        """The settings under which these columns and the user's name a request."""

    def order(self) -> str:
        """What to do where nothing says in which order the items of a list stand."""

    def other_order(self, *, has_score: bool) -> str:
        """What to do where the ranks do not say it."""

    def input(self, policy: str, value: str = "") -> str:
        """The setting of a policy of `input`."""

    def conventions(self, knob: str, values: str) -> str:
        """How to set a convention to other values than those of the preset."""

    def metrics(self) -> str:
        """The setting of what is evaluated."""

    def segments(self) -> str:
        """The setting of how users and items are cut into groups."""

    def lacking(self, table: str) -> tuple[str, str]:
        """That train, items or users were not given, and how to give them."""

    def own_train(self) -> str:
        """How to give another train, or none."""

    def place(self, choice: str) -> str:
        """Where a choice of the comparison stands, such as `segments.age`."""


@dataclass(frozen=True)
class Arguments:
    """Settings as arguments of `evaluate`, `compare`, `explain` and `reconcile`; `name` is that of the table."""

    name: str

    def path(self) -> str:
        return f"give the path of the file as `{self.name}`"

    def columns(self, ours: str, theirs: str = "…") -> str:
        named = "None" if theirs == "null" else f"'{theirs}'"
        return f"`columns={{'{self.name}': {{'{ours}': {named}}}}}`"

    def all_columns(self) -> str:
        return f"`columns={{'{self.name}': …}}`"

    def format(self, form: str = "") -> str:
        return f"the ending .{form}" if form else "the ending of its name"

    def unit(self) -> str:
        return "`unit`"

    def requests(self, columns: Sequence[str]) -> str:
        return f"`unit={['user', *columns]}` and `unit_mean='requests'` of the conventions"

    def order(self) -> str:
        named = self.columns("score")
        return f"add a column 'rank' (1 is best) or 'score' (the highest is best), or name yours: {named}"

    def other_order(self, *, has_score: bool) -> str:
        return f"give each user one list{', or leave out the ranks, so that scores decide' if has_score else ''}"

    def input(self, policy: str, value: str = "") -> str:
        shown = f"'{value}'" if value else "…"
        return f"`input={{'{policy}': {shown}}}`"

    def conventions(self, knob: str, values: str) -> str:
        return f"set `{knob}` of the conventions to {values}"

    def metrics(self) -> str:
        return "`metrics`"

    def segments(self) -> str:
        return "`segments`"

    def lacking(self, table: str) -> tuple[str, str]:
        return "which was not given", f"give it as `{table}`"

    def own_train(self) -> str:
        return "give your own table as `train`, or none"

    def place(self, choice: str) -> str:
        return choice


EXTRAS = {  # package that is imported -> extra that installs it
    "altair": "report",
    "deltalake": "delta",
    "jinja2": "report",
    "markupsafe": "report",
    "vl_convert": "report",
    "dvc": "dvc",
    "pydantic": "dvc",
    "rich": "dvc",
    "ruamel": "dvc",
    "shtab": "dvc",
    "mlflow": "mlflow",
    "pyspark": "spark",
}


def missing_extra(error: ImportError) -> InputError | None:
    """The refusal that names the extra; None where another package is missing."""
    package = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or package not in EXTRAS:
        return None
    fix = f"`pip install 'concord-eval[{EXTRAS[package]}]'`"
    return refuse(package, "is not installed, and this needs it", fix)


@contextmanager
def extra_named() -> Iterator[None]:
    """Imports inside the block that lack an extra are refused with its name.

    Raises
    ------
    InputError : a package of an extra is not installed
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if refusal := missing_extra(error):
            raise refusal from None
        raise
