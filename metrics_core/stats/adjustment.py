"""Multiple testing: p-values adjusted for the number of comparisons, and the reuse of one test set."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.results.comparison_parts import Severity
from concord.metrics_core.stats.exact_sums import on_grid
from concord.metrics_core.stats.tolerance import differences


def holm(p: Floats) -> Floats:
    """Smallest p times m, the next times m - 1 …, never falling: the chance of any false finding is bounded.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.
    """
    return _over_tests(p, lambda rising: np.maximum.accumulate(rising * _countdown(len(rising))))


def benjamini_hochberg(p: Floats) -> Floats:
    """The i-th smallest p times m / i, never above the next: the share of false findings is bounded.

    References
    ----------
    Benjamini & Hochberg (1995), Journal of the Royal Statistical Society B 57(1), 289-300.
    """
    return _over_tests(p, _step_up)


def adjust(p: Floats, primary: NDArray[np.bool_]) -> Floats:
    """Holm over the primary comparisons, Benjamini-Hochberg over the others."""
    adjusted = np.empty_like(p)
    adjusted[primary] = holm(p[primary])
    adjusted[~primary] = benjamini_hochberg(p[~primary])
    return adjusted


def _step_up(rising: Floats) -> Floats:
    m = len(rising)
    scaled = rising * (m / np.arange(1, m + 1))
    return np.minimum.accumulate(scaled[::-1])[::-1]


def _countdown(m: int) -> Floats:
    return np.arange(m, 0, -1, dtype=np.float64)


def _over_tests(p: Floats, adjust_rising: Callable[[Floats], Floats]) -> Floats:
    """Adjusts the values that are no NaN, in rising order, and puts them back in their places."""
    places = np.flatnonzero(~np.isnan(p))
    places = places[np.argsort(p[places], kind="stable")]
    adjusted = np.full(len(p), np.nan)
    adjusted[places] = np.minimum(adjust_rising(p[places]), 1.0)
    return adjusted


_RESAMPLES = 64  # at a time; a multiple of 8
_USERS = 1 << 14  # whose signs are numbers at a time
_VALUES = 1 << 23  # differences that are held at a time: 64 MB
Pair = tuple[Floats, Floats]


def max_t(pairs: Sequence[Pair], *, resamples: int, seed: int) -> Floats:
    """(tests,) adjusted p values: the chance that any true null hypothesis is rejected is bounded.

    Were a user's difference as likely to be d as -d, a resample could flip its sign, in all tests at once. The
    statistic is |t|; p of the i-th largest is the share of resamples in which the largest |t| of it and those below
    reaches it, never below the p above (step-down): (1 + count) / (1 + resamples). Comparisons that hang together,
    as metrics and pairs of models do, cost less than by Holm.

    The differences of some tests are held at a time, the least extreme tests first, so that of a resample no more
    than its largest |t| so far is kept. All sums are exact: how tests and users are divided changes no bit.

    Parameters
    ----------
    pairs : of each test the (users,) float64 values of a and of b, the same users in all, NaN where a user does not
            count; each with different values of two users or more

    References
    ----------
    Westfall & Young (1993), Resampling-Based Multiple Testing, Wiley, algorithm 4.1 (step-down max T); for retrieval:
    Boytsov, Belova & Westfall (2013), SIGIR, 403-412.  doi:10.1145/2484028.2484034
    """
    if not pairs:
        return np.zeros(0)
    tests = _Tests.of(pairs)
    observed = tests.statistic(tests.sums)
    order = np.argsort(-observed, kind="stable")
    count = np.zeros(len(pairs))
    largest = np.full(resamples, -np.inf)
    for some in _divided(order[::-1], tests.n_users):
        drawn = tests.some(some).drawn(resamples, seed)
        drawn[:, 0] = np.maximum(drawn[:, 0], largest)
        reached = np.maximum.accumulate(drawn, axis=1)
        count[some] = (reached >= observed[some]).sum(axis=0)
        largest = reached[:, -1]
    adjusted = np.empty(len(pairs))
    adjusted[order] = np.maximum.accumulate((1 + count[order]) / (1 + resamples))
    return adjusted


def _divided(order: Ints, n_users: int) -> Iterator[Ints]:
    """The tests in this order, as many at a time as may be held."""
    n = max(_VALUES // n_users, 1)
    for start in range(0, len(order), n):
        yield order[start : start + n]


@dataclass(frozen=True)
class _Tests:
    """Tests by what does not depend on the signs.

    n, sums, squares : (tests,) users who count, and the sums of their differences and of the squares
    """

    pairs: Sequence[Pair]
    n: Ints
    sums: Floats
    squares: Floats

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "_Tests":
        n = np.array([np.count_nonzero(~np.isnan(a - b)) for a, b in pairs])
        sums, squares = np.empty(len(pairs)), np.empty(len(pairs))
        for test, pair in enumerate(pairs):
            gaps = _gaps(pair)
            sums[test], squares[test] = np.add.reduce(gaps), np.add.reduce(gaps * gaps)
        return cls(pairs, n, sums, squares)

    @property
    def n_users(self) -> int:
        return len(self.pairs[0][0])

    def some(self, tests: Ints) -> "_Tests":
        pairs = [self.pairs[test] for test in tests]
        return _Tests(pairs, self.n[tests], self.sums[tests], self.squares[tests])

    def statistic(self, sums: Floats) -> Floats:
        """|t| where the differences add up to `sums`."""
        spread = np.maximum(self.squares - sums * sums / self.n, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.abs(sums) / np.sqrt(self.n * spread / (self.n - 1)))

    def drawn(self, resamples: int, seed: int) -> Floats:
        """(resamples, tests) |t| of the differences, each user's with one sign in all tests."""
        gaps = np.empty((self.n_users, len(self.pairs)))
        for test, pair in enumerate(self.pairs):
            gaps[:, test] = _gaps(pair)
        drawn = np.empty((resamples, len(self.pairs)))
        for start, packed in _signs(self.n_users, resamples, seed):
            n = min(_RESAMPLES, resamples - start)
            kept = np.zeros((n, len(self.pairs)))
            for user in range(0, self.n_users, _USERS):
                users = slice(user, user + _USERS)
                bits = np.unpackbits(packed[:, users], axis=0)[:n]
                kept += bits.astype(np.float64) @ gaps[users]
            drawn[start : start + n] = self.statistic(2 * kept - self.sums)
        return drawn


