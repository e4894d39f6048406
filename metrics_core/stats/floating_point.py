"""Float64: sums with the same bits in any order of the values, and equality up to rounding."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from concord.metrics_core.metrics.elementary import log2
from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds

_BITS = 53  # of a float64
BLOCK_SIZE = 1 << 14  # values that fit the cache
_MAX_EXPONENT = 1000  # beyond it a step is infinite or loses bits
_MAX_SCALED = 1e9  # below it the error of a product with a power of ten is far below 1
_TIE_MARGIN = 1e-6  # distance from a half within which Python rounds
_MAX_PARTS = 6  # of a value


def round_to_grid(values: Floats, max_weight: int) -> Floats:
    """Round each column to multiples of a power of two, so that weighted sums of it are exact.

    The step is the smallest for which Σ weight x value over the rows, with integer weights up to
    `max_weight`, needs at most 53 bits. The rounding error of a value is below
    max_weight x rows x largest value / 2^53: 1e-10 for 138,000 rows, values up to 1 and weights
    up to 9.

    Parameters
    ----------
    values : (rows, columns) float64
        Values without NaN.
    max_weight : int
        Largest weight of a row in a sum.

    Returns
    -------
    (rows, columns) float64
        Rounded values.
    """
    largest = np.abs(values).max(axis=0, initial=0.0)
    bound = log2(np.where(largest > 0, largest, 1.0)) + log2(max_weight * max(len(values), 1))
    step = np.ldexp(1.0, np.ceil(bound - _BITS + 1).astype(np.intc))
    return np.asarray(np.round(values / step) * step)


def round_decimals(values: Floats, digits: int) -> Floats:
    """Return (n,) values as rounded by Python's `round`; `digits` is at most 22."""
    shift = float(f"1e{digits}")
    with np.errstate(over="ignore", invalid="ignore"):  # NaN and infinity go to `round`
        scaled = values * shift
        result = np.asarray(np.rint(scaled) / shift)
        is_safe = np.abs(scaled) < _MAX_SCALED
        is_safe &= np.abs(scaled - np.floor(scaled) - 0.5) > _TIE_MARGIN
    unsafe = np.flatnonzero(~is_safe)
    result[unsafe] = [round(value, digits) for value in values[unsafe].tolist()]
    return result


def exact_sum(values: Floats) -> float:
    """Return the sum of (n,) values, rounded once; equal to `math.fsum`."""
    return math.fsum(_parts(values))


_ONE_THREAD = 1 << 18  # products of one matrix product, up to which BLAS takes one thread
_MIN_ROWS = 32  # of a block: below, adding up takes longer than waiting


def exact_product(a: Floats, b: Floats) -> Floats:
    """Return a @ b of numbers whose sums are exact in any order; see `round_to_grid`.

    It adds up products of short blocks, since threads of BLAS wait busily for one another: on two
    cores that are busy, they take 2 to 20 times the CPU of the product.
    """
    (m, k), n = a.shape, b.shape[1]
    size = _ONE_THREAD // max(m * n, 1)
    if not _MIN_ROWS <= size < k:
        return np.asarray(a @ b)
    end = k - k % size
    blocks = a[:, :end].reshape(m, -1, size).transpose(1, 0, 2) @ b[:end].reshape(-1, size, n)
    return np.asarray(blocks.sum(axis=0) + a[:, end:] @ b[end:])


def exact_mean(values: Floats) -> float:
    """Return `exact_sum` of (n,) values, divided by n; NaN without values."""
    return exact_sum(values) / len(values) if len(values) else math.nan


def exact_sum_of_blocks(blocks: Iterable[Floats]) -> float:
    """Return the sum of all values of the blocks, rounded once."""
    return math.fsum(part for block in blocks for part in _parts(block))


def exact_parts(values: Floats) -> list[float]:
    """Return a few numbers that have exactly the sum of the values.

    Parts of several arrays can be concatenated.
    """
    return compress_sum(list(_parts(values)))


