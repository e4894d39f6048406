"""Statistics of a study by label: aggregation, pairs over data sets, winner."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from concord.metrics_core.analyses.study.data_sets import (
    MIN_DATASETS,
    average_ranks,
    covariance,
    mean,
    mean_difference_interval,
    rank_intervals,
)
from concord.metrics_core.analyses.study.result import (
    WAYS,
    Aggregation,
    Answer,
    Cell,
    Certainty,
    LeftOut,
    LeftOutReason,
    NoInterval,
    Pair,
    Way,
    winners_by_way,
)
from concord.metrics_core.comparison.min_effect import Effect, is_share, to_absolute
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, or_nan, or_none
from concord.metrics_core.stats.adjustment import holm
from concord.metrics_core.stats.floating_point import difference
from concord.metrics_core.stats.mean_interval import t_test_p
from concord.metrics_core.stats.verdict import interval_verdict

Comparisons = Mapping[str, Comparison]
OptionalValues = Mapping[str, float | None]
_EQUAL = 1e-9  # spread of differences, as a share of the largest, that is only rounding


def cells_of(
    label: str, comparisons: Comparisons, models: Sequence[str], baseline: str
) -> Iterator[Cell]:
    """Yield one cell per data set and model."""
    for name, comparison in comparisons.items():
        scores = {model: comparison.score(model, label) for model in models}
        means = {model: score.mean for model, score in scores.items() if score.mean is not None}
        higher_is_better = comparison.metric(label).higher_is_better
        pairs = [
            pair
            for a, b in combinations(means, 2)
            if (pair := comparison.difference(a, b, label)) is not None
        ]
        different = ordered_pairs(pairs, higher_is_better=higher_is_better)
        ranks = average_ranks(means, higher_is_better=higher_is_better)
        joint = label in comparison.primary  # other intervals do not hold together
        intervals = rank_intervals([*ranks], different if joint else ())
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
                n_with_both=pair.n_users if pair else None,
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


def ordered_pairs(
    pairs: Sequence[Difference | Pair], *, higher_is_better: bool
) -> set[tuple[str, str]]:
    """Return (better, worse) of each pair whose interval excludes 0."""
    above = {(p.a, p.b) for p in pairs if or_nan(p.ci_low) > 0}
    below = {(p.b, p.a) for p in pairs if or_nan(p.ci_high) < 0}
    return above | below if higher_is_better else {(b, a) for a, b in above | below}


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
        One row per way and model; the value is None if the model lacks a mean on some data set, or
        a relative difference that is averaged.

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


@dataclass(frozen=True)
class PairPooling:
    """Computes the mean differences of a label over data sets.

    Attributes
    ----------
    baseline : str
        Model that comes second in its pairs.
    min_effect : float or str
        Minimum relevant difference.
    has_same_truth : bool
        True if data sets have the same ground truth: then there are no intervals.
    """

    label: str
    comparisons: Comparisons
    baseline: str
    min_effect: Effect
    has_same_truth: bool

    @property
    def _first(self) -> Comparison:
        return next(iter(self.comparisons.values()))

    @cached_property
    def _baseline_means(self) -> list[float | None]:
        return [each.score(self.baseline, self.label).mean for each in self.comparisons.values()]

    @cached_property
    def absolute_effect(self) -> float:
        """The minimum relevant difference; a share is that of the baseline's mean of means."""
        means = [each for each in self._baseline_means if each is not None]
        return to_absolute(self.min_effect, mean(means) if means else 0.0)

    def pairs(self, models: Sequence[str]) -> Iterator[tuple[Pair, list[float], list[LeftOut]]]:
        """Yield every pair without an interval, those with the baseline first.

        With each come its differences, and the data sets that do not count.
        """
        others = [model for model in models if model != self.baseline]
        for a, b in [*((model, self.baseline) for model in others), *combinations(others, 2)]:
            y, missing = self._differences(a, b)
            pair = Pair(
                label=self.label,
                a=a,
                b=b,
                vs_baseline=b == self.baseline,
                n_datasets=len(y),
                level=self._first.confidence,
                difference=mean(y) if y else None,
                sd=math.sqrt(covariance(y, y)) if len(y) > 1 else None,
                reason=self._reason(y),
            )
            yield pair, y, missing

    def _differences(self, a: str, b: str) -> tuple[list[float], list[LeftOut]]:
        """Return the difference on each data set that has one, and the other data sets."""
        differences, missing = [], []
        for name, comparison in self.comparisons.items():
            y = self._difference_on(comparison, a, b)
            if isinstance(y, str):
                missing.append(LeftOut(self.label, a, b, name, y))
            else:
                differences.append(y)
        return differences, missing

    def _difference_on(self, comparison: Comparison, a: str, b: str) -> float | LeftOutReason:
        """Return the difference on a data set; that of the means if the pair was not compared."""
        scores = [comparison.score(model, self.label) for model in (a, b)]
        means = [score.mean for score in scores]
        if is_share(self.min_effect):
            means.append(comparison.score(self.baseline, self.label).mean)
        if None in means:
            return "no_value"
        pair = comparison.difference(a, b, self.label)
        others = [comparison.difference(model, comparison.baseline, self.label) for model in (a, b)]
        found = others if pair is None else [pair]
        if any(each is not None and each.verdict == "not_comparable" for each in found):
            return "not_comparable"
        complete = max(each.n_users for each in comparison.scores_of(self.label))
        if pair is None and all(score.n_users == complete for score in scores):
            return difference(or_nan(means[0]), or_nan(means[1]))
        return "not_compared" if pair is None or pair.difference is None else pair.difference

    def with_interval(self, pair: Pair, y: Sequence[float]) -> Pair:
        """Return the pair with the interval of its differences y at its level, and its verdict."""
        if pair.reason is not None:
            return pair
        scale = [*map(or_nan, self._baseline_means)] if is_share(self.min_effect) else None
        interval = mean_difference_interval(y, scale, level=pair.level)
        if interval is None:
            return replace(pair, reason="baseline_near_zero", verdict="undecided")
        low, high = interval
        if high - low <= _EQUAL * max(map(abs, y)):  # proportional to the baseline's means
            return replace(pair, reason="equal_differences")
        p = t_test_p(len(y), or_nan(pair.difference) / or_nan(pair.sd) * math.sqrt(len(y)))
        upwards = self._first.metric(self.label).higher_is_better
        verdict = interval_verdict(
            low, high, min_effect=self.absolute_effect, higher_is_better=upwards
        )
        return replace(pair, ci_low=low, ci_high=high, p=p, verdict=verdict)

    def _reason(self, y: Sequence[float]) -> NoInterval | None:
        """Return why the mean of these differences has no interval; None if it has one."""
        if len(y) < len(self.comparisons):
            return "left_out"
        if self.has_same_truth:
            return "same_truth"
        if len(y) < MIN_DATASETS:
            return "few_datasets"
        is_equal = max(y) - min(y) <= _EQUAL * max(map(abs, y))
        return "equal_differences" if is_equal else None


