"""Replicates (several trainings of a model): outliers, intervals over users and replicates."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.metrics.user_sums import mean_of
from concord.metrics_core.results.replicates import MIN_INTERVAL_REPLICATES
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.floating_point import difference, differences, exact_mean, exact_sum
from concord.metrics_core.stats.mean_interval import t_quantile, t_test_p
from concord.metrics_core.stats.paired_test import UserValues
from concord.metrics_core.stats.power import MAX_SEEDS, MIN_COUNT, smallest_count

MIN_FOR_OUTLIER = 3  # values: the variance of the others needs two
OUTLIER_ALPHA = 0.05  # probability of a false alarm for one model on one metric
_RELATIVE_TOLERANCE = 1e-9  # of means that are equal up to rounding
_MAX_USERS = 10**9
_BISECTIONS = 60  # more than any digit of p that is shown needs


def find_outlier(
    values: Sequence[float], sides: Sequence[int], min_variance: float = 0.0
) -> int | None:
    """Return the index of the outlier among the values; None if there is none.

    Parameters
    ----------
    values : sequence of float
        One value per replicate.
    sides : sequence of int
        1 to test the lowest value, -1 to test the highest. The level `OUTLIER_ALPHA` is divided
        between the sides.
    min_variance : float
        See `grubbs_p`.

    Returns
    -------
    int or None
        Index of the outlier.
    """
    for sign in sides:
        signed = [sign * value for value in values]
        if grubbs_p(signed, min_variance) < OUTLIER_ALPHA / len(sides):
            return signed.index(min(signed))
    return None


def grubbs_p(values: Sequence[float], min_variance: float = 0.0) -> float:
    """Return the p-value of Grubbs's one-sided test that the lowest of R values is an outlier.

    t = (mean of the others - lowest) / √(s² (1 + 1/(R - 1))), where s² is the variance of the
    others, has a t distribution with R - 2 degrees of freedom if all values are normal. The
    p-value is R times its tail.

    Parameters
    ----------
    values : sequence of float
        One value per replicate.
    min_variance : float
        Lower bound for s², such as the variance due to the sample of users. Without it, a third
        value next to two that happen to be equal would always be an outlier.

    Returns
    -------
    float
        At most 1; 1 for fewer than three values.

    References
    ----------
    Grubbs (1950), Annals of Mathematical Statistics 21(1), 27-58.  doi:10.1214/aoms/1177729885
    """
    count = len(values)
    if count < MIN_FOR_OUTLIER or not all(map(math.isfinite, values)):
        return 1.0
    lowest, *others = sorted(values)
    if others[-1] - lowest <= _RELATIVE_TOLERANCE * max(abs(lowest), abs(others[-1])):
        return 1.0
    mean = math.fsum(others) / len(others)
    spread = math.fsum((each - mean) ** 2 for each in others) / (len(others) - 1)
    error = math.sqrt(max(spread, min_variance) * (1 + 1 / len(others)))
    if not error:
        return 0.0
    tail = t_test_p(count - 1, (mean - lowest) / error) / 2
    return min(1.0, count * tail)


@dataclass(frozen=True)
class VarianceEstimate:
    """A component of the variance of a mean, estimated with n - 1 degrees of freedom."""

    variance: float
    n: float

    def half_width(self, confidence: float) -> float:
        """Return the half-width of the t interval due to this component alone."""
        return t_quantile(self.n, confidence) * math.sqrt(self.variance) if self.variance else 0.0


@dataclass(frozen=True, eq=False)
class ReplicateValues:
    """Values of one model's replicates, or differences of two models.

    Attributes
    ----------
    values : (replicates, users) float64
        NaN where a user does not count.
    clusters : Clusters or None
        User and weight of each value; None if each user has one value and weight 1.
    """

    values: Floats
    clusters: Clusters | None = None

    @cached_property
    def n(self) -> int:
        """Number of replicates."""
        return len(self.values)

    def minus(self, other: "ReplicateValues") -> "ReplicateValues":
        """Return the differences of replicates with the same index."""
        return ReplicateValues(differences(self.values, other.values), self.clusters)

    @cached_property
    def _complete(self) -> Bools:
        return np.asarray(~np.isnan(self.values).any(axis=0))

    @cached_property
    def _user_values(self) -> list[Floats]:
        """(users,) values of each replicate with its mean and the variance of its mean.

        Rows that count in all replicates; if nested, rows that count in this one.
        """
        if self.clusters is None:
            return list(self.values)
        rows = self.values if self.is_nested else np.where(self._complete, self.values, np.nan)
        return [self.clusters.linearised(row) for row in rows]

    @cached_property
    def _crossed_values(self) -> list[Floats]:
        """Values of each replicate, of the users who count in all replicates."""
        complete = ~np.isnan(self._user_values).any(axis=0)
        has_all_users = bool(complete.all())
        return [row if has_all_users else row[complete] for row in self._user_values]

    @cached_property
    def is_nested(self) -> bool:
        """True if most users lack a value in some replicate, such as users of other folds."""
        n_counted = int((~np.isnan(self.values)).any(axis=0).sum())
        return 2 * int(self._complete.sum()) < n_counted

    @cached_property
    def means(self) -> tuple[float, ...]:
        """Mean of each replicate, over users who count in all; if nested, over its own users."""
        if self.is_nested:
            return tuple(exact_mean(row[~np.isnan(row)]) for row in self._user_values)
        return tuple(map(exact_mean, self._crossed_values))

    @cached_property
    def residual_variance(self) -> float:
        """MS_residual of the model value = user + replicate + residual; 0 for one user."""
        n_users = len(self._crossed_values[0])
        if n_users < 2:  # noqa: PLR2004
            return 0.0
        user_means = mean_of_rows(self._crossed_values)
        grand_mean = math.fsum(self.means) / self.n
        squares = 0.0
        for row, mean in zip(self._crossed_values, self.means, strict=True):
            residual = row - user_means - (mean - grand_mean)
            squares += exact_sum(residual * residual)
        return squares / ((n_users - 1) * (self.n - 1))

    @property
    def residual_variance_of_mean(self) -> float:
        """Variance of a replicate's mean due to residuals; NaN without users, 0 if nested."""
        if self.is_nested:
            return 0.0
        n_users = len(self._crossed_values[0])
        return self.residual_variance / n_users if n_users else math.nan

    @cached_property
    def variance_of_means(self) -> float:
        """Sample variance of the means of the replicates; 0 if they are equal up to rounding."""
        if difference(max(self.means), min(self.means)) == 0:
            return 0.0
        mean = math.fsum(self.means) / self.n
        return math.fsum((each - mean) * (each - mean) for each in self.means) / (self.n - 1)

    @property
    def standard_error(self) -> float:
        """Standard error over users of the mean over replicates; NaN for fewer than two users."""
        return UserValues(mean_of_defined(list(self.values)), self.clusters).standard_error

    @cached_property
    def replicate_variance(self) -> float:
        """Variance between replicates, at least 0.

        Crossed: (MS_replicates - MS_residual) / users, by analysis of variance. Nested: the
        variance of the means, which includes that of the users.
        """
        between = self.variance_of_means - self.residual_variance_of_mean
        return 0.0 if between < 0 else between

    @property
    def variance_of_mean(self) -> VarianceEstimate:
        """Variance of the mean over all replicates, due to replicates."""
        return VarianceEstimate(self.replicate_variance / self.n, self.n)

    @property
    def prediction_variance(self) -> VarianceEstimate:
        """Variance of the prediction error of a new replicate's mean: s² (1 + 1/R).

        s² is `variance_of_means`, because a new replicate has residuals, too.
        """
        return VarianceEstimate(self.variance_of_means * (1 + 1 / self.n), self.n)


