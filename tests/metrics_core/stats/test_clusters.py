"""Clustered means, errors and degrees of freedom, against hand calculation and a jackknife."""

import math
from fractions import Fraction
from statistics import fmean

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from concord.metrics_core.stats.clusters import Clusters, RatioEstimate
from concord.metrics_core.stats.paired_test import UserValues, paired_test

Sessions = list[list[float]]  # values of each user's sessions
eighths = st.integers(0, 8).map(lambda n: n / 8)
sessions_of_users = st.lists(st.lists(eighths, min_size=1, max_size=6), min_size=2, max_size=8)


def ratio_of(sessions: Sessions, mean: str) -> RatioEstimate:
    return clusters_of(sessions, mean).ratio(
        np.array([v for each in sessions for v in each], dtype=float)
    )


def clusters_of(sessions: Sessions, mean: str) -> Clusters:
    user = np.repeat(np.arange(len(sessions)), [len(each) for each in sessions])
    return Clusters(user, len(sessions), mean)


def test_mean_over_sessions_by_hand() -> None:
    """Three users with 2, 1 and 1 sessions."""
    ratio = ratio_of([[1, 0], [1], [0]], "requests")

    mean = (1 + 0 + 1 + 0) / 4
    errors = [(1 - 2 * mean) * 2 / 2, (1 - mean) * 2 / 3, (0 - mean) * 2 / 3]
    assert ratio.value == mean
    assert ratio.jackknife_errors.tolist() == pytest.approx(errors)
    assert ratio.standard_error == pytest.approx(math.sqrt(sum(e * e for e in errors) / 2 / 3))
    assert ratio.linearised.tolist() == pytest.approx(
        [mean + (1 - 2 * mean) * 3 / 4, mean + (1 - mean) * 3 / 4, mean - mean * 3 / 4]
    )
    assert ratio.scores.tolist() == pytest.approx([1 * 3 / 4, 1 * 3 / 4, 0])


def test_mean_over_users_by_hand() -> None:
    """Three users with means 1/2, 1 and 0: a t interval of three numbers."""
    ratio = ratio_of([[1, 0], [1], [0]], "users")
    low, high = ratio.interval(0.95)

    assert ratio.value == 0.5
    assert ratio.effective_users == 3
    half = student.ppf(0.975, 2) * math.sqrt((0 + 0.25 + 0.25) / 2 / 3)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half))


@given(sessions_of_users)
def test_errors_equal_a_jackknife_over_users(sessions: Sessions) -> None:
    """n - 1 times the mean of all minus the mean without the user, in fractions."""
    ratio = ratio_of(sessions, "requests")
    exact = [[Fraction(value) for value in each] for each in sessions]

    def mean(users: list[list[Fraction]]) -> Fraction:
        values = [value for each in users for value in each]
        return sum(values, Fraction(0)) / len(values)

    without = [mean(exact[:u] + exact[u + 1 :]) for u in range(len(exact))]
    n, total_mean = len(exact), mean(exact)
    variance = Fraction(n - 1, n) * sum((each - total_mean) ** 2 for each in without)

    assert ratio.value == pytest.approx(float(total_mean), abs=1e-15)
    assert ratio.jackknife_errors.tolist() == pytest.approx(
        [float((n - 1) * (total_mean - each)) for each in without]
    )
    assert ratio.standard_error == pytest.approx(math.sqrt(variance), abs=1e-12)


@given(sessions_of_users)
def test_degrees_of_freedom_equal_those_of_the_quadratic_form(sessions: Sessions) -> None:
    """(tr G)² / tr G² of the matrix of the variance's quadratic form in all sessions."""
    ratio = ratio_of(sessions, "requests")
    user = np.repeat(np.arange(len(sessions)), [len(each) for each in sessions])
    total, n = len(user), len(sessions)
    centred = np.eye(total) - 1 / total
    membership = (user == np.arange(n)[:, None]).astype(float)
    weight = 1 / (total - membership.sum(axis=1))
    rows = weight[:, None] * (membership @ centred)
    form = rows @ rows.T

    assert ratio.effective_users - 1 == pytest.approx(np.trace(form) ** 2 / np.trace(form @ form))
    assert ratio.effective_users <= n + 1e-9


