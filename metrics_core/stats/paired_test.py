"""Paired tests of two models on the same users: mean difference, interval, p-value."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.results.limits import (
    MIN_DIFFERING_USERS,
    MIN_T_TEST_USERS,
    min_differing_for,
)
from concord.metrics_core.stats.clusters import Clusters, RatioEstimate
from concord.metrics_core.stats.floating_point import (
    BLOCK_SIZE,
    difference,
    differences,
    exact_mean,
    exact_sum,
    exact_sum_of_blocks,
    is_close,
    scale_of,
)
from concord.metrics_core.stats.mean_interval import mean_interval, t_test_p
from concord.metrics_core.stats.paired_difference import PairedTest, Reference
from concord.metrics_core.stats.sign_flip_test import SignFlips


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

    def where(self, selected: Bools) -> "UserValues":
        """Return the values of some users; NaN for the others."""
        if not (self.defined & ~selected).any():
            return self
        return replace(self, values=np.where(selected, self.values, np.nan))

    @cached_property
    def n_defined(self) -> int:
        """Number of users with a value."""
        return int(self.defined.sum()) if self.clusters is None else self._ratio.n

    @cached_property
    def mean(self) -> float:
        """Mean over all users, or units, with a value."""
        return exact_mean(self.values[self.defined]) if self.clusters is None else self._ratio.value

    @cached_property
    def standard_error(self) -> float:
        """Standard error of the mean; NaN for fewer than two users."""
        if self.clusters is not None:
            return self._ratio.standard_error
        n, deviations = self.n_defined, self.values[self.defined] - self.mean
        squares = exact_sum(deviations * deviations)
        return math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan

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
    share_of: str | None = None,
) -> list[PairedTest]:
    """Return `paired_test` of each pair of models (a, b) on one metric.

    Parameters
    ----------
    values : mapping of str to (users,) float64
        Values of each model, the same users in the same order; NaN for a user who does not count.
    pairs : sequence of (str, str)
        Models a and b.
    confidence : float
        Highest confidence at which a test may be significant, such as 0.95.
    clusters : Clusters, optional
        User and weight of each value; by default each user has one value and weight 1.
    bounds : (float, float)
        Lowest and highest value of the metric.
    unlisted : collection of str
        Models that lack the lists of most users; their pairs are not tested.
    share_of : str, optional
        Model whose mean differences are shares of, if intervals of shares are needed.

    Returns
    -------
    list of PairedTest
        One per pair, in the same order.
    """
    columns = {model: UserValues(column, clusters, bounds) for model, column in values.items()}
    reference = None if share_of is None else columns[share_of]
    tests = [
        paired_test(columns[a], columns[b], confidence=confidence, share_of=reference)
        for a, b in pairs
    ]
    return [
        test.as_not_comparable() if a in unlisted or b in unlisted else test
        for (a, b), test in zip(pairs, tests, strict=True)
    ]


def paired_test(
    a: UserValues, b: UserValues, *, confidence: float, share_of: UserValues | None = None
) -> PairedTest:
    """Return the test of mean(a - b) over the users for whom both have a value.

    The p-value is that of the t test if 30 or more users differ, else that of `SignFlips`. If so
    few users differ that no outcome could be significant, there is neither p-value nor interval.
    With clusters, the standard error is that of `RatioEstimate`. All sums are exact, so the order
    of the users changes no bit.
    """
    if a.clusters is not None:
        return _clustered_test(a, b, a.clusters, confidence, share_of)
    scale = scale_of(a.bounds, a.values, b.values)
    blocks, n = _nonzero_differences(a.values, b.values, scale)
    n_nonzero = sum(map(len, blocks))
    above = sum(int(np.count_nonzero(block > 0)) for block in blocks)
    if not n == a.n_defined == b.n_defined:
        both = a.defined & b.defined
        a, b = (each.where(both) for each in (a, b))
    mean_difference = exact_sum_of_blocks(blocks) / n if n else math.nan
    result = _without_p(a.mean, b.mean, mean_difference, (above, n - n_nonzero, n_nonzero - above))
    if n_nonzero < min_differing_for(1 - confidence):
        return result
    blocks = [block for block in blocks if len(block)]
    lowest, highest = min(map(np.min, blocks)), max(map(np.max, blocks))
    is_constant = n_nonzero == n and difference(highest, lowest, scale) == 0
    error = 0.0 if is_constant else _standard_deviation(blocks, result) / math.sqrt(n)
    result = _tested(result, error, n, a.bounds)
    is_few = n_nonzero < MIN_T_TEST_USERS
    result = replace(result, error_a=a.standard_error, error_b=b.standard_error)
    if is_few or share_of is not None:
        diff = differences(a.values, b.values, scale)
        share_of = None if share_of is None else share_of.where(~np.isnan(diff))
        if share_of is not None and share_of.n_defined >= min(n, MIN_DIFFERING_USERS):
            covariance = _covariance(share_of.values - share_of.mean, diff - mean_difference)
            # users without the reference's value enter the difference alone
            covariance *= math.sqrt(_degrees(share_of.n_defined) / _degrees(n))
            moments = share_of.mean, share_of.standard_error, covariance
            result = _with_reference(result, moments, diff, share_of.values)
    return _with_sign_flips(result, diff, np.ones(len(diff))) if is_few else result


def _clustered_test(
    a: UserValues,
    b: UserValues,
    clusters: Clusters,
    confidence: float,
    share_of: UserValues | None,
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
    of_a, of_b = (clusters.ratio(np.where(missing, np.nan, each.values)) for each in (a, b))
    mean_difference = ratio.value if above + below else ratio.value * 0.0
    result = _without_p(of_a.value, of_b.value, mean_difference, (above, n - above - below, below))
    if result.n_nonzero < min_differing_for(1 - confidence):
        return result
    user_means = sums / ratio.denominator
    is_constant = difference(user_means.max(), user_means.min(), scale) == 0
    error = 0.0 if is_constant else ratio.standard_error
    result = _tested(result, error, ratio.effective_users, a.bounds)
    result = replace(result, error_a=of_a.standard_error, error_b=of_b.standard_error)
    if share_of is not None:
        base = clusters.ratio(np.where(missing, np.nan, share_of.values))
        if base.n == n:  # else errors of other users cannot be paired
            covariance = _covariance(base.jackknife_errors, ratio.jackknife_errors)
            moments = base.value, base.standard_error, covariance
            result = _with_reference(result, moments, sums, base.numerator)
    if result.n_nonzero >= MIN_T_TEST_USERS:
        return result
    return _with_sign_flips(result, sums, ratio.denominator)


def _with_sign_flips(result: PairedTest, diff: Floats, weights: Floats) -> PairedTest:
    """Add the sign flips of (users,) differences with weights; NaN does not count."""
    flips = _sign_flips(diff, weights)
    p = result.p if result.standard_error == 0 else flips.p
    return replace(result, test="sign_flips", flips=flips, p=p)


def _with_reference(
    result: PairedTest, moments: tuple[float, float, float], diff: Floats, values: Floats
) -> PairedTest:
    """Add the mean that shares are taken of.

    `moments` are this mean, its standard error and its covariance with the difference; `diff` and
    `values` are differences and the reference's values by user.
    """
    mean, standard_error, covariance = moments
    sign = math.copysign(1.0, mean)
    flips = None
    if result.n_nonzero < MIN_T_TEST_USERS:
        flips = _sign_flips(diff, sign * np.nan_to_num(values, nan=mean))
    return replace(result, reference=Reference(abs(mean), standard_error, sign * covariance, flips))


def _sign_flips(diff: Floats, weights: Floats) -> SignFlips:
    differs, is_equal = np.nan_to_num(diff) != 0, diff == 0
    return SignFlips(diff[differs], weights[differs], weights[is_equal])


def _degrees(n: int) -> int:
    """Return n (n - 1), which sums of squares are divided by for the variance of a mean."""
    return n * (n - 1)


def _covariance(errors_a: Floats, errors_b: Floats) -> float:
    """Return the covariance of two means from the deviations of users; NaN does not count."""
    products = errors_a * errors_b
    products = products[~np.isnan(products)]
    return exact_sum(products) / (len(products) - 1) / len(products)


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


def _tested(
    result: PairedTest, standard_error: float, effective_users: float, bounds: Bounds
) -> PairedTest:
    """Add the error and p-value of the t test; p = 2^(1 - n) if all differences are equal."""
    p = math.ldexp(1.0, 1 - result.n_users)
    if standard_error > 0:
        p = t_test_p(effective_users, result.difference / standard_error)
    width = bounds[1] - bounds[0]
    return replace(
        result, p=p, standard_error=standard_error, effective_users=effective_users, width=width
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
