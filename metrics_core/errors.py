"""Errors: what is wrong with a table, an argument or a key of params.yaml, where, and the fix."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

MAX_PROBLEMS = 20  # problems that one message names


@dataclass(frozen=True)
class AffectedRows:
    """Rows that have a problem; those of the parts of a table can be merged.

    Attributes
    ----------
    rule : tuple of int
        The check that failed; problems are reported in the order of their rules.
    first : tuple
        Sort key of the first affected row.
    rows, users : int, optional
        Number of affected rows and users; None if the problem does not name it.
    message : str
        What is wrong, without these counts.
    """

    rule: tuple[int, ...]
    first: tuple[Any, ...]
    rows: int | None
    users: int | None
    message: str

    @property
    def message_with_counts(self) -> str:
        counts = ((self.rows, "row"), (self.users, "user"))
        text = " of ".join(
            format_count(number, noun) for number, noun in counts if number is not None
        )
        return f"{self.message}; {text} affected" if text else self.message


Location = str | tuple[Any, ...]


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, and how to fix it.

    Attributes
    ----------
    location : str or tuple
        A file, a table or an argument; a tuple holds the keys that lead to a setting, such as
        ("gate", "success").
    message : str
        What is wrong with the value.
    fix : str
        What to change.
    affected : AffectedRows, optional
        The rows with this problem, if the parts of a table may each have some.
    """

    location: Location
    message: str
    fix: str
    affected: AffectedRows | None = field(default=None, compare=False, repr=False)

    @property
    def where(self) -> str:
        """The location as text: keys are joined by dots, as in `gate.success`."""
        keys = self.location
        return keys if isinstance(keys, str) else ".".join(map(str, keys))

    def __str__(self) -> str:
        return (
            f"{_printable(self.where)}: {_printable(self.message)}\n  fix: {_printable(self.fix)}"
        )


def _printable(text: str) -> str:
    """Return the text with control characters escaped: names from files may hold terminal codes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class InputError(ValueError):
    """Invalid input or params.yaml; carries every problem that was found.

    Examples
    --------
    >>> import concord as cc
    >>> try:
    ...     cc.evaluate({"u1": ["a"]}, {"u1": ["a"]}, metrics=["RR@0"])
    ... except cc.InputError as error:
    ...     print(error)
    metrics: metric 'RR@0': cutoffs start at 1
      fix: write a label such as nDCG@10, RBP(p=0.8)@20 or Rprec
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        texts = [str(problem) for problem in self.problems[:MAX_PROBLEMS]]
        if len(self.problems) > MAX_PROBLEMS:
            texts.append(f"… and {len(self.problems) - MAX_PROBLEMS} more problems")
        super().__init__("\n".join(texts))


class UnknownMetricError(ValueError):
    """A label whose metric is not in the catalogue."""


def label_fix(error: ValueError) -> str:
    """Return what to do about a label that cannot be parsed."""
    if isinstance(error, UnknownMetricError):
        names = "choose one of `concord metrics` or docs/reference/metrics"
        return f"{names}; `compare_values` compares scores of other tools, such as Ragas"
    return "write a label such as nDCG@10, RBP(p=0.8)@20 or Rprec"


def problem_with_counts(location: Location, fix: str, affected: AffectedRows) -> Problem:
    """Return a problem whose message says how many rows or users are affected."""
    return Problem(location, affected.message_with_counts, fix, affected)


def format_count(number: int, noun: str) -> str:
    """Return text such as `1 row` or `1,204 rows`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def refuse(location: Location, message: str, fix: str) -> InputError:
    """Return an InputError with a single problem."""
    return InputError([Problem(location, message, fix)])


def raise_problems(problems: Iterable[Problem]) -> None:
    """Raise an InputError if there are problems."""
    if listed := list(problems):
        raise InputError(listed)


@dataclass(frozen=True)
class Refusal:
    """Why the users of a partition are not scored.

    Attributes
    ----------
    template : str
        The message; may contain {users}, {first!r}, {highest:g} and {grades}.
    order : tuple of int
        Position of the computation that failed; the earliest failure is reported.
    users : int
        Number of affected users.
    first : Any
        The first affected user.
    highest : float
        The highest grade that is not allowed.
    grades : tuple of float
        All grades that are not allowed.
    """

    template: str
    order: tuple[int, ...] = ()
    users: int = 0
    first: Any = None
    highest: float = 0.0
    grades: tuple[float, ...] = ()

    def __str__(self) -> str:
        return self.template.format(
            users=self.users, first=self.first, highest=self.highest, grades=list(self.grades)
        )


class ScoringError(ValueError):
    """Recommendations or ground truth that the conventions do not allow."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(str(refusal))

    def nested_in(self, *outer: int) -> "ScoringError":
        """Return this error with the positions of the enclosing computations."""
        return ScoringError(replace(self.refusal, order=(*outer, *self.refusal.order)))


