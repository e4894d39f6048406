"""Power of claims about a mean difference, and the sample size that a claim needs.

The claims are those of verdicts and of the gate, so a plan follows the same rules as a decision.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from concord.metrics_core.metrics.elementary import exp2
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.results.limits import MIN_T_TEST_USERS
from concord.metrics_core.stats.mean_interval import t_quantile
from concord.metrics_core.stats.paired_difference import PairedTest

MIN_COUNT = 2  # users, or replicates: a variance needs two
MAX_USERS = 10**12
MAX_SEEDS = 1_000
_BISECTIONS = 50
_LN2 = 0.6931471805599453
_MAX_DEVIATE = 8.0  # standard normal: the probability beyond it is negligible
_POINTS_IF_BOTH_VARY, _POINTS_IF_ONE_VARIES = 81, 321  # quantiles per variance


@dataclass(frozen=True)
class VarianceComponents:
    """Standard deviations of the difference between two models, in the unit of the metric.

    Parameters
    ----------
    sd_users : float
        Between users, each averaged over seeds.
    sd_seeds : float
        Between seeds, each averaged over users; 0 if the lists are fixed.
    sd_residual : float
        Residual of a user's difference with one seed.

    Examples
    --------
    >>> import concord as cc
    >>> components = cc.results.VarianceComponents(sd_users=0.2, sd_seeds=0.01, sd_residual=0.05)
    >>> plan = cc.plan(sd=components, users=1000, seeds=5, effect=0.02)
    >>> round(plan.differences[0].power, 3)
    0.624
    """

    sd_users: float
    sd_seeds: float = 0.0
    sd_residual: float = 0.0

    @property
    def sd_one_seed(self) -> float:
        """Standard deviation between users, given the lists of one seed."""
        return math.sqrt(self.sd_users * self.sd_users + self.sd_residual * self.sd_residual)


def variance_from_interval(
    low: float | None, high: float | None, n_users: int, confidence: float
) -> VarianceComponents | None:
    """Return sd = half-width · √n / t(n - 1) of an interval; None without one."""
    if low is None or high is None or math.isnan(high - low):
        return None
    half = (high - low) / 2
    return VarianceComponents(half * math.sqrt(n_users) / t_quantile(n_users, confidence))


def variance_from_error(standard_error: float | None, n_users: int) -> VarianceComponents | None:
    """Return sd = standard error · √n; None without an error above 0."""
    if not standard_error or math.isnan(standard_error):
        return None
    return VarianceComponents(standard_error * math.sqrt(n_users))


def min_users(n_users: int, n_nonzero: int | None) -> int:
    """Return the number of users of whom 30 would differ, as the t interval requires."""
    if not n_nonzero:
        return MIN_COUNT
    return max(MIN_COUNT, math.ceil(MIN_T_TEST_USERS * n_users / n_nonzero))


@dataclass(frozen=True)
class Claim:
    """Bounds that the two-sided 1 - alpha interval of a difference must exclude.

    Attributes
    ----------
    bound : float
        The lower end of the interval is above it.
    below : float or None
        The upper end is below it.
    """

    bound: float
    alpha: float
    below: float | None = None


def difference_claim(alpha: float) -> Claim:
    """Return the claim that a > b, by a two-sided test at alpha."""
    return Claim(0.0, alpha)


def superiority_claim(min_effect: float, alpha: float) -> Claim:
    """Return the claim of the verdict `better`: the interval is above `min_effect`."""
    return Claim(min_effect, alpha)


def equivalence_claim(min_effect: float, alpha: float) -> Claim:
    """Return the claim of the verdict `equivalent`: the interval is within ± `min_effect`."""
    return Claim(-min_effect, alpha, below=min_effect)


def non_inferiority_claim(margin: float, alpha: float) -> Claim:
    """Return the claim of a guardrail that passes: the interval of the gain is above -margin."""
    return Claim(-margin, alpha)


def claim_power(
    claim: Claim,
    effect: float,
    variance: VarianceComponents,
    *,
    users: int,
    seeds: int | None = None,
) -> float:
    """Return P(the intervals support the claim), given that the true difference is `effect`.

    The observed difference D is normal with mean `effect` and variance a + b, where
    a = s_users² / n and b = (s_seeds² + s_residual² / n) / R. The half-width of its interval is
    half² = t²(n - 1) · a · χ²(n - 1) / (n - 1) + t²(R - 1) · b · χ²(R - 1) / (R - 1).
    Without replicates, b = 0 and a = (s_users² + s_residual²) / n, and the power for a single
    bound is that of a noncentral t test.

    Parameters
    ----------
    claim : Claim
        Bounds that the intervals must exclude.
    effect : float
        True difference.
    variance : VarianceComponents
        Standard deviations of users, replicates and residuals.
    users : int
        Number n of users.
    seeds : int, optional
        Number R of replicates of each model. By default the claim is about the given lists only.

    Returns
    -------
    float
        Power; 0 for fewer than two users or replicates.

    References
    ----------
    Johnson & Welch (1940), Biometrika 31(3/4), 362-389: noncentral t.
    Phillips (1990), Journal of Pharmacokinetics and Biopharmaceutics 18(2), 137-144: equivalence.
    """
    if users < MIN_COUNT or (seeds is not None and seeds < MIN_COUNT):
        return 0.0
    user_part, seed_part = mean_variances(variance, users, seeds)
    if user_part + seed_part == 0:
        is_below = claim.below is None or effect < claim.below
        return float(effect > claim.bound and is_below)
    if seed_part == 0 and claim.below is None:
        return _power_of_one_bound(claim, effect, math.sqrt(user_part), users)
    return _power_of_all_bounds(claim, effect, (user_part, users), (seed_part, seeds or MIN_COUNT))


def mean_variances(
    variance: VarianceComponents, users: int, seeds: int | None
) -> tuple[float, float]:
    """Return the variances of the mean difference due to users and due to replicates."""
    if seeds is None:
        return variance.sd_one_seed * variance.sd_one_seed / users, 0.0
    residual = variance.sd_residual * variance.sd_residual / users
    between_seeds = variance.sd_seeds * variance.sd_seeds
    return variance.sd_users * variance.sd_users / users, (between_seeds + residual) / seeds


def _power_of_one_bound(claim: Claim, effect: float, error: float, users: int) -> float:
    """Return P(T > t), T with n - 1 df and noncentrality (effect - bound) / error."""
    from scipy.special import nctdtr, stdtrit

    noncentrality = (effect - claim.bound) / error
    if abs(noncentrality) > 37:  # noqa: PLR2004 - a normal tail beyond it underflows
        return float(noncentrality > 0)
    return 1 - float(nctdtr(users - 1, noncentrality, stdtrit(users - 1, 1 - claim.alpha / 2)))


def _power_of_all_bounds(
    claim: Claim, effect: float, user_part: tuple[float, int], seed_part: tuple[float, int]
) -> float:
    """Return E[P(lower bound < D < upper bound)] over the estimates of both variances.

    Each variance is a pair (variance, count).
    """
    from scipy.special import ndtr

    both_vary = user_part[0] > 0 and seed_part[0] > 0
    points = _POINTS_IF_BOTH_VARY if both_vary else _POINTS_IF_ONE_VARIES
    user_estimates, user_weights = _variance_quantiles(*user_part, points)
    seed_estimates, seed_weights = _variance_quantiles(*seed_part, points)
    parts = [user_estimates[:, None], seed_estimates[None, :]]
    weights = user_weights[:, None] * seed_weights[None, :]
    counts = user_part[1], seed_part[1]
    error = math.sqrt(user_part[0] + seed_part[0])
    half_width = _half_width(parts, counts, claim.alpha)
    low = claim.bound + half_width
    probability = ndtr((effect - low) / error)
    if claim.below is not None:
        high = claim.below - half_width
        probability = np.maximum(probability - ndtr((effect - high) / error), 0.0)
    return math.fsum((weights * probability).ravel())


def _variance_quantiles(variance: float, count: int, points: int) -> tuple[Floats, Floats]:
    """Return estimates of a variance with count - 1 degrees of freedom, and their probabilities.

    The estimates are the quantiles of equally spaced normal deviates (trapezoidal rule).
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
    """Return equally spaced normal deviates and their weights."""
    deviates = np.linspace(-_MAX_DEVIATE, _MAX_DEVIATE, points)
    densities = exp2(-deviates * deviates / (2 * _LN2))
    return deviates, densities / math.fsum(densities)


