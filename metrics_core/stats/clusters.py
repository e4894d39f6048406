"""Ratios of sums over users: means of clustered or weighted units, with cluster-robust errors."""

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import polars as pl

from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.errors import refuse
from concord.metrics_core.metrics.judged import Bools, Floats, Ints
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.stats.floating_point import exact_sum
from concord.metrics_core.stats.mean_interval import SMALL_SAMPLE, t_quantile


@dataclass(frozen=True, eq=False)
class RatioEstimate:
    """R = Σ aᵤ / Σ bᵤ over independent users u; NaN without users, or if Σ bᵤ = 0.

    For a mean over units (sessions), aᵤ is the sum of a user's values and bᵤ their number. For a
    mean over users, aᵤ is the user's mean and bᵤ = 1.

    Attributes
    ----------
    numerator : (users,) float64
        aᵤ.
    denominator : (users,) float64
        bᵤ, not negative.
    squared_weights : (users,) float64 or None
        Sum of the squared weights of each user's units; None if all weights are 1.
    """

    numerator: Floats
    denominator: Floats
    squared_weights: Floats | None = None

    @property
    def n(self) -> int:
        """Number of users."""
        return len(self.numerator)

    @cached_property
    def value(self) -> float:
        """The ratio R."""
        return exact_sum(self.numerator) / self._total if self._total else math.nan

    @cached_property
    def _total(self) -> float:
        return exact_sum(self.denominator)

    @cached_property
    def jackknife_errors(self) -> Floats:
        """(n - 1) (aᵤ - R bᵤ) / (B - bᵤ) of each user, B = Σ b: n - 1 times the user's effect on R.

        Their sum of squares over n (n - 1) is the jackknife variance about R. It equals the
        cluster-robust variance CR3 of a mean with users as clusters. If all bᵤ are equal, the
        errors are the deviations from the mean.

        References
        ----------
        Bell & McCaffrey (2002), Survey Methodology 28(2), 169-181.
        MacKinnon, Nielsen & Webb (2023), Journal of Applied Econometrics 38(5), 671-694.
        doi:10.1002/jae.2969
        """
        rest = self._total - self.denominator
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self._residuals * ((self.n - 1) / rest))

    @property
    def _residuals(self) -> Floats:
        return np.asarray(self.numerator - self.value * self.denominator)

    def _with_pseudo_users(self, bounds: Bounds) -> "RatioEstimate":
        """Return the ratio with one more user of average weight at each bound."""
        weight = self._total / self.n
        numerator = np.concatenate([self.numerator, np.array(bounds) * weight])
        denominator = np.concatenate([self.denominator, [weight, weight]])
        if self.squared_weights is None:
            return RatioEstimate(numerator, denominator)
        square = exact_sum(self.squared_weights) / self.n
        squares = np.concatenate([self.squared_weights, [square, square]])
        return RatioEstimate(numerator, denominator, squares)

    @property
    def linearised(self) -> Floats:
        """R + (aᵤ - R bᵤ) n / B of each user: mean R, and R's variance by the delta method."""
        return np.asarray(self.value + self._residuals * (self.n / self._total))

    @property
    def scores(self) -> Floats:
        """aᵤ n / B of each user: values with mean R."""
        return np.asarray(self.numerator * (self.n / self._total))

    @cached_property
    def standard_error(self) -> float:
        """√(Σ jackknife_errors² / (n (n - 1))); NaN for fewer than two users."""
        if self.n < 2 or math.isnan(self.value):  # noqa: PLR2004 - one has no spread
            return math.nan
        errors = self.jackknife_errors
        return math.sqrt(exact_sum(errors * errors) / (self.n - 1) / self.n)

    @cached_property
    def effective_users(self) -> float:
        """Degrees of freedom of the interval plus 1; below `n` if weights differ.

        Satterthwaite's degrees of freedom (tr Ω)² / tr Ω², where Ω is the covariance matrix of
        the jackknife errors if all units are independent with one variance:
        Ω = H (diag q - q qᵀ / Q + r rᵀ / Q) H with H = diag((n - 1) / (B - b)),
        q = `squared_weights`, Q = Σ q and r = (q (B - b) - b (Q - q)) / B.

        References
        ----------
        Bell & McCaffrey (2002), Survey Methodology 28(2), 169-181.
        Imbens & Kolesár (2016), Review of Economics and Statistics 98(4), 701-712.
        """
        squares = self.denominator if self.squared_weights is None else self.squared_weights
        if np.all(self.denominator == self.denominator[:1]) and np.all(squares == squares[:1]):
            return self.n
        return _effective_users(self.denominator.tobytes(), squares.tobytes())

    def interval(self, confidence: float, bounds: Bounds = UNBOUNDED) -> tuple[float, float]:
        """Return R ± t · standard error with `effective_users` - 1 degrees of freedom.

        For a bounded metric with fewer than 50 users, or with a standard error of 0, one more
        user of average weight is added at each bound, and the interval is clipped to the bounds.

        Parameters
        ----------
        confidence : float
            Level of the interval.
        bounds : (float, float)
            Bounds of the metric; infinite if it has none.

        Returns
        -------
        (float, float)
            Ends of the interval; NaN without bounds if there are fewer than two users, or if the
            standard error is 0.
        """
        low, high = bounds
        is_bounded = math.isfinite(high - low) and low <= self.value <= high
        if is_bounded and self.n and (self.n < SMALL_SAMPLE or not self.standard_error > 0):
            ends = self._with_pseudo_users(bounds).interval(confidence)
            return max(ends[0], low), min(ends[1], high)
        if not self.standard_error > 0:
            return math.nan, math.nan
        half = t_quantile(self.effective_users, confidence) * self.standard_error
        return self.value - half, self.value + half


