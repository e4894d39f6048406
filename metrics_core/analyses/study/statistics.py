"""Statistics of a study by label: aggregation, pairs over data sets, winner."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from concord.metrics_core.analyses.study.data_sets import (
    MIN_DATASETS,
    RandomEffects,
    average_ranks,
    random_effects,
    rank_intervals,
)
from concord.metrics_core.analyses.study.result import (
    WAYS,
    Aggregation,
    Answer,
    Cell,
    Certainty,
    Pair,
    ShrunkDifference,
    Way,
    winners_by_way,
)
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, Verdict, or_nan, or_none
from concord.metrics_core.stats.adjustment import holm
from concord.metrics_core.stats.verdict import interval_verdict

Comparisons = Mapping[str, Comparison]
OptionalValues = Mapping[str, float | None]


def cells_of(
    label: str, comparisons: Comparisons, models: Sequence[str], baseline: str
) -> Iterator[Cell]:
    """Yield one cell per data set and model."""
    for name, comparison in comparisons.items():
        scores = {model: comparison.score(model, label) for model in models}
        means = {model: score.mean for model, score in scores.items() if score.mean is not None}
        higher_is_better = comparison.metric(label).higher_is_better
        ranks = average_ranks(means, higher_is_better=higher_is_better)
        different = _significant_pairs(label, comparison, [*means])
        intervals = rank_intervals([*means], different)
        for model, score in scores.items():
            pair = comparison.difference(model, baseline, label)
            low, high = intervals.get(model, (None, None))
            yield Cell(
                label=label,
                dataset=name,
                model=model,
                mean=score.mean,
                ci_low=score.ci_low,
                ci_high=score.ci_high,
                n_users=score.n_users,
                difference=pair.difference if pair else None,
                diff_low=pair.ci_low if pair else None,
                diff_high=pair.ci_high if pair else None,
                relative=pair.relative if pair else _relative(means, model, baseline),
                verdict=pair.verdict if pair else None,
                rank=ranks.get(model),
                rank_low=low,
                rank_high=high,
            )


def _relative(means: Mapping[str, float], model: str, baseline: str) -> float | None:
    """Return the relative difference of two means; None without both, or if the baseline's <= 0."""
    if model not in means or not means.get(baseline, 0) > 0:
        return None
    return (means[model] - means[baseline]) / means[baseline]


def _significant_pairs(
    label: str, comparison: Comparison, models: Sequence[str]
) -> set[tuple[str, str]]:
    """Return (better, worse) of each pair with a significant difference, adjusted by Holm."""
    differences = (comparison.difference(a, b, label) for a, b in combinations(models, 2))
    pairs = [pair for pair in differences if pair is not None]
    adjusted = holm(np.array([or_nan(pair.p) for pair in pairs])).tolist()
    higher_is_better = comparison.metric(label).higher_is_better
    return {
        _better_first(pair, higher_is_better=higher_is_better)
        for pair, p in zip(pairs, adjusted, strict=True)
        if p < 1 - comparison.confidence
    }


def _better_first(pair: Difference | Pair, *, higher_is_better: bool) -> tuple[str, str]:
    sign = 1 if higher_is_better else -1
    return (pair.a, pair.b) if sign * or_nan(pair.difference) > 0 else (pair.b, pair.a)


def aggregate(label: str, cells: Sequence[Cell], *, higher_is_better: bool) -> list[Aggregation]:
    """Return every model's value under each way of aggregation over data sets.

    - mean: mean of the model's means; data sets with large values dominate.
    - mean_rank: mean of the model's ranks; sizes of differences have no influence.
    - mean_relative_difference: mean of (mean - baseline's mean) / baseline's mean.
    - wins: number of data sets on which no mean is better; ties share a win equally.

    Parameters
    ----------
    label : str
        Label of the cells.
    cells : sequence of Cell
        One cell per data set and model.
    higher_is_better : bool
        Direction of the metric.

    Returns
    -------
    list of Aggregation
        One row per way and model; the value is None if the model lacks a mean on some data set.

    References
    ----------
    Shevchenko et al. (2024), KDD '24, 5701-5712 (the way changes the winner).
    doi:10.1145/3637528.3671655
    """
    models = list(dict.fromkeys(cell.model for cell in cells))
    by_model = {model: [cell for cell in cells if cell.model == model] for model in models}
    values: dict[Way, OptionalValues] = {
        "mean": {m: _mean([c.mean for c in rows]) for m, rows in by_model.items()},
        "mean_rank": {m: _mean([c.rank for c in rows]) for m, rows in by_model.items()},
        "mean_relative_difference": {
            m: _mean([c.relative for c in rows]) for m, rows in by_model.items()
        },
        "wins": _wins(cells, by_model, higher_is_better=higher_is_better),
    }
    rows: list[Aggregation] = []
    for way in WAYS:
        is_higher_better = way == "wins" or (higher_is_better and way != "mean_rank")
        best = _best(values[way], higher_is_better=is_higher_better)
        rows += [Aggregation(label, way, m, value, m in best) for m, value in values[way].items()]
    return rows


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return math.fsum(defined) / len(defined) if defined and len(defined) == len(values) else None


def _wins(
    cells: Sequence[Cell], by_model: Mapping[str, Sequence[Cell]], *, higher_is_better: bool
) -> OptionalValues:
    wins = dict.fromkeys(by_model, Fraction(0))  # exact: 1/2 + 1/3 + 1/6 = 1
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        means = {c.model: c.mean for c in cells if c.dataset == dataset}
        best = _best(means, higher_is_better=higher_is_better)
        for model in best:
            wins[model] += Fraction(1, len(best))
    return {
        model: float(wins[model]) if all(cell.mean is not None for cell in rows) else None
        for model, rows in by_model.items()
    }


