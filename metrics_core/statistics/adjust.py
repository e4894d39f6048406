"""p values adjusted for the number of comparisons; NaN stands for no test and is no member of the family."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.judged import Floats


def holm(p: Floats) -> Floats:
    """Smallest p times m, the next times m - 1 …, never falling: the chance of any false finding is bounded.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.
    """
    return _over_tests(p, lambda rising: np.maximum.accumulate(rising * _countdown(len(rising))))


def benjamini_hochberg(p: Floats) -> Floats:
    """The i-th smallest p times m / i, never above the next: the share of false findings is bounded.

    References
    ----------
    Benjamini & Hochberg (1995), Journal of the Royal Statistical Society B 57(1), 289-300.
    """
    return _over_tests(p, _step_up)


def adjust(p: Floats, primary: NDArray[np.bool_]) -> Floats:
    """Holm over the primary comparisons, Benjamini-Hochberg over the others."""
    adjusted = np.empty_like(p)
    adjusted[primary] = holm(p[primary])
    adjusted[~primary] = benjamini_hochberg(p[~primary])
    return adjusted


def _step_up(rising: Floats) -> Floats:
    m = len(rising)
    scaled = rising * (m / np.arange(1, m + 1))
    return np.minimum.accumulate(scaled[::-1])[::-1]


def _countdown(m: int) -> Floats:
    return np.arange(m, 0, -1, dtype=np.float64)


def _over_tests(p: Floats, adjust_rising: Callable[[Floats], Floats]) -> Floats:
    """Adjusts the values that are no NaN, in rising order, and puts them back in their places."""
    places = np.flatnonzero(~np.isnan(p))
    places = places[np.argsort(p[places], kind="stable")]
    adjusted = np.full(len(p), np.nan)
    adjusted[places] = np.minimum(adjust_rising(p[places]), 1.0)
    return adjusted
