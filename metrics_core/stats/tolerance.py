"""Equality of values up to rounding, with one tolerance for all tests, shares and gates."""

import numpy as np

from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.metrics.metric import Bounds

RELATIVE = 1e-9  # of the larger of two values
ABSOLUTE = 1e-12  # of the width of a metric's range


def scale_of(bounds: Bounds) -> float:
    """Return the width of a metric's range; 1 if it is unbounded."""
    width = bounds[1] - bounds[0]
    return width if np.isfinite(width) else 1.0


def is_close(a: Floats, b: Floats, scale: float = 1.0) -> Bools:
    """True where |a - b| <= max(1e-9 max(|a|, |b|), 1e-12 scale); False where a value is NaN."""
    with np.errstate(invalid="ignore"):
        limit = np.maximum(RELATIVE * np.maximum(np.abs(a), np.abs(b)), ABSOLUTE * scale)
        return np.asarray(np.abs(a - b) <= limit)


def differences(a: Floats, b: Floats, scale: float = 1.0) -> Floats:
    """Return a - b, exactly 0 where the values are close, NaN where one of them is NaN.

    Examples
    --------
    >>> differences(np.array([0.1 + 0.2, 0.5]), np.array([0.3, 0.25])).tolist()
    [0.0, 0.25]
    """
    with np.errstate(invalid="ignore"):
        result = np.asarray(a - b)
    result[is_close(a, b, scale)] = 0.0
    return result


def difference(a: float, b: float, scale: float = 1.0) -> float:
    """Return a - b of two numbers, exactly 0 if they are close."""
    return float(differences(np.array([a]), np.array([b]), scale)[0])
