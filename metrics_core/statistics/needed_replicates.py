"""How many users, or trainings of each model, would tell two models apart, were difference and spreads as they are."""

from collections.abc import Callable
from dataclasses import replace

from concord.metrics_core.comparison.replicates import FEWEST_TRAININGS
from concord.metrics_core.statistics.replicates import OverTrainings, Part


def users_needed(found: OverTrainings, confidence: float, most: int = 10**9) -> int | None:
    """How many users would keep the interval off 0, were difference and spreads as they are; None: no number would.

    The trainings stay as many as they are: where they alone spread too much, no users help.
    """

    def settled(n: int) -> bool:
        users = Part(found.users.variance * found.users.n / n, n)
        return replace(found, users=users).half(confidence) < abs(found.difference)

    return _least(settled, 2, most)


def trainings_needed(found: OverTrainings, confidence: float, most: int = 1000) -> int | None:
    """How many trainings of each model that was trained more than once would; None: no number would.

    The users stay as many as they are, and what they add to the variance is taken not to shrink.
    """

    def settled(n: int) -> bool:
        parts = tuple(Part(part.variance * part.n / n, n) for part in found.trainings)
        return replace(found, trainings=parts).half(confidence) < abs(found.difference)

    return _least(settled, FEWEST_TRAININGS, most)


def _least(settled: Callable[[int], bool], low: int, high: int) -> int | None:
    """The smallest number that settles it; more never settle it less."""
    if not settled(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if settled(middle) else (middle + 1, high)
    return low
