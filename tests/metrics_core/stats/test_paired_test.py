"""Paired tests, against SciPy and hand calculation; invariants for any values."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from concord.metrics_core.results.limits import MIN_T_TEST_USERS
from concord.metrics_core.stats.paired_test import PairedTest, paired_tests
from concord.metrics_core.stats.verdict import model_pairs

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
T_11 = 2.2009851600916  # 97.5 % point of t with 11 degrees of freedom, from a table


def one(a: Floats | list[float], b: Floats | list[float]) -> PairedTest:
    values = {"a": np.array(a, dtype=np.float64), "b": np.array(b, dtype=np.float64)}
    (test,) = paired_tests(values, [("a", "b")], confidence=CONFIDENCE)
    return test


def test_twelve_users_by_hand() -> None:
    a = [1.0] * 9 + [0.0] * 3
    b = [0.0] * 9 + [1.0] * 2 + [0.0]

    test = one(a, b)

    mean = (9 - 2 + 0) / 12
    spread = math.sqrt((9 * (1 - mean) ** 2 + 2 * (-1 - mean) ** 2 + 1 * (0 - mean) ** 2) / 11)
    assert test.mean_a == 9 / 12
    assert test.mean_b == 2 / 12
    assert test.difference == mean
    assert test.relative == pytest.approx((7 / 12) / (2 / 12))
    assert test.effect_size == pytest.approx(mean / spread)
    assert test.ci_low == pytest.approx(mean - T_11 * spread / math.sqrt(12))
    assert test.ci_high == pytest.approx(mean + T_11 * spread / math.sqrt(12))
    assert (test.above, test.below, test.equal) == (9 / 12, 2 / 12, 1 / 12)
    assert (test.n_users, test.n_nonzero) == (12, 11)


@pytest.mark.parametrize("n", [10, 31, 1000])
@pytest.mark.parametrize("shift", [0.0, 0.02, 0.5])
def test_interval_and_p_equal_scipy(n: int, shift: float) -> None:
    """The interval for any number of users; p from 30 users with different values."""
    rng = np.random.default_rng(n)
    a, b = rng.random(n) + shift, rng.random(n)

    test, expected = one(a, b), ttest_rel(a, b)

    interval = expected.confidence_interval(CONFIDENCE)
    if n >= MIN_T_TEST_USERS:
        assert test.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert (test.ci_low, test.ci_high) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_users_without_a_value_in_either_model_are_left_out() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(40), rng.random(40)
    test = one(a[5:35], b[5:35])
    a[:5], b[35:] = np.nan, np.nan

    assert one(a, b) == test
    assert test.n_users == 30


@pytest.mark.parametrize("n", [20, 40])
def test_equal_differences_have_a_sign_flip_p_and_an_interval_if_bounded(n: int) -> None:
    test = one([0.3] * n, [0.2] * n)
    (bounded,) = paired_tests(
        {"a": np.full(n, 0.3), "b": np.full(n, 0.2)},
        [("a", "b")],
        confidence=CONFIDENCE,
        bounds=(0.0, 1.0),
    )
    share = 0.025 ** (1 / n)  # of users who differ by 0.1: the lower limit by Clopper and Pearson

    assert test.difference == pytest.approx(0.1)
    assert math.isnan(test.ci_low)
    assert test.p == pytest.approx(max(2 ** (1 - n), 1 / 100_001 if n == 20 else 0), abs=2e-5)
    assert bounded.ci_low == pytest.approx(share * 0.1 - (1 - share))
    assert bounded.ci_high == pytest.approx(share * 0.1 + (1 - share))


@pytest.mark.parametrize("differing", [0, 1, 5])
def test_fewer_than_six_differing_users_are_not_tested(differing: int) -> None:
    """Five users with the same sign: p = 2 / 2^5 = 0.0625 for any differences."""
    test = one([1.0] * differing + [0.0] * 500, [0.0] * (differing + 500))

    assert test.n_nonzero == differing
    assert test.equal == 500 / (differing + 500)
    assert test.difference == differing / (differing + 500)
    assert math.isnan(test.ci_low)
    assert math.isnan(test.p)
    assert not test.caution


@pytest.mark.parametrize(("differing", "caution"), [(6, True), (29, True), (30, False)])
def test_fewer_than_thirty_differing_users_need_caution(differing: int, caution: bool) -> None:
    test = one([1.0] * differing + [0.0] * 500, [0.0] * (differing + 500))

    assert test.caution is caution
    assert test.ci_low < test.difference < test.ci_high


@pytest.mark.parametrize("n", [0, 1])
def test_no_user_and_one_user_have_no_interval(n: int) -> None:
    test = one([1.0] * n, [0.5] * n)

    assert test.n_users == n
    assert math.isnan(test.ci_low)
    assert math.isnan(test.difference) == (n == 0)


def test_relative_change_needs_a_mean_above_0() -> None:
    assert one([0.5, 0.5], [0.25, 0.25]).relative == (0.5 - 0.25) / 0.25
    assert math.isnan(one([0.5, 0.5], [0.0, 0.0]).relative)
    assert math.isnan(one([0.5, 0.5], [-0.5, -0.5]).relative)


def test_pooled_means_have_a_difference_without_test() -> None:
    rng = np.random.default_rng(4)

    test = one(rng.random(50), rng.random(50)).with_means(0.30, 0.25)

    assert (test.mean_a, test.mean_b, test.difference) == (0.30, 0.25, 0.30 - 0.25)
    assert test.n_users == 50
    assert all(math.isnan(x) for x in (test.ci_low, test.ci_high, test.p, test.above))


def test_pairs_have_the_baseline_second() -> None:
    assert model_pairs(["pop", "knn", "als"], "knn") == [
        ("pop", "knn"),
        ("als", "knn"),
        ("pop", "als"),
    ]
    assert model_pairs(["knn"], "knn") == []


def test_means_are_over_the_users_of_the_pair() -> None:
    values = {
        "a": np.array([0.0, 0.0, 1.0, 1.0]),
        "b": np.array([0.0, 1.0, 1.0, np.nan]),
        "c": np.array([1.0, 0.0, 0.0, 0.0]),
    }

    ab, ac = paired_tests(values, [("a", "b"), ("a", "c")], confidence=CONFIDENCE)

    assert (ab.mean_a, ab.mean_b, ab.n_users) == (1 / 3, 2 / 3, 3)
    assert (ac.mean_a, ac.mean_b, ac.n_users) == (2 / 4, 1 / 4, 4)


@st.composite
def columns(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Draw values like those of metrics: many zeros, many ties, some undefined."""
    n = draw(st.integers(12, 60))
    value = st.one_of(
        st.just(0.0), st.floats(0, 1, width=32), st.sampled_from([1 / 3, 1.0, math.nan])
    )
    a, b = (np.array(draw(st.lists(value, min_size=n, max_size=n))) for _ in range(2))
    return a, b


@given(columns())
def test_swapping_the_models_changes_the_sign_only(both: tuple[Floats, Floats]) -> None:
    a, b = both
    forward, backward = one(a, b), one(b, a)

    assert is_same(forward.difference, -backward.difference)
    assert is_same(forward.ci_low, -backward.ci_high)
    assert is_same(forward.ci_high, -backward.ci_low)
    assert is_same(forward.p, backward.p)
    assert is_same(forward.above, backward.below)
    assert is_same(forward.effect_size, -backward.effect_size)


@given(columns(), st.randoms(use_true_random=False))
def test_the_order_of_the_users_changes_no_bit(both: tuple[Floats, Floats], random: Random) -> None:
    a, b = both
    order = list(range(len(a)))
    random.shuffle(order)

    assert repr(one(a[order], b[order])) == repr(one(a, b))


def is_same(x: float, y: float) -> bool:
    return x == y or (math.isnan(x) and math.isnan(y))
