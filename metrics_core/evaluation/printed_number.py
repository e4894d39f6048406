"""Numbers as they were printed, and which of them a mean would be printed as."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

_TOLERANCE = 1e-9
_NUMBER = re.compile(r"^(?P<sign>-?)(?P<digits>\d{0,30}\.?\d{1,30})(?P<percent>%?)$")


@dataclass(frozen=True)
class PrintedNumber:
    """A printed number: its value and the size of its last digit."""

    value: float
    last_digit: float

    @classmethod
    def parse(cls, text: str) -> "PrintedNumber":
        """Parse a string such as `0.330` or `33.0%`.

        Raises
        ------
        ValueError
            If the argument is not such a string.
        """
        match = _NUMBER.match(text.strip()) if isinstance(text, str) else None
        if match is None:
            problem = "is not a number" if isinstance(text, str) else "is not a string"
            msg = f"{text!r} {problem}: write the number as printed, such as '0.330' or '33.0%'"
            raise ValueError(msg)
        scale = 100 if match["percent"] else 1
        decimals = len(match["digits"].partition(".")[2])
        value = float(match["sign"] + match["digits"])
        return cls(value / scale, 10.0**-decimals / scale)

    @property
    def units(self) -> int:
        """The number in units of its last digit: 330 of `0.330`."""
        return round(self.value / self.last_digit)

    @property
    def units_nearby(self) -> range:
        """Numbers with the same last digit within ± 20 %, in its units."""
        low, high = sorted((8 * self.units, 12 * self.units))
        return range(-(-low // 10), high // 10 + 1)

    def matches(self, mean: float) -> bool:
        """True if the printed number is the rounded or the truncated mean."""
        return self.is_rounded(mean) or self.is_truncated(mean)

    def is_rounded(self, mean: float) -> bool:
        """True if the printed number is the rounded mean."""
        return abs(mean - self.value) <= self.last_digit / 2 * (1 + _TOLERANCE)

    def is_truncated(self, mean: float) -> bool:
        """True if the printed number is the truncated, but not the rounded mean."""
        excess = mean - self.value
        return self.last_digit / 2 * (1 + _TOLERANCE) < excess < self.last_digit * (1 - _TOLERANCE)

    def printed_units(self, mean: float, *, may_be_cut: bool) -> Iterator[int]:
        """Yield the numbers nearby that a mean is printed as: rounded, or also truncated."""
        if math.isnan(mean):
            return
        below = math.floor(mean / self.last_digit)
        for units in range(below - 1, below + 3):
            number = PrintedNumber(units * self.last_digit, self.last_digit)
            is_printed = number.matches(mean) if may_be_cut else number.is_rounded(mean)
            if is_printed and units in self.units_nearby:
                yield units


def number_text(value: Any) -> Any:
    """Return a finite number as text with the digits of its `repr`; others are unchanged."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return value
    return format(Decimal(str(value)), "f") if math.isfinite(value) else value
