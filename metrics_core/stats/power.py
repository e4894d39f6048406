"""Power: the probability that the interval of a mean difference shows a claim, and the users and seeds that a claim needs.

The claims are those of `verdict.py` and of the gate, so a plan uses the same rules as a decision.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from concord.metrics_core.metrics.elementary import exp2
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.results.plan import VarianceComponents

FEWEST = 2  # users, or trainings: a variance needs two
MOST_USERS = 10**12  # more than there are; whoever needs them needs another margin
MOST_SEEDS = 1_000
_HALVINGS = 50
_LN2 = 0.6931471805599453
_FAR = 8.0  # in standard normal deviates: nobody finds a variance beyond it
_POINTS, _POINTS_OF_ONE = 81, 321  # of a variance, of two and of one alone


@dataclass(frozen=True)
class Claim:
    """What the intervals of a difference must show.

    above : (bound, alpha): the lower end of each two-sided 1 - alpha interval lies above its bound
    below : (bound, alpha): the upper end lies below; None where nothing is claimed of it
    """

    above: tuple[tuple[float, float], ...]
    below: tuple[float, float] | None = None

    @property
    def bound(self) -> float:
        """What the true difference must exceed, or no number of users is enough."""
        return max(bound for bound, _ in self.above)


def different(alpha: float) -> Claim:
    """Significant, with the sign of the true difference: half of the two-sided test at alpha."""
    return Claim(((0.0, alpha),))


def better(min_effect: float, alpha: float, alpha_adjusted: float) -> Claim:
    """The verdict `better`: significant after correction, and the interval lies wholly above `min_effect`."""
    return Claim(((0.0, alpha_adjusted), (min_effect, alpha)))


def equivalent(min_effect: float, alpha: float) -> Claim:
    """The verdict `equivalent`: the interval lies wholly within ± `min_effect`. No correction has a part in it."""
    return Claim(((-min_effect, alpha),), (min_effect, alpha))


def not_worse(margin: float, alpha: float) -> Claim:
    """A guardrail that passes: the lower end of the interval of the gain lies above -margin."""
    return Claim(((-margin, alpha),))


def chance(
    claim: Claim,
    effect: float,
    variance: VarianceComponents,
    *,
    users: int,
    seeds: int | None = None,
) -> float:
    """P(the intervals show the claim), where the true difference is `effect`.

    D is normal with mean `effect` and variance a + b; a = s_users² / n, b = (s_trainings² + s_rest² / n) / R, and
    half² = t²(n - 1) · a · χ²(n - 1) / (n - 1) + t²(R - 1) · b · χ²(R - 1) / (R - 1). Without trainings b = 0 and
    a = (s_users² + s_rest²) / n, and one bound alone is a noncentral t.

    Parameters
    ----------
    seeds : trainings of each model, over which the claim is to hold too; None: for these lists alone

    References
    ----------
    Johnson & Welch (1940), Biometrika 31(3/4), 362-389 (noncentral t); Phillips (1990), Journal of Pharmacokinetics
    and Biopharmaceutics 18(2), 137-144 (both ends of an interval).
    """
    if users < FEWEST or (seeds is not None and seeds < FEWEST):
        return 0.0
    by_users, by_trainings = variances(variance, users, seeds)
    if by_users + by_trainings == 0:
        return float(_holds(claim, effect))
    if by_trainings == 0 and claim.below is None and len(claim.above) == 1:
        return _of_one_bound(claim, effect, math.sqrt(by_users), users)
    return _of_all_bounds(claim, effect, (by_users, users), (by_trainings, seeds or FEWEST))


def variances(variance: VarianceComponents, users: int, seeds: int | None) -> tuple[float, float]:
    """Of the mean difference: the part that more users shrink, and the part that more trainings shrink."""
    if seeds is None:
        alone = variance.sd_one_seed
        return alone * alone / users, 0.0
    of_rest = variance.sd_residual * variance.sd_residual / users
    of_trainings = variance.sd_seeds * variance.sd_seeds
    return variance.sd_users * variance.sd_users / users, (of_trainings + of_rest) / seeds


def _holds(claim: Claim, difference: float) -> bool:
    """Does a difference without any variance lie where the claim says?"""
    under = claim.below is None or difference < claim.below[0]
    return difference > claim.bound and under


def _of_one_bound(claim: Claim, effect: float, error: float, users: int) -> float:
    """P(T > t) of a noncentral t with n - 1 degrees of freedom and noncentrality (effect - bound) / error."""
    from scipy.special import nctdtr, stdtrit

    ((bound, alpha),) = claim.above
    away = (effect - bound) / error
    if abs(away) > 37:  # noqa: PLR2004 - beyond it a normal tail is no float64 any more
        return float(away > 0)
    return 1 - float(nctdtr(users - 1, away, stdtrit(users - 1, 1 - alpha / 2)))


def _of_all_bounds(
    claim: Claim, effect: float, of_users: tuple[float, int], of_trainings: tuple[float, int]
) -> float:
    """The mean over the spreads that may be found of P(D lies between the bounds that they make)."""
    from scipy.special import ndtr

    both = of_users[0] > 0 and of_trainings[0] > 0
    points = _POINTS if both else _POINTS_OF_ONE
    users, weights_of_users = _found(*of_users, points)
    trainings, weights_of_trainings = _found(*of_trainings, points)
    parts = [users[:, None], trainings[None, :]]
    weights = weights_of_users[:, None] * weights_of_trainings[None, :]
    counts = of_users[1], of_trainings[1]
    error = math.sqrt(of_users[0] + of_trainings[0])
    low = np.maximum.reduce([bound + _half(parts, counts, alpha) for bound, alpha in claim.above])
    beyond = ndtr((effect - low) / error)
    if claim.below is not None:
        bound, alpha = claim.below
        high = bound - _half(parts, counts, alpha)
        beyond = np.maximum(beyond - ndtr((effect - high) / error), 0.0)
    return math.fsum((weights * beyond).ravel())


def _found(variance: float, count: int, points: int) -> tuple[Floats, Floats]:
    """Estimates of a variance on count - 1 degrees of freedom, and how probable each is; they add up to 1.

    They are the quantiles that equally spaced normal deviates have, by the trapezoidal rule.
    """
    if variance == 0:
        return np.zeros(1), np.ones(1)
    from scipy.special import gammainccinv, gammaincinv, ndtr

    deviates, weights = _deviates(points)
    half = (count - 1) / 2
    below, above = deviates[deviates < 0], deviates[deviates >= 0]
    quantiles = [gammaincinv(half, ndtr(below)), gammainccinv(half, ndtr(-above))]
    estimates = np.asarray(variance / half * np.concatenate(quantiles), dtype=np.float64)
    return estimates, weights


@cache
def _deviates(points: int) -> tuple[Floats, Floats]:
    """Equally spaced normal deviates and their weights."""
    deviates = np.linspace(-_FAR, _FAR, points)
    densities = exp2(-deviates * deviates / (2 * _LN2))
    return deviates, densities / math.fsum(densities)


def _half(parts: list[Floats], counts: tuple[int, int], alpha: float) -> Floats:
    """Half the width of the interval: each part of the variance with the t of its own degrees of freedom."""
    from scipy.special import stdtrit

    reached = [float(stdtrit(count - 1, 1 - alpha / 2)) for count in counts]
    half: Floats = np.sqrt(sum(t * t * part for t, part in zip(reached, parts, strict=True)))
    return half


def users_needed(
    claim: Claim,
    effect: float,
    variance: VarianceComponents,
    *,
    power: float,
    seeds: int | None = None,
) -> int | None:
    """The fewest users with whom the claim is shown with this power; None if no number of them is enough."""
    return _fewest(
        lambda users: chance(claim, effect, variance, users=users, seeds=seeds) >= power, MOST_USERS
    )


def seeds_needed(
    claim: Claim, effect: float, variance: VarianceComponents, *, power: float, users: int
) -> int | None:
    """The fewest trainings of each model with which these users show the claim; None if a thousand are too few."""
    return _fewest(
        lambda seeds: chance(claim, effect, variance, users=users, seeds=seeds) >= power, MOST_SEEDS
    )


def smallest_effect(
    claim: Claim,
    variance: VarianceComponents,
    *,
    power: float,
    users: int,
    seeds: int | None = None,
) -> float | None:
    """The smallest true difference of which the claim is shown with this power; None under two users or trainings.

    Of `different` it is also the smallest margin within which a model is shown to be no worse that is as good.
    """
    few = users < FEWEST or (seeds is not None and seeds < FEWEST)
    if few or claim.below is not None:
        return None
    low = claim.bound
    step = max(variance.sd_one_seed, variance.sd_seeds)
    if step == 0:
        return low

    def shown(effect: float) -> bool:
        return chance(claim, effect, variance, users=users, seeds=seeds) >= power

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
