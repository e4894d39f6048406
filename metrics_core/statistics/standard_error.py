"""The standard error of a difference, back from what a comparison says of it."""

import math

from concord.metrics_core.comparison.parts import Difference
from concord.metrics_core.scoring.numerics.student import half_width


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
