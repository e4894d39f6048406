"""How many users and trainings a claim needs, and what so many can show: the chance of a claim, solved for one number."""

from collections.abc import Callable

from concord.metrics_core.statistics.power import FEWEST, Claim, Spread, chance

MOST_USERS = 10**12  # more than there are; whoever needs them needs another margin
MOST_SEEDS = 1_000
_HALVINGS = 50


def users_needed(
    claim: Claim, effect: float, spread: Spread, *, power: float, seeds: int | None = None
) -> int | None:
    """The fewest users with whom the claim is shown with this power; None if no number of them is enough."""
    return _fewest(
        lambda users: chance(claim, effect, spread, users=users, seeds=seeds) >= power, MOST_USERS
    )


def seeds_needed(
    claim: Claim, effect: float, spread: Spread, *, power: float, users: int
) -> int | None:
    """The fewest trainings of each model with which these users show the claim; None if a thousand are too few."""
    return _fewest(
        lambda seeds: chance(claim, effect, spread, users=users, seeds=seeds) >= power, MOST_SEEDS
    )


def smallest_effect(
    claim: Claim, spread: Spread, *, power: float, users: int, seeds: int | None = None
) -> float | None:
    """The smallest true difference of which the claim is shown with this power; None under two users or trainings.

    Of `different` it is also the smallest margin within which a model is shown to be no worse that is as good.
    """
    few = users < FEWEST or (seeds is not None and seeds < FEWEST)
    if few or claim.below is not None:
        return None
    low = claim.bound
    step = max(spread.of_one_training, spread.of_trainings)
    if step == 0:
        return low

    def shown(effect: float) -> bool:
        return chance(claim, effect, spread, users=users, seeds=seeds) >= power

    high = low + step
    while not shown(high):
        step *= 2
        high = low + step
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


def _fewest(enough: Callable[[int], bool], most: int) -> int | None:
    """The smallest count that is enough, of counts that stay enough from there on."""
    if not enough(most):
        return None
    low, high = FEWEST - 1, FEWEST
    while not enough(high):
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
