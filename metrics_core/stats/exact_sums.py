"""Sums that come out exactly, so that they have the same bits on every machine, in any order."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from concord.metrics_core.metrics.elementary import log2
from concord.metrics_core.metrics.judged import Floats

_BITS = 53  # of a float64
AT_ONCE = 1 << 14  # values that stay in the cache
_FAR = 1000  # powers of two, so that no step is infinite or loses bits
_ROUNDED_BELOW = 1e9  # the error of a product with a power of ten is far below the next
_HALF_WAY = 1e-6
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


def rounded(values: Floats, digits: int) -> Floats:
    """(n,) the values as Python's `round` has them, to 22 digits at most: the decimal nearest to each number as it is."""
    shift = float(f"1e{digits}")
    with np.errstate(over="ignore", invalid="ignore"):  # what is no number is not sure
        scaled = values * shift
        found = np.asarray(np.rint(scaled) / shift)
        sure = np.abs(scaled) < _ROUNDED_BELOW
        sure &= np.abs(scaled - np.floor(scaled) - 0.5) > _HALF_WAY
    unsure = np.flatnonzero(~sure)
    found[unsure] = [round(value, digits) for value in values[unsure].tolist()]
    return found


def exact_sum(values: Floats) -> float:
    """The sum of (n,) float64, rounded once, as `math.fsum` has it."""
    return math.fsum(_parts(values))


def exact_sum_of(blocks: Iterable[Floats]) -> float:
    """The sum of all values of the blocks, rounded once."""
    return math.fsum(part for block in blocks for part in _parts(block))


def exact_parts(values: Floats) -> list[float]:
    """Few numbers that add up to exactly what the values do: those of partitions give the sum of all."""
    return exactly(list(_parts(values)))


def exactly(numbers: Sequence[float]) -> list[float]:
    """The rounded sum, what it lacks, what that lacks, …: few numbers that add up to exactly what many do."""
    found: list[float] = []
    while part := math.fsum([*numbers, *(-each for each in found)]):
        found.append(part)
        if not math.isfinite(part):
            break
    return found


def _parts(values: Floats) -> Iterator[float]:
    """Numbers that add up to exactly what the values do, a few of each block of values.

    Of each block the leading bits of all values are added without an error, then those that follow, until nothing is
    left.

    References
    ----------
    Rump, Ogita & Oishi (2008), SIAM Journal on Scientific Computing 31(1), 189-224.  doi:10.1137/050645671
    """
    for first in range(0, len(values), AT_ONCE):
        yield from _of_block(values[first : first + AT_ONCE])


def _of_block(values: Floats) -> Iterator[float]:
    largest = max(float(values.max()), -float(values.min()))
    if largest == 0:
        return
    left, leading = values, np.empty_like(values)
    _, exponent = math.frexp(largest)
    bits = len(values).bit_length() + 1
    for _ in range(_PARTS):
        # Multiples of one power of two, of which n add up to less than 2^53 of it.
        shift = exponent + bits
        if not (math.isfinite(largest) and abs(shift) < _FAR):
            break
        step = math.ldexp(1.0, shift)
        np.add(left, step, out=leading)
        np.subtract(leading, step, out=leading)
        yield float(leading.sum())
        left = left - leading
        if not left.any():
            return
        exponent = shift - _BITS  # what is left is at most half of the last bit that was taken
    yield from left.tolist()
