"""A study as text: winners, their lead, values by way of aggregating, mean differences."""

from collections.abc import Iterator, Mapping, Sequence

from concord.metrics_core.analyses.study.data_sets import MIN_DATASETS
from concord.metrics_core.analyses.study.result import (
    Answer,
    Cell,
    Certainty,
    LeftOut,
    NoInterval,
    Pair,
    Study,
    Way,
)
from concord.metrics_core.results.text_format import group_values, is_or_are, join_names
from concord.reports.text import numbers
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.verdict_styles import phrase

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


REASONS: Mapping[NoInterval, str] = {
    "left_out": "not over all data sets",
    "same_truth": "some data sets are the same data",
    "few_datasets": f"fewer than {MIN_DATASETS} data sets",
    "equal_differences": "equal differences show no spread",
    "baseline_near_zero": "a share of a mean that may be 0",
}


def describe(study: Study) -> Iterator[Block]:
    """Yield the winner, the values by way of aggregating and the differences, then the notes."""
    for answer in study.answers:
        yield Heading(f"{headline(study, answer)}.")
        if answer.winners:
            if explanation := headline_explanation(study, answer):
                yield explanation
            yield winner_sentence(study, answer)
            yield TextTable(["model", *WAY_NAMES.values()], [*_way_rows(study, answer.label)])
        yield ""
        pairs = [pair for pair in study.pairs_of(answer.label) if pair.vs_baseline]
        interval = f"{numbers.confidence_level(study.confidence)} interval"
        if pairs[0].level > study.confidence:
            interval = f"joint {interval}"
        header = ["model", f"mean difference to {study.baseline}", interval, "verdict", "data sets"]
        yield TextTable(header, [_pair_row(study, pair) for pair in pairs])
        yield ""
    yield from (f"Note: {note}" for note in notes(study))


def _pair_row(study: Study, pair: Pair) -> Sequence[str]:
    decimals = digits(study, pair.label)
    return [
        pair.a,
        numbers.signed(pair.difference, decimals),
        numbers.signed_interval(pair.ci_low, pair.ci_high, decimals) or numbers.MISSING,
        numbers.with_details(
            phrase(pair.verdict, effect_text(study, pair.label)), reason_text(pair)
        ),
        used_datasets(study, pair),
    ]


def _way_rows(study: Study, label: str) -> Iterator[Sequence[str]]:
    for model in study.ranked(label):
        yield [model, *(way_value(study, label, way, model) for way in WAY_NAMES)]


def headline(study: Study, answer: Answer) -> str:
    """Return `ease has the best nDCG@10 on 4 of 5 data sets; its lead is not shown …`."""
    count = len(study.datasets)
    ahead = f"{join_names(answer.ahead)} {is_or_are(answer.ahead)}" if answer.ahead else ""
    if not answer.winners:
        return f"No model has a value of {answer.label} on every data set"
    if len(answer.winners) > 1:
        tie = f"{join_names(answer.winners)} tie on {answer.label} over {count} data sets"
        return f"{tie}, but {ahead} ahead of one of them" if ahead else tie
    winner = answer.winners[0]
    if ahead:
        n_best = sum(cell.rank == 1 for cell in _winner_cells(study, answer))
        return (
            f"{winner} has the best mean {answer.label} on {n_best} of {count} data sets, but "
            f"{ahead} ahead of it over all of them"
        )
    n_best = best_datasets(study, answer)
    text = f"{winner} has the best {answer.label} on {n_best} of {count} data sets"
    endings: dict[Certainty, str] = {
        "sure": ", and is ahead of every other model over all of them",
        "same_truth": ", but some of them are the same data",
        "too_few_datasets": ", too few for an interval",
    }
    return text + endings.get(answer.certainty, "; its lead is not shown over all of them")


def headline_explanation(study: Study, answer: Answer) -> str:
    """Return over which models the lead is shown; empty if over all, or if a note says why not."""
    says_all = answer.is_sure or answer.certainty == "same_truth"
    return "" if says_all else certainty_sentence(study, answer)


def best_datasets(study: Study, answer: Answer) -> int:
    """Return on how many data sets the first winner alone is best of comparable models.

    No interval there shows another model ahead.
    """
    incomparable = {
        each.dataset
        for each in study.left_out
        if each.label == answer.label
        and each.reason == "not_comparable"
        and answer.winners[0] in (each.a, each.b)
    }
    return sum(
        cell.rank == cell.rank_low == 1 and cell.dataset not in incomparable
        for cell in _winner_cells(study, answer)
    )


def _winner_cells(study: Study, answer: Answer) -> list[Cell]:
    cells = study.cells_of(answer.label)
    return [cells[each.name, answer.winners[0]] for each in study.datasets]


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
    others = group_values(
        (winners, WAY_NAMES[way])
        for way, winners in study.winners(answer.label).items()
        if winners != answer.winners or len(winners) > 1
    )
    details = [
        f"by {join_names(ways)}: {join_names(models)}{' tie' if len(models) > 1 else ''}"
        for models, ways in others.items()
    ]
    return "; ".join([_agreement(answer), *details]) + "."


