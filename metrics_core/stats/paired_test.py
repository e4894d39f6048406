"""Paired tests of two models on the same users: mean difference, interval, p-value."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.results.limits import MIN_T_TEST_USERS, min_differing_for
from concord.metrics_core.stats.clusters import Clusters, RatioEstimate
from concord.metrics_core.stats.floating_point import (
    BLOCK_SIZE,
    difference,
    differences,
    exact_mean,
    exact_sum_of_blocks,
    is_close,
    scale_of,
)
from concord.metrics_core.stats.mean_interval import (
    equal_values_interval,
    mean_interval,
    t_quantile,
    t_test_p,
)
from concord.metrics_core.stats.sign_flip_test import MarginTest, SignFlips, smallest_p

TestKind = Literal["t", "sign_flips", "swap", "none"]


@dataclass(frozen=True)
class PairedTest:
    """Model a against model b on the users for whom both have a value; NaN for what is undefined.

    Attributes
    ----------
    mean_a, mean_b, difference : float
        Means over these users, and mean_a - mean_b.
    n_users : int
        Number of these users.
    n_nonzero : int
        Users with different values; for a metric over all users, users with different lists.
    above, equal, below : float
        Shares of users with a > b, a = b and a < b.
    ci_low, ci_high : float
        Confidence interval of the difference.
    effect_size : float
        Cohen's d_z: the difference in standard deviations of the users' differences.
    p : float
        Two-sided p-value of `test`.
    test : {"t", "sign_flips", "swap", "none"}
        Kind of the test.
    standard_error : float
        Standard error of the difference.
    flips : SignFlips or None
        Sign-flip test of the differences if fewer than 30 users differ.
    is_comparable : bool
        False if a model lacks the lists of most users; then there is no interval and no test.
    """

    mean_a: float
    mean_b: float
    difference: float
    n_users: int
    n_nonzero: int
    above: float = math.nan
    equal: float = math.nan
    below: float = math.nan
    ci_low: float = math.nan
    ci_high: float = math.nan
    effect_size: float = math.nan
    p: float = math.nan
    test: TestKind = "t"
    standard_error: float = math.nan
    flips: SignFlips | None = field(default=None, compare=False, repr=False)
    is_comparable: bool = True

    @property
    def smallest_p(self) -> float:
        """Smallest p-value that is possible with this number of differing users."""
        return smallest_p(self.n_nonzero) if self.test == "sign_flips" else 0.0

    def margin_test(self, *, higher_is_better: bool, alpha: float) -> MarginTest | None:
        """Return one-sided sign-flip tests of a's gain at alpha / 2; None if many users differ."""
        if self.flips is None:
            return None
        return MarginTest(self.flips if higher_is_better else self.flips.negated, alpha / 2)

    @property
    def relative(self) -> float:
        """Difference / mean_b; NaN if mean_b <= 0."""
        return self.difference / self.mean_b if self.mean_b > 0 else math.nan

    @property
    def caution(self) -> bool:
        """True if there is an interval, but fewer than 30 users differ.

        Simulated coverage of a nominal 95 % t interval of a sparse difference: about 0.73 with 2
        users who differ, 0.81 with 6, 0.92 with 20, 0.96 with 100.
        """
        return not math.isnan(self.ci_low) and self.n_nonzero < MIN_T_TEST_USERS

    def with_means(self, mean_a: float, mean_b: float) -> "PairedTest":
        """Return the difference of two means over all users, without interval and test."""
        return PairedTest(
            mean_a=mean_a,
            mean_b=mean_b,
            difference=difference(mean_a, mean_b),
            n_users=self.n_users,
            n_nonzero=self.n_nonzero,
            test="none",
            is_comparable=self.is_comparable,
        )

    def as_not_comparable(self) -> "PairedTest":
        """Return the same means without interval and test."""
        return replace(self.with_means(self.mean_a, self.mean_b), is_comparable=False)


UNTESTED = PairedTest(math.nan, math.nan, math.nan, 0, 0, test="none")


