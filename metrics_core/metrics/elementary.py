"""Logarithms and powers from +, -, × and / alone: the same bits on every processor.

NumPy and the C library choose among routines that differ in the last bit, by what the processor
supports. The four operations are rounded correctly everywhere.

Errors are below 2 units in the last place for `ln` and `exp2`, below 3 for `log2`, and at most
n / 2 for the n-th of `powers`.
"""

from typing import Any

import numpy as np

from concord.metrics_core.metrics.judged import Floats

_LN2 = 0.6931471805599453
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # times a whole exponent it is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")  # ln 2 - _LN2_HIGH
# Coefficients of atanh z = z + z^3 / 3 + z^5 / 5 + …, enough terms for z <= 0.172.
_ATANH = [1 / n for n in range(25, 1, -2)]
_MIN_MANTISSA = 0.7071067811865476  # 1 / sqrt 2: mantissas are scaled to be around 1
_POWERS_OF_2 = np.ldexp(1.0, np.arange(1024))


def ln(x: Any) -> Floats:
    """Return the natural logarithm of numbers above 0, in the shape of x."""
    exponent, ln_mantissa = _split(x)
    return exponent * _LN2_HIGH + (ln_mantissa + exponent * _LN2_LOW)


def log2(x: Any) -> Floats:
    """Return the logarithm to base 2 of numbers above 0; exact at powers of two."""
    exponent, ln_mantissa = _split(x)
    return exponent + ln_mantissa / _LN2


def exp2(x: Any) -> Floats:
    """Return 2^x = 2^n e^(f ln 2), n whole, -1/2 <= f <= 1/2; exact where x is whole."""
    x = np.asarray(x, dtype=np.float64)
    if x.min(initial=0.0) >= 0.0 and x.max(initial=0.0) < len(_POWERS_OF_2):
        index = x.astype(np.intp)
        if np.array_equal(index, x):  # most grades are whole: a fast path
            return _POWERS_OF_2[index]
    whole = np.rint(x)
    y = (x - whole) * _LN2
    e_to_y = np.ones_like(y)
    for n in range(14, 0, -1):  # 1 + y (1 + y/2 (1 + y/3 (…)))
        e_to_y = 1.0 + e_to_y * y / n
    return np.ldexp(e_to_y, np.clip(whole, -3000.0, 3000.0).astype(np.intc))


def powers(base: float, count: int) -> Floats:
    """Return (count,) 1, base, base^2, …, each the previous one times base."""
    factors = np.full(count, base)
    factors[:1] = 1.0
    return np.cumprod(factors)


def _split(x: Any) -> tuple[Floats, Floats]:
    """Return exponent e and ln m of x = m 2^e; ln m = 2 atanh((m - 1) / (m + 1))."""
    mantissa, exponent = np.frexp(np.asarray(x, dtype=np.float64))
    is_small = mantissa < _MIN_MANTISSA
    m = np.where(is_small, 2.0 * mantissa, mantissa)
    z = (m - 1.0) / (m + 1.0)
    square = z * z
    tail = np.zeros_like(z)
    for coefficient in _ATANH:
        tail = (tail + coefficient) * square
    return (exponent - is_small).astype(np.float64), 2.0 * z + 2.0 * z * tail
