"""A study as text: winners, their significance, values by way of aggregating."""

from collections.abc import Iterator, Mapping, Sequence

from concord.metrics_core.analyses.study.data_sets import MIN_DATASETS
from concord.metrics_core.analyses.study.result import Answer, Cell, Pair, Study, Way
from concord.metrics_core.errors import format_count
from concord.metrics_core.results.text_format import join_names
from concord.reports.text import numbers
from concord.reports.text.blocks import Block, Heading, TextTable

WAY_NAMES: Mapping[Way, str] = {
    "mean": "mean",
    "mean_rank": "mean rank",
    "mean_relative_difference": "mean relative difference",
    "wins": "wins",
}
WAY_MEANINGS: Mapping[Way, str] = {
    "mean": "of the means; data sets with large values decide",
    "mean_rank": "of the ranks; the size of differences does not count",
    "mean_relative_difference": (
        "of the differences to the baseline, each as a share of the baseline's mean"
    ),
    "wins": "data sets on which no model has a better mean; ties share the win",
}


def describe(study: Study) -> Iterator[Block]:
    """Yield the winner of each label, the values by way of aggregating, and the notes."""
    for answer in study.answers:
        yield Heading(f"{headline(study, answer)}.")
        if answer.winners:
            if explanation := headline_explanation(study, answer):
                yield explanation
            yield winner_sentence(study, answer)
            yield TextTable(["model", *WAY_NAMES.values()], [*_way_rows(study, answer.label)])
        yield ""
    yield f"Differences are to {study.baseline}, over {len(study.datasets)} data sets."
    yield from (f"Note: {note}" for note in notes(study))


def _way_rows(study: Study, label: str) -> Iterator[Sequence[str]]:
    for model in study.ranked(label):
        yield [model, *(way_value(study, label, way, model) for way in WAY_NAMES)]


def headline(study: Study, answer: Answer) -> str:
    """Return `ease has the best nDCG@10 on 4 of 5 data sets; its lead is not significant`."""
    count = len(study.datasets)
    if not answer.winners:
        return f"No model has a value of {answer.label} on every data set"
    if len(answer.winners) > 1:
        return f"{join_names(answer.winners)} tie on {answer.label} over {count} data sets"
    n_best = best_datasets(study, answer)
    text = f"{answer.winners[0]} has the best {answer.label} on {n_best} of {count} data sets"
    if answer.is_sure:
        return f"{text}, significantly ahead of every other model"
    if answer.certainty == "same_truth":
        return f"{text}, but some of them are the same data"
    if answer.certainty == "too_few_datasets":
        return f"{text}, too few for a test"
    return f"{text}; its lead is not significant"


def headline_explanation(study: Study, answer: Answer) -> str:
    """Return why the lead is not significant; empty if it is, or if a note says why."""
    says_all = answer.is_sure or answer.certainty == "same_truth"
    return "" if says_all else certainty_sentence(study, answer)


def best_datasets(study: Study, answer: Answer) -> int:
    """Return the number of data sets on which the first winner alone has the best mean."""
    cells = study.cells_of(answer.label)
    return sum(cells[each.name, answer.winners[0]].rank == 1 for each in study.datasets)


def _agreement(answer: Answer) -> str:
    """Return `ease wins under 3 of 4 ways of aggregating nDCG@10`."""
    if not answer.winners:
        return f"No model has a value of {answer.label} on every data set"
    if not answer.ways:
        return f"No model wins alone under any way of aggregating {answer.label}"
    is_under_all = answer.ways == answer.of_ways
    ways = f"all {answer.of_ways}" if is_under_all else f"{answer.ways} of {answer.of_ways}"
    verb = "wins" if len(answer.winners) == 1 else "each win"
    return f"{join_names(answer.winners)} {verb} under {ways} ways of aggregating {answer.label}"