@dataclass(frozen=True, eq=False)
class UserValues:
    """Values of one metric and model, with their mean and its interval.

    Attributes
    ----------
    values : (users,) float64
        NaN for a user who does not count; one value per unit if `clusters` is set.
    clusters : Clusters or None
        User and weight of each value; None if each user has one value and weight 1.
    bounds : (float, float)
        Lowest and highest value of the metric.
    """

    values: Floats
    clusters: Clusters | None = None
    bounds: Bounds = UNBOUNDED

    @cached_property
    def defined(self) -> Bools:
        """(users,) True for each value that is not NaN."""
        return ~np.isnan(self.values)

    @cached_property
    def n_defined(self) -> int:
        """Number of users with a value."""
        return int(self.defined.sum()) if self.clusters is None else self._ratio.n

    @cached_property
    def mean(self) -> float:
        """Mean over all users, or units, with a value."""
        return exact_mean(self.values[self.defined]) if self.clusters is None else self._ratio.value

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the confidence interval of the mean."""
        if self.clusters is None:
            return mean_interval(self.values, confidence, self.bounds)
        return self._ratio.interval(confidence, self.bounds)

    @cached_property
    def _ratio(self) -> RatioEstimate:
        assert self.clusters is not None
        return self.clusters.ratio(self.values)

    @property
    def by_user(self) -> Floats:
        """(users,) One value per user, with the same mean and the same variance of the mean."""
        return self.values if self.clusters is None else self.clusters.linearised(self.values)


def paired_tests(
    values: Mapping[str, Floats],
    pairs: Sequence[tuple[str, str]],
    *,
    confidence: float,
    clusters: Clusters | None = None,
    bounds: Bounds = UNBOUNDED,
    unlisted: Collection[str] = (),
) -> list[PairedTest]:
    """Return `paired_test` of each pair of models (a, b) on one metric.

    Parameters
    ----------
    values : mapping of str to (users,) float64
        Values of each model, the same users in the same order; NaN for a user who does not count.
    pairs : sequence of (str, str)
        Models a and b.
    confidence : float
        Level of the intervals, such as 0.95.
    clusters : Clusters, optional
        User and weight of each value; by default each user has one value and weight 1.
    bounds : (float, float)
        Lowest and highest value of the metric.
    unlisted : collection of str
        Models that lack the lists of most users; their pairs are not tested.

    Returns
    -------
    list of PairedTest
        One per pair, in the same order.
    """
    columns = {model: UserValues(column, clusters, bounds) for model, column in values.items()}
    tests = [paired_test(columns[a], columns[b], confidence=confidence) for a, b in pairs]
    return [
        test.as_not_comparable() if a in unlisted or b in unlisted else test
        for (a, b), test in zip(pairs, tests, strict=True)
    ]


def paired_test(a: UserValues, b: UserValues, *, confidence: float) -> PairedTest:
    """Return mean(a - b) ± t · sd(a - b) / √n over the users for whom both have a value.

    The p-value is that of the t test if 30 or more users differ, else that of `SignFlips`. If so
    few users differ that no outcome could be significant, there is neither p-value nor interval.
    With clusters, the standard error is that of `RatioEstimate`. All sums are exact, so the order
    of the users changes no bit.
    """
    if a.clusters is not None:
        return _clustered_test(a, b, a.clusters, confidence)
    scale = scale_of(a.bounds, a.values, b.values)
    blocks, n = _nonzero_differences(a.values, b.values, scale)
    n_nonzero = sum(map(len, blocks))
    above = sum(int(np.count_nonzero(block > 0)) for block in blocks)
    mean_a, mean_b = a.mean, b.mean
    if not n == a.n_defined == b.n_defined:
        both = a.defined & b.defined
        mean_a, mean_b = (
            each.mean if n == each.n_defined else exact_mean(each.values[both]) for each in (a, b)
        )
    mean_difference = exact_sum_of_blocks(blocks) / n if n else math.nan
    result = _without_p(mean_a, mean_b, mean_difference, (above, n - n_nonzero, n_nonzero - above))
    if n_nonzero < min_differing_for(1 - confidence):
        return result
    blocks = [block for block in blocks if len(block)]
    lowest, highest = min(map(np.min, blocks)), max(map(np.max, blocks))
    if n_nonzero == n and difference(highest, lowest, scale) == 0:  # no variance
        result = _with_equal_differences(result, confidence, a.bounds)
    else:
        error = _standard_deviation(blocks, result) / math.sqrt(n)
        result = _with_interval(result, error, n, confidence, a.bounds)
    if n_nonzero >= MIN_T_TEST_USERS:
        return result
    return _with_sign_flips(
        result, SignFlips(np.concatenate(blocks), np.ones(n_nonzero), np.ones(n - n_nonzero))
    )


def _clustered_test(
    a: UserValues, b: UserValues, clusters: Clusters, confidence: float
) -> PairedTest:
    """Return the test over the units for which both have a value.

    Shares of users are by the sign of the weighted sum of a user's differences.
    """
    scale = scale_of(a.bounds, a.values, b.values)
    diff = differences(a.values, b.values, scale)
    missing = np.isnan(diff)
    ratio = clusters.ratio(diff)
    sums = np.where(is_close(ratio.numerator, np.zeros(ratio.n), scale), 0.0, ratio.numerator)
    n, above, below = ratio.n, int((sums > 0).sum()), int((sums < 0).sum())
    mean_a, mean_b = (
        clusters.ratio(np.where(missing, np.nan, each.values)).value for each in (a, b)
    )
    mean_difference = ratio.value if above + below else ratio.value * 0.0
    result = _without_p(mean_a, mean_b, mean_difference, (above, n - above - below, below))
    if result.n_nonzero < min_differing_for(1 - confidence):
        return result
    user_means = sums / ratio.denominator
    if difference(user_means.max(), user_means.min(), scale) == 0:
        result = _with_equal_differences(result, confidence, a.bounds)
    else:
        result = _with_interval(
            result, ratio.standard_error, ratio.effective_users, confidence, a.bounds
        )
    if result.n_nonzero >= MIN_T_TEST_USERS:
        return result
    differs = sums != 0
    return _with_sign_flips(
        result, SignFlips(sums[differs], ratio.denominator[differs], ratio.denominator[~differs])
    )


def _with_sign_flips(result: PairedTest, flips: SignFlips) -> PairedTest:
    return replace(result, test="sign_flips", flips=flips, p=flips.p)


def _nonzero_differences(a: Floats, b: Floats, scale: float) -> tuple[list[Floats], int]:
    """Return blocks of the differences other than 0, and the number of users with both values."""
    blocks, n = [], 0
    for first in range(0, len(a), BLOCK_SIZE):
        block_a, block_b = a[first : first + BLOCK_SIZE], b[first : first + BLOCK_SIZE]
        both = ~np.isnan(block_a - block_b)
        n += int(np.count_nonzero(both))
        differs = both & (block_a != block_b)
        diff = differences(np.compress(differs, block_a), np.compress(differs, block_b), scale)
        blocks.append(diff if diff.all() else diff[diff != 0])
    return blocks, n


def _with_equal_differences(result: PairedTest, confidence: float, bounds: Bounds) -> PairedTest:
    """Add p = 2^(1 - n), and an interval if the metric is bounded; all differences are equal."""
    n, width = result.n_users, bounds[1] - bounds[0]
    p = math.ldexp(1.0, 1 - n)
    if not math.isfinite(width) or abs(result.difference) > width:
        return replace(result, p=p)
    low, high = equal_values_interval(result.difference, n, confidence, (-width, width))
    return replace(result, ci_low=low, ci_high=high, p=p)


def _with_interval(
    result: PairedTest, standard_error: float, n: float, confidence: float, bounds: Bounds
) -> PairedTest:
    """Add effect size, p-value and t interval with n - 1 degrees of freedom, clipped to bounds."""
    mean, width = result.difference, bounds[1] - bounds[0]
    half = t_quantile(n, confidence) * standard_error
    low, high = mean - half, mean + half
    if math.isfinite(width) and abs(mean) <= width:
        low, high = max(low, -width), min(high, width)
    return replace(
        result,
        ci_low=low,
        ci_high=high,
        effect_size=mean / (standard_error * math.sqrt(result.n_users)),
        p=t_test_p(n, mean / standard_error),
        standard_error=standard_error,
    )


def _standard_deviation(blocks: Sequence[Floats], result: PairedTest) -> float:
    """Return sd(a - b) over all users; those not in the blocks differ by 0."""
    n, mean = result.n_users, result.difference
    squares = exact_sum_of_blocks((block - mean) * (block - mean) for block in blocks)
    return math.sqrt((squares + (n - result.n_nonzero) * mean * mean) / (n - 1))


def _without_p(
    mean_a: float, mean_b: float, difference: float, counts: tuple[int, int, int]
) -> PairedTest:
    """Return the means and the shares of users above, equal and below, without a test."""
    n = sum(counts)
    above, equal, below = (count / n if n else math.nan for count in counts)
    return PairedTest(mean_a, mean_b, difference, n, n - counts[1], above, equal, below)


def wilcoxon(a: Floats, b: Floats) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test of a - b; NaN if all are equal.

    Users without a difference are left out. The null hypothesis is that the differences are
    symmetric about 0. If many users gain a little and few lose much, the test is significant
    although the means are equal: in 98 to 100 % of the cases that benchmarks/SIMULATIONS.md
    simulates.

    References
    ----------
    Wilcoxon (1945), Biometrics Bulletin 1(6), 80-83.  doi:10.2307/3001968
    """
    from scipy import stats  # slow to import (0.7 s)

    diff = differences(a, b)
    diff = np.sort(diff[~np.isnan(diff) & (diff != 0)])
    return float(stats.wilcoxon(diff).pvalue) if len(diff) else math.nan
