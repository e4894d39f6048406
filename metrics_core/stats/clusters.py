"""Ratios of sums over users, and their errors: means over requests that hang together, means of weighed users."""

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from concord.metrics_core.conventions.conventions import UnitMean
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.errors import refuse
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.stats.exact_sums import exact_sum
from concord.metrics_core.stats.mean_interval import FEW, half_width

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ratio:
    """R = Σ aᵤ / Σ bᵤ over independent users u; NaN where there is nobody, or nothing to divide by.

    A mean over requests has the sums of a user's values in `above` and their number in `below`; a mean over users has
    the user's own mean and 1.

    above, below : (users,) float64; what stands below is not negative
    squares      : (users,) sums of the squares of what a user's rows add below; None: as `below`, as each adds 1
    """

    above: Floats
    below: Floats
    squares: Floats | None = None

    @property
    def n(self) -> int:
        """How many users."""
        return len(self.above)

    @cached_property
    def value(self) -> float:
        """R."""
        return exact_sum(self.above) / self._total if self._total else math.nan

    @cached_property
    def _total(self) -> float:
        return exact_sum(self.below)

    @cached_property
    def errors(self) -> Floats:
        """(users,) (n - 1) (aᵤ - R bᵤ) / (B - bᵤ), B = Σ b: n - 1 times what R gains by user u.

        Their squares, added and divided by n (n - 1), are the jackknife's variance about R itself, which is CR3 of a mean
        with users as clusters. Where all bᵤ are equal they are the deviations from the mean.

        References
        ----------
        Bell & McCaffrey (2002), Survey Methodology 28(2), 169-181; MacKinnon, Nielsen & Webb (2023), Journal of Applied
        Econometrics 38(5), 671-694.  doi:10.1002/jae.2969
        """
        left = self._total - self.below
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.above - self.value * self.below) * ((self.n - 1) / left))

    def _with_pseudo_users(self, bounds: Bounds) -> "Ratio":
        weight = self._total / self.n
        above = np.concatenate([self.above, np.array(bounds) * weight])
        below = np.concatenate([self.below, [weight, weight]])
        if self.squares is None:
            return Ratio(above, below)
        square = exact_sum(self.squares) / self.n
        return Ratio(above, below, np.concatenate([self.squares, [square, square]]))

    @property
    def linearised(self) -> Floats:
        """(users,) R + (aᵤ - R bᵤ) n / B: values whose mean is R, and which vary as it does (delta method)."""
        return np.asarray(
            self.value + (self.above - self.value * self.below) * (self.n / self._total)
        )

    @property
    def scores(self) -> Floats:
        """(users,) aᵤ n / B: values whose mean is R, 0 for who adds nothing to it."""
        return np.asarray(self.above * (self.n / self._total))

    @cached_property
    def standard_error(self) -> float:
        """√(Σ errors² / (n (n - 1))); NaN for fewer than two users."""
        if self.n < 2 or math.isnan(self.value):  # noqa: PLR2004 - one has no spread
            return math.nan
        return math.sqrt(exact_sum(self.errors * self.errors) / (self.n - 1) / self.n)

    @cached_property
    def effective(self) -> float:
        """Users on whom the interval rests, its degrees of freedom plus 1: fewer than `n` where few count most.

        By Satterthwaite, as if the values of all rows (requests, or users who count by their weights) were independent
        and varied alike: (tr Ω)² / tr Ω² of the errors' covariances Ω = H (diag q - q qᵀ / Q + r rᵀ / Q) H, H = diag((n - 1) /
        (B - b)), q: `squares`, Q = Σ q, r = (q (B - b) - b (Q - q)) / B, by sums whose terms are all positive.

        References
        ----------
        Bell & McCaffrey (2002), as above; Imbens & Kolesár (2016), Review of Economics and Statistics 98(4), 701-712.
        """
        squares = self.below if self.squares is None else self.squares
        if np.all(self.below == self.below[:1]) and np.all(squares == squares[:1]):
            return self.n
        return _effective(self.below.tobytes(), squares.tobytes())

    def interval(self, confidence: float, bounds: Bounds = UNBOUNDED) -> tuple[float, float]:
        """Return R ± t · standard error, t on `effective` - 1 degrees of freedom; NaN for fewer than two users.

        Of a metric with bounds and fewer than 50 users, or users who do not vary, R is that of the users and of one
        user more at each bound who counts as much as a user on average, cut at the bounds.
        """
        low, high = bounds
        inside = math.isfinite(high - low) and low <= self.value <= high
        if inside and self.n and (self.n < FEW or not self.standard_error > 0):
            wider = self._with_pseudo_users(bounds).interval(confidence)
            return max(wider[0], low), min(wider[1], high)
        if not self.standard_error > 0:
            return math.nan, math.nan
        half = half_width(self.effective, confidence) * self.standard_error
        return self.value - half, self.value + half


