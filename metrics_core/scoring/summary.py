"""Summary: one column of per-user values -> mean, interval, and how many users stand behind it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.scoring.numerics.exact import exact_parts, exact_sum, exactly
from concord.metrics_core.scoring.numerics.student import half_width


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
    totals = totals_of(values, parts, own.undefined)
    mean = mean_of(label, totals)
    squares = squared(counted(values, own.undefined), mean) if not parts else []
    return summary_of(label, totals, squares, own, confidence=confidence)


@dataclass(frozen=True)
class Totals:
    """What a mean is made of, of some users or of all; those of partitions add up to the same bits.

    sums : of the values, and of each of the parts of a pooled mean: numbers that add up to the exact sum
    """

    n_users: int
    n_undefined: int
    sums: tuple[Sequence[float], ...]

    def __add__(self, other: "Totals") -> "Totals":
        """The totals of both partitions, which hold different users."""
        sums = tuple(exactly([*a, *b]) for a, b in zip(self.sums, other.sums, strict=True))
        n_undefined = self.n_undefined + other.n_undefined
        return Totals(self.n_users + other.n_users, n_undefined, sums)


def counted(values: Floats, undefined: str) -> Floats:
    """The values of those who stand behind the mean."""
    return values[~np.isnan(values)] if undefined == "skip" else _zeroed(values, undefined)


def totals_of(values: Floats, parts: Sequence[Floats], undefined: str) -> Totals:
    """The totals of these users; see `summarise`."""
    nowhere = np.isnan(values)
    n_undefined = int(np.count_nonzero(nowhere))
    kept = ~nowhere if n_undefined and undefined == "skip" else slice(None)
    columns = [_zeroed(column, undefined)[kept] for column in (values, *parts)]
    sums = tuple(map(exact_parts, columns))
    return Totals(len(columns[0]), n_undefined, sums)


def mean_of(label: Label, totals: Totals) -> float:
    """The mean, or the pooled mean; NaN where there is none."""
    n, (total, *pooled) = totals.n_users, map(math.fsum, totals.sums)
    if not pooled:
        return total / n if n else math.nan
    first, second = pooled
    if label.name == "P":
        return first / second if second else math.nan
    p, r = (first / n, second / n) if n else (math.nan, math.nan)
    return 2 * p * r / (p + r) if p + r else 0.0


def squared(values: Floats, mean: float) -> list[float]:
    """Numbers that add up to the exact sum of (value - mean)^2, each rounded once."""
    deviation = values - mean
    return exact_parts(deviation * deviation)


def summary_of(
    label: Label,
    totals: Totals,
    squares: Iterable[float],
    own: Conventions,
    *,
    confidence: float,
) -> Summary:
    """The summary of all users. squares : as `squared` gives them; a pooled mean has none."""
    mean = mean_of(label, totals)
    pooled = len(totals.sums) > 1
    half = math.nan if pooled else _half_width(totals.n_users, mean, squares, confidence)
    low, high = mean - half, mean + half
    if own.round is not None and "mean" in own.round and math.isfinite(mean):
        mean = round(mean, own.round["mean"])
    return Summary(mean, low, high, totals.n_users, totals.n_undefined)


def interval_of(values: Floats, confidence: float) -> tuple[float, float]:
    """The t interval of the mean over the users who have a value; NaN where there are none or one."""
    known = values[~np.isnan(values)]
    mean = exact_sum(known) / len(known) if len(known) else math.nan
    half = _half_width(len(known), mean, squared(known, mean), confidence)
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


def _half_width(n: int, mean: float, squares: Iterable[float], confidence: float) -> float:
    if n <= 1 or math.isnan(mean):
        return math.nan
    standard_error = math.sqrt(math.fsum(squares) / (n - 1) / n)
    return half_width(n, confidence) * standard_error
