"""Mean, confidence interval and number of users of a column of values per user."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.metric import Bounds
from concord.metrics_core.results.summary import Summary
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.floating_point import compress_sum, exact_parts
from concord.metrics_core.stats.mean_interval import (
    NO_INTERVAL,
    ValueSpread,
    interval_from_sums,
    squared_deviations,
)

CONFIDENCE = 0.95  # of the intervals


def summarise(
    label: Label,
    values: Floats,
    conventions: Conventions,
    *,
    confidence: float,
    parts: tuple[Floats, ...] = (),
    clusters: Clusters | None = None,
) -> Summary:
    """Return the mean over the users who are not left out, with its confidence interval.

    Parameters
    ----------
    label : Label
        The label.
    values : (n_users,) float64
        NaN where undefined.
    conventions : Conventions
        The pinned conventions.
    confidence : float
        Confidence of the interval, such as 0.95.
    parts : tuple of (n_users,) float64
        Hits and divisors of a micro mean, or precision and recall of an F1 of means. A pooled mean
        has no interval in closed form.
    clusters : Clusters, optional
        Users of the requests, if the unit is a request; weights of the users, if they differ.
    """
    label_conventions = label.conventions(conventions)
    bounds = label.bounds(conventions)
    totals = compute_totals(values, parts, label_conventions.undefined, bounds)
    mean = mean_from_totals(label, totals)
    if clusters is not None:
        ratio = clusters.ratio(_zeroed(values, label_conventions.undefined))
        low, high = ratio.interval(confidence, bounds)
        if parts or math.isnan(mean):  # pooled, or `undefined: propagate`
            low = high = math.nan
        else:
            mean = ratio.value
        n_requests = None if conventions.unit_mean is None else totals.n_users
        counts = (ratio.n, totals.n_undefined, n_requests)
        return Summary(_rounded(mean, label_conventions), low, high, *counts)
    squares = (
        squared_deviations(counted_values(values, label_conventions.undefined), mean)
        if not parts
        else []
    )
    return summary_from_totals(label, totals, squares, conventions, confidence=confidence)


@dataclass(frozen=True)
class Totals:
    """Sums of a mean; totals of blocks add up to the same bits.

    Attributes
    ----------
    n_undefined : int
        Number of undefined values.
    sums : tuple of sequence of float
        For the values, and each addend of a pooled mean, numbers with the exact sum.
    spread : ValueSpread
        Number and range of the values.
    """

    n_undefined: int
    sums: tuple[Sequence[float], ...]
    spread: ValueSpread

    @property
    def n_users(self) -> int:
        """Number of users of the mean."""
        return self.spread.n

    def __add__(self, other: "Totals") -> "Totals":
        """Return the totals of two blocks with different users."""
        sums = tuple(compress_sum([*a, *b]) for a, b in zip(self.sums, other.sums, strict=True))
        n_undefined = self.n_undefined + other.n_undefined
        return Totals(n_undefined, sums, self.spread + other.spread)


def counted_values(values: Floats, undefined: str) -> Floats:
    """Return the values that count in the mean."""
    return values[~np.isnan(values)] if undefined == "skip" else _zeroed(values, undefined)


def compute_totals(
    values: Floats, parts: Sequence[Floats], undefined: str, bounds: Bounds
) -> Totals:
    """Return the totals of some users; arguments as in `summarise`."""
    undefined_rows = np.isnan(values)
    n_undefined = int(np.count_nonzero(undefined_rows))
    counted = ~undefined_rows if n_undefined and undefined == "skip" else slice(None)
    columns = [_zeroed(column, undefined)[counted] for column in (values, *parts)]
    sums = tuple(map(exact_parts, columns))
    return Totals(n_undefined, sums, ValueSpread.from_values(columns[0], bounds))


def mean_from_totals(label: Label, totals: Totals) -> float:
    """Return the mean or pooled mean; NaN if undefined."""
    n, (total, *pooled) = totals.n_users, map(math.fsum, totals.sums)
    if not pooled:
        return total / n if n else math.nan
    first, second = pooled
    if label.name == "P":
        return first / second if second else math.nan
    p, r = (first / n, second / n) if n else (math.nan, math.nan)
    return 2 * p * r / (p + r) if p + r else 0.0


def summary_from_totals(
    label: Label,
    totals: Totals,
    squares: Sequence[float],
    conventions: Conventions,
    *,
    confidence: float,
) -> Summary:
    """Return the summary of all users.

    `squares` are the `squared_deviations`; a pooled mean has none.
    """
    label_conventions, mean = label.conventions(conventions), mean_from_totals(label, totals)
    is_pooled = len(totals.sums) > 1
    low, high = (
        NO_INTERVAL
        if is_pooled
        else interval_from_sums(totals.spread, mean, squares, confidence, label.bounds(conventions))
    )
    return Summary(_rounded(mean, label_conventions), low, high, totals.n_users, totals.n_undefined)


def _rounded(mean: float, conventions: Conventions) -> float:
    if conventions.round is not None and "mean" in conventions.round and math.isfinite(mean):
        return round(mean, conventions.round["mean"])
    return mean


def summarise_catalogue(
    label: Label, exposure: Exposure, conventions: Conventions, n_users: int | None = None
) -> Summary:
    """Return the summary of an aggregate metric, which has no interval.

    `n_users` is the number of users if the unit is a request.
    """
    label_conventions = label.conventions(conventions)
    value = label.metric.function(exposure, **label.metric.arguments(label_conventions))
    listed = exposure.n_users
    if n_users is not None:
        return Summary(_rounded(value, label_conventions), math.nan, math.nan, n_users, 0, listed)
    return Summary(_rounded(value, label_conventions), math.nan, math.nan, listed, 0)


def _zeroed(values: Floats, undefined: str) -> Floats:
    return np.where(np.isnan(values), 0.0, values) if undefined == "zero" else values
