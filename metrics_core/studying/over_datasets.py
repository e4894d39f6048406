"""Pairs of models over data sets: a random-effects mean, an exact test of signed ranks, Friedman's test of all."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Verdict, or_nan, or_none
from concord.metrics_core.statistics.adjust import holm
from concord.metrics_core.studying import friedman as tests
from concord.metrics_core.studying.parts import Cell, Omnibus, Pair, Shrunk
from concord.metrics_core.studying.random_effects import FEWEST_DATASETS, random_effects
from concord.metrics_core.studying.signed_rank import signed_rank_p
from concord.metrics_core.studying.standard_errors import standard_error

Comparisons = Mapping[str, Comparison]


class Measured(NamedTuple):
    """A difference on a data set, with its standard error."""

    dataset: str
    difference: float
    standard_error: float


def pairs_of(
    label: str, comparisons: Comparisons, models: Sequence[str], baseline: str, min_effect: float
) -> tuple[list[Pair], list[Shrunk]]:
    """Every pair of models, the baseline second, and the shrunk differences to the baseline."""
    first = next(iter(comparisons.values()))
    confidence, higher = first.confidence, first.metric(label).higher_is_better
    others = [model for model in models if model != baseline]
    asked = [*((m, baseline) for m in others), *combinations(others, 2)]
    pairs = [_pair(label, a, b, comparisons, baseline, confidence) for a, b in asked]
    pooled = holm(np.array([or_nan(pair.p) for pair in pairs])).tolist()
    ranked = holm(np.array([or_nan(pair.p_signed_rank) for pair in pairs])).tolist()
    done = [
        _judged(pair, p, p_ranks, 1 - confidence, min_effect, higher=higher)
        for pair, p, p_ranks in zip(pairs, pooled, ranked, strict=True)
    ]
    shrunk = [each for m in others for each in _shrunk(label, m, baseline, comparisons, confidence)]
    return done, shrunk


def measured(label: str, a: str, b: str, comparisons: Comparisons) -> list[Measured]:
    """The data sets on which the difference has an interval."""
    found = []
    for name, comparison in comparisons.items():
        pair = comparison.difference(a, b, label)
        error = None if pair is None else standard_error(pair, comparison.confidence)
        if pair is not None and pair.difference is not None and error is not None:
            found.append(Measured(name, pair.difference, error))
    return found


def omnibus(label: str, cells: Sequence[Cell], confidence: float) -> Omnibus:
    """Friedman's test over the data sets in which all models have a mean."""
    rows: dict[str, list[float | None]] = {}
    for cell in cells:
        rows.setdefault(cell.dataset, []).append(cell.rank)
    ranks = [[r for r in row if r is not None] for row in rows.values() if None not in row]
    models = len(next(iter(rows.values())))
    none = Omnibus(label, len(ranks), models, *[None] * 6, why_none="")
    if models < tests.FEWEST_MODELS:
        return replace(none, why_none=f"Friedman's test needs {tests.FEWEST_MODELS} models; there are {models}.")  # fmt: skip
    if len(ranks) < tests.FEWEST_DATASETS:
        return replace(none, why_none=f"Friedman's test needs {tests.FEWEST_DATASETS} data sets; there are {len(ranks)}.")  # fmt: skip
    found = tests.friedman(ranks)
    critical = tests.critical_difference(len(ranks), models, confidence=confidence)
    known = math.isfinite(found.f)
    return replace(
        none,
        statistic=found.chi2,
        f=found.f if known else None,
        df1=found.df1 if known else None,
        df2=found.df2 if known else None,
        p=found.p,
        critical_difference=critical,
    )


def _pair(
    label: str, a: str, b: str, comparisons: Comparisons, baseline: str, confidence: float
) -> Pair:
    points = measured(label, a, b, comparisons)
    found = _gaps(label, a, b, comparisons)
    p_ranks = signed_rank_p(found) if found is not None else None
    none = Pair(
        label, a, b, b == baseline, len(points), *[None] * 8,
        verdict="no_interval", p_signed_rank=p_ranks, p_signed_rank_adjusted=None, told_apart=False,
    )  # fmt: skip
    if len(points) < FEWEST_DATASETS:
        return none
    over = random_effects(
        [p.difference for p in points], [p.standard_error for p in points], confidence=confidence
    )
    return replace(
        none,
        difference=over.mu,
        ci_low=over.ci_low,
        ci_high=over.ci_high,
        tau=math.sqrt(over.tau2),
        predicted_low=over.predicted[0],
        predicted_high=over.predicted[1],
        p=over.p,
    )


def _gaps(label: str, a: str, b: str, comparisons: Comparisons) -> list[float] | None:
    """A - b on every data set; None if a mean is missing."""
    found = []
    for comparison in comparisons.values():
        one, other = (comparison.score(model, label).mean for model in (a, b))
        if one is None or other is None:
            return None
        found.append(one - other)
    return found


def _judged(
    pair: Pair, p: float, p_ranks: float, alpha: float, min_effect: float, *, higher: bool
) -> Pair:
    return replace(
        pair,
        p_adjusted=or_none(p),
        p_signed_rank_adjusted=or_none(p_ranks),
        told_apart=p_ranks < alpha,
        verdict=_verdict(pair, p, alpha, min_effect, higher=higher),
    )


def _verdict(pair: Pair, p: float, alpha: float, min_effect: float, *, higher: bool) -> Verdict:
    """As that of one comparison, of the mean over data sets."""
    if pair.difference is None or pair.ci_low is None or pair.ci_high is None:
        return "no_interval"
    sign = 1 if higher else -1
    low, high = sorted((sign * pair.ci_low, sign * pair.ci_high))
    if -min_effect <= low and high <= min_effect:
        return "equivalent"
    if not p < alpha:
        return "undecided"
    if low > min_effect:
        return "better"
    if high < -min_effect:
        return "worse"
    return "better_below_threshold" if sign * pair.difference > 0 else "worse_below_threshold"


def _shrunk(
    label: str, model: str, baseline: str, comparisons: Comparisons, confidence: float
) -> list[Shrunk]:
    points = measured(label, model, baseline, comparisons)
    if len(points) < FEWEST_DATASETS:
        return []
    found = random_effects(
        [p.difference for p in points], [p.standard_error for p in points], confidence=confidence
    )
    return [
        Shrunk(label, model, point.dataset, point.difference, point.standard_error, *drawn)
        for point, drawn in zip(points, found.shrunk, strict=True)
    ]