@dataclass(frozen=True, eq=False)
class Clusters:
    """Whose requests stand in the rows of columns of values, and what each row counts.

    user    : (rows,) the number of each row's user, from 0 to n_users - 1
    mean    : over what a mean is taken: all requests alike, or first those of each user, so that users count alike
    weights : (rows,) what each row counts in the mean, from 0 on; None: all count alike
    """

    user: Ints
    n_users: int
    mean: UnitMean
    weights: Floats | None = None

    @classmethod
    def of(cls, units: pl.Series, mean: UnitMean) -> "Clusters":
        """Those of the ids of requests; users are numbered in the order of their ids."""
        users = users_of_units(units)
        if users.null_count():
            raise refuse("unit", f"{units.filter(users.is_null())[0]!r} is the id of no request", "name the columns of a request in `unit`")  # fmt: skip
        number = users.rank("dense").to_numpy().astype(np.int64) - 1
        return cls(number, users.n_unique(), mean)

    def some(self, rows: Flags) -> "Clusters":
        """Those of these rows."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, user=self.user[rows], weights=weights)

    @classmethod
    def weighed(cls, weights: Floats, whose: "Clusters | None" = None) -> "Clusters":
        """Users who count so much each, or their requests."""
        whose = whose or cls(np.arange(len(weights)), len(weights), "requests")
        return replace(whose, weights=np.nan_to_num(weights))

    @property
    def alone(self) -> bool:
        """Has no user two requests, so that they are as users who count alike?"""
        return not self.of_requests and self.weights is None

    @property
    def of_requests(self) -> bool:
        """Has any user two rows?"""
        return len(self.user) > self.n_users

    def ratio(self, values: Floats) -> Ratio:
        """The mean of a column over those who have a value; NaN: the request does not count."""
        above, below, squares = self._of_users(values)
        there = below > 0
        above, below, squares = above[there], below[there], squares[there]
        return (
            Ratio(above, below, squares) if self.mean == "requests" else _over_users(above, below)
        )

    def scores(self, values: Floats) -> Floats:
        """(n_users,) as `Ratio.scores`, NaN for users of whom no request counts."""
        return self._placed(values, self.ratio(values).scores)

    def pair(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """(n_users,) the scores of both over the requests that both have a value for."""
        missing = np.isnan(a - b)
        of_a, of_b = (self.scores(np.where(missing, np.nan, each)) for each in (a, b))
        return of_a, of_b

    def linearised(self, values: Floats) -> Floats:
        """(n_users,) as `Ratio.linearised`, NaN for users of whom no request counts."""
        return self._placed(values, self.ratio(values).linearised)

    def means(self, values: Floats) -> Floats:
        """(n_users,) the mean of each user's requests that count; NaN where none does."""
        above, below, _ = self._of_users(values)
        with np.errstate(invalid="ignore"):
            return np.asarray(above / below)

    def _of_users(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """(n_users,) sums of what the values count, of what counts, and of its squares; added in the order of the rows."""
        known = ~np.isnan(values)
        user, counted = self.user[known], values[known]
        weights = None if self.weights is None else self.weights[known]
        sums = np.bincount(user, counted if weights is None else counted * weights, minlength=self.n_users)  # fmt: skip
        counts = np.bincount(user, weights, minlength=self.n_users)
        squares = counts if weights is None else np.bincount(user, weights * weights, minlength=self.n_users)  # fmt: skip
        return sums.astype(np.float64), counts.astype(np.float64), squares.astype(np.float64)

    def _placed(self, values: Floats, found: Floats) -> Floats:
        placed = np.full(self.n_users, np.nan)
        placed[self._of_users(values)[1] > 0] = found
        return placed


def _over_users(sums: Floats, counts: Floats) -> Ratio:
    return Ratio(sums / counts, np.ones(len(counts)))


@lru_cache(maxsize=2)  # columns that follow each other are mostly of the same users
def _effective(of_below: bytes, of_squares: bytes) -> float:
    """See `Ratio.effective`."""
    below, squares = np.frombuffer(of_below), np.frombuffer(of_squares)
    order = np.lexsort((squares, below))  # any order of users gives the same bits
    n, b, q = len(order), below[order], squares[order]
    total, q_total = exact_sum(b), exact_sum(q)
    others_b, others_q = _of_others(b), _of_others(q)
    h = ((n - 1) / others_b) ** 2
    r = (q * others_b - b * others_q) / total
    own, s, g = h * q * others_q / q_total, h * r * r / q_total, h * q * q / q_total
    m = exact_sum(h * r * q) / q_total
    trace = exact_sum(own) + exact_sum(s)
    apart = (h * r - m) ** 2 * q * (2 / q_total)
    beside = (
        exact_sum(own * own) + exact_sum(g * _of_others(g)) + exact_sum(apart) + exact_sum(s) ** 2
    )
    return float(trace * trace / beside + 1)


def _of_others(values: Floats) -> Floats:
    """(users,) the sum of the values of all others."""
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    after = np.concatenate([np.cumsum(values[::-1])[-2::-1], [0.0]])
    return before + after
