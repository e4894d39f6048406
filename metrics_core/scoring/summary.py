"""Summary: one column of per-user values -> mean, interval, and how many users stand behind it."""

import math
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.scoring.student import half_width


@dataclass(frozen=True)
class Summary:
    """NaN where a number does not exist; `n_users` stand behind the mean, `n_undefined` had 0/0."""

    mean: float
    ci_low: float
    ci_high: float
    n_users: int
    n_undefined: int


def summarise(
    label: Label,
    values: Floats,
    conventions: Conventions,
    *,
    confidence: float,
    parts: tuple[Floats, ...] = (),
) -> Summary:
    """Mean over the users that are not left out, with its t interval.

    Parameters
    ----------
    values     : (users,) float64, NaN where undefined
    confidence : of the interval, such as 0.95
    parts      : (users,) each; hits and divisors of a micro mean, or precision and recall of an F1 of means.
                 A pooled mean has no interval of this closed form.
    """
    own = label.conventions(conventions)
    undefined = np.isnan(values)
    n_undefined = int(np.count_nonzero(undefined))
    kept = ~undefined if n_undefined and own.undefined == "skip" else slice(None)
    counted, *pooled = (_zeroed(column, own.undefined)[kept] for column in (values, *parts))
    mean = _pooled(label, *pooled) if pooled else _mean(counted)
    half = math.nan if parts else _half_width(counted, mean, confidence)
    low, high = mean - half, mean + half
    if own.round is not None and "mean" in own.round and math.isfinite(mean):
        mean = round(mean, own.round["mean"])
    return Summary(mean, low, high, len(counted), n_undefined)


def interval_of(values: Floats, confidence: float) -> tuple[float, float]:
    """The t interval of the mean over the users who have a value; NaN where there are none or one."""
    counted = values[~np.isnan(values)]
    mean = _mean(counted)
    half = _half_width(counted, mean, confidence)
    return mean - half, mean + half


def summarise_catalogue(label: Label, exposure: Exposure, conventions: Conventions) -> Summary:
    """The one number of a metric over all users; it has no interval over users."""
    own = label.conventions(conventions)
    value = label.metric.function(
        exposure, **{knob: getattr(own, knob) for knob in label.metric.knobs}
    )
    if own.round is not None and "mean" in own.round and math.isfinite(value):
        value = round(value, own.round["mean"])
    return Summary(value, math.nan, math.nan, exposure.n_users, 0)


def _zeroed(values: Floats, undefined: str) -> Floats:
    return np.where(np.isnan(values), 0.0, values) if undefined == "zero" else values


def _mean(values: Floats) -> float:
    """An exact sum, so the order of the users does not matter."""
    return _sum(values) / len(values) if len(values) else math.nan


def _sum(values: Floats) -> float:
    """The exact sum, rounded once; zeros, which are many, add nothing."""
    return math.fsum(values[values != 0].tolist())


def _half_width(values: Floats, mean: float, confidence: float) -> float:
    n = len(values)
    if n <= 1 or math.isnan(mean):
        return math.nan
    deviation = values - mean
    standard_error = math.sqrt(float((deviation * deviation).sum()) / (n - 1) / n)
    return half_width(n, confidence) * standard_error


def _pooled(label: Label, first: Floats, second: Floats) -> float:
    if label.name == "P":
        divisor = _sum(second)
        return _sum(first) / divisor if divisor else math.nan
    p, r = _mean(first), _mean(second)
    return 2 * p * r / (p + r) if p + r else 0.0