def _half_width(parts: list[Floats], counts: tuple[int, int], alpha: float) -> Floats:
    """Return √(Σ t² · part), where t has the degrees of freedom of its part of the variance."""
    from scipy.special import stdtrit

    quantiles = [float(stdtrit(count - 1, 1 - alpha / 2)) for count in counts]
    half: Floats = np.sqrt(sum(t * t * part for t, part in zip(quantiles, parts, strict=True)))
    return half


def users_needed(
    claim: Claim,
    effect: float,
    variance: VarianceComponents,
    *,
    power: float,
    seeds: int | None = None,
) -> int | None:
    """Return the number of users that gives the claim this power; None if no number is enough."""
    return smallest_count(
        lambda users: claim_power(claim, effect, variance, users=users, seeds=seeds) >= power,
        MIN_COUNT,
        MAX_USERS,
    )


def seeds_needed(
    claim: Claim, effect: float, variance: VarianceComponents, *, power: float, users: int
) -> int | None:
    """Return the number of replicates of each model that gives the claim this power.

    None if 1,000 are too few.
    """
    return smallest_count(
        lambda seeds: claim_power(claim, effect, variance, users=users, seeds=seeds) >= power,
        MIN_COUNT,
        MAX_SEEDS,
    )


def smallest_effect(
    claim: Claim,
    variance: VarianceComponents,
    *,
    power: float,
    users: int,
    seeds: int | None = None,
) -> float | None:
    """Return the minimum detectable effect: the smallest true difference with this power.

    None for fewer than two users or replicates, and for a claim with an upper bound. For
    `difference_claim` it is also the smallest margin with this power in a non-inferiority test of
    an equally good model.
    """
    is_too_few = users < MIN_COUNT or (seeds is not None and seeds < MIN_COUNT)
    if is_too_few or claim.below is not None:
        return None
    low = claim.bound
    step = max(variance.sd_one_seed, variance.sd_seeds)
    if step == 0:
        return low

    def has_power(effect: float) -> bool:
        return claim_power(claim, effect, variance, users=users, seeds=seeds) >= power

    while not has_power(low + step):
        step *= 2
    high = low + step
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if has_power(middle) else (middle, high)
    return high


