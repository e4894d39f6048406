"""The tested difference of two models, and its intervals at any level."""

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from concord.metrics_core.metrics.elementary import exp2, log2
from concord.metrics_core.stats.floating_point import difference
from concord.metrics_core.stats.mean_interval import NO_INTERVAL, t_quantile
from concord.metrics_core.stats.sign_flip_test import SignFlips, smallest_p

TestKind = Literal["t", "sign_flips", "swap", "none"]
Interval = tuple[float, float]


@dataclass(frozen=True)
class PairedTest:
    """Model a against model b on the users for whom both have a value; NaN for what is undefined.

    Attributes
    ----------
    mean_a, mean_b, difference : float
        Means over these users, and mean_a - mean_b.
    n_users : int
        Number of these users.
    n_nonzero : int
        Users with different values; for a metric over all users, users with different lists.
    above, equal, below : float
        Shares of users with a > b, a = b and a < b.
    p : float
        Two-sided p-value of `test`; NaN if no outcome of these users could be significant.
    test : {"t", "sign_flips", "swap", "none"}
        Kind of the test.
    standard_error : float
        Standard error of the difference; 0 if all differences are equal.
    effective_users : float
        Degrees of freedom of the t interval, plus 1.
    width : float
        Largest difference that the metric allows; infinite if it has no bounds.
    error_a, error_b : float
        Standard errors of these means.
    flips : SignFlips or None
        Sign-flip test of the differences if fewer than 30 users differ.
    reference : Reference or None
        The mean that shares are taken of; None if there are none.
    is_comparable : bool
        False if a model lacks the lists of most users; then there is no interval and no test.
    """

    mean_a: float
    mean_b: float
    difference: float
    n_users: int
    n_nonzero: int
    above: float = math.nan
    equal: float = math.nan
    below: float = math.nan
    p: float = math.nan
    test: TestKind = "t"
    standard_error: float = math.nan
    effective_users: float = math.nan
    width: float = math.inf
    error_a: float = math.nan
    error_b: float = math.nan
    flips: SignFlips | None = field(default=None, compare=False, repr=False)
    reference: "Reference | None" = None
    is_comparable: bool = True

    @property
    def smallest_p(self) -> float:
        """Smallest p-value that is possible with this number of differing users."""
        return smallest_p(self.n_nonzero) if self.test == "sign_flips" else 0.0

    def relative(self, confidence: float, *, in_both_directions: bool = False) -> float:
        """Return difference / mean_b; NaN if mean_b <= 0 or its t interval contains 0.

        In both directions, NaN if this is true of mean_a.
        """
        means = [(self.mean_b, self.error_b)]
        means += [(self.mean_a, self.error_a)] if in_both_directions else []
        for mean, error in means:
            half = t_quantile(self.effective_users, confidence) * error if error > 0 else 0.0
            if not mean > half:
                return math.nan
        return self.difference / self.mean_b

    @property
    def effect_size(self) -> float:
        """Cohen's d_z: the difference in standard deviations of the users' differences."""
        deviation = self.standard_error * math.sqrt(self.n_users)
        return self.difference / deviation if deviation > 0 else math.nan

    def has_interval(self, confidence: float) -> bool:
        """True if there is a test that could be significant with these users at this level."""
        is_tested = self.test in {"t", "sign_flips"} and not math.isnan(self.p)
        return is_tested and self.smallest_p <= 1 - confidence

    def interval(self, confidence: float) -> Interval:
        """Return the interval of the difference; NaN if there is none.

        - Fewer than 30 users differ: `SignFlips.interval`.
        - All n users differ by the same d: from (2 L - 1) d to d, L = (α / 2)^(1 / n).
        - Otherwise: difference ± t · standard error, clipped to the bounds of the metric.

        They exclude 0 exactly if p is at most α = 1 - confidence.
        """
        if not self.has_interval(confidence):
            return NO_INTERVAL
        if self.standard_error == 0:
            low, high = sorted((self._share_above(confidence) * self.difference, self.difference))
            return low, high
        if self.flips is not None:
            return self.flips.interval(1 - confidence)
        half = t_quantile(self.effective_users, confidence) * self.standard_error
        return self.clipped(self.difference - half, self.difference + half)

    def clipped(self, low: float, high: float) -> Interval:
        """Return an interval within the differences that the metric allows."""
        if abs(self.difference) <= self.width:
            return max(low, -self.width), min(high, self.width)
        return low, high

    def share_interval(self, confidence: float) -> Interval:
        """Return the interval of difference / |mean of the reference|, counting both errors.

        NaN if there is none, or if the interval of the reference's mean contains 0. It excludes 0
        exactly if `interval` does.

        - Fewer than 30 users differ: `SignFlips.interval` with the reference's values as weights.
        - All users differ by the same d: the ends of `interval` over those of the mean's interval.
        - Otherwise: the x with |difference - x · mean| <= t · its standard error (Fieller).

        References
        ----------
        Fieller (1954), Journal of the Royal Statistical Society B 16(2), 175-185.
        """
        reference, t = self.reference, t_quantile(self.effective_users, confidence)
        if reference is None or not self.has_interval(confidence):
            return NO_INTERVAL
        if not reference.mean > t * reference.standard_error:
            return NO_INTERVAL
        if self.standard_error == 0:
            error = t * reference.standard_error
            nearest = self._share_above(confidence) * self.difference / (reference.mean + error)
            low, high = sorted((nearest, self.difference / (reference.mean - error)))
            return low, high
        if reference.flips is not None:
            low, high = reference.flips.interval(1 - confidence)
            return (low, high) if math.isfinite(high - low) else NO_INTERVAL
        return reference.fieller(self.difference, self.standard_error, t)

    def _share_above(self, confidence: float) -> float:
        """Return 2 L - 1 of `interval`."""
        return 2 * float(exp2(log2((1 - confidence) / 2) / self.n_users)) - 1

    def with_means(self, mean_a: float, mean_b: float) -> "PairedTest":
        """Return the difference of two means over all users, without interval and test."""
        return PairedTest(
            mean_a=mean_a,
            mean_b=mean_b,
            difference=difference(mean_a, mean_b),
            n_users=self.n_users,
            n_nonzero=self.n_nonzero,
            test="none",
            is_comparable=self.is_comparable,
        )

    def as_not_comparable(self) -> "PairedTest":
        """Return the same means without interval and test."""
        return replace(self.with_means(self.mean_a, self.mean_b), is_comparable=False)


@dataclass(frozen=True)
class Reference:
    """The mean that a difference is a share of, in absolute value.

    Attributes
    ----------
    mean, standard_error : float
        Absolute mean over the users of the difference.
    covariance : float
        Covariance of this mean and the difference.
    flips : SignFlips or None
        Sign-flip test of the share if fewer than 30 users differ.
    """

    mean: float
    standard_error: float
    covariance: float
    flips: SignFlips | None = field(default=None, compare=False, repr=False)

    def fieller(self, difference: float, standard_error: float, t: float) -> Interval:
        """Return the shares x with |difference - x · mean| <= t · its standard error."""
        t2 = t * t
        a = self.mean * self.mean - t2 * self.standard_error * self.standard_error
        b = difference * self.mean - t2 * self.covariance
        c = difference * difference - t2 * standard_error * standard_error
        root = math.sqrt(max(b * b - a * c, 0.0))
        return (b - root) / a, (b + root) / a


UNTESTED = PairedTest(math.nan, math.nan, math.nan, 0, 0, test="none")
