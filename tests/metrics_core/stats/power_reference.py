"""Reference for the power of a claim: Simpson's rule over the density of sample variances."""

import math
from collections.abc import Callable, Iterator

from scipy.stats import t as student

POINTS = 241  # of Simpson's rule


def power(
    low: Callable[[float, float], float],
    high: Callable[[float, float], float],
    *,
    effect: float,
    error: float,
    users: int,
    seeds: int = 0,
) -> float:
    """Return P(low < D < high), D normal with mean `effect`; the ends depend on s / sigma."""
    total = 0.0
    for u, p in _relative_deviations(users - 1):
        for r, q in _relative_deviations(seeds - 1) if seeds else [(1.0, 1.0)]:
            below = _normal((low(u, r) - effect) / error)
            total += p * q * max(_normal((high(u, r) - effect) / error) - below, 0.0)
    return total


def critical_t(count: int, alpha: float) -> float:
    """Return the two-sided critical value of t(count - 1)."""
    return float(student.ppf(1 - alpha / 2, count - 1))


def _normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def _relative_deviations(df: int) -> Iterator[tuple[float, float]]:
    """Yield s / sigma and its weight, where df · s² / sigma² is chi-squared."""
    radius = 9 / math.sqrt(2 * df)
    low, high = max(1 - radius, 1e-9), 1 + radius
    step = (high - low) / (POINTS - 1)
    for point in range(POINTS):
        s = low + point * step
        weight = 1 if point in {0, POINTS - 1} else 4 if point % 2 else 2
        log = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
        log += (df - 1) * math.log(s) - df * s * s / 2
        yield s, weight * step / 3 * math.exp(log)
