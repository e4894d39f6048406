"""Statistics of comparisons, written from docs/concepts/statistics alone to check the product.

It is plain and slow, and imports nothing of the product. A user without a value has NaN.
Intervals take the level as an argument, because the level of a family rests on random draws.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Vector = NDArray[np.float64]
Interval = tuple[float, float] | None

FEWEST_FOR_T = 30
MOST_ENUMERATED = 16
FEWEST_OF_BASELINE = 10  # of fewer users all must have its value
POWER = 0.8


@dataclass(frozen=True)
class Pair:
    """Two models on one metric: the differences, and the baseline's values of the same users."""

    d: Vector
    base: Vector  # NaN for a user without a value with the baseline
    users: NDArray[np.bool_]  # which of all users these are
    width: float = math.inf  # largest difference that the metric allows

    @property
    def n(self) -> int:
        return len(self.d)

    @property
    def n_differing(self) -> int:
        return int((self.d != 0).sum())

    @property
    def is_constant(self) -> bool:
        """True if all users differ by the same d, up to rounding."""
        return bool(self.n and self.d[0] != 0 and np.ptp(self.d) <= 1e-12 * abs(self.d[0]))

    @property
    def has_t_interval(self) -> bool:
        return self.n_differing >= FEWEST_FOR_T and not self.is_constant

    @property
    def is_enumerated(self) -> bool:
        """True if no random draw enters its sign flips."""
        return self.n_differing <= MOST_ENUMERATED and self.n_differing == self.n

    @property
    def standard_error(self) -> float:
        return 0.0 if self.is_constant else float(np.std(self.d, ddof=1) / math.sqrt(self.n))

    @property
    def base_mean(self) -> float:
        """Baseline's mean over these users."""
        return float(np.nanmean(self.base))