@pytest.mark.parametrize(
    "weights",
    [[1e3, 1], [1e6, *[1] * 50], [1e8, 1, 1], [1e10, 1, 1, 1, 1], [3, 1, 4, 1, 5, 9, 2, 6]],
)
def test_degrees_of_freedom_of_weighted_users_are_exact(weights: list[float]) -> None:
    """(tr Ω)² / tr Ω² in fractions; Ω: covariances of the errors if all variances are equal."""
    b = [Fraction(each) for each in weights]
    n, total, q, q_total = len(b), sum(b), [x * x for x in b], sum(x * x for x in b)

    def covariance(u: int, v: int) -> Fraction:
        cross = (b[v] * q[u] + b[u] * q[v]) / total - b[u] * b[v] * q_total / total**2
        return Fraction(n - 1) ** 2 * ((u == v) * q[u] - cross) / ((total - b[u]) * (total - b[v]))

    trace = sum(covariance(u, u) for u in range(n))
    trace_of_square = sum(covariance(u, v) ** 2 for u in range(n) for v in range(n))

    ratio = Clusters.weighted(np.array(weights)).ratio(np.linspace(0, 1, n))

    assert ratio.effective_users - 1 == pytest.approx(float(trace**2 / trace_of_square), rel=1e-9)


def test_an_id_without_session_is_refused() -> None:
    with pytest.raises(ValueError, match=r"unit: 'bob' is not the id of a session"):
        Clusters.from_ids(pl.Series(["ann/s1", "bob"]), "requests")


@given(st.lists(eighths, min_size=2, max_size=30))
def test_one_session_per_user_gives_the_bits_of_a_mean_over_users(values: list[float]) -> None:
    sessions = ratio_of([[value] for value in values], "requests")
    users = ratio_of([[value] for value in values], "users")
    deviations = [value - users.value for value in values]

    assert sessions.jackknife_errors.tolist() == users.jackknife_errors.tolist() == deviations
    assert sessions.interval(0.95) == users.interval(0.95) or math.isnan(sessions.interval(0.95)[0])


@given(sessions_of_users, st.randoms())
def test_the_order_of_users_changes_no_bit(sessions: Sessions, random: object) -> None:
    shuffled = sessions.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    before, after = ratio_of(sessions, "requests"), ratio_of(shuffled, "requests")

    assert (before.value, before.standard_error, before.effective_users) == (
        after.value,
        after.standard_error,
        after.effective_users,
    )


def test_a_pair_is_compared_on_sessions_with_both_values() -> None:
    """The first session of each user has a value with a only."""
    rng = np.random.default_rng(3)
    user = np.repeat(np.arange(40), 3)
    a, b = rng.random((2, len(user)))
    both = np.arange(len(user)) % 3 > 0
    for mean in ("requests", "users"):
        clusters = Clusters(user, 40, mean)
        test = paired_test(
            UserValues(a, clusters),
            UserValues(np.where(both, b, np.nan), clusters),
            confidence=0.95,
        )
        diffs = [fmean((a - b)[(user == u) & both]) for u in range(40)]

        assert test.difference == pytest.approx(fmean(diffs))
        assert test.mean_a == pytest.approx(a[both].mean())
        assert test.above == sum(diff > 0 for diff in diffs) / 40
        half = student.ppf(0.975, 39) * np.std(diffs, ddof=1) / math.sqrt(40)
        assert test.interval(0.95)[1] - test.difference == pytest.approx(half)


def test_few_differing_users_have_no_interval_with_any_number_of_sessions() -> None:
    user = np.repeat(np.arange(30), 50)
    a, clusters = np.where(user < 5, 1.0, 0.0), Clusters(user, 30, "requests")
    test = paired_test(
        UserValues(a, clusters), UserValues(np.zeros(len(a)), clusters), confidence=0.95
    )

    assert (test.n_users, test.n_nonzero) == (30, 5)
    assert math.isnan(test.interval(0.95)[0])


def test_one_user_has_no_interval() -> None:
    assert ratio_of([[1, 0, 1]], "requests").value == 2 / 3
    assert math.isnan(ratio_of([[1, 0, 1]], "requests").interval(0.95)[0])
    assert math.isnan(ratio_of([[math.nan]], "requests").value)
