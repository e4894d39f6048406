"""The tables of the page as rows of text: leaderboard, pairs, and who wins how often."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, Score
from concord.reports.writing import numbers

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


def main_labels(comparison: Comparison) -> list[str]:
    """The primary labels, then those at the main cutoff, then those without a cutoff."""
    others = [metric for metric in comparison.metrics if not metric.primary]
    at_main_cutoff = [metric.label for metric in others if metric.k == comparison.main_cutoff]
    without_k = [metric.label for metric in others if metric.k is None]
    return list(dict.fromkeys([*comparison.primary, *at_main_cutoff, *without_k]))


def leaderboard_columns(comparison: Comparison, labels: Sequence[str]) -> list[Column]:
    return [
        Column(
            label=label,
            higher_is_better=comparison.metric(label).higher_is_better,
            primary=label in comparison.primary,
            formula=comparison.metric(label).formula,
            users=_users_of_all(comparison, label),
        )
        for label in labels
    ]


def users_of_every(columns: Sequence[Column]) -> str:
    """The users behind all columns, if they are the same."""
    found = {column.users for column in columns}
    return found.pop() if len(found) == 1 else ""


def leaderboard_row(comparison: Comparison, model: str, columns: Sequence[Column]) -> list[Cell]:
    return [_cell(comparison, comparison.score(model, column.label), column) for column in columns]


def _cell(comparison: Comparison, row: Score, column: Column) -> Cell:
    digits = numbers.digits_of(comparison, column.label)
    return Cell(
        value=row.mean,
        text=numbers.number(row.mean, digits),
        interval=numbers.interval(row.ci_low, row.ci_high, digits),
        users="" if column.users else users(row),
        best=row.best,
        close=bool(row.indistinguishable_from_best) and not row.best,
        strip=_strip(comparison, row, column) if column.primary else None,
    )


def users(row: Score) -> str:
    """How many users the mean is over, and for how many the value is undefined."""
    undefined = f", {numbers.count(row.n_undefined)} undefined" if row.n_undefined else ""
    return f"{numbers.who(row.n_users, row.n_requests)}{undefined}"


def _users_of_all(comparison: Comparison, label: str) -> str:
    found = {users(comparison.score(model, label)) for model in comparison.ranked}
    return found.pop() if len(found) == 1 else ""


def _strip(comparison: Comparison, row: Score, column: Column) -> tuple[float, float, float] | None:
    ends = [comparison.score(model, column.label) for model in comparison.ranked]
    lows = [end.ci_low for end in ends if end.ci_low is not None]
    highs = [end.ci_high for end in ends if end.ci_high is not None]
    if row.ci_low is None or row.ci_high is None or row.mean is None or max(highs) <= min(lows):
        return None
    start, span = min(lows), max(highs) - min(lows)
    low, mean, high = (
        round(100 * (end - start) / span, 1) for end in (row.ci_low, row.mean, row.ci_high)
    )
    return low, mean, high


@dataclass(frozen=True)
class Pairs:
    """How the pairs of one primary label are shown: as a matrix, as a heat map, or not at all beyond the baseline."""

    label: str
    form: Form
    with_intervals: bool
    models: list[str]


def pairs_of(comparison: Comparison, label: str) -> Pairs:
    others = comparison.challengers
    complete = all(comparison.difference(a, b, label) for a in others for b in others if a != b)
    with_intervals = len(comparison.ranked) <= _WITH_INTERVALS
    if len(others) == 1 or not complete:
        return Pairs(label, "none", with_intervals, comparison.ranked)
    form: Form = "matrix" if len(comparison.ranked) < MANY_MODELS else "heat map"
    return Pairs(label, form, with_intervals, comparison.ranked)


def against_baseline(comparison: Comparison, label: str) -> list[Difference]:
    found = [
        comparison.difference(model, comparison.baseline, label) for model in comparison.challengers
    ]
    return [row for row in found if row is not None]


def wilcoxon_asked(comparison: Comparison) -> bool:
    """Did params.yaml ask for Wilcoxon's p values?"""
    return any(row.p_wilcoxon is not None for row in comparison.pairs)


def other_differences(comparison: Comparison) -> list[Difference]:
    """The differences of all labels that are not primary; with many models those to the baseline only."""
    rows = comparison.pairs
    few = len(comparison.ranked) < MANY_MODELS
    return [row for row in rows if not row.primary and (few or row.vs_baseline)]


@dataclass(frozen=True)
class Win:
    """One challenger against the baseline; shares in percent of the users, None where nothing was compared."""

    model: str
    better: float
    equal: float
    worse: float
    words: tuple[str, str, str]
    best: float | None
    best_words: str


def wins(comparison: Comparison, label: str) -> list[Win]:
    """Challengers in the order of the leaderboard; empty where no user was compared."""
    best = {row.model: row.probability for row in comparison.best if row.label == label}
    found = []
    for model in comparison.challengers:
        row = comparison.difference(model, comparison.baseline, label)
        if row is None or row.better is None:
            continue
        shares = (row.better, row.equal or 0.0, row.worse or 0.0)
        better, equal, worse = map(numbers.share, shares)
        chance = best.get(model)
        up, level, down = (100 * share for share in shares)
        words = (better, equal, worse)
        found.append(Win(model, up, level, down, words, chance, likely(chance)))
    return found


def baseline_chance(comparison: Comparison, label: str) -> str:
    """How probably the baseline is the best; nothing where it was not computed."""
    for row in comparison.best:
        if (row.label, row.model) == (label, comparison.baseline):
            return likely(row.probability)
    return ""


def likely(probability: float | None) -> str:
    """A share of resamples: never a certainty, however many there are."""
    if probability is None:
        return ""
    if probability < 0.001 or probability > 0.999:  # noqa: PLR2004 - resamples cannot tell more
        return ("< 0.1" if probability < 0.5 else "> 99.9") + numbers.PERCENT  # noqa: PLR2004
    return numbers.share(probability)
