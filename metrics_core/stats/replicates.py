"""Replicates (several trainings of a model): outliers, intervals over users and trainings, and how many are needed."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.metrics.user_sums import mean_of
from concord.metrics_core.results.replicates import FEWEST_TRAININGS
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.exact_sums import exact_mean, exact_sum
from concord.metrics_core.stats.mean_interval import t_quantile, t_test_p
from concord.metrics_core.stats.power import MIN_COUNT, smallest_count
from concord.metrics_core.stats.tolerance import difference, differences

MIN_FOR_OUTLIER = 3  # values: the variance of the others needs two
OUTLIER_ALPHA = 0.05  # probability of a false alarm for one model on one metric
_EQUAL_WITHIN = 1e-9  # relative difference of equal means after rounding
_HALVINGS = 60  # of the range of p: below any digit that is shown


def find_outlier(
    values: Sequence[float], sides: Sequence[int], min_variance: float = 0.0
) -> int | None:
    """Return the index of the value that is an outlier at `OUTLIER_ALPHA`; None if there is none.

    Parameters
    ----------
    values : sequence of float
        One per replicate.
    sides : sequence of int
        1 to look for one far below the others, -1 for one far above; both share the level.
    min_variance : float
        See `grubbs_p`.
    """
    for sign in sides:
        signed = [sign * value for value in values]
        if grubbs_p(signed, min_variance) < OUTLIER_ALPHA / len(sides):
            return signed.index(min(signed))
    return None


def grubbs_p(values: Sequence[float], min_variance: float = 0.0) -> float:
    """Return the p-value of the lowest of R values by Grubbs's one-sided test; 1 for fewer than 3.

    t = (mean of the others - lowest) / √(s² (1 + 1/(R - 1))), with s² of the others, has a t distribution with R - 2
    degrees of freedom, and p is R times its tail. The other values are assumed to be normal.

    Parameters
    ----------
    values : sequence of float
        One per replicate.
    min_variance : float
        Smallest variance assumed for the others, such as that of sampling users; without it, a third value next to two
        that happen to be equal would always be an outlier.

    References
    ----------
    Grubbs (1950), Annals of Mathematical Statistics 21(1), 27-58.  doi:10.1214/aoms/1177729885
    """
    count = len(values)
    if count < MIN_FOR_OUTLIER or not all(map(math.isfinite, values)):
        return 1.0
    lowest, *others = sorted(values)
    if others[-1] - lowest <= _EQUAL_WITHIN * max(abs(lowest), abs(others[-1])):
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
    """One part of the variance of a mean (of users, or of replicates), estimated with n - 1 degrees of freedom."""

    variance: float
    n: float

    def half_width(self, confidence: float) -> float:
        """Return half the t interval due to this part alone."""
        return t_quantile(self.n, confidence) * math.sqrt(self.variance) if self.variance else 0.0


@dataclass(frozen=True, eq=False)
class ReplicateValues:
    """(replicates, users) values of one model, or differences of two; NaN where a user does not count.

    clusters : user and weight of each value, unless each is of another user and all count once
    """

    values: Floats
    clusters: Clusters | None = None

    @cached_property
    def n(self) -> int:
        """Number of replicates."""
        return len(self.values)

    def minus(self, other: "ReplicateValues") -> "ReplicateValues":
        """Return the differences, replicate by replicate."""
        return ReplicateValues(differences(self.values, other.values), self.clusters)

    @cached_property
    def _complete(self) -> Bools:
        return np.asarray(~np.isnan(self.values).any(axis=0))

    @cached_property
    def _user_values(self) -> list[Floats]:
        """(users,) values per replicate that vary as its mean: of rows that count in all, or in each if nested."""
        if self.clusters is None:
            return list(self.values)
        rows = self.values if self.is_nested else np.where(self._complete, self.values, np.nan)
        return [self.clusters.linearised(row) for row in rows]

    @cached_property
    def _crossed_values(self) -> list[Floats]:
        """Values per replicate of the users who count in all."""
        complete = ~np.isnan(self._user_values).any(axis=0)
        has_all_users = bool(complete.all())
        return [row if has_all_users else row[complete] for row in self._user_values]

    @cached_property
    def is_nested(self) -> bool:
        """True if most users count in some of the replicates only, as if each fold has its own users."""
        n_counted = int((~np.isnan(self.values)).any(axis=0).sum())
        return 2 * int(self._complete.sum()) < n_counted

    @cached_property
    def means(self) -> tuple[float, ...]:
        """Mean of each replicate, over the users of all of them; if nested, over its own users."""
        if self.is_nested:
            return tuple(exact_mean(row[~np.isnan(row)]) for row in self._user_values)
        return tuple(map(exact_mean, self._crossed_values))

    @cached_property
    def residual_variance(self) -> float:
        """MS_residual of values = user + replicate + residual; 0 if it is unknown."""
        if self.n < 2 or self.is_nested:  # noqa: PLR2004 - no spread of one
            return 0.0
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
        """Variance of the mean of one replicate due to residuals; NaN without users, 0 if nested."""
        if self.is_nested:
            return 0.0
        n_users = len(self._crossed_values[0])
        return self.residual_variance / n_users if n_users else math.nan

    @cached_property
    def variance_of_means(self) -> float:
        """Sample variance of the means of the replicates; 0 if they differ by rounding only."""
        is_equal = difference(max(self.means), min(self.means)) == 0
        return 0.0 if is_equal else variance(self.means)

    @property
    def standard_error(self) -> float:
        """Standard error over users of the mean over all replicates; NaN for fewer than two users."""
        user_means = mean_of_defined(list(self.values))
        if self.clusters is not None:
            return self.clusters.ratio(user_means).standard_error
        known = user_means[~np.isnan(user_means)]
        if len(known) < 2:  # noqa: PLR2004 - one has no spread
            return math.nan
        deviation = known - exact_mean(known)
        return math.sqrt(exact_sum(deviation * deviation) / (len(known) - 1) / len(known))

    @cached_property
    def replicate_variance(self) -> float:
        """Variance between replicates, at least 0.

        Crossed: (MS_replicates - MS_residual) / users, by the analysis of variance. Nested: the variance of the means,
        which includes that of the users.
        """
        if self.n < 2:  # noqa: PLR2004
            return 0.0
        between = self.variance_of_means - self.residual_variance_of_mean
        return 0.0 if between < 0 else between

    @property
    def variance_of_mean(self) -> VarianceEstimate:
        """Variance of the mean over all replicates that is due to replicates."""
        return VarianceEstimate(self.replicate_variance / self.n, self.n)

    @property
    def prediction_variance(self) -> VarianceEstimate:
        """Variance of the mean of one new replicate on these users minus the mean over these: s² (1 + 1/R).

        s² is `variance_of_means`: a new replicate has residuals too.
        """
        return VarianceEstimate(self.variance_of_means * (1 + 1 / self.n), self.n)


@dataclass(frozen=True)
class ReplicateEstimate:
    """A mean, or a difference of two, over new users and new replicates.

    users      : variance due to users; 0 if that of the replicates includes it (nested), or if users are fixed
    replicates : variance due to the replicates of each model that has several; of both together if they are paired
    """

    difference: float
    users: VarianceEstimate
    replicates: tuple[VarianceEstimate, ...]

    @property
    def has_too_few_replicates(self) -> bool:
        """True if a model has too few replicates for an interval."""
        return any(part.n < FEWEST_TRAININGS for part in self.replicates)

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
        """Return √(h_users² + h_replicates²), half the interval, with h the half width due to each part alone.

        Exact if users alone, or the replicates of one model alone, vary.

        References
        ----------
        Zou & Donner (2008), Statistics in Medicine 27(10), 1693-1702: variance estimates recovered from intervals.
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
        for _ in range(_HALVINGS):
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
    """Return (users,) the mean of each user, rounded once, so that the mean of equal rows is the row."""
    return mean_of(rows, len(rows))


