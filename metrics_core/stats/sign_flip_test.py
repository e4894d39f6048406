"""Sign-flip test and interval of the differences of few users, without a normal approximation."""

import math
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np

from concord.metrics_core.metrics.judged import Bools, Floats, Ints
from concord.metrics_core.results.limits import MIN_T_TEST_USERS
from concord.metrics_core.stats.floating_point import exact_sum, round_to_grid

DRAWS = 100_000
MAX_EXACT_USERS = 16  # up to this number, all combinations of signs are enumerated
_MAX_WEIGHTS = 16  # distinct weights of users without a difference; neighbours share their mean
_TOLERANCE = 1e-9  # of sums that count as 0, relative to the sum of all absolute values


@dataclass(frozen=True, eq=False)
class SignFlips:
    """Sign-flip test (paired permutation test) of a mean difference of independent users.

    If the differences from the mean m are symmetric, all combinations of their signs are equally
    likely. A combination is at least as far above m as the observed one exactly if the mean of the
    users whose sign it flips is at most m. So the p-value of `mean <= m` is the share of all
    subsets of users whose mean is at most m, and the interval runs from the α/2 quantile of the
    means of subsets to their 1 - α/2 quantile (Hartigan). The empty subset counts on both sides.

    All subsets of up to 16 differing users are enumerated; of more, 100,000 seeded ones are drawn
    and p = (1 + count) / (1 + 100,000). Users without a difference are always drawn.

    Parameters
    ----------
    differing : (n,) float64
        Differences other than 0; with clusters, the sum of each user.
    weights : (n,) float64
        Weight of each of these users in the mean: 1, the number of units, or the baseline's value
        if the mean is a share of the baseline's.
    equal : (m,) float64
        Weights of the users whose difference is 0.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21.
    Hartigan (1969), Journal of the American Statistical Association 64(328), 1303-1317
    (means of subsets).  doi:10.1080/01621459.1969.10501057
    Smucker, Allan & Carterette (2007), CIKM, 623-632 (in retrieval).
    doi:10.1145/1321440.1321528
    """

    differing: Floats
    weights: Floats
    equal: Floats

    @cached_property
    def p(self) -> float:
        """Two-sided p-value of the null hypothesis mean = 0: twice the smaller one-sided one."""
        sums = self._subset_sums
        n_extreme = min(np.count_nonzero(sums <= 0), np.count_nonzero(sums >= 0))
        if self._is_exact:
            return min(2.0 * float(n_extreme) / len(sums), 1.0)
        return min(2.0 * (1 + float(n_extreme)) / (1 + len(sums)), 1.0)

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the means that no one-sided test rejects at α/2; infinite where all are kept."""
        sums, weights = self._subset_sums, self._subset_weights
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.where(weights > 0, sums / weights, np.copysign(np.inf, sums))
        is_empty = (weights <= 0) & (sums == 0)
        n = len(sums)
        # the number of subsets on the rejected side that still rejects
        n_allowed = math.floor(n * alpha / 2 if self._is_exact else (1 + n) * alpha / 2 - 1)
        if n_allowed < 0:
            return -math.inf, math.inf
        low = np.partition(np.where(is_empty, -np.inf, means), n_allowed)[n_allowed]
        high = np.partition(np.where(is_empty, np.inf, means), n - 1 - n_allowed)[n - 1 - n_allowed]
        if not self._sign:
            half = max(-float(low), float(high))
            return -half, half
        ends = float(low), float(high)
        return ends if self._sign > 0 else (-ends[1], -ends[0])

    @property
    def _is_exact(self) -> bool:
        return len(self.differing) <= MAX_EXACT_USERS

    @cached_property
    def _sign(self) -> int:
        """-1 if the mean is negative: a - b and b - a have the same subsets.

        If the mean is 0, the first of the next moments that is not; 0 if they are symmetric.
        """
        d = self.differing
        moments = (exact_sum(each) for each in (d, d * d * d, d * self.weights))
        return next((-1 if moment < 0 else 1 for moment in moments if moment), 0)

    @cached_property
    def _signed(self) -> Floats:
        """The differences, with a mean that is not negative."""
        return -self.differing if self._sign < 0 else self.differing

    @cached_property
    def _order(self) -> Ints:
        """Order of the differing users, which does not depend on that of the rows."""
        return np.lexsort((self.weights, self._signed, np.abs(self._signed)))

    @cached_property
    def _subset_sums(self) -> Floats:
        """(subsets,) exact sums of the differences of each subset."""
        values = self._signed[self._order]
        values = round_to_grid(values[:, np.newaxis], max_weight=1)[:, 0]
        sums = _subsets(len(values)) @ values
        sums[np.abs(sums) <= _TOLERANCE * np.abs(values).sum()] = 0.0
        return np.asarray(sums)

    @cached_property
    def _subset_weights(self) -> Floats:
        """(subsets,) sums of the weights of each subset, with users without a difference."""
        groups = _groups(self.equal)
        means = [group.mean() for group in groups]
        grid = np.concatenate([self.weights[self._order], means])
        grid = round_to_grid(grid[:, np.newaxis], max_weight=1 + len(self.equal))[:, 0]
        weights = _subsets(len(self.differing)) @ grid[: len(self.differing)]
        equal_weights = grid[len(self.differing) :]
        for number, (weight, group) in enumerate(zip(equal_weights, groups, strict=True)):
            weights = weights + weight * _numbers_drawn(len(group), number, len(weights))
        return np.asarray(weights)


def smallest_p(n_differing: int) -> float:
    """Return the smallest possible two-sided p-value: 2^(1 - n), at least that of the draws."""
    p = math.ldexp(1.0, 1 - n_differing)
    return p if n_differing <= MAX_EXACT_USERS else max(p, 2 / (1 + DRAWS))


def _subsets(n_users: int) -> Floats:
    """Return (subsets, users) 1 for users in a subset, else 0."""
    return _all_subsets(n_users) if n_users <= MAX_EXACT_USERS else _drawn_subsets()[:, :n_users]


@cache
def _all_subsets(n_users: int) -> Floats:
    """Return all 2ⁿ subsets, each as often as makes 2¹⁶ rows."""
    subset = np.arange(1 << MAX_EXACT_USERS, dtype=np.uint32)[:, np.newaxis]
    return ((subset >> np.arange(n_users, dtype=np.uint32)) & 1).astype(np.float64)


@cache
def _drawn_subsets() -> Floats:
    """Return random subsets, the same for all metrics and pairs of models."""
    random = np.random.Generator(np.random.PCG64(0))
    shape = (MIN_T_TEST_USERS, DRAWS)  # user by user in memory, so that few users are contiguous
    return random.integers(0, 2, shape, dtype=np.uint8).astype(np.float64).T


def _groups(weights: Floats) -> list[Floats]:
    """Return sorted weights in at most 16 groups; equal ones share a group if they are few."""
    if not len(weights):
        return []
    ordered = np.sort(weights)
    is_new: Bools = np.diff(ordered) > 0
    if np.count_nonzero(is_new) < _MAX_WEIGHTS:
        return np.split(ordered, np.flatnonzero(is_new) + 1)
    return np.array_split(ordered, _MAX_WEIGHTS)


@lru_cache(maxsize=16)  # 13 MB; definitions of one metric mostly have the same users
def _numbers_drawn(n: int, group: int, rows: int) -> Floats:
    """Return (rows,) how many of n users are in a subset: Binomial(n, 1/2)."""
    random = np.random.Generator(np.random.PCG64(1 + group))
    return random.binomial(n, 0.5, rows).astype(np.float64)
