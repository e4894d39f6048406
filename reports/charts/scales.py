"""Ticks and names that fit: numbers in, numbers out, so that no chart measures its text."""

import itertools
import math
from typing import Literal

_NEAR_AN_END = 0.2  # of the width


def nice_ticks(low: float, high: float, about: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within [low, high], `about` many."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def tick_digits(ticks: list[float]) -> int:
    step = min((b - a for a, b in itertools.pairwise(ticks)), default=1.0)
    return max(0, -math.floor(math.log10(step) + 1e-9))


def shortened(name: str, length: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"


def alignment(domain: tuple[float, float]) -> Literal["left", "right", "center"]:
    """Where the name of the line at 0 keeps inside the picture."""
    place = -domain[0] / (domain[1] - domain[0])
    if place < _NEAR_AN_END:
        return "left"
    return "right" if place > 1 - _NEAR_AN_END else "center"
