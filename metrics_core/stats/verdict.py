"""Verdicts from an interval, an adjusted p-value and the minimum relevant difference."""

import math
from collections.abc import Sequence
from itertools import combinations

from concord.metrics_core.results.comparison_parts import Difference, Verdict
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS
from concord.metrics_core.stats.mean_interval import t_quantile
from concord.metrics_core.stats.paired_test import PairedTest
from concord.metrics_core.stats.sign_flip_test import MarginTest


def verdict(
    pair: PairedTest,
    p_adjusted: float,
    *,
    alpha: float,
    min_effect: float,
    higher_is_better: bool,
    tests: int = 1,
) -> Verdict:
    """Return the verdict on a against b.

    - `not_comparable`: a model lacks the lists of most users. Takes precedence over all others.
    - `better`: significant, and the interval is above `min_effect`.
    - `equivalent`: the interval is within ± `min_effect`. Takes precedence over the next.
    - `better_below_threshold`: significant and above 0, but the interval reaches below
      `min_effect`.
    - `better_without_interval`: significant, but without an interval: a metric over all users, or
      equal differences of an unbounded metric.
    - `too_few_users`: no outcome of these users could be significant.
    - `undecided`: none of these, nor their mirror images.

    If fewer than 30 users differ, sign-flip tests against the margin must agree with the interval.

    Parameters
    ----------
    pair : PairedTest
        Test of a against b.
    p_adjusted : float
        Adjusted p-value of the test.
    alpha : float
        Level of the test.
    min_effect : float
        Minimum relevant difference.
    higher_is_better : bool
        Direction of the metric.
    tests : int
        Number of tests in the family if p-values are adjusted by Holm's method, else 1.

    Returns
    -------
    Verdict
        Verdict from a's side.
    """
    if (untested := _without_test(pair)) is not None:
        return untested
    is_significant = p_adjusted < alpha
    # Holm's method multiplies the smallest p-value by the number of tests.
    if _has_too_few_users(pair, alpha / max(tests, 1)) and not is_significant:
        return "too_few_users"
    sign = 1 if higher_is_better else -1
    gain, (low, high) = sign * pair.difference, sorted((sign * pair.ci_low, sign * pair.ci_high))
    if math.isnan(pair.ci_low):
        return _without_interval(gain, significant=is_significant)
    candidate = interval_verdict(gain, low, high, significant=is_significant, min_effect=min_effect)
    test = pair.margin_test(higher_is_better=higher_is_better, alpha=alpha)
    if test is None:
        return candidate
    return _confirmed_by_sign_flips(candidate, test, (low, high), min_effect)


def _without_test(pair: PairedTest) -> Verdict | None:
    """Return the verdict of a pair that was not tested; None if it was."""
    if not pair.is_comparable:
        return "not_comparable"
    if pair.test == "none":
        return "no_interval"
    return "identical" if pair.n_users and not pair.n_nonzero else None


def _has_too_few_users(pair: PairedTest, level: float) -> bool:
    """True if no outcome of these users could be significant at this level."""
    if pair.test == "swap":
        return pair.n_nonzero < MIN_DIFFERING_USERS
    return math.isnan(pair.p) or pair.smallest_p > level


def _without_interval(gain: float, *, significant: bool) -> Verdict:
    if not significant:
        return "undecided"
    return "better_without_interval" if gain > 0 else "worse_without_interval"


def _confirmed_by_sign_flips(
    candidate: Verdict, test: MarginTest, interval: tuple[float, float], min_effect: float
) -> Verdict:
    """Return the interval's verdict if one-sided sign-flip tests agree, else a weaker one."""
    if candidate == "better":
        return candidate if test.is_above(min_effect) else "better_below_threshold"
    if candidate == "worse":
        return candidate if test.is_below(-min_effect) else "worse_below_threshold"
    if candidate == "equivalent":
        is_within = test.is_above(-min_effect) and test.is_below(min_effect)
        return candidate if is_within else "undecided"
    return "undecided" if interval[0] <= 0 <= interval[1] else candidate


def interval_verdict(
    gain: float, low: float, high: float, *, significant: bool, min_effect: float
) -> Verdict:
    """Return the verdict on a gain (above 0 is better) from its interval and significance.

    Parameters
    ----------
    gain, low, high : float
        Difference in the direction of the metric, and its interval.
    significant : bool
        True if the adjusted p-value is below the level.
    min_effect : float
        Minimum relevant difference.

    Returns
    -------
    Verdict
        One of `better`, `better_below_threshold`, `equivalent`, `undecided` and their mirrors.
    """
    if significant and low > min_effect:
        return "better"
    if significant and high < -min_effect:
        return "worse"
    if -min_effect <= low and high <= min_effect:
        return "equivalent"
    if not significant:
        return "undecided"
    return "better_below_threshold" if gain > 0 else "worse_below_threshold"


def model_pairs(models: Sequence[str], baseline: str) -> list[tuple[str, str]]:
    """Return the pairs of each model and the baseline, then all other pairs."""
    others = [model for model in models if model != baseline]
    return [(model, baseline) for model in others] + list(combinations(others, 2))


def difference_standard_error(pair: Difference, confidence: float) -> float | None:
    """Return the standard error: |difference / effect size| / √n, or half-width / t
    if the difference is 0.

    None without an interval, and if all users' differences are equal: a difference without
    variance would outweigh all other data sets.
    """
    if pair.ci_low is None or pair.ci_high is None or pair.effect_size is None:
        return None
    if pair.difference and pair.effect_size:
        return abs(pair.difference / pair.effect_size) / math.sqrt(pair.n_users)
    return (pair.ci_high - pair.ci_low) / 2 / t_quantile(pair.n_users, confidence)
