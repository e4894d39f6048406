"""Verdicts: from interval, adjusted p-value and smallest difference that matters; every pair of models."""

import math
from collections.abc import Sequence
from itertools import combinations

from concord.metrics_core.results.comparison_parts import Difference, Verdict
from concord.metrics_core.stats.adjustment import adjust, benjamini_hochberg, holm
from concord.metrics_core.stats.mean_interval import half_width
from concord.metrics_core.stats.paired import FEWEST_INFORMATIVE, Paired, compare
from concord.metrics_core.stats.sign_flips import MarginTest


def verdict(
    pair: Paired,
    p_adjusted: float,
    *,
    alpha: float,
    min_effect: float,
    higher_is_better: bool,
    tests: int = 1,
) -> Verdict:
    """Return what may be said of a against b.

    better                 : significant, and the interval lies wholly above `min_effect`
    equivalent             : the interval lies wholly within ± `min_effect`; takes precedence over the next
    better_below_threshold : significant and above 0, but the interval reaches below `min_effect`
    better_without_interval: significant, without an interval: a number over all users, or a metric without bounds by
                             which all users differ alike
    too_few_users          : no outcome of these users could be significant
    undecided              : none of these, nor their mirror images
    not_comparable         : a model lacks the lists of most users; takes precedence over all others

    Where fewer than 30 users differ, sign flips against the margin have to agree with the interval.

    Parameters
    ----------
    tests : in the family of Holm's correction, which multiplies the smallest p by their number; else 1
    """
    if (fixed := _without_test(pair)) is not None:
        return fixed
    is_significant = p_adjusted < alpha
    if _is_out_of_reach(pair, alpha / max(tests, 1)) and not is_significant:
        return "too_few_users"
    sign = 1 if higher_is_better else -1
    gain, (low, high) = sign * pair.difference, sorted((sign * pair.ci_low, sign * pair.ci_high))
    if math.isnan(pair.ci_low):
        return _without_interval(gain, significant=is_significant)
    said = of_interval(gain, low, high, significant=is_significant, min_effect=min_effect)
    test = pair.margin_test(higher_is_better=higher_is_better, alpha=alpha)
    return said if test is None else _confirmed(said, test, (low, high), min_effect)


def _without_test(pair: Paired) -> Verdict | None:
    """Return the verdict where nothing was tested; None where something was."""
    if not pair.is_comparable:
        return "not_comparable"
    if pair.test == "none":
        return "no_interval"
    return "identical" if pair.n_users and not pair.n_nonzero else None


def _is_out_of_reach(pair: Paired, level: float) -> bool:
    """True if no outcome of these users could be significant."""
    if pair.test == "swap":
        return pair.n_nonzero < FEWEST_INFORMATIVE
    return math.isnan(pair.p) or pair.least_p > level


def _without_interval(gain: float, *, significant: bool) -> Verdict:
    if not significant:
        return "undecided"
    return "better_without_interval" if gain > 0 else "worse_without_interval"


def _confirmed(
    said: Verdict, test: MarginTest, ends: tuple[float, float], effect: float
) -> Verdict:
    """Return the verdict of the interval where one-sided sign flips of the gains show the same, else a weaker one."""
    if said == "better":
        return said if test.is_above(effect) else "better_below_threshold"
    if said == "worse":
        return said if test.is_below(-effect) else "worse_below_threshold"
    if said == "equivalent":
        return said if test.is_above(-effect) and test.is_below(effect) else "undecided"
    return "undecided" if ends[0] <= 0 <= ends[1] else said


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


__all__ = [
    "Paired",
    "Verdict",
    "adjust",
    "benjamini_hochberg",
    "compare",
    "holm",
    "pairs",
    "verdict",
]


def pairs(models: Sequence[str], baseline: str) -> list[tuple[str, str]]:
    """Every model against the baseline, then every other pair, in the order given."""
    others = [model for model in models if model != baseline]
    return [(model, baseline) for model in others] + list(combinations(others, 2))


def standard_error(pair: Difference, confidence: float) -> float | None:
    """Return |difference| / (effect size √n), or (high - low) / 2 / t(n - 1) where the difference is 0.

    None without an interval, and where all users differ by the same: such a difference varies by nothing, and would
    outweigh every other data set.
    """
    if pair.ci_low is None or pair.ci_high is None or pair.effect_size is None:
        return None
    if pair.difference and pair.effect_size:
        return abs(pair.difference / pair.effect_size) / math.sqrt(pair.n_users)
    return (pair.ci_high - pair.ci_low) / 2 / half_width(pair.n_users, confidence)
