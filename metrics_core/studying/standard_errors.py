"""The standard error of a difference, back from its t interval."""

from concord.metrics_core.comparison.parts import Difference
from concord.metrics_core.scoring.numerics.student import half_width


def standard_error(pair: Difference, confidence: float) -> float | None:
    """(high - low) / 2 / t, t on n - 1 degrees of freedom; None without an interval of some width.

    A difference that all users share has no width, and would outweigh every other data set.
    """
    if pair.ci_low is None or pair.ci_high is None or pair.ci_low == pair.ci_high:
        return None
    return (pair.ci_high - pair.ci_low) / 2 / half_width(pair.n_users, confidence)