def pair(
    a: Vector, b: Vector, base: Vector, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Pair:
    """Return the pair over the users with both values; tiny differences are 0."""
    users = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[users], b[users]
    width = bounds[1] - bounds[0]
    range_width = width if math.isfinite(width) else 0.0
    tolerance = np.maximum(1e-9 * np.maximum(abs(a), abs(b)), 1e-12 * range_width)
    d = np.where(abs(a - b) > tolerance, a - b, 0.0)
    return Pair(d, base[users], users, width)


# Tests


def fewest_users(alpha: float) -> int:
    """Return how many users must differ so that p = 2^(1 - n) can reach alpha."""
    return next(n for n in itertools.count(1) if 2.0 ** (1 - n) <= alpha)


def p_value(one: Pair) -> float:
    """Return the two-sided p-value; sign flips by all subsets of the differing users."""
    if one.is_constant:
        return 2.0 ** (1 - one.n)
    if one.has_t_interval:
        return float(2 * stats.t.sf(abs(one.d.mean()) / one.standard_error, one.n - 1))
    sums = subsets(one.n_differing) @ one.d[one.d != 0]
    zero = 1e-12 * abs(one.d).sum()  # users without a difference change no sign
    return float(min(1, 2 * min((sums <= zero).mean(), (sums >= -zero).mean())))


@cache
def subsets(n: int) -> NDArray[np.float64]:
    """Return one row per subset of n users; the first one is empty."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=n)))


def holm(p: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Return the adjusted p-values of Benjamini and Hochberg."""
    order = sorted(range(len(p)), key=lambda i: p[i], reverse=True)
    adjusted, smallest = [0.0] * len(p), 1.0
    for rank, i in zip(range(len(p), 0, -1), order, strict=True):
        smallest = min(smallest, len(p) / rank * p[i])
        adjusted[i] = smallest
    return adjusted


def false_coverage_level(p: Sequence[float], alpha: float) -> float:
    """Return the level 1 - R alpha / m of m tests with R rejections."""
    rejections = sum(q <= alpha for q in benjamini_hochberg(p))
    return 1 - max(rejections, 1) * alpha / len(p)


# Intervals


def interval(one: Pair, level: float, *, share: bool = False) -> Interval:
    """Return the interval of the difference; with `share`, of the ratio times the mean."""
    alpha = 1 - level
    if fewest_users(alpha) > one.n_differing:
        return None
    if share and np.count_nonzero(~np.isnan(one.base)) < min(one.n, FEWEST_OF_BASELINE):
        return None
    if share and t_quantile(one, level) * base_error(one) >= abs(one.base_mean):
        return None
    ends: Interval
    if one.is_constant:
        ends = constant_interval(one, level, share=share)
    elif one.has_t_interval:
        ends = fieller_interval(one, level) if share else t_interval(one, level)
    else:
        ends = sign_flip_interval(one, alpha, share=share)
    if ends is None:
        return None
    return max(ends[0], -one.width), min(ends[1], one.width)


def t_quantile(one: Pair, level: float) -> float:
    return float(stats.t.ppf(1 - (1 - level) / 2, one.n - 1))


def t_interval(one: Pair, level: float) -> tuple[float, float]:
    half = t_quantile(one, level) * one.standard_error
    return float(one.d.mean() - half), float(one.d.mean() + half)


def constant_interval(one: Pair, level: float, *, share: bool) -> tuple[float, float]:
    """Return the interval of equal differences; of a ratio, over the ends of the mean's."""
    d = float(one.d[0])
    inner = (2 * ((1 - level) / 2) ** (1 / one.n) - 1) * d
    if share:
        error = t_quantile(one, level) * base_error(one) / abs(one.base_mean)
        inner, d = inner / (1 + error), d / (1 - error)
    return min(inner, d), max(inner, d)


def base_error(one: Pair) -> float:
    """Return the standard error of the baseline's mean."""
    values = one.base[~np.isnan(one.base)]
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def ratio_parts(one: Pair, level: float) -> tuple[float, float, float]:
    """Return A, B and C of the quadratic equation; A <= 0 if the baseline's mean may be 0."""
    d, b, t2 = one.d.mean(), abs(one.base_mean), t_quantile(one, level) ** 2
    errors = one.d - d, math.copysign(1, one.base_mean) * (np.nan_to_num(one.base - one.base_mean))
    squares = (errors[0] @ errors[0]) * (errors[1] @ errors[1])
    correlation = errors[0] @ errors[1] / math.sqrt(squares) if squares > 0 else 0.0
    covariance = correlation * one.standard_error * base_error(one)
    return (
        float(b**2 - t2 * base_error(one) ** 2),
        float(d * b - t2 * covariance),
        float(d**2 - t2 * one.standard_error**2),
    )


def fieller_interval(one: Pair, level: float) -> tuple[float, float]:
    a, b, c = ratio_parts(one, level)
    root, mean = math.sqrt(b**2 - a * c), abs(one.base_mean)
    return (b - root) / a * mean, (b + root) / a * mean


def sign_flip_interval(one: Pair, alpha: float, *, share: bool) -> Interval:
    """Return the interval by all subsets, if every user differs and they are few."""
    assert one.is_enumerated
    members = subsets(one.n)
    means = subset_means(one, members, share=share)
    low, high = (
        np.sort(np.where(np.isnan(means), empty, means)) for empty in (-math.inf, math.inf)
    )
    k = math.floor(len(members) * alpha / 2 + 1e-9)
    ends = float(low[k]), float(high[len(members) - 1 - k])
    return ends if math.isfinite(ends[1] - ends[0]) else None


def subset_means(one: Pair, members: NDArray[np.float64], *, share: bool) -> Vector:
    """Return the mean difference of each subset, with `share` its ratio times the mean.

    NaN for the empty subset. If a subset's sum of the baseline is not positive, its ratio is
    infinite, with the sign of its difference.
    """
    base = np.nan_to_num(one.base, nan=one.base_mean)
    weights = base / one.base_mean if share else np.ones(one.n)
    sums, sizes = (members @ np.column_stack((one.d, weights))).T
    sums[abs(sums) <= 1e-9 * abs(one.d).sum()] = 0.0
    has_size = sizes > 1e-12 * one.n
    means = np.where(sums == 0, math.nan, np.copysign(math.inf, sums))
    means[has_size] = sums[has_size] / sizes[has_size]
    return np.asarray(means)


def tails(one: Pair, m: float, *, share: bool, draws: int, seed: int) -> tuple[float, float]:
    """Return the shares of drawn subsets with a mean below m, and at most m.

    Means within 1e-9 of m equal it; the empty subset is below.
    """
    bits = np.random.default_rng(seed).integers(0, 2, (draws, one.n), dtype=np.uint8)
    members = bits.astype(np.float64)
    means = subset_means(one, members, share=share)
    means[np.isnan(means)] = -math.inf
    slack = 1e-9 * abs(one.d).max()
    return float((means < m - slack).mean()), float((means <= m + slack).mean())


def relative(difference: float, b: Vector, level: float, *others: Vector) -> float | None:
    """Return the share of b's mean, if this and `others` are positive with all their t interval."""
    for values in (b, *others):
        t = stats.t.ppf(1 - (1 - level) / 2, len(values) - 1)
        if values.mean() <= t * values.std(ddof=1) / math.sqrt(len(values)):
            return None
    return float(difference / b.mean())


def verdict(
    low: float | None, high: float | None, min_effect: float, *, higher_is_better: bool = True
) -> str:
    """Return what the interval says about 0 and the minimum relevant difference."""
    if low is None or high is None:
        return "undecided"
    if not higher_is_better:
        low, high = -high, -low
    if low > min_effect:
        return "better"
    if high < -min_effect:
        return "worse"
    if -min_effect <= low and high <= min_effect:
        return "equivalent"
    if low > 0:
        return "better_below_threshold"
    return "worse_below_threshold" if high < 0 else "undecided"


def detectable(one: Pair, level: float) -> float:
    """Return the true difference whose interval excludes 0 on its side with a power of 80 %."""
    t, df = t_quantile(one, level), one.n - 1

    def missing_power(shift: float) -> float:
        return float(stats.nct.sf(t, df, shift)) - POWER

    shift = optimize.brentq(missing_power, 0, t + 10, xtol=1e-13, rtol=1e-13)
    return float(shift) * one.standard_error


# Families


def correlations(pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """Return the correlations of mean differences over all users; a missing user has 0."""
    deviations = np.zeros((len(pairs), len(pairs[0].users)))
    for row, one in zip(deviations, pairs, strict=True):
        row[one.users] = one.d - one.d.mean()
    squares = (deviations**2).sum(axis=1)
    return np.asarray(deviations @ deviations.T / np.sqrt(np.outer(squares, squares)))


def joint_quantile(correlation: NDArray[np.float64], alpha: float, draws: int, seed: int) -> float:
    """Return the 1 - alpha quantile of max |Z_j| by simulation."""
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0))
    normal = np.random.default_rng(seed).normal(size=(draws, len(correlation)))
    return float(np.quantile(abs(normal @ root.T).max(axis=1), 1 - alpha))


