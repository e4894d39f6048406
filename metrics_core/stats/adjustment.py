"""Multiple testing: adjusted p-values, and the risk of a false winner on a reused test set."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.judged import Bools, Floats, Ints
from concord.metrics_core.results.comparison_parts import Severity
from concord.metrics_core.stats.floating_point import differences, round_to_grid


def holm(p: Floats) -> Floats:
    """Return Holm's adjusted p-values, p_(i) = max_{j <= i} (m - j + 1) p_(j).

    They control the family-wise error rate. NaN stays NaN and is not counted.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.
    """

    def step_down(ascending: Floats) -> Floats:
        return np.maximum.accumulate(ascending * np.arange(len(ascending), 0, -1.0))

    return _adjust_defined(p, step_down)


def benjamini_hochberg(p: Floats) -> Floats:
    """Return Benjamini and Hochberg's adjusted p-values, p_(i) = min_{j >= i} m p_(j) / j.

    They control the false discovery rate. NaN stays NaN and is not counted.

    References
    ----------
    Benjamini & Hochberg (1995), Journal of the Royal Statistical Society B 57(1), 289-300.
    """

    def step_up(ascending: Floats) -> Floats:
        scaled = ascending * (len(ascending) / np.arange(1, len(ascending) + 1))
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _adjust_defined(p, step_up)


def adjust(p: Floats, primary: Bools) -> Floats:
    """Return adjusted p-values: `holm` for the primary tests, `benjamini_hochberg` for others."""
    adjusted = np.empty_like(p)
    adjusted[primary] = holm(p[primary])
    adjusted[~primary] = benjamini_hochberg(p[~primary])
    return adjusted


def _adjust_defined(p: Floats, adjust_ascending: Callable[[Floats], Floats]) -> Floats:
    """Apply an adjustment of ascending p-values to those that are not NaN."""
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]  # NaN comes last
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(adjust_ascending(p[order]), 1.0)
    return adjusted


_RESAMPLE_BLOCK = 64  # a multiple of 8
_USER_BLOCK = 1 << 14
_MAX_VALUES = 1 << 23  # differences in memory: 64 MB
Pair = tuple[Floats, Floats]


def max_t(pairs: Sequence[Pair], *, resamples: int, seed: int) -> Floats:
    """Return the step-down max-T adjusted p-values of paired sign-flip tests.

    They control the family-wise error rate. Correlated tests, such as those of several metrics on
    the same users, are corrected less than by `holm`.

    A resample flips the sign of a user's differences in all tests at once. The statistic is |t|.
    The p-value of the i-th largest |t| is (1 + count) / (1 + resamples), and at least that of the
    larger ones. `count` is the number of resamples in which the largest |t| of this test and of
    the less extreme ones reaches the observed |t|.

    Parameters
    ----------
    pairs : sequence of ((users,) float64, (users,) float64)
        Values of a and b in each test, the same users in all; NaN for users who do not count.
        In each test the values of two or more users differ.
    resamples : int
        Number of resamples.
    seed : int
        Seed of the random signs.

    Returns
    -------
    (tests,) float64
        Adjusted p-values.

    Notes
    -----
    Tests are resampled in batches, the least extreme first, so that memory holds only the largest
    |t| so far of each resample. All sums are exact, so the batches change no bit.

    References
    ----------
    Westfall & Young (1993), Resampling-Based Multiple Testing, Wiley, algorithm 4.1.
    Boytsov, Belova & Westfall (2013), SIGIR, 403-412 (in retrieval).
    doi:10.1145/2484028.2484034
    """
    if not pairs:
        return np.zeros(0)
    tests = _SignFlipTests.from_pairs(pairs)
    observed = tests.statistic(tests.sums)
    order = np.argsort(-observed, kind="stable")
    count = np.zeros(len(pairs))
    largest = np.full(resamples, -np.inf)
    for batch in _batches(order[::-1], tests.n_users):
        resampled = tests.select(batch).resampled(resamples, seed)
        resampled[:, 0] = np.maximum(resampled[:, 0], largest)
        maxima = np.maximum.accumulate(resampled, axis=1)
        count[batch] = (maxima >= observed[batch]).sum(axis=0)
        largest = maxima[:, -1]
    adjusted = np.empty(len(pairs))
    adjusted[order] = np.maximum.accumulate((1 + count[order]) / (1 + resamples))
    return adjusted


def _batches(order: Ints, n_users: int) -> Iterator[Ints]:
    """Yield the tests in this order, in batches that fit in memory."""
    n = max(_MAX_VALUES // n_users, 1)
    for start in range(0, len(order), n):
        yield order[start : start + n]


@dataclass(frozen=True)
class _SignFlipTests:
    """Paired sign-flip tests.

    Attributes
    ----------
    n, sums, squares : (tests,)
        Number of users, sum of their differences, and sum of the squared differences.
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
            diff = _grid_differences(pair)
            sums[test], squares[test] = np.add.reduce(diff), np.add.reduce(diff * diff)
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
        diff = np.empty((self.n_users, len(self.pairs)))
        for test, pair in enumerate(self.pairs):
            diff[:, test] = _grid_differences(pair)
        statistics = np.empty((resamples, len(self.pairs)))
        for start, packed in _signs(self.n_users, resamples, seed):
            n = min(_RESAMPLE_BLOCK, resamples - start)
            positive = np.zeros((n, len(self.pairs)))
            for user in range(0, self.n_users, _USER_BLOCK):
                users = slice(user, user + _USER_BLOCK)
                bits = np.unpackbits(packed[:, users], axis=0)[:n]
                positive += bits.astype(np.float64) @ diff[users]
            statistics[start : start + n] = self.statistic(2 * positive - self.sums)
        return statistics


def _grid_differences(pair: Pair) -> Floats:
    """Return (users,) differences whose sums are exact; 0 for users who do not count."""
    diff = np.nan_to_num(differences(*pair))
    return round_to_grid(diff[:, np.newaxis], max_weight=1)[:, 0]


def _signs(n_users: int, resamples: int, seed: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the first resample of each block, and the block's signs as bits: 0 flips a sign."""
    random = np.random.Generator(np.random.PCG64(seed))
    for start in range(0, resamples, _RESAMPLE_BLOCK):
        yield start, random.integers(0, 256, (_RESAMPLE_BLOCK // 8, n_users), dtype=np.uint8)


NOTICE_FROM, SERIOUS_FROM = 0.1, 0.5  # smallest probability of each severity


def chance_of_false_winner(comparisons: int, alpha: float) -> float:
    """Return 1 - (1 - alpha / 2)^m, a bound for the probability of a false winner.

    A false winner is a model that is called better although no model differs from the baseline.
    A comparison finds any difference between equal models with probability at most alpha (Holm),
    and half of these are in favour of a model.

    The bound holds for m comparisons with one baseline: their mean differences are positively
    correlated, and independence is the worst case (Slepian). If each model is compared with the
    previous one, only m alpha / 2 is a bound. Neither holds for models that were selected by
    earlier results on this test set (Dwork et al.).

    References
    ----------
    Slepian (1962), Bell System Technical Journal 41(2), 463-501.
    doi:10.1002/j.1538-7305.1962.tb02419.x
    Dwork et al. (2015), Science 349(6248), 636-638.  doi:10.1126/science.aaa9375
    """
    return 1 - math.prod([1 - alpha / 2] * comparisons)


def reuse_severity(probability: float) -> Severity | None:
    """Return the severity of a probability of false winners; None below 0.1."""
    if probability >= SERIOUS_FROM:
        return "serious"
    return "notice" if probability >= NOTICE_FROM else None