def compress_sum(numbers: Sequence[float]) -> list[float]:
    """Return a few numbers that have exactly the sum of many: the rounded sum, its error, …"""
    parts: list[float] = []
    while part := math.fsum([*numbers, *(-each for each in parts)]):
        parts.append(part)
        if not math.isfinite(part):
            break
    return parts


def _parts(values: Floats) -> Iterator[float]:
    """Yield numbers that have exactly the sum of the values, a few per block.

    In each block the leading bits of all values are added without error, then the next bits,
    until the remainder is 0.

    References
    ----------
    Rump, Ogita & Oishi (2008), SIAM Journal on Scientific Computing 31(1), 189-224.
    doi:10.1137/050645671
    """
    for first in range(0, len(values), BLOCK_SIZE):
        yield from _block_parts(values[first : first + BLOCK_SIZE])


def _block_parts(values: Floats) -> Iterator[float]:
    largest = max(float(values.max()), -float(values.min()))
    if largest == 0:
        return
    remainder, leading = values, np.empty_like(values)
    _, exponent = math.frexp(largest)
    bits = len(values).bit_length() + 1
    for _ in range(_MAX_PARTS):
        # Leading parts are multiples of one power of two, and their sum is below 2^53 times it.
        shift = exponent + bits
        if not (math.isfinite(largest) and abs(shift) < _MAX_EXPONENT):
            break
        step = math.ldexp(1.0, shift)
        np.add(remainder, step, out=leading)
        np.subtract(leading, step, out=leading)
        yield float(leading.sum())
        remainder = remainder - leading
        if not remainder.any():
            return
        exponent = shift - _BITS  # the remainder is at most half of the last bit
    yield from remainder.tolist()


RELATIVE = 1e-9  # of the larger of two values
ABSOLUTE = 1e-12  # of the width of a metric's range


def scale_of(bounds: Bounds, *values: Floats) -> float:
    """Return the width of a metric's range; if it is unbounded, a typical absolute value.

    It is the median of those above 0: one huge value must not hide differences of the others.
    """
    width = bounds[1] - bounds[0]
    if np.isfinite(width):
        return width
    sizes = np.abs(np.concatenate([np.ravel(each) for each in values] or [np.empty(0)]))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(np.median(sizes)) if len(sizes) else 0.0


def is_close(a: Floats, b: Floats, scale: float | None = None) -> Bools:
    """True where |a - b| <= max(1e-9 max(|a|, |b|), 1e-12 scale); False where a value is NaN.

    `scale` is that of unbounded values if None; see `scale_of`.
    """
    scale = scale_of(UNBOUNDED, a, b) if scale is None else scale
    with np.errstate(invalid="ignore"):
        limit = np.maximum(RELATIVE * np.maximum(np.abs(a), np.abs(b)), ABSOLUTE * scale)
        return np.asarray(np.abs(a - b) <= limit)


def differences(a: Floats, b: Floats, scale: float | None = None) -> Floats:
    """Return a - b, exactly 0 where the values are close, NaN where one of them is NaN.

    Examples
    --------
    >>> differences(np.array([0.1 + 0.2, 0.5]), np.array([0.3, 0.25])).tolist()
    [0.0, 0.25]
    """
    with np.errstate(invalid="ignore"):
        result = np.asarray(a - b)
    result[is_close(a, b, scale)] = 0.0
    return result


def difference(a: float, b: float, scale: float | None = None) -> float:
    """Return a - b of two numbers, exactly 0 if they are close.

    The same as `differences`, without arrays: randomisation tests call it thousands of times.
    """
    a, b = float(a), float(b)
    if scale is None:
        sizes = [abs(each) for each in (a, b) if math.isfinite(each) and each]
        scale = sum(sizes) / len(sizes) if sizes else 0.0
    limit = max(RELATIVE * max(abs(a), abs(b)), ABSOLUTE * scale)
    return 0.0 if abs(a - b) <= limit else a - b
