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

from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.statistics.exact import on_grid

_BLOCK = 64  # resamples at a time
_TABLE_SIZE = 1 << 16
HEAVIEST = 9  # no weight of the table is larger


def weighted_means(values: Floats, *, resamples: int, seed: int) -> Floats:
    """(resamples, columns) means of each column over the resampled users; NaN where nobody counts.

    Parameters
    ----------
    values : (users, columns) float64; NaN where a user does not count in a column
    """
    counts = (~np.isnan(values)).astype(np.float64)
    both = np.column_stack([on_grid(np.nan_to_num(values), heaviest=HEAVIEST), counts])
    means = np.empty((resamples, values.shape[1]))
    for start, weights in _weights(len(values), resamples, seed):
        sums, users = np.hsplit(weights @ both, 2)
        means[start : start + len(weights)] = sums / np.where(users > 0, users, np.nan)
    return means


def best_probability(means: Floats, *, higher_is_better: bool) -> Floats:
    """(columns,) share of the resamples in which a column has the best mean; equal ones share it. NaN without any."""
    signed = np.where(np.isnan(means), -np.inf, means if higher_is_better else -means)
    best = (signed == signed.max(axis=1, keepdims=True)) & ~np.isnan(means)
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


def _weights(users: int, resamples: int, seed: int) -> Iterator[tuple[int, Floats]]:
    """Blocks of (resamples, users) weights and where they begin."""
    from scipy.special import pdtr  # as for Student's t

    up_to = pdtr(np.arange(HEAVIEST + 1), 1.0)  # the distribution function of Poisson(1)
    table = np.searchsorted(up_to, (np.arange(_TABLE_SIZE) + 0.5) / _TABLE_SIZE).astype(np.float64)
    random = np.random.Generator(np.random.PCG64(seed))
    for start in range(0, resamples, _BLOCK):
        n = min(_BLOCK, resamples - start)
        drawn = random.integers(0, _TABLE_SIZE, (n, users), dtype=np.uint16)
        yield start, table[drawn]
