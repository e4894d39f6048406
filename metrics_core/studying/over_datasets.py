"""Pairs of models over data sets: a random-effects mean, an exact test of signed ranks, Friedman's test of all."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Verdict, or_nan, or_none
from concord.metrics_core.statistics.adjust import holm
from concord.metrics_core.statistics.standard_error import standard_error
from concord.metrics_core.statistics.verdict import of_interval
from concord.metrics_core.studying import friedman as tests
from concord.metrics_core.studying.parts import Cell, Omnibus, Pair, Shrunk
from concord.metrics_core.studying.random_effects import (
    FEWEST_DATASETS,
    RandomEffects,
    random_effects,
)
from concord.metrics_core.studying.signed_rank import signed_rank_p

Comparisons = Mapping[str, Comparison]
_DECIMALS = 12  # of differences that are ranked


class Measured(NamedTuple):
    """A difference on a data set, with its standard error."""

    dataset: str
    difference: float
    standard_error: float


@dataclass(frozen=True)
class _Found:
    """A pair, before what its family of tests says of it; `over` where enough data sets have an interval."""

    pair: Pair
    points: list[Measured]
    over: RandomEffects | None


def pairs_of(
    label: str,
    comparisons: Comparisons,
    models: Sequence[str],
    *,
    baseline: str,
    min_effect: float,
) -> tuple[list[Pair], list[Shrunk]]:
    """Every pair of models, the baseline second, and the shrunk differences to the baseline."""
    first = next(iter(comparisons.values()))
    alpha = 1 - first.confidence
    sign = 1 if first.metric(label).higher_is_better else -1
    others = [model for model in models if model != baseline]
    asked = [*((m, baseline) for m in others), *combinations(others, 2)]
    found = [_found(Pair(label, a, b, b == baseline, 0), comparisons) for a, b in asked]
    pooled = holm(np.array([or_nan(each.pair.p) for each in found])).tolist()
    ranked = holm(np.array([or_nan(each.pair.p_signed_rank) for each in found])).tolist()
    pairs = [
        replace(
            each.pair,
            p_adjusted=or_none(p),
            p_signed_rank_adjusted=or_none(p_ranks),
            told_apart=p_ranks < alpha,
            verdict=_verdict(each.pair, sign, min_effect, significant=p < alpha),
        )
        for each, p, p_ranks in zip(found, pooled, ranked, strict=True)
    ]
    return pairs, [row for each in found if each.pair.vs_baseline for row in _shrunk(each)]


def ahead(pairs: Sequence[Pair], *, higher_is_better: bool, alpha: float) -> set[tuple[str, str]]:
    """(better, worse) of each pair whose mean over data sets differs from 0, by too little to matter or not."""
    sign = 1 if higher_is_better else -1
    return {
        (pair.a, pair.b) if sign * or_nan(pair.difference) > 0 else (pair.b, pair.a)
        for pair in pairs
        if or_nan(pair.p_adjusted) < alpha
    }


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
    none = Omnibus(label, len(ranks), models)
    if models < tests.FEWEST_MODELS:
        why = f"Friedman's test needs {tests.FEWEST_MODELS} models; there are {models}."
        return replace(none, why_none=why)
    if len(ranks) < tests.FEWEST_DATASETS:
        why = f"Friedman's test needs {tests.FEWEST_DATASETS} data sets; there are {len(ranks)}."
        return replace(none, why_none=why)
    found = tests.friedman(ranks)
    known = math.isfinite(found.f)
    return replace(
        none,
        statistic=found.chi2,
        f=found.f if known else None,
        df1=found.df1 if known else None,
        df2=found.df2 if known else None,
        p=found.p,
        critical_difference=tests.critical_difference(len(ranks), models, confidence=confidence),
    )


def _found(pair: Pair, comparisons: Comparisons) -> _Found:
    points = measured(pair.label, pair.a, pair.b, comparisons)
    gaps = _gaps(pair, comparisons)
    pair = replace(
        pair,
        n_datasets=len(points),
        p_signed_rank=None if gaps is None else signed_rank_p(gaps),
    )
    if len(points) < FEWEST_DATASETS:
        return _Found(pair, points, None)
    confidence = next(iter(comparisons.values())).confidence
    over = random_effects(
        [p.difference for p in points], [p.standard_error for p in points], confidence=confidence
    )
    known = replace(
        pair,
        difference=over.mu,
        ci_low=over.ci_low,
        ci_high=over.ci_high,
        tau=math.sqrt(over.tau2),
        predicted_low=over.predicted[0],
        predicted_high=over.predicted[1],
        p=over.p,
    )
    return _Found(known, points, over)


def _gaps(pair: Pair, comparisons: Comparisons) -> list[float] | None:
    """A - b on every data set, so that rounding parts no equal ones; None if a mean is missing."""
    found = []
    for comparison in comparisons.values():
        one, other = (comparison.score(model, pair.label).mean for model in (pair.a, pair.b))
        if one is None or other is None:
            return None
        found.append(round(one - other, _DECIMALS))
    return found


def _verdict(pair: Pair, sign: int, min_effect: float, *, significant: bool) -> Verdict:
    """As that of one comparison, of the mean over data sets."""
    if pair.difference is None or pair.ci_low is None or pair.ci_high is None:
        return "no_interval"
    low, high = sorted((sign * pair.ci_low, sign * pair.ci_high))
    gain = sign * pair.difference
    return of_interval(gain, low, high, significant=significant, min_effect=min_effect)


def _shrunk(found: _Found) -> list[Shrunk]:
    if found.over is None:
        return []
    return [
        Shrunk(
            found.pair.label,
            found.pair.a,
            point.dataset,
            point.difference,
            point.standard_error,
            *drawn,
        )
        for point, drawn in zip(found.points, found.over.shrunk, strict=True)
    ]
