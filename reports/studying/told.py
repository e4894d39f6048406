"""The numbers of a study as the page writes them."""

from dataclasses import dataclass

from concord.metrics_core.comparison.words import listed
from concord.metrics_core.studying.aggregating import winners_of
from concord.metrics_core.studying.parts import (
    WAYS,
    Aggregation,
    Answer,
    Cell,
    Omnibus,
    Pair,
    Shrunk,
    Way,
)
from concord.metrics_core.studying.ranks import groups_alike
from concord.metrics_core.studying.signed_rank import smallest_p
from concord.metrics_core.studying.study import Study
from concord.metrics_core.studying.words import WAY_WORDS
from concord.reports.writing import numbers

MEANINGS: dict[Way, str] = {
    "mean": "of the means; data sets with large values decide",
    "mean_rank": "of the ranks; by how much one is better does not count",
    "mean_relative_difference": "of the differences to the baseline, each as a share of the baseline's mean",
    "wins": "data sets in which no model has a better mean; a shared win is shared",
}


@dataclass(frozen=True)
class WayLine:
    """A way of aggregating: who wins, with which value."""

    name: str
    meaning: str
    winners: str
    value: str
    values: dict[str, str]
    first: tuple[str, ...]


def headline(answer: Answer) -> str:
    """`ease wins under all 4 ways of aggregating nDCG@10`; where several stand level, the sentence itself."""
    if len(answer.winners) != 1 or not answer.ways:
        return answer.sentence.removesuffix(".")
    all_of_them = answer.ways == answer.of_ways
    how = f"all {answer.of_ways}" if all_of_them else f"{answer.ways} of {answer.of_ways}"
    return f"{answer.winners[0]} wins under {how} ways of aggregating {answer.label}"


def way_lines(study: Study, label: str) -> list[WayLine]:
    """One a way, with every model's value."""
    rows = [row for row in study.ways if row.label == label]
    first = winners_of(rows)
    return [
        _way_line(study, label, way, [row for row in rows if row.way == way], first.get(way, ()))
        for way in WAYS
    ]


def _way_line(
    study: Study, label: str, way: Way, rows: list[Aggregation], first: tuple[str, ...]
) -> WayLine:
    values = {row.model: way_value(study, label, way, row.value) for row in rows}
    value = values[first[0]] if first else ""
    who = listed(first) if first else "no model has a value on every data set"
    return WayLine(WAY_WORDS[way], MEANINGS[way], who, value, values, first)


def way_value(study: Study, label: str, way: Way, value: float | None) -> str:
    """In the unit of the way."""
    if way == "mean":
        return numbers.number(value, digits(study, label))
    if way == "mean_relative_difference":
        return numbers.relative(value)
    return numbers.number(value, 2) if way == "mean_rank" else _whole(value)


def _whole(value: float | None) -> str:
    return numbers.MISSING if value is None else f"{value:.3g}"


def digits(study: Study, label: str) -> int:
    """Decimals of the means of a label."""
    cells = [cell for cell in study.cells if cell.label == label]
    return numbers.decimals(cells, [cell.mean for cell in cells])


def rank_words(cell: Cell) -> str:
    """`rank 1 (1 to 2)`: the ranks in brackets are those that tests leave open."""
    if cell.rank is None:
        return "no value"
    return f"rank {cell.rank:g} ({open_ranks(cell)})"


def open_ranks(cell: Cell) -> str:
    """`2`, or `1 to 3`."""
    low, high = cell.rank_low, cell.rank_high
    return f"{low}" if low == high else f"{low} to {high}"


def lead(study: Study, answer: Answer) -> tuple[Pair, str] | None:
    """The difference of one winner to the baseline over data sets, with its interval in words."""
    for pair in pairs(study, answer.label):
        if pair.vs_baseline and answer.winners == (pair.a,) and pair.difference is not None:
            places = digits(study, answer.label)
            span = numbers.signed_interval(pair.ci_low, pair.ci_high, places)
            return pair, f"{numbers.signed(pair.difference, places)} ({span})"
    return None


def pairs(study: Study, label: str) -> list[Pair]:
    """To the baseline first, the others as they come."""
    return [pair for pair in study.pairs if pair.label == label]


def shrunk(study: Study, label: str) -> list[Shrunk]:
    """Every difference to the baseline, as found and as shrunk."""
    return [each for each in study.shrunk if each.label == label]


def omnibus(study: Study, label: str) -> Omnibus:
    return next(each for each in study.omnibus if each.label == label)


def alike(study: Study, label: str) -> list[tuple[str, ...]]:
    """Neighbours by mean rank that the signed-rank tests do not tell apart."""
    apart = [frozenset((pair.a, pair.b)) for pair in pairs(study, label) if pair.told_apart]
    return groups_alike([*mean_ranks(study, label)], apart)


def mean_ranks(study: Study, label: str) -> dict[str, float]:
    """Model -> its mean rank, best first; those without one are left out."""
    rows = [row for row in study.ways if (row.label, row.way) == (label, "mean_rank")]
    known = {row.model: row.value for row in rows if row.value is not None}
    return {model: known[model] for model in study.ranked(label) if model in known}


def post_hoc(study: Study, label: str) -> str:
    """What the tests of signed ranks could and did find."""
    found = pairs(study, label)
    apart = sum(pair.told_apart for pair in found)
    n, least = len(study.datasets), smallest_p(len(study.datasets)) * len(found)
    if least >= 1 - study.confidence:
        reach = f"With {n} data sets and {_count(found)}, the smallest p that the test can reach is {numbers.p_value(min(1.0, least))} after Holm's correction"
        return f"{reach}: no pair can be told apart by ranks, however clear it is. The differences below use the size and the error of each data set instead."
    return f"{apart} of {_count(found)} are told apart."


def _count(found: list[Pair]) -> str:
    return "1 pair" if len(found) == 1 else f"{len(found)} pairs"


def friedman(found: Omnibus) -> str:
    """The test in a sentence, or why there is none."""
    if found.why_none:
        return found.why_none
    p = numbers.p_value(found.p)
    shown = p if p.startswith("<") else f"= {p}"
    chi2 = f"χ² = {numbers.number(found.statistic, 2)} on {found.n_models - 1} degrees of freedom"
    if found.f is None:
        return f"Friedman's test that all {found.n_models} models rank alike: {chi2}; all data sets agree on the order, p {shown} (exact)."
    f = f"Iman and Davenport's F({found.df1}, {found.df2}) = {numbers.number(found.f, 2)}, p {shown}"
    return f"Friedman's test that all {found.n_models} models rank alike: {chi2}; {f}."
