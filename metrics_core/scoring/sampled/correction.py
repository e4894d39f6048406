"""The corrected value of each sampled rank: as near to the metric of the full rank as bias and variance let it be."""

from functools import lru_cache

import numpy as np

from concord.metrics_core.conventions.candidates import Candidates
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.scoring.sampled.chances import chances

GAMMA = 0.01  # the weight of variance: intervals cover variance and no bias, so bias weighs more
_DIGITS = 12  # that are kept: a routine of LAPACK may differ in the last bits
_AT_ONCE = 1 << 18  # chances that are held


def correction(by_rank: Floats, candidates: Candidates, gamma: float = GAMMA) -> Floats:
    """(m + 1,) f(r) = argmin over f of the mean over R of (E[f(r) | R] - M(R))^2 + gamma Var[f(r) | R].

    R runs over 1 … N with equal weight. With T the matrix of P(r | R) this is the linear system
    ((1 - gamma) T'T (m + 1) / N + gamma I) f = T'M (m + 1) / N: all sampled ranks are then equally likely. The left side
    has the discrete Legendre polynomials as eigenvectors, which are those of a tridiagonal matrix, and the eigenvalues
    prod over j <= d of (m + 1 - j) (N + j) / ((m + 1 + j) (N - j)), d = 0 … m, so that no matrix has N rows. Where all
    items are candidates (m = N - 1) f is M.

    Parameters
    ----------
    by_rank : (depth,) M(R) for R = 1 … depth; 0 from there on to N

    References
    ----------
    Krichene & Rendle (2020), KDD, 1748-1757.  doi:10.1145/3394486.3403226  (they draw with replacement)
    """
    if gamma == GAMMA:
        return _kept(by_rank.tobytes(), candidates)
    return _solved(by_rank, candidates, gamma)


@lru_cache(maxsize=256)
def _kept(by_rank: bytes, candidates: Candidates) -> Floats:
    found = _solved(np.frombuffer(by_rank), candidates, GAMMA)
    found.setflags(write=False)
    return found


def _solved(by_rank: Floats, candidates: Candidates, gamma: float) -> Floats:
    vectors, values = _spectrum(candidates)
    posterior = _posterior_means(np.trim_zeros(by_rank, "b"), candidates)
    within = (vectors * posterior[:, None]).sum(axis=0) / ((1.0 - gamma) * values + gamma)
    return np.asarray(np.round((vectors * within).sum(axis=1), _DIGITS) + 0.0)  # no -0


def _posterior_means(by_rank: Floats, candidates: Candidates) -> Floats:
    """(m + 1,) E[M(R) | r], all full ranks being equally likely before."""
    count = candidates.negatives + 1
    total = np.zeros(count)
    step = max(_AT_ONCE // count, 1)
    for first in range(0, len(by_rank), step):
        block = by_rank[first : first + step]
        ranks = np.arange(first + 1, first + 1 + len(block))
        total += (block[:, None] * chances(ranks, candidates)).sum(axis=0)
    return total * count / candidates.catalogue


@lru_cache(maxsize=16)
def _spectrum(candidates: Candidates) -> tuple[Floats, Floats]:
    """Eigenvectors, one a column, and eigenvalues of T'T (m + 1) / N."""
    from scipy.linalg import eigh_tridiagonal

    m, n = candidates.negatives, candidates.catalogue
    place = np.arange(m, dtype=np.float64)
    beside = (place + 1.0) * (m - place)
    diagonal = np.concatenate([beside, [0.0]]) + np.concatenate([[0.0], beside])
    _, vectors = eigh_tridiagonal(diagonal, -beside)  # by degree: the eigenvalues are d (d + 1)
    d = np.arange(1, m + 1, dtype=np.float64)
    ratios = (m + 1.0 - d) / (m + 1.0 + d) * ((n + d) / (n - d))
    return np.asarray(vectors, dtype=np.float64), np.concatenate([[1.0], np.cumprod(ratios)])


def moments(values: Floats, ranks: np.ndarray, candidates: Candidates) -> tuple[Floats, Floats]:
    """(ranks,) E[f(r) | R] and Var[f(r) | R] of corrected values f, at full ranks R."""
    shares = chances(ranks, candidates)
    mean = (shares * values).sum(axis=1)
    apart = values - mean[:, None]
    return mean, (shares * (apart * apart)).sum(axis=1)