def pool_pairs(
    poolings: Sequence[PairPooling], models: Sequence[str], *, alpha: float
) -> tuple[list[Pair], list[LeftOut]]:
    """Return the pairs of all labels, in the order of these, and the data sets that do not count.

    There are two families, the pairs with the baseline and all others. In each, the m pairs that
    can have an interval have the level 1 - alpha / m, so one errs with at most `alpha`.
    """
    rows = [(pooling, *each) for pooling in poolings for each in pooling.pairs(models)]
    pairs = [pair for _, pair, _, _ in rows]
    for vs_baseline in (True, False):
        family = [i for i, pair in enumerate(pairs) if pair.vs_baseline == vs_baseline]
        level = 1 - alpha / max(sum(pairs[i].reason is None for i in family), 1)
        for i in family:
            pooling, pair, y, _ = rows[i]
            pairs[i] = pooling.with_interval(replace(pair, level=level), y)
        p = holm(np.array([or_nan(pairs[i].p) for i in family])).tolist()
        for i, each in zip(family, p, strict=True):
            pairs[i] = replace(pairs[i], p_adjusted=or_none(each))
    return pairs, [each for *_, missing in rows for each in missing]


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
        Pairs (better, worse) whose interval excludes 0.
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
    behind = tuple(m for m in ranks if len(best) == 1 and (best[0], m) in ahead)
    certainty: Certainty
    if has_same_truth:
        certainty = "same_truth"
    elif len(best) > 1:
        certainty = "tie"
    elif n_datasets < MIN_DATASETS:
        certainty = "too_few_datasets"
    else:
        certainty = "sure" if len(behind) == len(ranks) - 1 else "undecided"
    before = tuple(m for m in ranks if any((m, winner) in ahead for winner in best))
    return Answer(label, best, -first[0], len(winners), certainty, behind, before)