@dataclass(frozen=True)
class ReplicateEstimate:
    """A mean, or a difference of two means, with its variance over new users and new replicates.

    Attributes
    ----------
    difference : float
        The mean or difference.
    users : VarianceEstimate
        Variance due to users; 0 if users are fixed, or if nested replicates include it.
    replicates : tuple of VarianceEstimate
        Variance due to the replicates of each model with several; one for both models if paired.
    """

    difference: float
    users: VarianceEstimate
    replicates: tuple[VarianceEstimate, ...]

    @property
    def has_too_few_replicates(self) -> bool:
        """True if a model has too few replicates for an interval."""
        return any(part.n < MIN_INTERVAL_REPLICATES for part in self.replicates)

    @cached_property
    def replicate_variance(self) -> VarianceEstimate:
        """Variance due to the replicates of both models."""
        return welch_sum(self.replicates)

    @property
    def replicate_share(self) -> float:
        """Share of the variance that is due to replicates; NaN if nothing varies."""
        total = self.replicate_variance.variance + self.users.variance
        return self.replicate_variance.variance / total if total > 0 else math.nan

    def half_width(self, confidence: float) -> float:
        """Return √(h_users² + h_replicates²), where h is the half-width due to one component alone.

        The interval is exact if only users vary, or only the replicates of one model.

        References
        ----------
        Zou & Donner (2008), Statistics in Medicine 27(10), 1693-1702 (MOVER).
        """
        users = self.users.half_width(confidence)
        replicates = self.replicate_variance.half_width(confidence)
        return math.sqrt(users * users + replicates * replicates)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval; NaN with too few replicates."""
        half = math.nan if self.has_too_few_replicates else self.half_width(confidence)
        return self.difference - half, self.difference + half

    @cached_property
    def p(self) -> float:
        """Level at which the interval just reaches 0; NaN without an interval."""
        distance = abs(self.difference)
        has_interval = not (self.has_too_few_replicates or math.isnan(self.half_width(0.5)))
        if not has_interval or math.isnan(distance):
            return math.nan
        if distance == 0:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            is_below = self.half_width(1 - middle) > distance
            low, high = (middle, high) if is_below else (low, middle)
        return high


def welch_sum(parts: Sequence[VarianceEstimate]) -> VarianceEstimate:
    """Return the sum of independent variances, with Welch's degrees of freedom.

    References
    ----------
    Welch (1947), Biometrika 34(1/2), 28-35.
    """
    total = math.fsum(part.variance for part in parts)
    if not total:
        return VarianceEstimate(0.0, min(part.n for part in parts))
    denominator = math.fsum(part.variance * part.variance / (part.n - 1) for part in parts)
    return VarianceEstimate(total, total * total / denominator + 1)


def mean_of_rows(rows: Sequence[Floats]) -> Floats:
    """Return (users,) means over the rows, rounded once: the mean of equal rows is the row."""
    return mean_of(rows, len(rows))


def mean_of_defined(rows: Sequence[Floats]) -> Floats:
    """Return (users,) means over the rows that are not NaN; NaN if all are."""
    missing = [np.isnan(row) for row in rows]
    if not any(bool(each.any()) for each in missing):
        return mean_of_rows(rows)
    defined = [np.where(nan, 0.0, row) for nan, row in zip(missing, rows, strict=True)]
    return mean_of(defined, len(rows) - np.sum(missing, axis=0))


@dataclass(frozen=True)
class OrderReversals:
    """Pairs of single replicates whose order differs from that of the models' means.

    Attributes
    ----------
    count : int
        Number of reversed pairs.
    n_pairs : int
        Number of all pairs.
    probability : float
        Predicted probability of a reversal with one new replicate of each model on these users;
        NaN if all replicates are equal.
    """

    count: int
    n_pairs: int
    probability: float


def order_reversals(
    a: ReplicateValues, b: ReplicateValues, difference: float, *, paired: bool
) -> OrderReversals:
    """Count the reversals among pairs of replicates, and predict their probability.

    The prediction is a tail of the t distribution: a new replicate deviates from the mean of R
    replicates by s √(1 + 1/R), with the degrees of freedom of s. A model with one replicate is
    taken as fixed. The prior of the true difference is uniform.

    Parameters
    ----------
    a, b : ReplicateValues
        Replicates of both models.
    difference : float
        Difference of the models' means.
    paired : bool
        Compare replicates with the same index (seed or fold) instead of all pairs.

    Returns
    -------
    OrderReversals
        Number of reversals and their predicted probability.
    """
    diffs = list(_single_differences(a, b, paired=paired))
    varying = [a.minus(b)] if paired else [each for each in (a, b) if each.n > 1]
    prediction = welch_sum([each.prediction_variance for each in varying])
    probability = math.nan
    if prediction.variance > 0 and math.isfinite(difference):
        probability = t_test_p(prediction.n, difference / math.sqrt(prediction.variance)) / 2
    count = sum(diff * difference < 0 for diff in diffs)
    return OrderReversals(count, len(diffs), probability)


def _single_differences(a: ReplicateValues, b: ReplicateValues, *, paired: bool) -> Iterator[float]:
    if paired:
        yield from a.minus(b).means
    else:
        yield from (difference(mean_a, mean_b) for mean_a, mean_b in product(a.means, b.means))


def users_needed(estimate: ReplicateEstimate, confidence: float) -> int | None:
    """Return the number of users with which the interval would exclude 0; None if no number would.

    The number of replicates is fixed. If their variance is too large, no number of users is enough.
    """
    users = estimate.users

    def excludes_zero(n: int) -> bool:
        part = VarianceEstimate(users.variance * users.n / n, n)
        return replace(estimate, users=part).half_width(confidence) < abs(estimate.difference)

    return smallest_count(excludes_zero, MIN_COUNT, _MAX_USERS)


def replicates_needed(estimate: ReplicateEstimate, confidence: float) -> int | None:
    """Return the number of replicates with which the interval would exclude 0; None if none would.

    It is the number for each model that has several. The number of users is fixed.
    """

    def excludes_zero(n: int) -> bool:
        parts = tuple(
            VarianceEstimate(part.variance * part.n / n, n) for part in estimate.replicates
        )
        return replace(estimate, replicates=parts).half_width(confidence) < abs(estimate.difference)

    return smallest_count(excludes_zero, MIN_INTERVAL_REPLICATES, MAX_SEEDS)
