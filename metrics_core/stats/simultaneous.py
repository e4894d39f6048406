"""Simultaneous intervals: the one level at which all intervals of a family are taken."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.stats.adjustment import benjamini_hochberg
from concord.metrics_core.stats.floating_point import exact_product

Deviations = NDArray[np.float32]  # whole numbers, (users,)

DRAWS = 1 << 16
_DRAW_BLOCK = 1 << 12
_USER_BLOCK = 1 << 14
_MAX_BITS = 20  # of a deviation
_STEPS = 100  # per unit of the critical value, which is rounded up to two decimals
_JITTER = 1e-9  # variance that makes a matrix of equal tests positive definite


def deviation_numbers(deviations: Floats) -> Deviations:
    """Return (users,) deviations in whole steps, so that sums of products are exact; NaN as 0.

    The step is the largest deviation / 2^20, or larger for more than 8,000 users.
    """
    values = np.nan_to_num(deviations)
    largest = np.abs(values).max(initial=0.0)
    bits = min(_MAX_BITS, (53 - len(values).bit_length()) // 2)
    scale = math.ldexp(1.0, bits) / largest if largest > 0 else 0.0
    return np.rint(values * scale).astype(np.float32)


def correlations(deviations: Sequence[Deviations]) -> Floats:
    """Return the (tests, tests) correlations of means from the deviations of the same users.

    All sums are exact, so neither the order of users nor the number of threads changes a bit.
    """
    n_users = len(deviations[0])
    products = np.zeros((len(deviations), len(deviations)))
    for first in range(0, n_users, _USER_BLOCK):
        rows = [each[first : first + _USER_BLOCK] for each in deviations]
        block = np.stack(rows).astype(np.float64)
        products += exact_product(block, block.T)
    size = np.sqrt(np.diag(products))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(products / np.outer(size, size)))


def joint_alpha(correlation: Floats, alpha: float) -> float:
    """Return the level of each of m tests at which they err jointly with probability alpha.

    It is 2 (1 - Φ(c)), where c is the 1 - alpha quantile of max |Z_j| of normal Z with these
    correlations: from 65,536 seeded draws, rounded up to two decimals, and at most Bonferroni's.
    One test has alpha itself, and copies of a test count once.

    Each test then uses its own distribution at this level (t with its own degrees of freedom).
    A multivariate t with one variance for all tests would be too narrow, because each difference
    has an estimate of its own.

    References
    ----------
    Dunnett (1955), Journal of the American Statistical Association 50(272), 1096-1121.
    Hothorn, Bretz & Westfall (2008), Biometrical Journal 50(3), 346-363.
    doi:10.1002/bimj.200810425
    """
    from scipy.special import ndtr

    correlation = _without_copies(correlation)
    m = len(correlation)
    if m <= 1:
        return alpha
    factor = np.linalg.cholesky(_canonical(correlation) + _JITTER * np.eye(m))
    random = np.random.Generator(np.random.PCG64(0))
    largest = np.concatenate(
        [
            np.abs(random.standard_normal((_DRAW_BLOCK, m)) @ factor.T).max(axis=1)
            for _ in range(DRAWS // _DRAW_BLOCK)
        ]
    )
    rank = math.ceil((1 - alpha) * (1 + DRAWS)) - 1
    critical = math.ceil(float(np.partition(largest, rank)[rank]) * _STEPS) / _STEPS
    return min(max(2 * float(ndtr(-critical)), alpha / m), alpha)


def _without_copies(correlation: Floats) -> Floats:
    """Return the matrix without tests that equal an earlier one, which err only together."""
    earlier = np.tril(np.abs(correlation) > 1 - _JITTER, k=-1)
    kept = ~earlier.any(axis=1)
    return correlation[np.ix_(kept, kept)]


def _canonical(correlation: Floats) -> Floats:
    """Return the matrix in an order, and with signs, that do not depend on those of the tests."""
    order = np.lexsort(np.sort(np.abs(correlation), axis=1).T)
    ordered = correlation[np.ix_(order, order)]
    signs = np.ones(len(ordered))
    for row in range(1, len(ordered)):
        signs[row] = -1.0 if math.fsum(ordered[row, :row] * signs[:row]) < 0 else 1.0
    return np.asarray(ordered * np.outer(signs, signs))


def discovery_alpha(p: Floats, alpha: float) -> float:
    """Return the level R alpha / m for m p-values, R of which Benjamini & Hochberg reject.

    R is at least 1; NaN is not counted. They reject exactly the p-values up to this level, so an
    interval at it excludes 0 exactly if it is among the findings. The intervals of the findings
    have at most alpha as the expected share that does not cover (false coverage rate).

    References
    ----------
    Benjamini & Yekutieli (2005), Journal of the American Statistical Association 100(469), 71-81.
    doi:10.1198/016214504000001907
    """
    tested: Bools = ~np.isnan(p)
    n_found = int(np.count_nonzero(benjamini_hochberg(p)[tested] <= alpha))
    return alpha * max(n_found, 1) / max(int(np.count_nonzero(tested)), 1)
