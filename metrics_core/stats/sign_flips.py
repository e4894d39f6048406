"""Sign flips of few users' differences: p values that need no normal distribution."""

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.stats.exact_sums import on_grid

DRAWS = 100_000
ALL_SIGNS = 16  # users; up to so many, every combination of signs is counted
MANY_DIFFERING = 30  # users with different values, from whom on the t test is made
_MOST_WEIGHTS = 200  # different weights of users without a difference
_ROUNDING = 1e-9  # sums this close, as a share of the sum of all absolute values, count as equal


@dataclass(frozen=True, eq=False)
class SignFlips:
    """Differences of independent users whose mean is tested.

    Were each difference as likely to be d as -d, every combination of signs would be equally likely. p is the share of
    combinations whose sum is at least as extreme as the observed one: of all 2ⁿ up to 16 users, else (1 + count) /
    (1 + 100,000) of seeded draws. Exact for differences that are symmetric about the tested mean, and for no others.

    Parameters
    ----------
    differing : (n,) differences other than 0; of requests, the sum of each user
    weights   : (n,) how much each of these users counts in the mean; 1, or the number of requests
    equal     : (m,) weights of the users whose difference is 0

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21; Smucker, Allan & Carterette (2007), CIKM, 623-632.
    doi:10.1145/1321440.1321528
    """

    differing: Floats
    weights: Floats
    equal: Floats

    @property
    def least_p(self) -> float:
        """The smallest two-sided p that so many users can give."""
        return least_p(len(self.differing))

    @cached_property
    def p(self) -> float:
        """Two-sided p of a mean of 0: users without a difference change no sum."""
        return _share(self.differing, (), two_sided=True)

    def p_above(self, margin: float) -> float:
        """Return the one-sided p of a mean that is at most `margin`; NaN where users have too many different weights."""
        if margin == 0:
            return _share(self.differing, (), two_sided=False)
        weights, counts = np.unique(self.equal, return_counts=True)
        if len(weights) > _MOST_WEIGHTS:
            return math.nan
        groups = zip((-margin * weights).tolist(), counts.tolist(), strict=True)
        return _share(self.differing - margin * self.weights, tuple(groups), two_sided=False)

    def p_below(self, margin: float) -> float:
        """Return the one-sided p of a mean that is at least `margin`."""
        return self.negated.p_above(-margin)

    @property
    def negated(self) -> "SignFlips":
        """The flips of b - a."""
        return SignFlips(-self.differing, self.weights, self.equal)


@dataclass(frozen=True)
class MarginTest:
    """One-sided sign flips of gains against margins, at one level."""

    flips: SignFlips
    level: float

    def is_above(self, margin: float) -> bool:
        """True if the mean gain is shown to lie above a margin."""
        return self.flips.p_above(margin) <= self.level

    def is_below(self, margin: float) -> bool:
        """True if the mean gain is shown to lie below a margin."""
        return self.flips.p_below(margin) <= self.level


def least_p(n_differing: int) -> float:
    """Return the smallest two-sided p that sign flips of so many users can give: 2^(1 - n), or that of the draws."""
    least = math.ldexp(1.0, 1 - n_differing)
    return least if n_differing <= ALL_SIGNS else max(least, 1 / (1 + DRAWS))


def fewest_differing(alpha: float) -> int:
    """Return the smallest number of differing users that can be significant at a level: the least n with 2^(1 - n) <= alpha.

    Examples
    --------
    >>> fewest_differing(0.05), fewest_differing(0.05 / 15)
    (6, 10)
    """
    n = 1
    while math.ldexp(1.0, 1 - n) > alpha:
        n += 1
    return n


def _share(values: Floats, groups: tuple[tuple[float, int], ...], *, two_sided: bool) -> float:
    """Return p of the sum of `values` and of groups (value, count) of equal values, each value with its sign or the other."""
    count = len(values) + sum(n for _, n in groups)
    exact = count <= ALL_SIGNS
    if exact:
        values = np.concatenate([values, *(np.full(n, value) for value, n in groups)])
        groups = ()
    every = np.concatenate([values, [value for value, _ in groups]])
    every = on_grid(every[:, np.newaxis], heaviest=max(count, 1))[:, 0]
    values, of_groups = every[: len(values)], every[len(values) :]
    sizes = np.sort(np.abs(values))  # the draws do not depend on the order of users, or of models
    sums, observed, size = _signs(len(values), exact) @ sizes, values.sum(), sizes.sum()
    for place, (value, (_, n)) in enumerate(zip(of_groups, groups, strict=True)):
        sums = sums + value * _sums_of_signs(n, place)
        observed, size = observed + n * value, size + n * abs(value)
    if two_sided:
        sums, observed = np.abs(sums), abs(observed)
    reached = int(np.count_nonzero(sums >= observed - _ROUNDING * size))
    return reached / len(sums) if exact else (1 + reached) / (1 + len(sums))


def _signs(n_users: int, exact: bool) -> Floats:
    """Return (combinations, users) 1 and -1: all 2ⁿ, or 100,000 draws that are the same for every label and pair."""
    return _combinations(n_users) if exact else _draws()[:, :n_users]


@cache
def _combinations(n_users: int) -> Floats:
    combination = np.arange(1 << n_users, dtype=np.uint32)[:, np.newaxis]
    return np.where((combination >> np.arange(n_users, dtype=np.uint32)) & 1, 1.0, -1.0)


@cache
def _draws() -> Floats:
    random = np.random.Generator(np.random.PCG64(0))
    shape = (MANY_DIFFERING, DRAWS)  # in memory user by user, so that few users are read at once
    return np.where(random.integers(0, 2, shape, dtype=np.uint8), 1.0, -1.0).T


def _sums_of_signs(n: int, place: int) -> Floats:
    """Return (draws,) sums of n signs: 2 Binomial(n, 1/2) - n."""
    random = np.random.Generator(np.random.PCG64(1 + place))
    return np.asarray(2.0 * random.binomial(n, 0.5, DRAWS) - n, dtype=np.float64)
