"""Sums that come out exactly, so that a matrix product has the same bits on every machine, in any order."""

import numpy as np

from concord.metrics_core.metrics.elementary import log2
from concord.metrics_core.metrics.judged import Floats

_BITS = 53  # of a float64


def on_grid(values: Floats, heaviest: int) -> Floats:
    """(rows, columns) the values rounded to multiples of a power of two, each column to its own.

    It is the finest one for which no sum over the rows of weight x value, for whole weights up to `heaviest`, needs
    more than 53 bits: each such sum is then exact. The rounding is below heaviest x rows x largest value / 2^53, for
    138,000 rows, values up to 1 and weights up to 9 some 1e-10.
    """
    largest = np.abs(values).max(axis=0, initial=0.0)
    bound = log2(np.where(largest > 0, largest, 1.0)) + log2(heaviest * max(len(values), 1))
    step = np.ldexp(1.0, np.ceil(bound - _BITS + 1).astype(np.intc))
    return np.asarray(np.round(values / step) * step)
