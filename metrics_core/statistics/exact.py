"""Sums that come out exactly, so that they have the same bits on every machine, in any order."""

import math
from collections.abc import Iterator

import numpy as np

from concord.metrics_core.metrics.elementary import log2
from concord.metrics_core.metrics.judged import Floats

_BITS = 53  # of a float64
_AT_ONCE = 1 << 14  # values that stay in the cache
_FAR = 1000  # powers of two, so that no step is infinite or loses bits
_PARTS = 6  # that a value is taken apart into at most


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


def exact_sum(values: Floats) -> float:
    """The sum rounded once, as `math.fsum` has it: of (n,) float64, many at a time.

    Of each block the leading bits of all values are added without an error, then those that follow, until nothing is
    left; the few sums are added by `math.fsum`.

    References
    ----------
    Rump, Ogita & Oishi (2008), SIAM Journal on Scientific Computing 31(1), 189-224.  doi:10.1137/050645671
    """
    blocks = range(0, len(values), _AT_ONCE)
    return math.fsum(part for first in blocks for part in _parts(values[first : first + _AT_ONCE]))


def _parts(values: Floats) -> Iterator[float]:
    """Numbers whose sum is exactly that of the values."""
    left = values
    for _ in range(_PARTS):
        largest = max(float(left.max()), -float(left.min()))
        if largest == 0:
            return
        _, exponent = math.frexp(largest)
        # Multiples of one power of two, of which n add up to less than 2^53 of it.
        shift = exponent + len(values).bit_length() + 1
        if not (math.isfinite(largest) and abs(shift) < _FAR):
            break
        step = math.ldexp(1.0, shift)
        leading = (left + step) - step
        yield float(leading.sum())
        left = left - leading
    yield from left.tolist()
