"""Errors: what is wrong with a table, an argument or a key of params.yaml, where, and the fix."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

MAX_PROBLEMS = 20  # problems that one message names
_NO_BREAK_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"  # as between number and unit


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
        return f"{printable(self.where)}: {printable(self.message)}\n  fix: {printable(self.fix)}"


def printable(text: str, keep: str = "") -> str:
    """Return the text with unprintable characters escaped, except no-break spaces and `keep`.

    Names from files may hold codes that control a terminal, and line ends that begin with `::`,
    which a CI log obeys.
    """
    if text.isprintable():
        return text
    kept = f"{keep}{_NO_BREAK_SPACES}"
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


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


def problems_of(check: Callable[..., object], *arguments: object) -> Sequence[Problem]:
    """Return the problems of the InputError that a function raises; none if it raises none."""
    try:
        check(*arguments)
    except InputError as error:
        return error.problems
    return ()


@dataclass(frozen=True)
class Refusal:
    """Why the users of a block are not scored.

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
    """Return the refusal that all users together would meet, from those of blocks."""
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


Key = tuple[str, ...]  # leads to a setting, such as ("models", "als", "columns", "item")
_SECTIONS = ("arguments", "background", "data", "evaluation")  # which arguments are not in
_ONLY_IN_PARAMS = ("format", "order", "preset")


def as_argument(key: Key, value: Any = ...) -> str:
    """Return a setting as an argument: `columns={'als': {'item': …}}`; empty if it is none."""
    if key[-1] in _ONLY_IN_PARAMS:
        return ""
    if key[0] == "conventions":
        return f"`{key[1]}{'' if value is ... else f'={value!r}'}` of the conventions"
    name, *inner = key[1:] if key[0] in _SECTIONS else key
    if inner == ["path"]:
        inner = []
    elif inner and inner[0] in ("columns", "where"):
        name, inner = inner[0], [name, *inner[1:]]
    if not inner and value is ...:
        return f"`{name}`"
    text = "…" if value is ... else repr(value)
    for each in reversed(inner):
        text = f"{{{each!r}: {text}}}"
    return f"`{name}={text}`"


def as_params_line(key: Key, value: Any = ...) -> str:
    """Return a setting as a line of params.yaml: `models.als.columns: {item: …}`."""
    if key[-2:-1] == ("columns",):
        return f"`{'.'.join(key[:-1])}: {{{key[-1]}: {_yaml(value)}}}`"
    return f"`{'.'.join(key)}{'' if value is ... else f': {_yaml(value)}'}`"


def _yaml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_yaml(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        names = (name if name.isidentifier() else json.dumps(name) for name in value)
        return f"[{', '.join(names)}]"
    return {...: "…", None: "null"}.get(value, str(value))


@dataclass(frozen=True)
class SettingNames:
    """Names of settings in messages.

    Attributes
    ----------
    table : tuple of str
        Key of the table that messages are about, such as ("models", "als").
    write : callable
        Writes a key and a value: `as_argument`, or `as_params_line` for params.yaml.
    path : str
        Key of the path, below that of the table.
    metrics : tuple of str
        Key of the metrics.
    """

    table: Key
    write: Callable[[Key, Any], str] = as_argument
    path: str = "path"
    metrics: Key = ("evaluation", "metrics")

    def name(self, *key: str, value: Any = ...) -> str:
        return self.write(key, value)

    def of_table(self, *key: str, value: Any = ...) -> str:
        return self.write((*self.table, *key), value)

    @property
    def path_fix(self) -> str:
        return f"set {self.of_table(self.path)} to the path of the file"

    def convention_fix(self, name: str, values: str) -> str:
        preset = self.name("conventions", "preset")
        custom = f", and {preset} to custom" if preset else ""
        return f"set {self.name('conventions', name)} to {values}{custom}"

    def location(self, *key: str) -> str:
        if self.write is as_params_line:
            return f"params.yaml: {'.'.join(key)}"
        return ".".join(key[1:] if key[0] in _SECTIONS else key)


def argument_names(table: str) -> SettingNames:
    return SettingNames(("arguments", table))


def params_keys(table: str) -> SettingNames:
    """Return the names of settings as keys of params.yaml; the table is `data.truth` or similar."""
    return SettingNames(tuple(table.split(".", 1)), as_params_line)


EXTRAS = {  # package that is imported -> extra that installs it
    "deltalake": "delta",
    "jinja2": "report",
    "markupsafe": "report",
    "pydantic": "report",
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