@dataclass(frozen=True, eq=False)
class Clusters:
    """User and weight of each unit (session) in a column of values.

    Attributes
    ----------
    user : (rows,) int64
        Number of each row's user, from 0 to `n_users` - 1.
    n_users : int
        Number of users.
    mean : {"requests", "users"}
        What a mean runs over: all units, or the mean of each user.
    weights : (rows,) float64 or None
        Weight of each row in the mean, not negative; None if all are 1.
    """

    user: Ints
    n_users: int
    mean: str
    weights: Floats | None = None

    @classmethod
    def from_ids(cls, units: pl.Series, mean: str) -> "Clusters":
        """Return the clusters of units by their ids; users are numbered in the order of their ids.

        Raises
        ------
        InputError
            If an id is not that of a session.
        """
        users = users_of_units(units)
        if users.null_count():
            problem = f"{units.filter(users.is_null())[0]!r} is not the id of a session"
            raise refuse("unit", problem, "name the columns of a session in `unit`")
        number = users.rank("dense").to_numpy().astype(np.int64) - 1
        return cls(number, users.n_unique(), mean)

    def select(self, rows: Bools) -> "Clusters":
        """Return the clusters of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, user=self.user[rows], weights=weights)

    @classmethod
    def weighted(cls, weights: Floats, clusters: "Clusters | None" = None) -> "Clusters":
        """Return clusters with these weights; NaN weighs 0. By default each row is a user."""
        clusters = clusters or cls(np.arange(len(weights)), len(weights), "requests")
        return replace(clusters, weights=np.nan_to_num(weights))

    @property
    def has_repeated_users(self) -> bool:
        """True if a user has several rows."""
        return len(self.user) > self.n_users

    def ratio(self, values: Floats) -> RatioEstimate:
        """Return the mean of (rows,) values as a ratio; rows with NaN do not count."""
        sums, weights, squares = self._user_sums(values)
        counts = weights > 0
        sums, weights, squares = sums[counts], weights[counts], squares[counts]
        if self.mean == "requests":
            return RatioEstimate(sums, weights, squares)
        return RatioEstimate(sums / weights, np.ones(len(weights)))

    def scores(self, values: Floats) -> Floats:
        """Return (n_users,) `RatioEstimate.scores`; NaN for users without a value."""
        return self._for_all_users(values, self.ratio(values).scores)

    def paired_scores(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return (n_users,) `scores` of a and of b over the rows for which both have a value."""
        missing = np.isnan(a - b)
        scores_a, scores_b = (self.scores(np.where(missing, np.nan, each)) for each in (a, b))
        return scores_a, scores_b

    def linearised(self, values: Floats) -> Floats:
        """Return (n_users,) `RatioEstimate.linearised`; NaN for users without a value."""
        return self._for_all_users(values, self.ratio(values).linearised)

    def means(self, values: Floats) -> Floats:
        """Return (n_users,) the mean of each user's rows; NaN for users without a value."""
        sums, weights, _ = self._user_sums(values)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / weights)

    def _user_sums(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Return (n_users,) sums of weighted values, of weights and of squared weights."""
        is_defined = ~np.isnan(values)
        user, defined, n = self.user[is_defined], values[is_defined], self.n_users
        if self.weights is None:
            counts = np.bincount(user, minlength=n).astype(np.float64)
            return np.bincount(user, defined, minlength=n).astype(np.float64), counts, counts
        weights = self.weights[is_defined]
        sums, totals, squares = (
            np.bincount(user, each, minlength=n).astype(np.float64)
            for each in (defined * weights, weights, weights * weights)
        )
        return sums, totals, squares

    def _for_all_users(self, values: Floats, defined_results: Floats) -> Floats:
        """Return (n_users,) the results of the users with a value, NaN for the others."""
        result = np.full(self.n_users, np.nan)
        result[self._user_sums(values)[1] > 0] = defined_results
        return result


@lru_cache(maxsize=2)  # successive columns mostly have the same users
def _effective_users(denominator_bytes: bytes, squares_bytes: bytes) -> float:
    """Return `RatioEstimate.effective_users`; arrays of float64 as bytes, which can be cached."""
    denominator, squares = np.frombuffer(denominator_bytes), np.frombuffer(squares_bytes)
    order = np.lexsort((squares, denominator))  # any order of users gives the same bits
    n, b, q = len(order), denominator[order], squares[order]
    total, q_total = exact_sum(b), exact_sum(q)
    others_b, others_q = _sums_of_others(b), _sums_of_others(q)
    h = ((n - 1) / others_b) ** 2
    r = (q * others_b - b * others_q) / total
    diagonal, s, g = h * q * others_q / q_total, h * r * r / q_total, h * q * q / q_total
    m = exact_sum(h * r * q) / q_total
    trace = exact_sum(diagonal) + exact_sum(s)
    spread = (h * r - m) ** 2 * q * (2 / q_total)
    trace_of_square = (
        exact_sum(diagonal * diagonal)
        + exact_sum(g * _sums_of_others(g))
        + exact_sum(spread)
        + exact_sum(s) ** 2
    )
    return float(trace * trace / trace_of_square + 1)


def _sums_of_others(values: Floats) -> Floats:
    """Return for each user the sum of the values of all others."""
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    after = np.concatenate([np.cumsum(values[::-1])[-2::-1], [0.0]])
    return before + after
