"""Sign-flip tests of the differences of few users, without a normal approximation."""

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.results.limits import MIN_T_TEST_USERS
from concord.metrics_core.stats.floating_point import round_to_grid

DRAWS = 100_000
MAX_EXACT_USERS = 16  # up to this number, all combinations of signs are enumerated
_MAX_WEIGHTS = 200  # distinct weights of users without a difference
_TOLERANCE = 1e-9  # of equal sums, relative to the sum of all absolute values


@dataclass(frozen=True, eq=False)
class SignFlips:
    """Sign-flip test (paired permutation test) of the mean difference of independent users.

    If the differences are symmetric about 0, all combinations of their signs are equally likely.
    The p-value is the share of combinations whose sum is at least as extreme as the observed one:
    of all 2ⁿ combinations up to 16 users, else (1 + count) / (1 + 100,000) of seeded draws.

    Parameters
    ----------
    differing : (n,) float64
        Differences other than 0; with clusters, the sum of each user.
    weights : (n,) float64
        Weight of each of these users in the mean: 1, or the number of units.
    equal : (m,) float64
        Weights of the users whose difference is 0.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21.
    Smucker, Allan & Carterette (2007), CIKM, 623-632 (in retrieval).
    doi:10.1145/1321440.1321528
    """

    differing: Floats
    weights: Floats
    equal: Floats

    @cached_property
    def p(self) -> float:
        """Two-sided p-value of the null hypothesis mean = 0."""
        return _sign_flip_p(self.differing, (), two_sided=True)

    def p_above(self, margin: float) -> float:
        """Return the one-sided p-value of the null hypothesis mean <= margin.

        NaN if users without a difference have more than 200 distinct weights.
        """
        if margin == 0:
            return _sign_flip_p(self.differing, (), two_sided=False)
        weights, counts = np.unique(self.equal, return_counts=True)
        if len(weights) > _MAX_WEIGHTS:
            return math.nan
        groups = zip((-margin * weights).tolist(), counts.tolist(), strict=True)
        return _sign_flip_p(self.differing - margin * self.weights, tuple(groups), two_sided=False)

    def p_below(self, margin: float) -> float:
        """Return the one-sided p-value of the null hypothesis mean >= margin."""
        return self.negated.p_above(-margin)

    @property
    def negated(self) -> "SignFlips":
        """The test of b - a."""
        return SignFlips(-self.differing, self.weights, self.equal)


@dataclass(frozen=True)
class MarginTest:
    """One-sided sign-flip tests of a gain against margins, at one level."""

    flips: SignFlips
    level: float

    def is_above(self, margin: float) -> bool:
        """True if the mean gain is significantly above a margin."""
        return self.flips.p_above(margin) <= self.level

    def is_below(self, margin: float) -> bool:
        """True if the mean gain is significantly below a margin."""
        return self.flips.p_below(margin) <= self.level


def smallest_p(n_differing: int) -> float:
    """Return the smallest possible two-sided p-value: 2^(1 - n), at least that of the draws."""
    p = math.ldexp(1.0, 1 - n_differing)
    return p if n_differing <= MAX_EXACT_USERS else max(p, 1 / (1 + DRAWS))


def _sign_flip_p(
    values: Floats, groups: tuple[tuple[float, int], ...], *, two_sided: bool
) -> float:
    """Return the p-value of the sum of values and of groups (value, count) of equal values."""
    count = len(values) + sum(n for _, n in groups)
    is_exact = count <= MAX_EXACT_USERS
    if is_exact:
        values = np.concatenate([values, *(np.full(n, value) for value, n in groups)])
        groups = ()
    joined = np.concatenate([values, [value for value, _ in groups]])
    joined = round_to_grid(joined[:, np.newaxis], max_weight=max(count, 1))[:, 0]
    values, group_values = joined[: len(values)], joined[len(values) :]
    # Sorted sizes: the result does not depend on the order of users or of models.
    sizes = np.sort(np.abs(values))
    signs = _all_signs(len(values)) if is_exact else _drawn_signs()[:, : len(values)]
    sums, observed, size = signs @ sizes, values.sum(), sizes.sum()
    for group, (value, (_, n)) in enumerate(zip(group_values, groups, strict=True)):
        sums = sums + value * _sums_of_signs(n, group)
        observed, size = observed + n * value, size + n * abs(value)
    if two_sided:
        sums, observed = np.abs(sums), abs(observed)
    n_extreme = int(np.count_nonzero(sums >= observed - _TOLERANCE * size))
    return n_extreme / len(sums) if is_exact else (1 + n_extreme) / (1 + len(sums))


@cache
def _all_signs(n_users: int) -> Floats:
    """Return (combinations, users) signs: all 2ⁿ combinations."""
    combination = np.arange(1 << n_users, dtype=np.uint32)[:, np.newaxis]
    return np.where((combination >> np.arange(n_users, dtype=np.uint32)) & 1, 1.0, -1.0)


@cache
def _drawn_signs() -> Floats:
    """Return (draws, users) random signs, the same for all metrics and pairs of models."""
    random = np.random.Generator(np.random.PCG64(0))
    shape = (MIN_T_TEST_USERS, DRAWS)  # user by user in memory, so that few users are contiguous
    return np.where(random.integers(0, 2, shape, dtype=np.uint8), 1.0, -1.0).T


def _sums_of_signs(n: int, group: int) -> Floats:
    """Return (draws,) sums of n signs: 2 Binomial(n, 1/2) - n."""
    random = np.random.Generator(np.random.PCG64(1 + group))
    return np.asarray(2.0 * random.binomial(n, 0.5, DRAWS) - n, dtype=np.float64)