def winner_sentence(study: Study, answer: Answer) -> str:
    """Return how many ways agree on the winner, and those that do not: `…; by wins: als.`"""
    others: dict[tuple[str, ...], list[str]] = {}
    for way, winners in study.winners(answer.label).items():
        if winners != answer.winners or len(winners) > 1:
            others.setdefault(winners, []).append(WAY_NAMES[way])
    details = [
        f"by {join_names(ways)}: {join_names(models)}{' tie' if len(models) > 1 else ''}"
        for models, ways in others.items()
    ]
    return "; ".join([_agreement(answer), *details]) + "."


def certainty_sentence(study: Study, answer: Answer) -> str:
    """Return whether the winner would lead on other such data sets; empty without a winner."""
    count, winner = len(study.datasets), join_names(answer.winners or ("",))
    others = [m for m in study.models if m not in (*answer.winners, *answer.behind)]
    match answer.certainty:
        case "no_values":
            return ""
        case "same_truth":
            names = study.same_truth[0]
            return (
                f"Unknown: {join_names(names)} have the same ground truth, so they are one data "
                f"set, not {len(names)}."
            )
        case "tie":
            return f"No model leads: {winner} tie."
        case "too_few_datasets":
            return (
                f"Unknown: an interval over data sets needs at least {MIN_DATASETS}; there are "
                f"{count}."
            )
        case "sure":
            return f"Over {count} data sets, {winner} differs significantly from every other model."
    different = (
        f"{join_names(answer.behind)}, but not from {join_names(others)}"
        if answer.behind
        else "no other model"
    )
    return f"Over {count} data sets, {winner} differs significantly from {different}."


def notes(study: Study) -> Iterator[str]:
    """Yield notes on models, ground truths, replicates and grades."""
    for each in study.missing_models:
        yield f"{each.model} is left out: it is missing in {join_names(each.missing_in)}."
    for names in study.same_truth:
        yield (
            f"{join_names(names)} have the same ground truth: intervals, tests and wins over data "
            f"sets count it {len(names)} times."
        )
    if study.replicated:
        models = join_names(study.replicated)
        yield (
            f"Intervals and tests are over users and data sets, not over replicates of {models}; "
            "the report of each data set has intervals over replicates."
        )
    for convention in study.grade_conventions:
        values = "; ".join(f"{v} on {join_names(names)}" for v, names in convention.values.items())
        yield f"`{convention.convention}` belongs to the grades of a data set: {values}."


def way_value(study: Study, label: str, way: Way, model: str) -> str:
    """Return the value of a model under a way of aggregating, in the unit of the way."""
    value = study.values_of(label, way)[model]
    match way:
        case "mean":
            return numbers.number(value, digits(study, label))
        case "mean_rank":
            return numbers.number(value, 2)
        case "mean_relative_difference":
            return numbers.relative(value)
        case "wins":
            return numbers.MISSING if value is None else f"{value:.3g}"


def digits(study: Study, label: str) -> int:
    """Return the number of decimals of a label's means."""
    cells = [cell for cell in study.cells if cell.label == label]
    return numbers.interval_decimals(cells, [cell.mean for cell in cells])


def rank_text(cell: Cell) -> str:
    """Return `rank 1 (1 to 2)`: in brackets the ranks that tests do not exclude."""
    return "no value" if cell.rank is None else f"rank {cell.rank:g} ({open_ranks(cell)})"


def open_ranks(cell: Cell) -> str:
    """Return `2`, or `1 to 3`."""
    low, high = cell.rank_low, cell.rank_high
    return f"{low}" if low == high else f"{low} to {high}"


def winner_difference(study: Study, answer: Answer) -> Pair | None:
    """Return the pair of the only winner and the baseline; None if it has no mean difference."""
    for pair in study.pairs_of(answer.label):
        if pair.vs_baseline and answer.winners == (pair.a,) and pair.difference is not None:
            return pair
    return None


def undecided_reason(study: Study, pair: Pair) -> str:
    """Return why a pair whose interval excludes 0 is undecided; empty for other pairs."""
    low, high = pair.ci_low, pair.ci_high
    if pair.verdict != "undecided" or low is None or high is None or low <= 0 <= high:
        return ""
    return f"after correction for {format_count(len(study.pairs_of(pair.label)), 'pair')}"
