"""Multiple testing: adjusted p-values, and the probability of false winners if a test set is reused."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.judged import Bools, Floats, Ints
from concord.metrics_core.results.comparison_parts import Severity
from concord.metrics_core.stats.exact_sums import round_to_grid
from concord.metrics_core.stats.tolerance import differences


def holm(p: Floats) -> Floats:
    """Return p_(i) = max_{j <= i} (m - j + 1) p_(j), Holm's adjusted p-values; they bound the probability of any false finding.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.
    """
    return _adjust_defined(
        p, lambda rising: np.maximum.accumulate(rising * np.arange(len(rising), 0, -1.0))
    )


def benjamini_hochberg(p: Floats) -> Floats:
    """Return p_(i) = min_{j >= i} m p_(j) / j, which bound the expected share of false findings.

    References
    ----------
    Benjamini & Hochberg (1995), Journal of the Royal Statistical Society B 57(1), 289-300.
    """

    def step_up(rising: Floats) -> Floats:
        scaled = rising * (len(rising) / np.arange(1, len(rising) + 1))
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _adjust_defined(p, step_up)


def adjust(p: Floats, primary: Bools) -> Floats:
    """Return p-values adjusted by Holm for the primary comparisons and by Benjamini-Hochberg for the others."""
    adjusted = np.empty_like(p)
    adjusted[primary] = holm(p[primary])
    adjusted[~primary] = benjamini_hochberg(p[~primary])
    return adjusted


def _adjust_defined(p: Floats, adjust_rising: Callable[[Floats], Floats]) -> Floats:
    """Apply an adjustment of rising p-values to those that are not NaN."""
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]  # NaN comes last
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(adjust_rising(p[order]), 1.0)
    return adjusted


_RESAMPLES = 64  # at a time; a multiple of 8
_USERS = 1 << 14  # whose signs are unpacked at a time
_MAX_VALUES = 1 << 23  # differences in memory: 64 MB
Pair = tuple[Floats, Floats]


def max_t(pairs: Sequence[Pair], *, resamples: int, seed: int) -> Floats:
    """Return (tests,) step-down max-T adjusted p-values, which bound the probability of any false finding.

    A resample flips the sign of a user's differences in all tests at once. The statistic is |t|; p of the i-th largest
    is (1 + count) / (1 + resamples), where count is the number of resamples in which the largest |t| of it and of the
    smaller ones reaches it, and at least the p of the larger ones. Correlated comparisons, such as metrics and pairs
    of models, are corrected less than by Holm.

    Tests are held in memory in batches, the least extreme first, so that only the largest |t| so far is kept per
    resample. All sums are exact: the batches change no bit.

    Parameters
    ----------
    pairs : sequence of ((users,) float64, (users,) float64)
        Values of a and b in each test, the same users in all; NaN for users who do not count. In each test the values of
        two or more users differ.
    resamples, seed : int
        Number of resamples, and the seed of their signs.

    References
    ----------
    Westfall & Young (1993), Resampling-Based Multiple Testing, Wiley, algorithm 4.1 (step-down max T); for retrieval:
    Boytsov, Belova & Westfall (2013), SIGIR, 403-412.  doi:10.1145/2484028.2484034
    """
    if not pairs:
        return np.zeros(0)
    tests = _SignFlipTests.from_pairs(pairs)
    observed = tests.statistic(tests.sums)
    order = np.argsort(-observed, kind="stable")
    count = np.zeros(len(pairs))
    largest = np.full(resamples, -np.inf)
    for batch in _batches(order[::-1], tests.n_users):
        drawn = tests.select(batch).resampled(resamples, seed)
        drawn[:, 0] = np.maximum(drawn[:, 0], largest)
        reached = np.maximum.accumulate(drawn, axis=1)
        count[batch] = (reached >= observed[batch]).sum(axis=0)
        largest = reached[:, -1]
    adjusted = np.empty(len(pairs))
    adjusted[order] = np.maximum.accumulate((1 + count[order]) / (1 + resamples))
    return adjusted


def _batches(order: Ints, n_users: int) -> Iterator[Ints]:
    """Yield the tests in this order, as many at a time as fit the memory."""
    n = max(_MAX_VALUES // n_users, 1)
    for start in range(0, len(order), n):
        yield order[start : start + n]


@dataclass(frozen=True)
class _SignFlipTests:
    """Paired tests whose users' signs are flipped.

    n, sums, squares : (tests,) number of users, sum of their differences, sum of the squares
    """

    pairs: Sequence[Pair]
    n: Ints
    sums: Floats
    squares: Floats

    @classmethod
    def from_pairs(cls, pairs: Sequence[Pair]) -> "_SignFlipTests":
        n = np.array([np.count_nonzero(~np.isnan(a - b)) for a, b in pairs])
        sums, squares = np.empty(len(pairs)), np.empty(len(pairs))
        for test, pair in enumerate(pairs):
            gaps = _grid_differences(pair)
            sums[test], squares[test] = np.add.reduce(gaps), np.add.reduce(gaps * gaps)
        return cls(pairs, n, sums, squares)

    @property
    def n_users(self) -> int:
        return len(self.pairs[0][0])

    def select(self, tests: Ints) -> "_SignFlipTests":
        pairs = [self.pairs[test] for test in tests]
        return _SignFlipTests(pairs, self.n[tests], self.sums[tests], self.squares[tests])

    def statistic(self, sums: Floats) -> Floats:
        """Return |t| for these sums of differences."""
        spread = np.maximum(self.squares - sums * sums / self.n, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.abs(sums) / np.sqrt(self.n * spread / (self.n - 1)))

    def resampled(self, resamples: int, seed: int) -> Floats:
        """Return (resamples, tests) |t|, each user with one random sign in all tests."""
        gaps = np.empty((self.n_users, len(self.pairs)))
        for test, pair in enumerate(self.pairs):
            gaps[:, test] = _grid_differences(pair)
        drawn = np.empty((resamples, len(self.pairs)))
        for start, packed in _signs(self.n_users, resamples, seed):
            n = min(_RESAMPLES, resamples - start)
            positive = np.zeros((n, len(self.pairs)))
            for user in range(0, self.n_users, _USERS):
                users = slice(user, user + _USERS)
                bits = np.unpackbits(packed[:, users], axis=0)[:n]
                positive += bits.astype(np.float64) @ gaps[users]
            drawn[start : start + n] = self.statistic(2 * positive - self.sums)
        return drawn


def _grid_differences(pair: Pair) -> Floats:
    """Return (users,) differences on a grid on which their sums are exact; 0 for users who do not count."""
    gaps = np.nan_to_num(differences(*pair))
    return round_to_grid(gaps[:, np.newaxis], max_weight=1)[:, 0]


def _signs(n_users: int, resamples: int, seed: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the first of each 64 resamples, and their signs as bits, 1 for kept and 0 for flipped."""
    random = np.random.Generator(np.random.PCG64(seed))
    for start in range(0, resamples, _RESAMPLES):
        yield start, random.integers(0, 256, (_RESAMPLES // 8, n_users), dtype=np.uint8)


NOTICE_FROM, SERIOUS_FROM = 0.1, 0.5  # smallest probability of each severity


def chance_of_false_winner(comparisons: int, alpha: float) -> float:
    """Return 1 - (1 - alpha / 2)^m, the largest probability that one of m comparisons calls a useless model better.

    A comparison of useless models finds any difference with probability at most alpha, whatever the number of models
    and metrics (Holm), and half of that in favour of a model. For normal means with non-negative correlations,
    independence is the worst case (Slepian). This holds for differences to one baseline, which they share. If each model
    is compared with the one before, neighbours are negatively correlated, and only m alpha / 2 is a bound. None of this
    holds for models that were chosen by earlier results on this test set.

    References
    ----------
    Slepian (1962), Bell System Technical Journal 41(2), 463-501.  doi:10.1002/j.1538-7305.1962.tb02419.x
    Dwork et al. (2015), Science 349(6248), 636-638, on models chosen that way.  doi:10.1126/science.aaa9375
    """
    return 1 - math.prod([1 - alpha / 2] * comparisons)


def reuse_severity(chance: float) -> Severity | None:
    """Return "notice" from 0.1 on, "serious" from 0.5 on, else None."""
    return "serious" if chance >= SERIOUS_FROM else "notice" if chance >= NOTICE_FROM else None
