"""Two models on the same users: the mean difference, its t interval, its p value, who wins how often."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.scoring.numerics.clusters import Clusters, Ratio
from concord.metrics_core.scoring.numerics.exact import AT_ONCE, exact_sum, exact_sum_of
from concord.metrics_core.scoring.numerics.student import half_width, two_sided_p

# Coverage of a nominal 95 % t interval of a sparse difference, simulated: about 0.73 with 2 users
# who differ, 0.81 with 6, 0.92 with 20, 0.96 with 100.
Test = Literal["t", "swap", "none"]
FEWEST_INFORMATIVE = 10  # users with different values; with fewer there is no interval and no test
CAUTION_BELOW = 30


@dataclass(frozen=True)
class Paired:
    """Model a against model b on the users whom both have a value for; NaN where a number does not exist.

    above, equal, below : shares of users by the sign of a - b
    n_nonzero           : users with different values; for a number over all users, with different lists
    test                : where p comes from
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
            difference=mean_a - mean_b,
            n_users=self.n_users,
            n_nonzero=self.n_nonzero,
            above=math.nan,
            equal=math.nan,
            below=math.nan,
            test="none",
        )

    @classmethod
    def of_lists(
        cls, mean_a: float, mean_b: float, *, n_users: int, n_nonzero: int, p: float
    ) -> "Paired":
        """The pair on a number over all users: a p value by swapping lists, and no interval."""
        return cls(
            mean_a=mean_a,
            mean_b=mean_b,
            difference=mean_a - mean_b,
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
    """(users,) values of one model, NaN where the user does not count; with `clusters` (requests,) values."""

    values: Floats
    clusters: Clusters | None = None

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
) -> list[Paired]:
    """Every pair (a, b) on one metric.

    Parameters
    ----------
    values     : model -> (users,) float64, the same users in the same places; NaN where a user does not count
    confidence : of the intervals, such as 0.95
    clusters   : whose requests they are, where values are those of requests
    """
    columns = {model: Column(column, clusters) for model, column in values.items()}
    return [paired(columns[a], columns[b], confidence=confidence) for a, b in pairs]


def paired(a: Column, b: Column, *, confidence: float) -> Paired:
    """mean(a - b) ± t · sd(a - b) / √n, over the users whom both have a value for.

    All sums are exact, so the order of the users changes no bit. Values of requests have the errors of `Ratio`.
    """
    if a.clusters is not None:
        return _paired_requests(a.values, b.values, a.clusters, confidence)
    gaps, n = _gaps(a.values, b.values)
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
    return result if n_nonzero < FEWEST_INFORMATIVE else _tested(result, gaps, confidence)


def _paired_requests(a: Floats, b: Floats, clusters: Clusters, confidence: float) -> Paired:
    """Over the requests that both have a value for; a user is above where more is gained than lost."""
    gap = a - b
    missing = np.isnan(gap)
    ratio = clusters.ratio(gap)
    n, above, below = ratio.n, int((ratio.above > 0).sum()), int((ratio.above < 0).sum())
    of_a, of_b = (clusters.ratio(np.where(missing, np.nan, each)).value for each in (a, b))
    result = Paired(
        mean_a=of_a,
        mean_b=of_b,
        difference=ratio.value,
        n_users=n,
        n_nonzero=above + below,
        above=_share(above, n),
        equal=_share(n - above - below, n),
        below=_share(below, n),
    )
    if result.n_nonzero < FEWEST_INFORMATIVE:
        return result
    low, high = ratio.interval(confidence)
    known = gap[~missing]
    if known.min() == known.max():  # the rounding of the mean must not look like a spread
        return replace(result, ci_low=ratio.value, ci_high=ratio.value, p=0.0)
    return replace(
        result,
        ci_low=low,
        ci_high=high,
        effect_size=ratio.value / (ratio.standard_error * math.sqrt(n)),
        p=two_sided_p(ratio.effective, ratio.value / ratio.standard_error),
    )


def _gaps(a: Floats, b: Floats) -> tuple[list[Floats], int]:
    """The differences other than 0 in blocks that stay in the cache, and how many users have a value with both."""
    blocks, n = [], 0
    for first in range(0, len(a), AT_ONCE):
        gap = a[first : first + AT_ONCE] - b[first : first + AT_ONCE]
        both = ~np.isnan(gap)
        n += int(np.count_nonzero(both))
        blocks.append(np.compress(both & (gap != 0), gap))
    return blocks, n


def _tested(result: Paired, gaps: Sequence[Floats], confidence: float) -> Paired:
    """The result with interval, effect size and p; `gaps` are the differences other than 0."""
    n, mean = result.n_users, result.difference
    spread = _standard_deviation(gaps, result)
    if spread == 0:
        return replace(result, ci_low=mean, ci_high=mean, p=0.0)
    standard_error = spread / math.sqrt(n)
    half = half_width(n, confidence) * standard_error
    return replace(
        result,
        ci_low=mean - half,
        ci_high=mean + half,
        effect_size=mean / spread,
        p=two_sided_p(n, mean / standard_error),
    )


def _standard_deviation(gaps: Sequence[Floats], result: Paired) -> float:
    """Over n users, of whom those not in `gaps` differ by 0."""
    n, mean = result.n_users, result.difference
    known = [block for block in gaps if len(block)]
    if result.n_nonzero == n and min(map(np.min, known)) == max(map(np.max, known)):
        return 0.0  # the rounding of the mean must not look like a spread
    squares = exact_sum_of((block - mean) * (block - mean) for block in known)
    return math.sqrt((squares + (n - result.n_nonzero) * mean * mean) / (n - 1))


def _mean(values: Floats) -> float:
    return exact_sum(values) / len(values) if len(values) else math.nan


def _share(count: int, n: int) -> float:
    return count / n if n else math.nan
