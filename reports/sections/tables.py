"""The tables of the page as rows of text: what stands in a cell, how it sorts, what is marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reports.writing import numbers
from reports.writing.results import Results, Row

Form = Literal["matrix", "heat map", "none"]

MANY_MODELS = 12  # from here on tables of models against models give way to other forms
_WITH_INTERVALS = 6  # models against models with intervals inside the cells


@dataclass(frozen=True)
class Column:
    """One label of the leaderboard; `users` is said once in its head if it is the same for all models."""

    label: str
    higher_is_better: bool
    primary: bool
    formula: str
    users: str


@dataclass(frozen=True)
class Cell:
    """One value of one model. `strip` is (low, mean, high) in percent of the column's span, for primary labels."""

    value: float | None
    text: str
    interval: str
    users: str
    best: bool
    close: bool
    strip: tuple[float, float, float] | None


def leaderboard_columns(results: Results, labels: Sequence[str]) -> list[Column]:
    return [
        Column(
            label=label,
            higher_is_better=results.metrics[label]["higher_is_better"],
            primary=label in results.primary,
            formula=results.metrics[label]["formula"],
            users=_users_of_all(results, label),
        )
        for label in labels
    ]


def users_of_every(columns: Sequence[Column]) -> str:
    """The users behind all columns, if they are the same."""
    found = {column.users for column in columns}
    return found.pop() if len(found) == 1 else ""


def leaderboard_row(results: Results, model: str, columns: Sequence[Column]) -> list[Cell]:
    return [_cell(results, results.score(model, column.label), column) for column in columns]


def _cell(results: Results, row: Row, column: Column) -> Cell:
    digits = results.digits(column.label)
    return Cell(
        value=row["mean"],
        text=numbers.number(row["mean"], digits),
        interval=numbers.interval(row["ci_low"], row["ci_high"], digits),
        users="" if column.users else users(row),
        best=row["best"],
        close=bool(row["indistinguishable_from_best"]) and not row["best"],
        strip=_strip(results, row, column) if column.primary else None,
    )


def users(row: Row) -> str:
    """How many users the mean is over, and for how many the value is undefined."""
    undefined = f", {numbers.count(row['n_undefined'])} undefined" if row["n_undefined"] else ""
    return f"{numbers.count(row['n_users'])} users{undefined}"


def _users_of_all(results: Results, label: str) -> str:
    found = {users(results.score(model, label)) for model in results.models}
    return found.pop() if len(found) == 1 else ""


def _strip(results: Results, row: Row, column: Column) -> tuple[float, float, float] | None:
    ends = [results.score(model, column.label) for model in results.models]
    lows = [end["ci_low"] for end in ends if end["ci_low"] is not None]
    highs = [end["ci_high"] for end in ends if end["ci_high"] is not None]
    if row["ci_low"] is None or row["mean"] is None or max(highs) <= min(lows):
        return None
    start, span = min(lows), max(highs) - min(lows)
    low, mean, high = (
        round(100 * (row[key] - start) / span, 1) for key in ("ci_low", "mean", "ci_high")
    )
    return low, mean, high


@dataclass(frozen=True)
class Pairs:
    """How the pairs of one primary label are shown: as a matrix, as a heat map, or not at all beyond the baseline."""

    label: str
    form: Form
    with_intervals: bool
    models: list[str]


def pairs_of(results: Results, label: str) -> Pairs:
    others = results.challengers
    complete = all(results.difference(a, b, label) for a in others for b in others if a != b)
    with_intervals = len(results.models) <= _WITH_INTERVALS
    if len(others) == 1 or not complete:
        return Pairs(label, "none", with_intervals, results.models)
    form: Form = "matrix" if len(results.models) < MANY_MODELS else "heat map"
    return Pairs(label, form, with_intervals, results.models)


def against_baseline(results: Results, label: str) -> list[Row]:
    found = [results.difference(model, results.baseline, label) for model in results.challengers]
    return [row for row in found if row is not None]


def wilcoxon_asked(results: Results) -> bool:
    """Did params.yaml ask for Wilcoxon's p values?"""
    return any(row.get("p_wilcoxon") is not None for row in results.comparison["differences"])


def other_differences(results: Results) -> list[Row]:
    """The differences of all labels that are not primary; with many models those to the baseline only."""
    rows = results.comparison["differences"]
    few = len(results.models) < MANY_MODELS
    return [row for row in rows if not row["primary"] and (few or row["vs_baseline"])]
