"""Poisson bootstrap over users, for numbers that have no interval in closed form.

Each user counts Poisson(1) times in a resample, independently of the others, so that users need no drawing with
replacement, and all sums come from one matrix product.

References
----------
Chamandy, Muralidharan, Najmi & Naidu (2012), Estimating uncertainty for massive data streams, Google.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.stats.exact_sums import on_grid
from concord.metrics_core.stats.tolerance import is_no_difference

_BLOCK = 64  # resamples at a time, fewer where users are many
_DRAWN = 1 << 27  # numbers that are held at a time: 256 MB
_USERS = 1 << 16  # whose weights are held at a time: 32 MB
_TABLE_SIZE = 1 << 16
HEAVIEST = 9  # no weight of the table is larger


def weighted_means(values: Floats, *, resamples: int, seed: int) -> Floats:
    """(resamples, columns) means of each column over the resampled users; NaN where nobody counts.

    Parameters
    ----------
    values : (users, columns) float64; NaN where a user does not count in a column
    """
    counts = ~np.isnan(values)
    rounded = on_grid(np.nan_to_num(values), heaviest=HEAVIEST)
    means, weight_of = np.empty((resamples, values.shape[1])), _weight_of()
    for start, drawn in _drawn(len(values), resamples, seed):
        sums, users = np.zeros((2, len(drawn), values.shape[1]))
        for first in range(0, len(values), _USERS):
            some = slice(first, first + _USERS)
            weights = weight_of[drawn[:, some]]
            sums += weights @ rounded[some]
            users += weights @ counts[some].astype(np.float64)
        means[start : start + len(drawn)] = sums / np.where(users > 0, users, np.nan)
    return means


def best_probability(means: Floats, *, higher_is_better: bool) -> Floats:
    """(columns,) share of the resamples in which a column has the best mean; equal ones share it. NaN without any."""
    signed = np.where(np.isnan(means), -np.inf, means if higher_is_better else -means)
    best = is_no_difference(signed, signed.max(axis=1, keepdims=True)) & ~np.isnan(means)
    n_best = best.sum(axis=1, keepdims=True)
    known = int(np.count_nonzero(n_best))
    shares = best / np.maximum(n_best, 1)
    return np.asarray(shares.sum(axis=0) / known if known else np.full(means.shape[1], np.nan))


def interval(samples: Floats, confidence: float) -> tuple[float, float]:
    """The percentile interval: values that occur in the samples; NaN where there are none."""
    known = samples[~np.isnan(samples)]
    if not len(known):
        return math.nan, math.nan
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail], method="inverted_cdf")
    return float(low), float(high)


def two_sided(samples: Floats) -> float:
    """P = 2 × (1 + samples on the rarer side of 0, with those at 0) / (1 + samples), at most 1.

    Apart from the added ones it is the level at which the percentile interval just reaches 0.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 4.2 ((1 + count) / (1 + samples)).
    doi:10.1017/CBO9780511802843
    """
    known = samples[~np.isnan(samples)]
    rarer = min(np.count_nonzero(known <= 0), np.count_nonzero(known >= 0))
    return min(2 * (1 + int(rarer)) / (1 + len(known)), 1.0)


def _weight_of() -> Floats:
    """The weight that a drawn number stands for."""
    from scipy.special import pdtr  # as for Student's t

    up_to = pdtr(np.arange(HEAVIEST + 1), 1.0)  # the distribution function of Poisson(1)
    return np.searchsorted(up_to, (np.arange(_TABLE_SIZE) + 0.5) / _TABLE_SIZE).astype(np.float64)


def _drawn(users: int, resamples: int, seed: int) -> Iterator[tuple[int, NDArray[np.uint16]]]:
    """Blocks of (resamples, users) numbers and where they begin; how they are cut changes none of them."""
    random = np.random.Generator(np.random.PCG64(seed))
    n = min(_BLOCK, max(_DRAWN // max(users, 1) // 2, 1) * 2)  # even: two numbers are drawn as one
    for start in range(0, resamples, n):
        shape = (min(n, resamples - start), users)
        yield start, random.integers(0, _TABLE_SIZE, shape, dtype=np.uint16)
