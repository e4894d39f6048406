"""Power curves: power and smallest difference of a plan by number of users, as a chart shows them."""

from collections.abc import Iterator, Sequence

from concord.metrics_core.results.plan import Plan, PlannedDifference, PowerCurve
from concord.metrics_core.statistics.power import FEWEST, chance, different, smallest_effect

_STEPS = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)  # of each power of ten
_FROM, _TO = 10, 4  # a tenth to four times the users at hand
_BEYOND = 2  # times the largest number needed, so that the last line is seen to reach its level
_MAX = 1_000  # times the users at hand, however many are needed


def power_curves(plan: Plan, label: str | None) -> list[PowerCurve]:
    """Return one curve per model of a label over all users, all by the same numbers of users."""
    differences = [
        each
        for each in plan.differences
        if each.label == label and each.segment is None and each.variance is not None
    ]
    users = tuple(_user_grid(differences)) if differences else ()
    return [_curve(plan, each, users) for each in differences]


def _user_grid(differences: Sequence[PlannedDifference]) -> Iterator[int]:
    """Yield round numbers from a tenth of the users at hand to those that are needed."""
    counts = [each.n_users for each in differences]
    needed = [each.users_needed_corrected or 0 for each in differences]
    low = max(min(counts) // _FROM, FEWEST)
    high = min(max(_TO * max(counts), *needed), _MAX * max(counts))
    decade = 10
    while decade <= high:
        yield from (n for step in _STEPS if low <= (n := decade * step // 10) <= _BEYOND * high)
        decade *= 10


def _curve(plan: Plan, difference: PlannedDifference, users: tuple[int, ...]) -> PowerCurve:
    alpha = 1 - plan.confidence
    power, power_corrected = (
        _powers(difference, level, users) for level in (alpha, alpha / difference.tests)
    )
    smallest, smallest_corrected = (
        _smallest(plan, difference, level, users) for level in (alpha, alpha / difference.tests)
    )
    return PowerCurve(difference.model, users, power, power_corrected, smallest, smallest_corrected)


def _powers(difference: PlannedDifference, alpha: float, users: Sequence[int]) -> tuple[float, ...]:
    variance, effect = difference.variance, difference.effect
    if effect is None or variance is None:
        return ()
    claim, seeds = different(alpha), difference.seeds
    return tuple(chance(claim, effect, variance, users=n, seeds=seeds) for n in users)


def _smallest(
    plan: Plan, difference: PlannedDifference, alpha: float, users: Sequence[int]
) -> tuple[float, ...]:
    assert difference.variance is not None
    claim, seeds = different(alpha), difference.seeds
    effects = (
        smallest_effect(claim, difference.variance, power=plan.power, users=n, seeds=seeds)
        for n in users
    )
    return tuple(effect for effect in effects if effect is not None)
