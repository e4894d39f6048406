"""What touched users contribute: means of models with and without them, and pairs of models that change places."""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.comparison.parts import or_none
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.results.audit import MIN_USERS, LeaveOutEffect, Reversal
from concord.metrics_core.scoring.numerics.exact import exact_sum
from concord.metrics_core.scoring.numerics.student import half_width
from concord.metrics_core.statistics.paired import Column, Paired, paired

Flags = NDArray[np.bool_]


def leave_out_effects(
    check: str, label: str, values: Mapping[str, Floats], touched: Flags, confidence: float
) -> Iterator[LeaveOutEffect]:
    """Yield each model's mean with all users, and without those who are touched.

    mean_without - mean = (n_touched / n) · (mean of the others - mean of the touched). Touched users and others are
    different people, so the interval is that of two independent means (Welch 1947, Biometrika 34, 28-35), times
    n_touched / n, which is taken as given.

    Parameters
    ----------
    values : dict
        Maps each model to (users,) float64; NaN if a user does not count.
    touched : (users,) bool
    """
    for model, column in values.items():
        counts = ~np.isnan(column)
        every, others, leaving = column[counts], column[counts & ~touched], column[counts & touched]
        mean, without = _mean(every), _mean(others)
        share = len(leaving) / len(every) if len(every) else math.nan
        shift = share * (without - _mean(leaving)) if len(leaving) else without - mean
        half = share * _half_width(others, leaving, confidence)
        yield LeaveOutEffect(
            check=check,
            label=label,
            model=model,
            mean=or_none(mean),
            n_users=len(every),
            mean_without=or_none(without),
            n_without=len(others),
            shift=or_none(shift),
            ci_low=or_none(shift - half),
            ci_high=or_none(shift + half),
        )


def find_reversals(
    check: str, label: str, values: Mapping[str, Floats], touched: Flags, confidence: float
) -> Iterator[Reversal]:
    """Yield pairs of models whose mean difference changes its sign, with its paired t interval on either set of users.

    There are none if fewer than `MIN_USERS` users are left.
    """
    others = {model: np.where(touched, np.nan, column) for model, column in values.items()}
    every = {model: Column(column) for model, column in values.items()}
    without = {model: Column(column) for model, column in others.items()}
    for a, b in combinations(values, 2):
        with_all = paired(every[a], every[b], confidence=confidence)
        with_others = paired(without[a], without[b], confidence=confidence)
        if with_others.n_users < MIN_USERS or _sign(with_all) * _sign(with_others) >= 0:
            continue
        yield Reversal(
            check=check,
            label=label,
            a=a,
            b=b,
            difference=with_all.difference,
            ci_low=or_none(with_all.ci_low),
            ci_high=or_none(with_all.ci_high),
            difference_without=with_others.difference,
            low_without=or_none(with_others.ci_low),
            high_without=or_none(with_others.ci_high),
            sure=_excludes_zero(with_all) and _excludes_zero(with_others),
        )


def _sign(pair: Paired) -> float:
    return math.copysign(1.0, pair.difference) if pair.difference else 0.0


def _excludes_zero(pair: Paired) -> bool:
    return pair.ci_low > 0 or pair.ci_high < 0


def _mean(values: Floats) -> float:
    return exact_sum(values) / len(values) if len(values) else math.nan


def _half_width(a: Floats, b: Floats, confidence: float) -> float:
    """Return half of Welch's interval of the difference of two means; NaN with too few users of either."""
    if min(len(a), len(b)) < MIN_USERS:
        return math.nan
    error_a, error_b = _squared_error(a), _squared_error(b)
    both = error_a + error_b
    if both == 0:
        return 0.0
    freedom = both * both / (error_a * error_a / (len(a) - 1) + error_b * error_b / (len(b) - 1))
    return half_width(freedom + 1, confidence) * math.sqrt(both)


def _squared_error(values: Floats) -> float:
    """Return s² / n."""
    if values.min() == values.max():
        return 0.0  # the rounding of the mean must not look like a spread
    deviation = values - _mean(values)
    return exact_sum(deviation * deviation) / (len(values) - 1) / len(values)
