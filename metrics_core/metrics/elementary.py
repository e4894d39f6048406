"""Logarithms and powers made of +, -, × and / alone, so that they have the same bits on every processor.

NumPy and the C library choose among several routines by what the processor can do, and these differ in the last bit.
The four operations are rounded correctly everywhere. `ln` and `exp2` are off by less than 2 units in the last place,
`log2` by less than 3; of `powers` the n-th by n / 2 at most.
"""

from typing import Any

import numpy as np

from concord.metrics_core.metrics.judged import Floats

_LN2 = 0.6931471805599453
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # times a whole exponent it is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")  # the rest of ln 2
_ATANH = [
    1 / n for n in range(25, 1, -2)
]  # atanh z = z + z^3 / 3 + z^5 / 5 + …, enough for z <= 0.172
_LOWEST = 0.7071067811865476  # mantissas are taken from here to twice as much, around 1
_POWERS_OF_2 = np.ldexp(1.0, np.arange(1024))


def ln(x: Any) -> Floats:
    """Return (…,) the natural logarithm of numbers above 0."""
    exponent, of_mantissa = _split(x)
    return exponent * _LN2_HIGH + (of_mantissa + exponent * _LN2_LOW)


def log2(x: Any) -> Floats:
    """Return (…,) the logarithm to base 2 of numbers above 0; exact at powers of two."""
    exponent, of_mantissa = _split(x)
    return exponent + of_mantissa / _LN2


def exp2(x: Any) -> Floats:
    """Return (…,) 2^x = 2^n e^(f ln 2), n whole, -1/2 <= f <= 1/2; exact where x is whole."""
    x = np.asarray(x, dtype=np.float64)
    if x.min(initial=0.0) >= 0.0 and x.max(initial=0.0) < len(_POWERS_OF_2):
        index = x.astype(np.intp)
        if np.array_equal(index, x):  # grades are whole, and there are many
            return _POWERS_OF_2[index]
    whole = np.rint(x)
    y = (x - whole) * _LN2
    e_to_y = np.ones_like(y)
    for n in range(14, 0, -1):  # 1 + y (1 + y/2 (1 + y/3 (…)))
        e_to_y = 1.0 + e_to_y * y / n
    return np.ldexp(e_to_y, np.clip(whole, -3000.0, 3000.0).astype(np.intc))


def powers(base: float, count: int) -> Floats:
    """Return (count,) 1, base, base^2 …, each the product of the one before and base."""
    factors = np.full(count, base)
    factors[:1] = 1.0
    return np.cumprod(factors)


def _split(x: Any) -> tuple[Floats, Floats]:
    """Return exponent e and ln m of x = m 2^e; ln m = 2 atanh((m - 1) / (m + 1))."""
    mantissa, exponent = np.frexp(np.asarray(x, dtype=np.float64))
    small = mantissa < _LOWEST
    m = np.where(small, 2.0 * mantissa, mantissa)
    z = (m - 1.0) / (m + 1.0)
    square = z * z
    tail = np.zeros_like(z)
    for coefficient in _ATANH:
        tail = (tail + coefficient) * square
    return (exponent - small).astype(np.float64), 2.0 * z + 2.0 * z * tail
