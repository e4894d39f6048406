"""What touched users weigh in the numbers: means of models with and without them, and pairs that change places."""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.auditing.parts import Effect, Turn
from concord.metrics_core.comparison.parts import or_none
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.scoring.numerics.exact import exact_sum
from concord.metrics_core.scoring.numerics.student import half_width
from concord.metrics_core.statistics.paired import FEWEST_INFORMATIVE, Column, Paired, paired

Flags = NDArray[np.bool_]


def effects(
    check: str, label: str, values: Mapping[str, Floats], touched: Flags, confidence: float
) -> Iterator[Effect]:
    """Each model's mean with all users, and without those who are touched.

    mean_without - mean = (n_touched / n) · (mean of the others - mean of the touched). Touched users and others are
    different people, so the interval is that of two independent means (Welch 1947, Biometrika 34, 28-35), times
    n_touched / n, which is taken as given.

    Parameters
    ----------
    values  : model -> (users,) float64; NaN where a user does not count
    touched : (users,)
    """
    for model, column in values.items():
        counts = ~np.isnan(column)
        every, rest, others = column[counts], column[counts & ~touched], column[counts & touched]
        mean, without = _mean(every), _mean(rest)
        share = len(others) / len(every) if len(every) else math.nan
        shift = share * (without - _mean(others)) if len(others) else without - mean
        half = share * _half_width(rest, others, confidence)
        yield Effect(
            check=check,
            label=label,
            model=model,
            mean=or_none(mean),
            n_users=len(every),
            mean_without=or_none(without),
            n_without=len(rest),
            shift=or_none(shift),
            ci_low=or_none(shift - half),
            ci_high=or_none(shift + half),
        )


def turns(
    check: str, label: str, values: Mapping[str, Floats], touched: Flags, confidence: float
) -> Iterator[Turn]:
    """Pairs of models whose mean difference changes its sign, with its paired t interval on either set of users.

    None where under ten users are left.
    """
    rest = {model: np.where(touched, np.nan, column) for model, column in values.items()}
    every = {model: Column(column) for model, column in values.items()}
    without = {model: Column(column) for model, column in rest.items()}
    for a, b in combinations(values, 2):
        with_all = paired(every[a], every[b], confidence=confidence)
        with_rest = paired(without[a], without[b], confidence=confidence)
        if with_rest.n_users < FEWEST_INFORMATIVE or _sign(with_all) * _sign(with_rest) >= 0:
            continue
        yield Turn(
            check=check,
            label=label,
            a=a,
            b=b,
            difference=with_all.difference,
            ci_low=or_none(with_all.ci_low),
            ci_high=or_none(with_all.ci_high),
            difference_without=with_rest.difference,
            low_without=or_none(with_rest.ci_low),
            high_without=or_none(with_rest.ci_high),
            sure=_settled(with_all) and _settled(with_rest),
        )


def _sign(found: Paired) -> float:
    return math.copysign(1.0, found.difference) if found.difference else 0.0


def _settled(found: Paired) -> bool:
    return found.ci_low > 0 or found.ci_high < 0


def _mean(values: Floats) -> float:
    return exact_sum(values) / len(values) if len(values) else math.nan


def _half_width(a: Floats, b: Floats, confidence: float) -> float:
    """Half of Welch's interval of the difference of two means; NaN with too few of either."""
    if min(len(a), len(b)) < FEWEST_INFORMATIVE:
        return math.nan
    of_a, of_b = _squared_error(a), _squared_error(b)
    both = of_a + of_b
    if both == 0:
        return 0.0
    freedom = both * both / (of_a * of_a / (len(a) - 1) + of_b * of_b / (len(b) - 1))
    return half_width(freedom + 1, confidence) * math.sqrt(both)


def _squared_error(values: Floats) -> float:
    """s² / n."""
    if values.min() == values.max():
        return 0.0  # the rounding of the mean must not look like a spread
    deviation = values - _mean(values)
    return exact_sum(deviation * deviation) / (len(values) - 1) / len(values)
