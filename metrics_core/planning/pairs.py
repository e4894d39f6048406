"""What the users of one difference can settle, and how many would."""

import math
from dataclasses import dataclass

from concord.metrics_core.planning.parts import PlannedPair
from concord.metrics_core.scoring.numerics.student import half_width
from concord.metrics_core.statistics.needed import seeds_needed, smallest_effect, users_needed
from concord.metrics_core.statistics.paired import CAUTION_BELOW
from concord.metrics_core.statistics.power import (
    FEWEST,
    Claim,
    Spread,
    better,
    chance,
    different,
    equivalent,
)


@dataclass(frozen=True)
class Wanted:
    """What is to be settled, and how surely: a true difference `effect` at this power and level."""

    power: float
    alpha: float
    effect: float | None


@dataclass(frozen=True)
class Observed:
    """What is known of a difference: who takes part in it, and how much it varies; None: not known."""

    n_users: int
    n_nonzero: int | None
    spread: Spread | None
    seeds: int | None = None
    label: str | None = None
    model: str | None = None
    baseline: str | None = None
    segmentation: str | None = None
    segment: str | None = None


def spread_of(
    low: float | None, high: float | None, n_users: int, confidence: float
) -> Spread | None:
    """The spread of users' differences, from their t interval: sd = half · √n / t(n - 1)."""
    if low is None or high is None:
        return None
    return Spread((high - low) / 2 * math.sqrt(n_users) / half_width(n_users, confidence))


def fewest_users(n_users: int, n_nonzero: int | None) -> int:
    """As many as make thirty differ, below which an interval has a caution: a t interval is not to be trusted there."""
    if n_nonzero is None:
        return FEWEST
    return max(FEWEST, math.ceil(CAUTION_BELOW * n_users / n_nonzero)) if n_nonzero else FEWEST


def planned(seen: Observed, wanted: Wanted, *, min_effect: float, tests: int) -> PlannedPair:
    """The plan of one difference; `tests` are corrected for."""
    found = _Solved(seen, wanted)
    alone, corrected = different(wanted.alpha), different(wanted.alpha / tests)
    verdict = better(min_effect, wanted.alpha, wanted.alpha / tests)
    as_good = equivalent(min_effect or wanted.effect or 0.0, wanted.alpha)
    effect, spread, seeds = wanted.effect, seen.spread, seen.seeds
    over = effect is not None and effect > min_effect
    return PlannedPair(
        label=seen.label,
        model=seen.model,
        baseline=seen.baseline,
        segmentation=seen.segmentation,
        segment=seen.segment,
        n_users=seen.n_users,
        n_nonzero=seen.n_nonzero,
        sd=_users_part(spread, seeds),
        sd_seeds=None if spread is None or seeds is None else spread.of_trainings,
        sd_rest=None if spread is None or seeds is None else spread.of_rest,
        seeds=seeds,
        tests=tests,
        smallest=found.smallest(alone),
        smallest_corrected=found.smallest(corrected),
        min_effect=min_effect,
        smallest_better=found.smallest(verdict),
        effect=effect,
        power=found.chance(alone),
        power_corrected=found.chance(corrected),
        users_needed=found.users(alone, effect),
        users_needed_corrected=found.users(corrected, effect),
        users_better=found.users(verdict, effect) if over else None,
        users_equivalent=found.users(as_good, 0.0) if as_good.bound < 0 else None,
        seeds_needed=found.seeds(alone),
        seeds_needed_corrected=found.seeds(corrected),
    )


def _users_part(spread: Spread | None, seeds: int | None) -> float | None:
    if spread is None:
        return None
    return spread.of_one_training if seeds is None else spread.of_users


@dataclass(frozen=True)
class _Solved:
    """The answers on one difference; None where it is not known how much it varies, or nothing is asked."""

    seen: Observed
    wanted: Wanted

    def smallest(self, claim: Claim) -> float | None:
        seen = self.seen
        if seen.spread is None:
            return None
        return smallest_effect(
            claim, seen.spread, power=self.wanted.power, users=seen.n_users, seeds=seen.seeds
        )

    def chance(self, claim: Claim) -> float | None:
        seen, effect = self.seen, self.wanted.effect
        if seen.spread is None or effect is None:
            return None
        return chance(claim, effect, seen.spread, users=seen.n_users, seeds=seen.seeds)

    def users(self, claim: Claim, effect: float | None) -> int | None:
        seen = self.seen
        if seen.spread is None or effect is None:
            return None
        found = users_needed(claim, effect, seen.spread, power=self.wanted.power, seeds=seen.seeds)
        return found and max(found, fewest_users(seen.n_users, seen.n_nonzero))

    def seeds(self, claim: Claim) -> int | None:
        seen, effect = self.seen, self.wanted.effect
        if seen.spread is None or effect is None or seen.seeds is None:
            return None
        return seeds_needed(claim, effect, seen.spread, power=self.wanted.power, users=seen.n_users)
