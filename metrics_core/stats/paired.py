"""Two models on the same users: mean difference, t interval, p-values, and how often each wins."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.stats.clusters import Clusters, Ratio
from concord.metrics_core.stats.exact_sums import AT_ONCE, exact_sum, exact_sum_of
from concord.metrics_core.stats.mean_interval import (
    equal_values_interval,
    half_width,
    mean_interval,
    two_sided_p,
)
from concord.metrics_core.stats.sign_flips import (
    MANY_DIFFERING,
    MarginTest,
    SignFlips,
    fewest_differing,
    least_p,
)
from concord.metrics_core.stats.tolerance import difference, differences, is_no_difference, scale_of

# Coverage of a nominal 95 % t interval of a sparse difference, simulated: about 0.73 with 2 users
# who differ, 0.81 with 6, 0.92 with 20, 0.96 with 100.
Test = Literal["t", "sign_flips", "swap", "none"]
FEWEST_INFORMATIVE = (
    10  # users who differ; with fewer there are no list swaps, jackknife, or bootstrap of gaps
)
CAUTION_BELOW = MANY_DIFFERING  # users with different values; with fewer p is that of sign flips


@dataclass(frozen=True)
class Paired:
    """Model a against model b on the users whom both have a value for; NaN where a number does not exist.

    above, equal, below : shares of users by the sign of a - b
    n_nonzero           : users with different values; for a number over all users, with different lists
    test                : where p comes from
    standard_error      : of the difference
    flips               : the differences where few users differ, which p and tests against a margin rest on
    is_comparable       : False where one of the models lacks the lists of most users: no interval and no test
    """

    mean_a: float
    mean_b: float
    difference: float
    n_users: int
    n_nonzero: int
    above: float
    equal: float
    below: float
    ci_low: float = math.nan
    ci_high: float = math.nan
    effect_size: float = math.nan
    p: float = math.nan
    test: Test = "t"
    standard_error: float = math.nan
    flips: SignFlips | None = field(default=None, compare=False, repr=False)
    is_comparable: bool = True

    @property
    def least_p(self) -> float:
        """The smallest p that these users could give, whatever their differences."""
        return least_p(self.n_nonzero) if self.test == "sign_flips" else 0.0

    def margin_test(self, *, higher_is_better: bool, alpha: float) -> MarginTest | None:
        """Return sign flips of the gains of a against margins, each side at alpha / 2; None where many users differ."""
        if self.flips is None:
            return None
        return MarginTest(self.flips if higher_is_better else self.flips.negated, alpha / 2)

    @property
    def relative(self) -> float:
        """The difference as a share of b's mean; NaN unless that mean is above 0."""
        return self.difference / self.mean_b if self.mean_b > 0 else math.nan

    @property
    def caution(self) -> bool:
        """Is there an interval that rests on few informative users?"""
        return not math.isnan(self.ci_low) and self.n_nonzero < CAUTION_BELOW

    def of_means(self, mean_a: float, mean_b: float) -> "Paired":
        """The same pair where the mean is pooled over users: the difference of the means and nothing else."""
        return Paired(
            mean_a=mean_a,
            mean_b=mean_b,
            difference=difference(mean_a, mean_b),
            n_users=self.n_users,
            n_nonzero=self.n_nonzero,
            above=math.nan,
            equal=math.nan,
            below=math.nan,
            test="none",
            is_comparable=self.is_comparable,
        )

    def as_not_comparable(self) -> "Paired":
        """Return the same means without interval and test."""
        return replace(self.of_means(self.mean_a, self.mean_b), is_comparable=False)

    @classmethod
    def of_lists(
        cls, mean_a: float, mean_b: float, *, n_users: int, n_nonzero: int, p: float
    ) -> "Paired":
        """The pair on a number over all users: a p value by swapping lists, and no interval."""
        return cls(
            mean_a=mean_a,
            mean_b=mean_b,
            difference=difference(mean_a, mean_b),
            n_users=n_users,
            n_nonzero=n_nonzero,
            above=math.nan,
            equal=math.nan,
            below=math.nan,
            p=p,
            test="swap",
        )


