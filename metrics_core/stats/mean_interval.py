"""Confidence intervals of a mean over users: Student's t, Clopper-Pearson, small samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.elementary import exp2, log2
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.stats.floating_point import exact_mean, exact_parts


def t_quantile(n: float, confidence: float) -> float:
    """Return the (1 + confidence) / 2 quantile of Student's t with n - 1 degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + confidence) / 2))


def t_test_p(n: float, t: float) -> float:
    """Return P(|T| >= |t|) of Student's t with n - 1 degrees of freedom."""
    from scipy.special import stdtr

    return 2 * float(stdtr(n - 1, -abs(t)))


SMALL_SAMPLE = 50  # users; with fewer, the interval of a bounded metric stays inside its bounds
NO_INTERVAL = (math.nan, math.nan)


@dataclass(frozen=True)
class ValueSpread:
    """Count and extremes of values; those of several blocks can be added.

    Attributes
    ----------
    n : int
        Number of values.
    n_low, n_high : int
        Number of values at the lower and at the upper bound of the metric.
    lowest, highest : float
        Smallest and largest value; inf and -inf without values.
    """

    n: int
    n_low: int
    n_high: int
    lowest: float
    highest: float

    @classmethod
    def from_values(cls, values: Floats, bounds: Bounds) -> "ValueSpread":
        """Return the spread of (users,) values without NaN."""
        low, high = (int(np.count_nonzero(values == bound)) for bound in bounds)
        ends = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
        return cls(len(values), low, high, *ends)

    def __add__(self, other: "ValueSpread") -> "ValueSpread":
        """Return the spread of both blocks."""
        return ValueSpread(
            self.n + other.n,
            self.n_low + other.n_low,
            self.n_high + other.n_high,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )


def mean_interval(
    values: Floats, confidence: float, bounds: Bounds = UNBOUNDED
) -> tuple[float, float]:
    """Return the confidence interval of the mean of (users,) values that are not NaN.

    See `interval_from_sums`.
    """
    defined = values[~np.isnan(values)]
    mean = exact_mean(defined)
    spread = ValueSpread.from_values(defined, bounds)
    return interval_from_sums(spread, mean, squared_deviations(defined, mean), confidence, bounds)


def interval_from_sums(
    spread: ValueSpread, mean: float, squares: Sequence[float], confidence: float, bounds: Bounds
) -> tuple[float, float]:
    """Return the confidence interval of a mean.

    - Values that all are bounds of the metric (0 or 1): `clopper_pearson`.
    - Values that all equal v: [L v + (1 - L) low, L v + (1 - L) high], where L = (α / 2)^(1 / n)
      is Clopper and Pearson's lower limit of the share of users with this value.
    - Other bounded values of fewer than 50 users: mean ± t · s / √n of the values and of one more
      value at each bound, clipped to the bounds.
    - Otherwise: mean ± t · s / √n with n - 1 degrees of freedom.

    Parameters
    ----------
    spread : ValueSpread
        Count and extremes of the values.
    mean : float
        Mean of the values.
    squares : sequence of float
        Numbers whose sum is the sum of squared deviations from the mean.
    confidence : float
        Level of the interval.
    bounds : (float, float)
        Bounds of the metric; infinite if it has none. Values outside count as unbounded.

    Returns
    -------
    (float, float)
        Ends of the interval; NaN without values, and for unbounded values that do not vary.
    """
    n, (low, high) = spread.n, bounds
    if not n or math.isnan(mean):
        return NO_INTERVAL
    bounded = math.isfinite(high - low) and low <= spread.lowest and spread.highest <= high
    if bounded and spread.n_low + spread.n_high == n:
        ends = clopper_pearson(spread.n_high, n, confidence)
        return low + (high - low) * ends[0], low + (high - low) * ends[1]
    if spread.lowest == spread.highest:
        if not bounded:
            return NO_INTERVAL
        return equal_values_interval(spread.lowest, n, confidence, bounds)
    if bounded and n < SMALL_SAMPLE:
        centre, total, variance = pseudo_spread(n, mean, math.fsum(squares), bounds)
        half = t_quantile(total, confidence) * math.sqrt(variance)
        return max(centre - half, low), min(centre + half, high)
    half = t_quantile(n, confidence) * math.sqrt(math.fsum(squares) / (n - 1) / n)
    return mean - half, mean + half


def squared_deviations(values: Floats, mean: float) -> list[float]:
    """Return a few numbers that have exactly the sum of the rounded (value - mean)²."""
    deviation = values - mean
    return exact_parts(deviation * deviation)


def equal_values_interval(
    value: float, n: int, confidence: float, bounds: Bounds
) -> tuple[float, float]:
    """Return the interval of the mean of n equal bounded values; see `interval_from_sums`."""
    share = float(exp2(log2((1 - confidence) / 2) / n))
    low, high = (share * value + (1 - share) * bound for bound in bounds)
    return low, high


def clopper_pearson(hits: int, n: int, confidence: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of the proportion hits / n.

    For X ~ B(n, p), `low` is the p with P(X >= hits) = (1 - confidence) / 2, and `high` is that
    with P(X <= hits) = (1 - confidence) / 2. The coverage is at least nominal for every n. For
    hits = n the interval is ((1 - confidence) / 2)^(1/n) to 1.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4), 404-413.  doi:10.1093/biomet/26.4.404
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low, high


def pseudo_spread(n: int, mean: float, squares: float, bounds: Bounds) -> tuple[float, int, float]:
    """Return mean, number and variance of the mean of n values and one more at each bound."""
    low, high = bounds
    total = n + 2
    centre = (n * mean + low + high) / total
    squares = squares + n * (mean - centre) ** 2 + (low - centre) ** 2 + (high - centre) ** 2
    return centre, total, squares / (total - 1) / total
