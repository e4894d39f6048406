"""Confidence intervals of a mean over users, also where users are few or all have the same value; Student's t."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.elementary import exp2, log2
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.stats.exact_sums import exact_parts, exact_sum


def half_width(n: float, confidence: float) -> float:
    """Half the width of a two-sided interval on n - 1 degrees of freedom, in standard errors."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + confidence) / 2))


def two_sided_p(n: float, t: float) -> float:
    """The probability of a t at least as far from 0, on n - 1 degrees of freedom."""
    from scipy.special import stdtr

    return 2 * float(stdtr(n - 1, -abs(t)))


FEW = 50  # users; with fewer, the interval of a bounded metric lies inside its bounds
NO_INTERVAL = (math.nan, math.nan)


@dataclass(frozen=True)
class Spread:
    """What an interval needs to know of the values beside their mean; partitions add up.

    n                 : how many values
    n_low, n_high     : of these, how many lie on the lower and on the upper bound of the metric
    lowest, highest   : the smallest and the largest value; inf and -inf where there is none
    """

    n: int
    n_low: int
    n_high: int
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Floats, bounds: Bounds) -> "Spread":
        """Return that of (users,) values without NaN."""
        low, high = (int(np.count_nonzero(values == bound)) for bound in bounds)
        ends = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
        return cls(len(values), low, high, *ends)

    def __add__(self, other: "Spread") -> "Spread":
        """Return that of both partitions."""
        return Spread(
            self.n + other.n,
            self.n_low + other.n_low,
            self.n_high + other.n_high,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )


def mean_interval(values: Floats, confidence: float, bounds: Bounds = UNBOUNDED) -> tuple[float, float]:  # fmt: skip
    """Return the confidence interval of the mean of (users,) values; see `interval_of_totals`."""
    known = values[~np.isnan(values)]
    mean = exact_sum(known) / len(known) if len(known) else math.nan
    spread = Spread.of(known, bounds)
    return interval_of_totals(spread, mean, squared(known, mean), confidence, bounds)


def interval_of_totals(
    spread: Spread, mean: float, squares: Sequence[float], confidence: float, bounds: Bounds
) -> tuple[float, float]:
    """Return the confidence interval of a mean.

    - values that are all 0 or 1 (the bounds of the metric): Clopper & Pearson (1934, Biometrika 26, 404-413);
    - values that are all equal: [L v + (1 - L) low, L v + (1 - L) high], where L = (α / 2)^(1 / n) is the lower limit by
      Clopper and Pearson of the share of users who have this value v, and the others may have any value;
    - other bounded values of fewer than 50 users: mean ± t · s / √n of the values and one value more at each bound, cut
      at the bounds;
    - else mean ± t · s / √n on n - 1 degrees of freedom.

    Parameters
    ----------
    spread  : the number of the values, and their extremes
    squares : numbers that add up to the squared deviations from the mean
    bounds  : of the metric; infinite where it has none. Values outside them count as unbounded.

    Returns
    -------
    (low, high), NaN where there is no interval: no value, or values without bounds that do not vary.
    """
    n, (low, high) = spread.n, bounds
    if not n or math.isnan(mean):
        return NO_INTERVAL
    bounded = math.isfinite(high - low) and low <= spread.lowest and spread.highest <= high
    if bounded and spread.n_low + spread.n_high == n:
        return _clopper_pearson(spread.n_high, n, confidence, bounds)
    if spread.lowest == spread.highest:
        return (
            equal_values_interval(spread.lowest, n, confidence, bounds) if bounded else NO_INTERVAL
        )
    if bounded and n < FEW:
        ends = _with_pseudo_values(n, mean, math.fsum(squares), confidence, bounds)
        return max(ends[0], low), min(ends[1], high)
    half = half_width(n, confidence) * math.sqrt(math.fsum(squares) / (n - 1) / n)
    return mean - half, mean + half


def squared(values: Floats, mean: float) -> list[float]:
    """Return numbers that add up to the exact sum of (value - mean)², each rounded once."""
    deviation = values - mean
    return exact_parts(deviation * deviation)


def equal_values_interval(value: float, n: int, confidence: float, bounds: Bounds) -> tuple[float, float]:  # fmt: skip
    """Return the interval of the mean of n equal values of a bounded metric; see `interval_of_totals`."""
    share = float(exp2(log2((1 - confidence) / 2) / n))
    low, high = (share * value + (1 - share) * bound for bound in bounds)
    return low, high


def _clopper_pearson(hits: int, n: int, confidence: float, bounds: Bounds) -> tuple[float, float]:
    from scipy.special import betaincinv

    tail, (low, high) = (1 - confidence) / 2, bounds
    least = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    most = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low + (high - low) * least, low + (high - low) * most


def _with_pseudo_values(
    n: int, mean: float, squares: float, confidence: float, bounds: Bounds
) -> tuple[float, float]:
    low, high = bounds
    wider = n + 2
    centre = (n * mean + low + high) / wider
    total = squares + n * (mean - centre) ** 2 + (low - centre) ** 2 + (high - centre) ** 2
    half = half_width(wider, confidence) * math.sqrt(total / (wider - 1) / wider)
    return centre - half, centre + half
