"""Errors: what is wrong with a table, an argument or a key of params.yaml, where, and how to fix it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

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


Location = str | tuple[Any, ...]


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, and how to fix it.

    Attributes
    ----------
    location : str or tuple
        A file, a table or an argument; a tuple holds the keys that lead to a setting, such as ("gate", "success").
    what : str
        What is wrong with the value.
    fix : str
        What to change.
    affected : Affected, optional
        Its rows, if the parts of a table may each have some.
    """

    location: Location
    what: str
    fix: str
    affected: Affected | None = field(default=None, compare=False, repr=False)

    @property
    def where(self) -> str:
        """The location as text: keys are joined by dots, as in `gate.success`."""
        keys = self.location
        return keys if isinstance(keys, str) else ".".join(map(str, keys))

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


def affecting(location: Location, fix: str, affected: Affected) -> Problem:
    """Return a problem that says how many rows or users it has."""
    return Problem(location, affected.what, fix, affected)


def in_words(number: int, noun: str) -> str:
    """`1 row`, `1,204 rows`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def refuse(location: Location, what: str, fix: str) -> InputError:
    """Return an InputError with a single problem."""
    return InputError([Problem(location, what, fix)])


def raise_problems(problems: Iterable[Problem]) -> None:
    """Raise an InputError if there are problems."""
    if found := list(problems):
        raise InputError(found)


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


@dataclass(frozen=True)
class ArgumentNames:
    """Names of settings in messages, as arguments of a function; `name` is that of the table.

    `ParamsKeys` has the same members.
    """

    name: str
    metrics: ClassVar = "`metrics`"
    segments: ClassVar = "`segments`"
    unit: ClassVar = "`unit`"
    train: ClassVar = "train"

    @property
    def path(self) -> str:
        return f"give the path of the file as `{self.name}`"

    @property
    def all_columns(self) -> str:
        return f"`columns={{'{self.name}': …}}`"

    def columns(self, ours: str, theirs: str = "…") -> str:
        name = "None" if theirs == "null" else f"'{theirs}'"
        return f"`columns={{'{self.name}': {{'{ours}': {name}}}}}`"

    def format(self, form: str = "") -> str:
        return f"the ending .{form}" if form else "the ending of its name"

    def requests(self, columns: Sequence[str]) -> str:
        return f"`unit={['user', *columns]}` and `unit_mean='requests'` of the conventions"

    @property
    def order(self) -> str:
        column = self.columns("score")
        return f"add a column 'rank' (1 is best) or 'score' (the highest is best), or name yours: {column}"

    def other_order(self, *, has_score: bool) -> str:
        return f"give each user one list{', or leave out the ranks, so that scores decide' if has_score else ''}"

    def input(self, policy: str, value: str = "") -> str:
        shown = f"'{value}'" if value else "…"
        return f"`input={{'{policy}': {shown}}}`"

    def conventions(self, name: str, values: str) -> str:
        return f"set `{name}` of the conventions to {values}"

    def missing_table(self, table: str) -> tuple[str, str]:
        return "which was not given", f"give it as `{table}`"

    def location(self, setting: str) -> str:
        return setting


@dataclass(frozen=True)
class ParamsKeys:
    """Names of settings in messages, as keys of params.yaml; `name` is that of the table, such as `models.als`.

    shared : columns whose names the table takes from `data.columns`
    """

    name: str
    shared: frozenset[str] = frozenset()
    metrics: ClassVar = "evaluation.metrics and evaluation.ks"
    segments: ClassVar = "`segments:`"
    unit: ClassVar = "`data.unit`"
    train: ClassVar = "background"
    order: ClassVar = "set `order: file` if the rows stand in rank order"

    @property
    def path(self) -> str:
        return f"set `{self.name}.path` to the file"

    @property
    def all_columns(self) -> str:
        return f"`{self.name}.columns`"

    def columns(self, ours: str, theirs: str = "…") -> str:
        key = "data" if ours in self.shared else self.name
        return f"`{key}.columns: {{{ours}: {theirs}}}`"

    def format(self, form: str = "") -> str:
        return f"`{self.name}.format{form and f': {form}'}`"

    def requests(self, columns: Sequence[str]) -> str:
        unit = ", ".join(name if name.isidentifier() else json.dumps(name) for name in columns)
        return f"`data.unit: [user, {unit}]` and `conventions.unit_mean: requests`"

    def other_order(self, *, has_score: bool) -> str:
        return f"set {'`order: score` or ' if has_score else ''}`order: file`"

    def input(self, policy: str, value: str = "") -> str:
        return f"`input.{policy}{value and f': {value}'}`"

    def conventions(self, name: str, values: str) -> str:
        return f"set `conventions.{name}` to {values}, and `conventions.preset` to custom"

    def missing_table(self, table: str) -> tuple[str, str]:
        return "which background does not name", f"name the file as `background.{table}`"

    def location(self, setting: str) -> str:
        return f"params.yaml: {setting}"


SettingNames = ArgumentNames | ParamsKeys


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