@dataclass(frozen=True, eq=False)
class Column:
    """(users,) values of one model, NaN where the user does not count; with `clusters` (requests,) values.

    bounds : lowest and highest value of the metric
    """

    values: Floats
    clusters: Clusters | None = None
    bounds: Bounds = UNBOUNDED

    @cached_property
    def defined(self) -> NDArray[np.bool_]:
        """(users,) who counts."""
        return ~np.isnan(self.values)

    @cached_property
    def n_defined(self) -> int:
        """How many users count."""
        return int(self.defined.sum()) if self.clusters is None else self._ratio.n

    @cached_property
    def mean(self) -> float:
        """Over all users, or requests, that count."""
        return _mean(self.values[self.defined]) if self.clusters is None else self._ratio.value

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the confidence interval of the mean."""
        if self.clusters is None:
            return mean_interval(self.values, confidence, self.bounds)
        return self._ratio.interval(confidence, self.bounds)

    @cached_property
    def _ratio(self) -> Ratio:
        assert self.clusters is not None
        return self.clusters.ratio(self.values)

    @property
    def by_user(self) -> Floats:
        """(users,) values whose mean is that of the column, and which vary as it does."""
        return self.values if self.clusters is None else self.clusters.linearised(self.values)

    def mean_over(self, users: NDArray[np.bool_], n_users: int) -> float:
        """Over some of the users who count; all of them, if there are as many."""
        return self.mean if n_users == self.n_defined else _mean(self.values[users])


def compare(
    values: Mapping[str, Floats],
    pairs: Sequence[tuple[str, str]],
    *,
    confidence: float,
    clusters: Clusters | None = None,
    bounds: Bounds = UNBOUNDED,
    unlisted: Collection[str] = (),
) -> list[Paired]:
    """Return every pair (a, b) on one metric.

    Parameters
    ----------
    values     : model -> (users,) float64, the same users in the same places; NaN where a user does not count
    confidence : of the intervals, such as 0.95
    clusters   : whose requests they are, where values are those of requests
    bounds     : lowest and highest value of the metric
    unlisted   : models that lack the lists of most users, and are not compared
    """
    columns = {model: Column(column, clusters, bounds) for model, column in values.items()}
    found = [paired(columns[a], columns[b], confidence=confidence) for a, b in pairs]
    return [
        pair.as_not_comparable() if a in unlisted or b in unlisted else pair
        for (a, b), pair in zip(pairs, found, strict=True)
    ]


def paired(a: Column, b: Column, *, confidence: float) -> Paired:
    """Return mean(a - b) ± t · sd(a - b) / √n, over the users whom both have a value for, and its p.

    p is that of the t test from 30 users with different values on, else that of `SignFlips`; with so few that no
    outcome could be significant there is neither p nor interval. All sums are exact, so the order of the users changes
    no bit. Values of requests have the errors of `Ratio`.
    """
    if a.clusters is not None:
        return _paired_requests(a, b, a.clusters, confidence)
    gaps, n = _gaps(a.values, b.values, scale_of(a.bounds))
    n_nonzero = sum(map(len, gaps))
    above = sum(int(np.count_nonzero(block > 0)) for block in gaps)
    alike = n == a.n_defined == b.n_defined
    both = None if alike else a.defined & b.defined
    result = Paired(
        mean_a=a.mean if both is None else a.mean_over(both, n),
        mean_b=b.mean if both is None else b.mean_over(both, n),
        difference=exact_sum_of(gaps) / n if n else math.nan,
        n_users=n,
        n_nonzero=n_nonzero,
        above=_share(above, n),
        equal=_share(n - n_nonzero, n),
        below=_share(n_nonzero - above, n),
    )
    if n_nonzero < fewest_differing(1 - confidence):
        return result
    known = [block for block in gaps if len(block)]
    least, most = min(map(np.min, known)), max(map(np.max, known))
    if n_nonzero == n and _are_equal(least, most, a.bounds):
        result = _equal_differences(result, n, confidence, a.bounds)
    else:
        spread = _standard_deviation(known, result)
        result = _with_interval(result, spread / math.sqrt(n), n, confidence, a.bounds)
    if n_nonzero >= CAUTION_BELOW:
        return result
    flips = SignFlips(np.concatenate(known), np.ones(n_nonzero), np.ones(n - n_nonzero))
    return replace(result, test="sign_flips", flips=flips, p=flips.p)


def _paired_requests(a: Column, b: Column, clusters: Clusters, confidence: float) -> Paired:
    """Over the requests that both have a value for; a user is above where more is gained than lost."""
    scale = scale_of(a.bounds)
    gap = differences(a.values, b.values, scale)
    missing = np.isnan(gap)
    ratio = clusters.ratio(gap)
    sums = np.where(is_no_difference(ratio.above, np.zeros(ratio.n), scale), 0.0, ratio.above)
    n, above, below = ratio.n, int((sums > 0).sum()), int((sums < 0).sum())
    of_a, of_b = (clusters.ratio(np.where(missing, np.nan, each.values)).value for each in (a, b))
    result = Paired(
        mean_a=of_a,
        mean_b=of_b,
        difference=ratio.value if above + below else ratio.value * 0.0,
        n_users=n,
        n_nonzero=above + below,
        above=_share(above, n),
        equal=_share(n - above - below, n),
        below=_share(below, n),
    )
    if result.n_nonzero < fewest_differing(1 - confidence):
        return result
    of_users = sums / ratio.below
    if _are_equal(of_users.min(), of_users.max(), a.bounds):
        result = _equal_differences(result, n, confidence, a.bounds)
    else:
        result = _with_interval(result, ratio.standard_error, ratio.effective, confidence, a.bounds)
    if result.n_nonzero >= CAUTION_BELOW:
        return result
    differs = sums != 0
    flips = SignFlips(sums[differs], ratio.below[differs], ratio.below[~differs])
    return replace(result, test="sign_flips", flips=flips, p=flips.p)


def _gaps(a: Floats, b: Floats, scale: float) -> tuple[list[Floats], int]:
    """The differences other than 0 in blocks that stay in the cache, and how many users have a value with both."""
    blocks, n = [], 0
    for first in range(0, len(a), AT_ONCE):
        of_a, of_b = a[first : first + AT_ONCE], b[first : first + AT_ONCE]
        both = ~np.isnan(of_a - of_b)
        n += int(np.count_nonzero(both))
        apart = both & (of_a != of_b)
        gap = differences(np.compress(apart, of_a), np.compress(apart, of_b), scale)
        blocks.append(gap if gap.all() else gap[gap != 0])
    return blocks, n


def _are_equal(least: float, most: float, bounds: Bounds) -> bool:
    """True if all differences are the same: the rounding of the mean must not look like a spread."""
    return difference(most, least, scale_of(bounds)) == 0


def _equal_differences(result: Paired, n: int, confidence: float, bounds: Bounds) -> Paired:
    """The result where all users differ by the same: p of all signs, and an interval where the metric has bounds."""
    width = bounds[1] - bounds[0]
    p = math.ldexp(1.0, 1 - n)
    if not math.isfinite(width) or abs(result.difference) > width:
        return replace(result, p=p)
    low, high = equal_values_interval(result.difference, n, confidence, (-width, width))
    return replace(result, ci_low=low, ci_high=high, p=p)


def _with_interval(
    result: Paired, standard_error: float, freedom: float, confidence: float, bounds: Bounds
) -> Paired:
    """The result with the t interval, inside the largest difference that the metric allows, effect size and p.

    freedom : degrees of freedom plus 1
    """
    mean, width = result.difference, bounds[1] - bounds[0]
    half = half_width(freedom, confidence) * standard_error
    low, high = mean - half, mean + half
    if math.isfinite(width) and abs(mean) <= width:
        low, high = max(low, -width), min(high, width)
    return replace(
        result,
        ci_low=low,
        ci_high=high,
        effect_size=mean / (standard_error * math.sqrt(result.n_users)),
        p=two_sided_p(freedom, mean / standard_error),
        standard_error=standard_error,
    )


def _standard_deviation(gaps: Sequence[Floats], result: Paired) -> float:
    """Over n users, of whom those not in `gaps` differ by 0."""
    n, mean = result.n_users, result.difference
    squares = exact_sum_of((block - mean) * (block - mean) for block in gaps)
    return math.sqrt((squares + (n - result.n_nonzero) * mean * mean) / (n - 1))


def _mean(values: Floats) -> float:
    return exact_sum(values) / len(values) if len(values) else math.nan


def _share(count: int, n: int) -> float:
    return count / n if n else math.nan


def wilcoxon(a: Floats, b: Floats) -> float:
    """Two-sided p of the signed ranks of a - b, over the users who differ.

    It asks whether the differences are symmetric about 0. Where many users gain a little and few lose much, it is
    small although the means are equal: in 98 to 100 % of the cases simulated in benchmarks/SIMULATIONS.md.

    References
    ----------
    Wilcoxon (1945), Biometrics Bulletin 1(6), 80-83.  doi:10.2307/3001968
    """
    from scipy import stats  # 0.7 s that only those who ask for it spend

    gaps = differences(a, b)
    gaps = np.sort(gaps[~np.isnan(gaps) & (gaps != 0)])
    return float(stats.wilcoxon(gaps).pvalue) if len(gaps) else float("nan")
