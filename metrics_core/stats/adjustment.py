"""Multiple testing: adjusted p-values, and the risk of a false winner on a reused test set."""

import math
from collections.abc import Callable

import numpy as np

from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.results.comparison_parts import Severity


def holm(p: Floats) -> Floats:
    """Return Holm's adjusted p-values, p_(i) = max_{j <= i} (m - j + 1) p_(j).

    They control the family-wise error rate. NaN stays NaN and is not counted.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.
    """

    def step_down(ascending: Floats) -> Floats:
        return np.maximum.accumulate(ascending * np.arange(len(ascending), 0, -1.0))

    return _adjust_defined(p, step_down)


def benjamini_hochberg(p: Floats) -> Floats:
    """Return Benjamini and Hochberg's adjusted p-values, p_(i) = min_{j >= i} m p_(j) / j.

    They control the false discovery rate. NaN stays NaN and is not counted.

    References
    ----------
    Benjamini & Hochberg (1995), Journal of the Royal Statistical Society B 57(1), 289-300.
    """

    def step_up(ascending: Floats) -> Floats:
        scaled = ascending * (len(ascending) / np.arange(1, len(ascending) + 1))
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _adjust_defined(p, step_up)


def _adjust_defined(p: Floats, adjust_ascending: Callable[[Floats], Floats]) -> Floats:
    """Apply an adjustment of ascending p-values to those that are not NaN."""
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]  # NaN comes last
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(adjust_ascending(p[order]), 1.0)
    return adjusted


NOTICE_FROM, SERIOUS_FROM = 0.1, 0.5  # smallest probability of each severity


def chance_of_false_winner(comparisons: int, alpha: float) -> float:
    """Return 1 - (1 - alpha / 2)^m, a bound for the probability of a false winner.

    A false winner is a model that is called better although no model differs from the baseline.
    A comparison finds any difference between equal models with probability at most alpha,
    and half of these are in favour of a model.

    The bound holds for m comparisons with one baseline: their mean differences are positively
    correlated, and independence is the worst case (Slepian). If each model is compared with the
    previous one, only m alpha / 2 is a bound. Neither holds for models that were selected by
    earlier results on this test set (Dwork et al.).

    References
    ----------
    Slepian (1962), Bell System Technical Journal 41(2), 463-501.
    doi:10.1002/j.1538-7305.1962.tb02419.x
    Dwork et al. (2015), Science 349(6248), 636-638.  doi:10.1126/science.aaa9375
    """
    return 1 - math.prod([1 - alpha / 2] * comparisons)


def reuse_severity(probability: float) -> Severity | None:
    """Return the severity of a probability of false winners; None below 0.1."""
    if probability >= SERIOUS_FROM:
        return "serious"
    return "notice" if probability >= NOTICE_FROM else None