def _gaps(pair: Pair) -> Floats:
    """(users,) differences on a grid on which their sums are exact; 0 where a user does not count."""
    gaps = np.nan_to_num(differences(*pair))
    return on_grid(gaps[:, np.newaxis], heaviest=1)[:, 0]


def _signs(n_users: int, resamples: int, seed: int) -> Iterator[tuple[int, np.ndarray]]:
    """Blocks of the signs of 64 resamples, a bit each, 1 for kept and 0 for flipped, and where they begin."""
    random = np.random.Generator(np.random.PCG64(seed))
    for start in range(0, resamples, _RESAMPLES):
        yield start, random.integers(0, 256, (_RESAMPLES // 8, n_users), dtype=np.uint8)


NOTICE, SERIOUS = 0.1, 0.5  # the chance from which it is said, and from which it is serious


def chance_of_false_winner(comparisons: int, alpha: float) -> float:
    """1 - (1 - alpha / 2)^m: that at least one of m comparisons calls a useless list better, at most.

    A comparison of useless lists finds any difference with probability alpha at most, however many lists and labels
    it has (Holm), and half of that in favour of a list. For normal means whose correlations are not negative,
    independence is the worst case (Slepian). Differences to one baseline are such, as they share it. Where each list is
    held against the one before, neighbours are negatively correlated, and only m alpha / 2 is a bound. All of it holds
    for lists that were not made of what this truth said of others.

    References
    ----------
    Slepian (1962), Bell System Technical Journal 41(2), 463-501.  doi:10.1002/j.1538-7305.1962.tb02419.x
    Dwork et al. (2015), Science 349(6248), 636-638, on lists that were made of it.  doi:10.1126/science.aaa9375
    """
    return 1 - math.prod([1 - alpha / 2] * comparisons)


def severity_of(chance: float) -> Severity | None:
    """Nothing below one in ten, a notice from there, serious from one in two."""
    return "serious" if chance >= SERIOUS else "notice" if chance >= NOTICE else None