def joint_coverage(correlation: NDArray[np.float64], c: float) -> float:
    """Return P(max |Z_j| <= c) by numerical integration; for few comparisons."""
    size = len(correlation)
    normal = stats.multivariate_normal(np.zeros(size), correlation, allow_singular=True)
    return float(normal.cdf(np.full(size, c), lower_limit=np.full(size, -c)))


def is_counted(one: Pair, alpha: float) -> bool:
    """True if the comparison is one of the m that share the level of a family."""
    return one.n_differing >= fewest_users(alpha)


# The best of many


def shrunken(d: Vector, covariance: NDArray[np.float64]) -> Vector:
    """Return the estimates that allow for the choice of the best of K models."""
    one, identity = np.ones(len(d)), np.eye(len(d))

    def centre(tau2: float) -> tuple[float, Vector]:
        weights = np.linalg.inv(covariance + tau2 * identity)
        mu = float(one @ weights @ d / (one @ weights @ one))
        return mu, weights @ (d - mu)

    def excess(tau2: float) -> float:
        mu, scaled = centre(tau2)
        return float((d - mu) @ scaled) - (len(d) - 1)

    tau2 = 0.0
    if excess(0.0) > 0:
        upper = 1.0
        while excess(upper) > 0:
            upper *= 2
        tau2 = float(optimize.brentq(excess, 0.0, upper, xtol=1e-18, rtol=1e-14))
    mu, scaled = centre(tau2)
    return np.asarray(mu + tau2 * scaled)
