"""How precisely the numbers of a label are known, which decides how many decimals are shown."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class WithInterval(Protocol):
    """A number with an interval, which may be missing."""

    @property
    def ci_low(self) -> float | None:
        """The lower end."""

    @property
    def ci_high(self) -> float | None:
        """The upper end."""


@dataclass(frozen=True)
class Precision:
    """Half of the narrowest interval of a label's means, and of its differences; do all means lie in [-1, 1]?"""

    means: float | None
    differences: float | None
    in_unit_interval: bool


def narrowest_half(intervals: Iterable[WithInterval]) -> float | None:
    """Return half of the narrowest interval; None where none has a width."""
    halves = (
        (each.ci_high - each.ci_low) / 2
        for each in intervals
        if each.ci_low is not None and each.ci_high is not None
    )
    return min((half for half in halves if half > 0), default=None)


def in_unit_interval(values: Iterable[float | None]) -> bool:
    """True if all values that exist lie in [-1, 1]."""
    return all(value is None or abs(value) <= 1 for value in values)
