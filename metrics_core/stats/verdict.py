"""Verdicts from an interval and the minimum relevant difference."""

import math
from collections.abc import Sequence
from itertools import combinations

from concord.metrics_core.results.comparison_parts import Verdict
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS
from concord.metrics_core.stats.paired_difference import Interval, PairedTest


def verdict(
    pair: PairedTest,
    interval: Interval,
    *,
    alpha: float,
    min_effect: float,
    higher_is_better: bool,
) -> Verdict:
    """Return the verdict on a against b: what its interval says.

    - `not_comparable`: a model lacks the lists of most users.
    - `no_interval`: the mean is pooled over users, so there is no test.
    - `identical`: no user differs.
    - `too_few_users`: no outcome of these users could be significant at this level.
    - `better_without_interval`: p of a metric over all users is at most alpha.
    - otherwise `interval_verdict`; `undecided` without an interval, such as that of a share of a
      mean that may be 0.

    Parameters
    ----------
    pair : PairedTest
        Test of a against b.
    interval : (float, float)
        Its interval, at the level of the family of comparisons.
    alpha : float
        1 - level of this interval.
    min_effect : float
        Minimum relevant difference.
    higher_is_better : bool
        Direction of the metric.

    Returns
    -------
    Verdict
        Verdict from a's side.
    """
    if (untested := _without_test(pair)) is not None:
        return untested
    few = pair.n_nonzero < MIN_DIFFERING_USERS if pair.test == "swap" else math.isnan(pair.p)
    if few or pair.smallest_p > alpha:
        return "too_few_users"
    if pair.test == "swap":
        gain = pair.difference if higher_is_better else -pair.difference
        return _without_interval(gain, is_found=pair.p <= alpha)
    return interval_verdict(*interval, min_effect=min_effect, higher_is_better=higher_is_better)


def _without_test(pair: PairedTest) -> Verdict | None:
    """Return the verdict of a pair that was not tested; None if it was."""
    if not pair.is_comparable:
        return "not_comparable"
    if pair.test == "none":
        return "no_interval"
    return "identical" if pair.n_users and not pair.n_nonzero else None


def _without_interval(gain: float, *, is_found: bool) -> Verdict:
    if not is_found:
        return "undecided"
    return "better_without_interval" if gain > 0 else "worse_without_interval"


def interval_verdict(
    low: float, high: float, *, min_effect: float, higher_is_better: bool
) -> Verdict:
    """Return what the interval of a difference says; if lower is better, of its negative.

    - `better`: above `min_effect`.
    - `equivalent`: within ± `min_effect`. Takes precedence over the next.
    - `better_below_threshold`: above 0, but it reaches below `min_effect`.
    - `undecided`: none of these, nor their mirror images.
    """
    if not higher_is_better:
        low, high = -high, -low
    if low > min_effect:
        return "better"
    if high < -min_effect:
        return "worse"
    if -min_effect <= low and high <= min_effect:
        return "equivalent"
    if low > 0:
        return "better_below_threshold"
    return "worse_below_threshold" if high < 0 else "undecided"


def model_pairs(models: Sequence[str], baseline: str) -> list[tuple[str, str]]:
    """Return the pairs of each model and the baseline, then all other pairs."""
    others = [model for model in models if model != baseline]
    return [(model, baseline) for model in others] + list(combinations(others, 2))
