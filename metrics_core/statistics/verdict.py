"""The verdict on one comparison: from interval, adjusted p and the smallest difference that matters."""

from concord.metrics_core.comparison.parts import Verdict
from concord.metrics_core.statistics.paired import FEWEST_INFORMATIVE, Paired


def verdict(
    found: Paired, p_adjusted: float, *, alpha: float, min_effect: float, higher_is_better: bool
) -> Verdict:
    """What may be said of a against b.

    better                 : significant, and the interval lies wholly above `min_effect`
    equivalent             : the interval lies wholly within ± `min_effect`
    better_below_threshold : significant and above 0, but the interval reaches below `min_effect`
    better_without_interval: significant, of a number over all users, whose size has no interval
    undecided              : none of these, nor their mirror images
    """
    if found.test == "none":
        return "no_interval"
    if found.n_nonzero < FEWEST_INFORMATIVE:
        return "identical" if found.n_users and not found.n_nonzero else "too_few_users"
    sign = 1 if higher_is_better else -1
    if found.test == "swap":
        if not p_adjusted < alpha:
            return "undecided"
        better = sign * found.difference > 0
        return "better_without_interval" if better else "worse_without_interval"
    low, high = sorted((sign * found.ci_low, sign * found.ci_high))
    return of_interval(
        sign * found.difference, low, high, significant=p_adjusted < alpha, min_effect=min_effect
    )


def of_interval(
    gain: float, low: float, high: float, *, significant: bool, min_effect: float
) -> Verdict:
    """The verdict on a gain, above 0 where it is better, from its interval and its adjusted test."""
    if not significant:
        return "equivalent" if -min_effect <= low and high <= min_effect else "undecided"
    return _significant(gain, low, high, min_effect)


def _significant(difference: float, low: float, high: float, min_effect: float) -> Verdict:
    if low > min_effect:
        return "better"
    if high < -min_effect:
        return "worse"
    if -min_effect <= low and high <= min_effect:
        return "equivalent"
    return "better_below_threshold" if difference > 0 else "worse_below_threshold"