def escape_template(text: str) -> str:
    """Return a text as `Refusal.template` that has no fields."""
    return text.replace("{", "{{").replace("}", "}}")


def merge_refusals(refusals: Iterable[Refusal]) -> Refusal:
    """Return the refusal that all users together would meet, from those of partitions."""
    candidates = list(refusals)
    order = min(refusal.order for refusal in candidates)
    merged = sorted((r for r in candidates if r.order == order), key=lambda r: r.template)
    firsts = [refusal.first for refusal in merged if refusal.first is not None]
    return replace(
        merged[0],
        users=sum(refusal.users for refusal in merged),
        first=min(firsts, default=None),
        highest=max(refusal.highest for refusal in merged),
        grades=tuple(sorted({grade for refusal in merged for grade in refusal.grades})),
    )


@dataclass(frozen=True)
class ArgumentNames:
    """Names of settings in messages, written as arguments of a function.

    `ParamsKeys` has the same members.

    Attributes
    ----------
    name : str
        The argument that holds the table.
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

    def columns(self, column: str, source_name: str = "…") -> str:
        value = "None" if source_name == "null" else f"'{source_name}'"
        return f"`columns={{'{self.name}': {{'{column}': {value}}}}}`"

    def format(self, name: str = "") -> str:
        return f"give the file {f'the ending .{name}' if name else 'another ending'}"

    def sessions(self, columns: Sequence[str]) -> str:
        return f"`unit={['user', *columns]}` and `unit_mean='requests'` of the conventions"

    @property
    def order(self) -> str:
        return (
            "add a column 'rank' (1 is best) or 'score' (the highest is best), "
            f"or name yours: {self.columns('score')}"
        )

    def other_order(self, *, has_score: bool) -> str:
        scores = ", or leave out the ranks, so that scores decide" if has_score else ""
        return f"give each user one list{scores}"

    def input(self, policy: str, value: str = "") -> str:
        value_text = f"'{value}'" if value else "…"
        return f"`input={{'{policy}': {value_text}}}`"

    def conventions(self, name: str, values: str) -> str:
        return f"set `{name}` of the conventions to {values}"

    def missing_table(self, table: str) -> tuple[str, str]:
        return "which was not given", f"give it as `{table}`"

    def location(self, setting: str) -> str:
        return setting


@dataclass(frozen=True)
class ParamsKeys:
    """Names of settings in messages, written as keys of params.yaml.

    Attributes
    ----------
    name : str
        Key of the table, such as `models.als`.
    """

    name: str
    metrics: ClassVar = "evaluation.metrics and evaluation.ks"
    segments: ClassVar = "`segments:`"
    unit: ClassVar = "`data.unit`"
    train: ClassVar = "background"
    order: ClassVar = "set `order: file` if the rows are in rank order"

    @property
    def path(self) -> str:
        return f"set `{self.name}.path` to the file"

    @property
    def all_columns(self) -> str:
        return f"`{self.name}.columns`"

    def columns(self, column: str, source_name: str = "…") -> str:
        return f"`{self.name}.columns: {{{column}: {source_name}}}`"

    def format(self, name: str = "") -> str:
        return f"set `{self.name}.format{name and f': {name}'}`"

    def sessions(self, columns: Sequence[str]) -> str:
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


class ValuesKeys(ParamsKeys):
    """Names of settings in messages about values of another tool, as keys of params.yaml."""

    metrics: ClassVar = "`metrics`"

    @property
    def path(self) -> str:
        return f"set `{self.name}.values` to the file"


SettingNames = ArgumentNames | ParamsKeys


EXTRAS = {  # package that is imported -> extra that installs it
    "deltalake": "delta",
    "jinja2": "report",
    "markupsafe": "report",
    "pydantic": "report",
    "rich": "report",
    "ruamel": "report",
    "yaml": "report",
    "dvc": "dvc",
    "shtab": "dvc",
    "mlflow": "mlflow",
    "pyspark": "spark",
}


def missing_extra_error(error: ImportError) -> InputError | None:
    """Return the error that names the extra to install; None if another package is missing."""
    package = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or package not in EXTRAS:
        return None
    fix = f"`pip install 'concord-eval[{EXTRAS[package]}]'`"
    return refuse(package, "is not installed, and this needs it", fix)


@contextmanager
def report_missing_extra() -> Iterator[None]:
    """Raise failed imports of the block as an InputError that names the extra to install.

    Raises
    ------
    InputError
        If a package of an extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if refusal := missing_extra_error(error):
            raise refusal from None
        raise