def _best(values: OptionalValues, *, higher_is_better: bool) -> list[str]:
    defined = {model: value for model, value in values.items() if value is not None}
    ranks = average_ranks(defined, higher_is_better=higher_is_better)
    return [model for model in defined if ranks[model] == min(ranks.values())]


def pool_pairs(
    label: str, comparisons: Comparisons, models: Sequence[str], *, baseline: str, min_effect: float
) -> tuple[list[Pair], list[ShrunkDifference]]:
    """Return every pair of models, pooled over the data sets, and the shrunk differences.

    Parameters
    ----------
    label : str
        Label of the pairs.
    comparisons : mapping of str to Comparison
        Comparison of each data set.
    models : sequence of str
        Models of the study.
    baseline : str
        Model that comes second in its pairs.
    min_effect : float
        Minimum relevant difference.

    Returns
    -------
    (list of Pair, list of ShrunkDifference)
        Pairs with p-values adjusted by Holm, and shrunk differences by data set.
    """
    first = next(iter(comparisons.values()))
    alpha = 1 - first.confidence
    sign = 1 if first.metric(label).higher_is_better else -1
    others = [model for model in models if model != baseline]
    pairs: list[Pair] = []
    shrunk: list[ShrunkDifference] = []
    for a, b in (*((model, baseline) for model in others), *combinations(others, 2)):
        observed = _observed_differences(label, a, b, comparisons)
        pair = Pair(label, a, b, vs_baseline=b == baseline, n_datasets=len(observed))
        if len(observed) >= MIN_DATASETS:
            differences, errors = zip(*observed.values(), strict=True)
            pooled = random_effects(differences, errors, confidence=first.confidence)
            pair = _pooled_pair(pair, pooled)
            if pair.vs_baseline:
                shrunk += [
                    ShrunkDifference(label, a, name, *observed[name], *estimate)
                    for name, estimate in zip(observed, pooled.shrunk, strict=True)
                ]
        pairs.append(pair)
    adjusted_p = holm(np.array([or_nan(pair.p) for pair in pairs])).tolist()
    adjusted = [
        replace(
            pair,
            p_adjusted=or_none(p),
            verdict=_verdict(pair, sign, min_effect, is_significant=p < alpha),
        )
        for pair, p in zip(pairs, adjusted_p, strict=True)
    ]
    return adjusted, shrunk


def _observed_differences(
    label: str, a: str, b: str, comparisons: Comparisons
) -> dict[str, tuple[float, float]]:
    """Return data set -> difference and standard error, where both are known."""
    observed = {}
    for name, comparison in comparisons.items():
        pair = comparison.difference(a, b, label)
        error = None if pair is None else pair.standard_error
        if pair is not None and pair.difference is not None and error is not None:
            observed[name] = (pair.difference, error)
    return observed


def _pooled_pair(pair: Pair, pooled: RandomEffects) -> Pair:
    """Return the pair with its mean over data sets."""
    return replace(
        pair,
        difference=pooled.mu,
        ci_low=pooled.ci_low,
        ci_high=pooled.ci_high,
        tau=math.sqrt(pooled.tau2),
        predicted_low=pooled.predicted[0],
        predicted_high=pooled.predicted[1],
        p=pooled.p,
    )


def _verdict(pair: Pair, sign: int, min_effect: float, *, is_significant: bool) -> Verdict:
    """Return the verdict on the mean over data sets."""
    if pair.difference is None or pair.ci_low is None or pair.ci_high is None:
        return "no_interval"
    low, high = sorted((sign * pair.ci_low, sign * pair.ci_high))
    gain = sign * pair.difference
    return interval_verdict(low, high, min_effect=min_effect)


def models_ahead(
    pairs: Sequence[Pair], *, higher_is_better: bool, alpha: float
) -> set[tuple[str, str]]:
    """Return (better, worse) of each pair with a significant mean difference over data sets."""
    return {
        _better_first(pair, higher_is_better=higher_is_better)
        for pair in pairs
        if or_nan(pair.p_adjusted) < alpha
    }


def find_winner(
    label: str,
    rows: Sequence[Aggregation],
    ahead: Collection[tuple[str, str]],
    *,
    n_datasets: int,
    has_same_truth: bool,
) -> Answer:
    """Return the winner: most ways as the only winner, then most ways, then best mean rank.

    Parameters
    ----------
    label : str
        Label of the rows.
    rows : sequence of Aggregation
        Value of each model under each way.
    ahead : collection of (str, str)
        Pairs (better, worse) that differ significantly.
    n_datasets : int
        Number of data sets.
    has_same_truth : bool
        True if data sets have the same ground truth.

    Returns
    -------
    Answer
        Winners, the number of ways that agree, and the certainty.
    """
    winners = winners_by_way(rows)
    ranks = {row.model: row.value for row in rows if row.way == "mean_rank"}
    if not winners:
        return Answer(label, (), 0, 0, "no_values")

    def sort_key(model: str) -> tuple[int, int, float]:
        n_sole = sum(names == (model,) for names in winners.values())
        n_shared = sum(model in names for names in winners.values())
        return -n_sole, -n_shared, ranks[model] or math.inf

    first = min(map(sort_key, ranks))
    best = tuple(model for model in ranks if sort_key(model) == first)
    behind = tuple(m for m in ranks if (best[0], m) in ahead) if len(best) == 1 else ()
    certainty: Certainty
    if has_same_truth:
        certainty = "same_truth"
    elif len(best) > 1:
        certainty = "tie"
    elif n_datasets < MIN_DATASETS:
        certainty = "too_few_datasets"
    else:
        certainty = "sure" if len(behind) == len(ranks) - 1 else "undecided"
    return Answer(label, best, -first[0], len(winners), certainty, behind)