def mean_of_defined(rows: Sequence[Floats]) -> Floats:
    """Return (users,) the mean of each user over the rows that are not NaN; NaN if all are."""
    missing = [np.isnan(row) for row in rows]
    if not any(bool(each.any()) for each in missing):
        return mean_of_rows(rows)
    known = [np.where(is_missing, 0.0, row) for is_missing, row in zip(missing, rows, strict=True)]
    return mean_of(known, len(rows) - np.sum(missing, axis=0))


def variance(values: Sequence[float]) -> float:
    """Return the sample variance; 0 for fewer than two values."""
    if len(values) < 2:  # noqa: PLR2004
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((each - mean) * (each - mean) for each in values) / (len(values) - 1)


@dataclass(frozen=True)
class OrderReversals:
    """Number of pairs of single replicates in which the order of the models differs from that of their means.

    probability : of a reversal with one new replicate of each model on these users, by the t distribution of a
                  prediction; NaN if no replicate differs from another
    """

    count: int
    n_pairs: int
    probability: float


def order_reversals(
    a: ReplicateValues, b: ReplicateValues, difference: float, *, paired: bool
) -> OrderReversals:
    """Compare each replicate of a with each of b; with the same seed or fold if they are paired.

    One new replicate differs from the mean over R of them by s √(1 + 1/R), with the degrees of freedom of s. A model
    with one replicate is taken as it is. All true differences are assumed to be equally likely beforehand.
    """
    gaps = list(_single_differences(a, b, paired=paired))
    varying = [a.minus(b)] if paired else [each for each in (a, b) if each.n > 1]
    prediction = welch_sum([each.prediction_variance for each in varying])
    probability = math.nan
    if prediction.variance > 0 and math.isfinite(difference):
        probability = t_test_p(prediction.n, difference / math.sqrt(prediction.variance)) / 2
    return OrderReversals(sum(gap * difference < 0 for gap in gaps), len(gaps), probability)


def _single_differences(a: ReplicateValues, b: ReplicateValues, *, paired: bool) -> Iterator[float]:
    if paired:
        yield from a.minus(b).means
    else:
        yield from (difference(mean_a, mean_b) for mean_a, mean_b in product(a.means, b.means))


def users_needed(
    estimate: ReplicateEstimate, confidence: float, max_users: int = 10**9
) -> int | None:
    """Return the number of users whose interval would exclude 0, all else being equal; None if no number would.

    The number of replicates stays as it is: if they alone vary too much, no number of users is enough.
    """
    users = estimate.users

    def excludes_zero(n: int) -> bool:
        part = VarianceEstimate(users.variance * users.n / n, n)
        return replace(estimate, users=part).half_width(confidence) < abs(estimate.difference)

    return smallest_count(excludes_zero, MIN_COUNT, max_users)


def replicates_needed(
    estimate: ReplicateEstimate, confidence: float, max_replicates: int = 1000
) -> int | None:
    """Return the number of replicates of each model that has several, for an interval without 0; None if no number is enough.

    The number of users stays as it is, and so does the variance due to them.
    """

    def excludes_zero(n: int) -> bool:
        parts = tuple(
            VarianceEstimate(part.variance * part.n / n, n) for part in estimate.replicates
        )
        return replace(estimate, replicates=parts).half_width(confidence) < abs(estimate.difference)

    return smallest_count(excludes_zero, FEWEST_TRAININGS, max_replicates)
