"""Power and smallest difference by the number of users: what a picture of a plan shows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from concord.metrics_core.planning.parts import Plan, PlannedPair
from concord.metrics_core.statistics.needed import smallest_effect
from concord.metrics_core.statistics.power import FEWEST, Claim, Spread, chance, different

_STEPS = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)  # of each power of ten
_LESS, _MORE = 10, 4  # times the users who are there
_BEYOND = 2  # times those, so that the last line is seen to reach its level
_MOST = 1_000  # times the users who are there, however many are needed


@dataclass(frozen=True)
class Curve:
    """One model against the baseline, by rising numbers of users; `corrected` for all tests.

    power, power_corrected       : to find the effect that is asked for; empty where none is
    smallest, smallest_corrected : true differences that are found with the power of the plan
    """

    model: str | None
    users: tuple[int, ...]
    power: tuple[float, ...]
    power_corrected: tuple[float, ...]
    smallest: tuple[float, ...]
    smallest_corrected: tuple[float, ...]


def curves(plan: Plan, label: str | None) -> list[Curve]:
    """The curves of a label over all users, models in the order of the plan; all by the same numbers of users."""
    pairs = [pair for pair in plan.pairs if pair.label == label and pair.segment is None]
    known = [pair for pair in pairs if pair.spread is not None]
    grid = tuple(_grid(known)) if known else ()
    return [_curve(plan, pair, grid) for pair in known]


def _grid(pairs: Sequence[PlannedPair]) -> Iterator[int]:
    """Round numbers from a tenth of the users who are there to those who are needed."""
    there = [pair.n_users for pair in pairs]
    needed = [pair.users_needed_corrected or 0 for pair in pairs]
    low = max(min(there) // _LESS, FEWEST)
    high = min(max(_MORE * max(there), *needed), _MOST * max(there))
    decade = 10
    while decade <= high:
        yield from (n for step in _STEPS if low <= (n := decade * step // 10) <= _BEYOND * high)
        decade *= 10


def _curve(plan: Plan, pair: PlannedPair, grid: tuple[int, ...]) -> Curve:
    assert pair.spread is not None, "left out before"
    alpha = 1 - plan.confidence
    alone, corrected = different(alpha), different(alpha / pair.tests)
    return Curve(
        model=pair.model,
        users=grid,
        power=_powers(pair, alone, pair.spread, grid),
        power_corrected=_powers(pair, corrected, pair.spread, grid),
        smallest=_smallest(plan, pair, alone, grid),
        smallest_corrected=_smallest(plan, pair, corrected, grid),
    )


def _powers(
    pair: PlannedPair, claim: Claim, spread: Spread, grid: Sequence[int]
) -> tuple[float, ...]:
    if pair.effect is None:
        return ()
    return tuple(chance(claim, pair.effect, spread, users=n, seeds=pair.seeds) for n in grid)


def _smallest(
    plan: Plan, pair: PlannedPair, claim: Claim, grid: Sequence[int]
) -> tuple[float, ...]:
    assert pair.spread is not None, "left out before"
    found = (
        smallest_effect(claim, pair.spread, power=plan.power, users=n, seeds=pair.seeds)
        for n in grid
    )
    return tuple(each for each in found if each is not None)
