"""The chance of a claim once more, in plain Python: Simpson's rule over the density of the spreads that may be found."""

import math
from collections.abc import Callable, Iterator

from scipy.stats import t as student

POINTS = 241  # of Simpson's rule


def chance(
    low: Callable[[float, float], float],
    high: Callable[[float, float], float],
    *,
    effect: float,
    error: float,
    users: int,
    seeds: int = 0,
) -> float:
    """P(low < D < high), D normal around `effect`; the ends depend on the relative spreads that are found."""
    total = 0.0
    for u, p in _spreads(users - 1):
        for r, q in _spreads(seeds - 1) if seeds else [(1.0, 1.0)]:
            below = _normal((low(u, r) - effect) / error)
            total += p * q * max(_normal((high(u, r) - effect) / error) - below, 0.0)
    return total


def reach(count: int, alpha: float) -> float:
    """t(count - 1) of a two-sided interval."""
    return float(student.ppf(1 - alpha / 2, count - 1))


def _normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def _spreads(df: int) -> Iterator[tuple[float, float]]:
    """(s / sigma, its weight), where df · s² / sigma² is chi-squared."""
    around = 9 / math.sqrt(2 * df)
    low, high = max(1 - around, 1e-9), 1 + around
    step = (high - low) / (POINTS - 1)
    for at in range(POINTS):
        s = low + at * step
        weight = 1 if at in {0, POINTS - 1} else 4 if at % 2 else 2
        log = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
        log += (df - 1) * math.log(s) - df * s * s / 2
        yield s, weight * step / 3 * math.exp(log)
