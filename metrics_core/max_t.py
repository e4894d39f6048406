"""Joint sign flips: p values of many comparisons at once, adjusted by how they hang together."""

from collections.abc import Iterator

import numpy as np

from metrics_core.exact import on_grid
from metrics_core.judged import Floats, Ints
from metrics_core.paired import FEWEST_INFORMATIVE

_BLOCK = 64  # resamples at a time; a multiple of 8


def max_t(differences: Floats, *, resamples: int, seed: int) -> Floats:
    """(tests,) adjusted p values: the chance that any true null hypothesis is rejected is bounded.

    Were a user's difference as likely to be d as -d, a resample could flip its sign, in all tests at once. The
    statistic is |t|; p of the i-th largest is the share of resamples in which the largest |t| of it and those below
    reaches it, never below the p above (step-down): (1 + count) / (1 + resamples). Comparisons that hang together,
    as metrics and pairs of models do, cost less than by Holm.

    Parameters
    ----------
    differences : (users, tests) float64, NaN where a user does not count. Tests in which fewer than ten users differ
                  are no members and have p NaN.

    References
    ----------
    Westfall & Young (1993), Resampling-Based Multiple Testing, Wiley, algorithm 2.8; for retrieval: Boytsov, Belova &
    Westfall (2013), CIKM, 403-412.  doi:10.1145/2505515.2505614
    """
    adjusted = np.full(differences.shape[1], np.nan)
    informative = np.count_nonzero(np.nan_to_num(differences), axis=0)
    members = np.flatnonzero(informative >= FEWEST_INFORMATIVE)
    if not len(members):
        return adjusted
    n = np.count_nonzero(~np.isnan(differences[:, members]), axis=0)
    gaps = on_grid(np.nan_to_num(differences[:, members]), heaviest=1)
    squares = np.array([np.add.reduce(column * column) for column in gaps.T])
    observed = _statistic(np.array([np.add.reduce(column) for column in gaps.T]), squares, n)
    order = np.argsort(-observed, kind="stable")
    count = np.zeros(len(members))
    for flipped in _flipped_sums(gaps, resamples, seed):
        drawn = _statistic(flipped, squares, n)[:, order]
        largest = np.maximum.accumulate(drawn[:, ::-1], axis=1)[:, ::-1]
        count += (largest >= observed[order]).sum(axis=0)
    p = np.maximum.accumulate((1 + count) / (1 + resamples))
    adjusted[members[order]] = p
    return adjusted


def _statistic(sums: Floats, squares: Floats, n: Ints) -> Floats:
    """|t| of a test whose differences add up to `sums`, and their squares to `squares`."""
    spread = np.maximum(squares - sums * sums / n, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.abs(sums) / np.sqrt(n * spread / (n - 1)))


def _flipped_sums(gaps: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of (resamples, tests) sums of the differences, each user's with one sign in all tests."""
    random = np.random.Generator(np.random.PCG64(seed))
    whole = np.array([np.add.reduce(column) for column in gaps.T])
    for start in range(0, resamples, _BLOCK):
        drawn = random.integers(0, 256, (_BLOCK // 8, len(gaps)), dtype=np.uint8)
        kept = np.unpackbits(drawn, axis=0)[: min(_BLOCK, resamples - start)]
        yield 2 * (kept.astype(np.float64) @ gaps) - whole