POWER = 0.8  # of the differences that texts name


def detectable_difference(test: PairedTest, alpha: float) -> float:
    """Return the smallest true difference whose interval is above 0 with probability 0.8.

    It takes the standard error as known. NaN without one.
    """
    if not test.standard_error > 0:
        return math.nan
    users = max(math.floor(test.effective_users), MIN_COUNT)
    variance = VarianceComponents(test.standard_error * math.sqrt(users))
    smallest = smallest_effect(difference_claim(alpha), variance, power=POWER, users=users)
    return math.nan if smallest is None else smallest


def users_to_decide(
    gain: float, interval: tuple[float, float], margin: float, *, n_users: int, confidence: float
) -> int | None:
    """Return the users with whom a guardrail is decided with probability 0.8.

    They take the observed gain as the true one: the guardrail holds if it is above -margin, and
    fails if it is below. None if no number is enough.
    """
    variance = variance_from_interval(*interval, n_users, confidence)
    if variance is None or math.isnan(gain + margin):
        return None
    bound, effect = (-margin, gain) if gain > -margin else (margin, -gain)
    claim = Claim(bound, 1 - confidence)
    return users_needed(claim, effect, variance, power=POWER)


def smallest_count(is_enough: Callable[[int], bool], lowest: int, highest: int) -> int | None:
    """Return the smallest count from `lowest` to `highest` that is enough; None if none is.

    A count above one that is enough must be enough, too.
    """
    if not is_enough(highest):
        return None
    low, high = lowest - 1, lowest
    while not is_enough(high):
        low, high = high, min(2 * high, highest)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
