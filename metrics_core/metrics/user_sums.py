"""Sums and means per user, rounded once: equal values in any order give equal bits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BITS = 53  # of a float64
_HIGHEST = 1022  # power of two of the largest step: a value plus a larger one could be infinite
_LARGEST_DIVISOR = 1 << 26  # times half of the bits of a float64 it is exact
_HIGH_BITS = np.int64(-1 << 27)  # mask of the upper 26 of 53 bits
_RELATIVE_ERROR = 1e-15  # bound of the relative error of a second quotient
_TINY = 1e-322


@dataclass
class UserSums:
    """Exact sums of values by user; values may be added in any order and in any number of blocks.

    Values are split at steps that are powers of two. The leading bits of all values are multiples
    of one step, so that their sum has no error. The bits that follow are summed in the same way,
    until the remainder is 0.

    Attributes
    ----------
    n_users : int
        Number of users.
    largest : float
        Upper bound of the absolute values.
    most : int
        Upper bound of the number of values of a user, over all blocks.
    parts : list of (n_users,) arrays
        Their sum is the exact sum.

    References
    ----------
    Rump, Ogita & Oishi (2008), SIAM Journal on Scientific Computing 31(1), 189-224.
    doi:10.1137/050645671
    """

    n_users: int
    largest: float
    most: int
    parts: list[Floats] = field(default_factory=list)

    @classmethod
    def from_values(cls, user: Ints, values: Floats, n_users: int) -> "UserSums":
        """Return the sums of one block of values; `user` is the number of each value's user."""
        finite = np.isfinite(values)
        if not finite.all():
            sums = cls.from_values(user[finite], values[finite], n_users)
            sums._add_part(len(sums.parts), user[~finite], values[~finite])
            return sums
        largest = float(np.abs(values).max(initial=0.0))
        sums = cls(n_users, largest, int(np.bincount(user).max(initial=0)))
        sums.add(user, values)
        return sums

    def add(self, user: Ints, values: Floats) -> None:
        """Add a block of values."""
        is_nonzero = values != 0
        if 2 * np.count_nonzero(is_nonzero) < len(values):  # sparse, such as categories
            user, values = user[is_nonzero], values[is_nonzero]
        bits = self.most.bit_length() + 1
        shift = int(np.frexp(self.largest)[1]) + bits
        remainder, level = values, 0
        while remainder.any():
            if shift > _HIGHEST:
                return self._add_part(level, user, remainder)
            step = np.ldexp(1.0, shift)
            leading = remainder + step
            leading -= step
            self._add_part(level, user, leading)
            remainder = remainder - leading
            shift += bits - _BITS
            level += 1
        return None

    def _add_part(self, level: int, user: Ints, values: Floats) -> None:
        added = np.bincount(user, values, minlength=self.n_users).astype(np.float64, copy=False)
        if level < len(self.parts):
            self.parts[level] += added
        else:
            self.parts.append(added)

    def total(self) -> Floats:
        """Return (n_users,) the sums, each rounded once."""
        return self.mean(np.ones(self.n_users))

    def mean(self, n: Any) -> Floats:
        """Return (n_users,) each sum / n, rounded once; NaN where n is 0."""
        return mean_of(self.parts or [np.zeros(self.n_users)], n)


def mean_of(parts: Sequence[Floats], n: Any) -> Floats:
    """Return (n_users,) (sum of the parts) / n for whole n, rounded once; NaN where n is 0.

    The mean of n equal numbers is that number. A quotient and the quotient of its remainder decide
    nearly every rounding. Fractions decide those that are too near to the middle of two float64.
    """
    divisor = np.broadcast_to(np.asarray(n, dtype=np.float64), parts[0].shape)
    with np.errstate(all="ignore"):
        total, total_error, error_bound = _sum_with_error(parts)
        first = total / divisor
        remainder, rounding = _two_sum(_remainder(total, divisor, first), total_error)
        second = remainder / divisor
        second_remainder = _remainder(remainder, divisor, second)
        result = np.where(second == 0, first, first + second)
        error_bound = error_bound + np.abs(rounding)
        bound = 4.0 * error_bound / divisor + np.abs(second) * _RELATIVE_ERROR + _TINY
        agreed = (first + (second - bound)) == (first + (second + bound))
        is_exact = ((error_bound == 0) & (second_remainder == 0)) | agreed
        is_exact &= divisor < _LARGEST_DIVISOR
    result[divisor == 0] = np.nan
    for user in np.flatnonzero(~is_exact & (divisor > 0)).tolist():
        result[user] = _exact_mean([float(part[user]) for part in parts], float(divisor[user]))
    return result


def _exact_mean(numbers: Sequence[float], divisor: float) -> float:
    if all(map(isfinite, numbers)):
        return float(sum(map(Fraction, numbers)) / Fraction(divisor))
    return sum(numbers) / divisor


def _sum_with_error(parts: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
    """Return the rounded sum, its error, and a bound of the error of their sum."""
    total, total_error = parts[0], np.zeros_like(parts[0])
    bound = np.zeros_like(total_error)
    for part in parts[1:]:
        total, error = _two_sum(total, part)
        total_error, error = _two_sum(total_error, error)
        bound += np.abs(error)
    total, total_error = _two_sum(total, total_error)
    return total, total_error, bound


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a + b rounded, and its error.

    References
    ----------
    Knuth, The Art of Computer Programming 2, 4.2.2, theorem B
    """
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def _remainder(a: Floats, n: Floats, quotient: Floats) -> Floats:
    """Return a - n x quotient without an error; the quotient is a / n, rounded."""
    high = (quotient.view(np.int64) & _HIGH_BITS).view(np.float64)
    return (a - n * high) - n * (quotient - high)
