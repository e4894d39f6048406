"""Poisson bootstrap over users, for statistics without a closed-form interval.

In a resample, each user has an independent Poisson(1) weight instead of being drawn with
replacement, so that all sums are one matrix product.

References
----------
Chamandy, Muralidharan, Najmi & Naidu (2012), Estimating uncertainty for massive data streams,
Google.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.stats.floating_point import exact_product, is_close, round_to_grid

_RESAMPLE_BLOCK = 64  # fewer for many users
_MAX_DRAWN = 1 << 27  # random numbers in memory: 256 MB
_USER_BLOCK = 1 << 13  # users with weights in memory: 4 MB, which fits the cache
_TABLE_SIZE = 1 << 16
MAX_WEIGHT = 9  # of a user in a resample


def weighted_means(values: Floats, *, resamples: int, seed: int) -> Floats:
    """Return the mean of each column in each resample of the users.

    Parameters
    ----------
    values : (users, columns) float64
        NaN if a user does not count in a column.
    resamples : int
        Number of resamples.
    seed : int
        Seed of the random weights.

    Returns
    -------
    (resamples, columns) float64
        NaN if no user of a resample counts.
    """
    counts = ~np.isnan(values)
    has_all = bool(counts.all())
    rounded = round_to_grid(np.nan_to_num(values), max_weight=MAX_WEIGHT)
    means, weight_table = np.empty((resamples, values.shape[1])), _poisson_weights()
    for start, drawn in _draw_blocks(len(values), resamples, seed):
        sums, users = np.zeros((2, len(drawn), values.shape[1]))
        for first in range(0, len(values), _USER_BLOCK):
            block = slice(first, first + _USER_BLOCK)
            weights = weight_table.take(drawn[:, block], mode="clip")  # faster than an index
            sums += exact_product(weights, rounded[block])
            if has_all:
                users += weights.sum(axis=1, keepdims=True)
            else:
                users += exact_product(weights, counts[block].astype(np.float64))
        means[start : start + len(drawn)] = sums / np.where(users > 0, users, np.nan)
    return means


def best_shares(means: Floats, *, higher_is_better: bool) -> Floats:
    """Return the share of resamples in which each column has the best mean.

    Parameters
    ----------
    means : (resamples, columns) float64
        See `weighted_means`.
    higher_is_better : bool
        Direction of the metric.

    Returns
    -------
    (columns,) float64
        Columns with equal means share a resample. NaN if all means are NaN.
    """
    signed = np.where(np.isnan(means), -np.inf, means if higher_is_better else -means)
    best = is_close(signed, signed.max(axis=1, keepdims=True)) & ~np.isnan(means)
    n_best = best.sum(axis=1, keepdims=True)
    n = int(np.count_nonzero(n_best))
    shares = best / np.maximum(n_best, 1)
    return np.asarray(shares.sum(axis=0) / n if n else np.full(means.shape[1], np.nan))


def percentile_interval(samples: Floats, confidence: float) -> tuple[float, float]:
    """Return the percentile interval of the samples; NaN without samples.

    The ends are values of the samples, without interpolation.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return math.nan, math.nan
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail], method="inverted_cdf")
    return float(low), float(high)


def bootstrap_p(samples: Floats) -> float:
    """Return p = 2 (1 + min(#samples <= 0, #samples >= 0)) / (1 + #samples), at most 1.

    Except for the two 1s, it is the level at which the percentile interval just reaches 0.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 4.2.
    doi:10.1017/CBO9780511802843
    """
    defined = samples[~np.isnan(samples)]
    tail = min(np.count_nonzero(defined <= 0), np.count_nonzero(defined >= 0))
    return min(2 * (1 + int(tail)) / (1 + len(defined)), 1.0)


def _poisson_weights() -> Floats:
    """Return the Poisson(1) weight of each random number, shape (_TABLE_SIZE,)."""
    from scipy.special import pdtr

    cumulative = pdtr(np.arange(MAX_WEIGHT + 1), 1.0)
    quantiles = (np.arange(_TABLE_SIZE) + 0.5) / _TABLE_SIZE
    return np.searchsorted(cumulative, quantiles).astype(np.float64)


def _draw_blocks(users: int, resamples: int, seed: int) -> Iterator[tuple[int, NDArray[np.uint16]]]:
    """Yield the first resample of each block and the block's (resamples, users) random numbers.

    The numbers do not depend on the block size.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    # Even, because numpy draws two numbers as one.
    n = min(_RESAMPLE_BLOCK, max(_MAX_DRAWN // max(users, 1) // 2, 1) * 2)
    for start in range(0, resamples, n):
        shape = (min(n, resamples - start), users)
        yield start, random.integers(0, _TABLE_SIZE, shape, dtype=np.uint16)