def certainty_sentence(study: Study, answer: Answer) -> str:
    """Return whether the winner would lead on other such data sets; empty without a winner."""
    count, winner = len(study.datasets), join_names(answer.winners or ("",))
    known = {*answer.winners, *answer.behind, *answer.ahead}
    others = [model for model in study.models if model not in known]
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
            return "" if answer.ahead else f"No model leads: {winner} tie."
        case "too_few_datasets":
            return (
                f"Unknown: an interval over data sets needs at least {MIN_DATASETS}; there are "
                f"{count}."
            )
    if not answer.behind:
        return f"No interval over all {count} data sets shows {winner} ahead of another model."
    ahead = "every other model" if answer.is_sure else join_names(answer.behind)
    unknown = "" if answer.is_sure else f", and not shown to be ahead of {join_names(others)}"
    return f"Over {count} of {count} data sets, {winner} is ahead of {ahead}{unknown}."


def notes(study: Study) -> Iterator[str]:
    """Yield notes on models, users, data sets that do not count, replicates and grades."""
    for each in study.missing_models:
        yield f"{each.model} is left out: it is missing in {join_names(each.missing_in)}."
    for label in study.primary:
        for text in _left_out_texts(study, [x for x in study.left_out if x.label == label]):
            yield f"Left out of mean differences of {label}, which have no verdict: {text}."
    yield from _other_users(study)
    if study.min_effect_share and any(pair.ci_low is not None for pair in study.pairs):
        yield (f"Intervals over data sets are for the share times the mean of {study.baseline}.")
    if study.tried:
        yield (
            f"Intervals over data sets allow for {numbers.count(study.tried)} models that were "
            "tried on the users of a data set."
        )
    for names in study.same_truth:
        yield (
            f"{join_names(names)} have the same ground truth: means and wins over data sets count "
            f"it {len(names)} times, and there is no verdict over them."
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


def _other_users(study: Study) -> Iterator[str]:
    """Yield the data sets on which models have values of other users, with the users of each."""
    labels: dict[tuple[str, ...], list[str]] = {}
    for label in study.primary:
        texts: tuple[str, ...] = ()
        for dataset in study.datasets:
            cells = [c for c in study.cells if (c.label, c.dataset) == (label, dataset.name)]
            n_users = max(cell.n_users for cell in cells)
            fewer = [
                f"{cell.model} {numbers.count(cell.n_with_both)}"
                for cell in cells
                if cell.n_with_both is not None and cell.n_with_both < n_users
            ]
            if fewer:
                users = f"{join_names(fewer)} of {numbers.count(n_users)}"
                texts = (*texts, f"{dataset.name} ({users})")
        labels.setdefault(texts, []).append(label)
    for texts, names in labels.items():
        if texts:
            yield (
                f"Not all models have values of {join_names(names)} for the same users. Means are "
                "over the users of each model, differences over those with values of both; with "
                f"{study.baseline}, these are: {join_names(texts)}."
            )


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


def effect_text(study: Study, label: str) -> str:
    """Return the minimum relevant difference, such as `0.00173`."""
    return f"{study.min_effect[label]:.3g}"


def reason_text(pair: Pair) -> str:
    """Return why a mean difference has no interval; empty if it has one."""
    return REASONS[pair.reason] if pair.reason else ""


def used_datasets(study: Study, pair: Pair) -> str:
    """Return `6 of 6`, or `5 of 6; left out: d3 (b has no value)`."""
    texts = _left_out_texts(study, study.left_out_of(pair))
    left_out = f"; left out: {', '.join(texts)}" if texts else ""
    return f"{pair.n_datasets} of {len(study.datasets)}{left_out}"


def _left_out_texts(study: Study, left_out: Sequence[LeftOut]) -> list[str]:
    """Return `d3, d4 (b has no value)` for each reason."""
    names: dict[str, dict[str, None]] = {}
    for each in left_out:
        names.setdefault(_left_out_reason(study, each), {})[each.dataset] = None
    return [f"{', '.join(datasets)} ({reason})" for reason, datasets in names.items()]


def _left_out_reason(study: Study, each: LeftOut) -> str:
    if each.reason == "not_comparable":
        return f"{each.a} or {each.b} lacks the lists of most users"
    if each.reason == "not_compared":
        return f"{each.a} and {each.b} were not compared on the same users"
    cells = study.cells_of(each.label)
    models = dict.fromkeys((each.a, each.b, study.baseline))
    without = [model for model in models if cells[each.dataset, model].mean is None]
    return f"{join_names(without)} {'has' if len(without) == 1 else 'have'} no value"
