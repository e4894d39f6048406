"""Paired tests, against SciPy and hand calculation; invariants for any values."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.paired_test import paired_tests
from concord.metrics_core.stats.verdict import model_pairs

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
T_39 = 2.0226909200367  # 97.5 % point of t with 39 degrees of freedom, from a table


def one(a: Floats | list[float], b: Floats | list[float]) -> PairedTest:
    values = {"a": np.array(a, dtype=np.float64), "b": np.array(b, dtype=np.float64)}
    (test,) = paired_tests(values, [("a", "b")], confidence=CONFIDENCE)
    return test


def test_forty_users_by_hand() -> None:
    a = [1.0] * 27 + [0.0] * 13
    b = [0.0] * 27 + [1.0] * 6 + [0.0] * 7

    test = one(a, b)

    mean = (27 - 6 + 0) / 40
    spread = math.sqrt((27 * (1 - mean) ** 2 + 6 * (-1 - mean) ** 2 + 7 * (0 - mean) ** 2) / 39)
    half = T_39 * spread / math.sqrt(40)
    assert test.mean_a == 27 / 40
    assert test.mean_b == 6 / 40
    assert test.difference == mean
    assert test.relative(CONFIDENCE) == pytest.approx((21 / 40) / (6 / 40))
    assert test.effect_size == pytest.approx(mean / spread)
    assert test.standard_error == pytest.approx(spread / math.sqrt(40))
    assert test.interval(CONFIDENCE) == pytest.approx((mean - half, mean + half))
    assert (test.above, test.below, test.equal) == (27 / 40, 6 / 40, 7 / 40)
    assert (test.n_users, test.n_nonzero) == (40, 33)


@pytest.mark.parametrize("n", [30, 31, 1000])
@pytest.mark.parametrize("shift", [0.0, 0.02, 0.5])
@pytest.mark.parametrize("confidence", [0.95, 0.9974])
def test_interval_and_p_equal_scipy(n: int, shift: float, confidence: float) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.random(n) + shift, rng.random(n)

    test, expected = one(a, b), ttest_rel(a, b)

    interval = expected.confidence_interval(confidence)
    assert test.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert test.interval(confidence) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_users_without_a_value_in_either_model_are_left_out() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(40), rng.random(40)
    test = one(a[5:35], b[5:35])
    a[:5], b[35:] = np.nan, np.nan

    assert one(a, b) == test
    assert test.n_users == 30


@pytest.mark.parametrize("differing", [0, 1, 5])
def test_fewer_than_six_differing_users_are_not_tested(differing: int) -> None:
    """Five users with the same sign: p = 2 / 2^5 = 0.0625 for any differences."""
    test = one([1.0] * differing + [0.0] * 500, [0.0] * (differing + 500))

    assert test.n_nonzero == differing
    assert test.equal == 500 / (differing + 500)
    assert test.difference == differing / (differing + 500)
    assert math.isnan(low_end(test))
    assert math.isnan(test.p)


@pytest.mark.parametrize(("differing", "kind"), [(6, "sign_flips"), (29, "sign_flips"), (30, "t")])
def test_fewer_than_thirty_differing_users_have_the_interval_of_sign_flips(
    differing: int, kind: str
) -> None:
    test = one([1.0] * differing + [0.0] * 500, [0.0] * (differing + 500))

    low, high = test.interval(CONFIDENCE)
    assert test.test == kind
    assert (test.flips is None) == (kind == "t")
    assert 0 < low < test.difference < high
    if test.flips is not None:
        assert (test.p, (low, high)) == (test.flips.p, test.flips.interval(1 - CONFIDENCE))


def test_an_interval_at_a_level_that_no_outcome_reaches_is_undefined() -> None:
    """Six users: p is at least 2 / 2^6 = 0.03125."""
    test = one([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.0] * 6)

    assert test.p == test.smallest_p == 0.03125
    assert test.has_interval(1 - 0.03125)
    assert not math.isnan(low_end(test))
    assert math.isnan(test.interval(0.97)[0])


def test_an_interval_ends_at_the_bounds_of_the_metric() -> None:
    a = np.tile([1.0, 1.0, 1.0, 0.0], 8)
    values = {"a": a, "b": 1 - a}
    pairs = [("a", "b"), ("b", "a")]
    forward, backward = paired_tests(values, pairs, confidence=0.9999, bounds=(0.0, 1.0))

    assert forward.interval(0.9999)[1] == 1.0
    assert backward.interval(0.9999)[0] == -1.0


@pytest.mark.parametrize("n", [0, 1])
def test_no_user_and_one_user_have_no_interval(n: int) -> None:
    test = one([1.0] * n, [0.5] * n)

    assert test.n_users == n
    assert math.isnan(low_end(test))
    assert math.isnan(test.difference) == (n == 0)


def test_relative_change_needs_a_mean_above_0() -> None:
    assert one([0.5, 0.5], [0.25, 0.25]).relative(CONFIDENCE) == (0.5 - 0.25) / 0.25
    assert math.isnan(one([0.5, 0.5], [0.0, 0.0]).relative(CONFIDENCE))
    assert math.isnan(one([0.5, 0.5], [-0.5, -0.5]).relative(CONFIDENCE))


def test_relative_change_needs_a_mean_whose_interval_is_above_0() -> None:
    """b: mean 0.1, standard error √(0.1 · 0.9 / 39); t(39) · 0.048 = 0.097, and 0.13 at 99 %."""
    a, b = [1.0] * 36 + [0.0] * 4, [0.0] * 36 + [1.0] * 4

    assert one(a, b).relative(0.95) == pytest.approx(0.8 / 0.1)
    assert math.isnan(one(a, b).relative(0.99))
    assert one(b, a).relative(0.99) == pytest.approx(-0.8 / 0.9)
    assert math.isnan(one(b, a).relative(0.99, in_both_directions=True))


def test_pooled_means_have_a_difference_without_test() -> None:
    rng = np.random.default_rng(4)

    test = one(rng.random(50), rng.random(50)).with_means(0.30, 0.25)

    assert (test.mean_a, test.mean_b, test.difference) == (0.30, 0.25, 0.30 - 0.25)
    assert test.n_users == 50
    assert all(math.isnan(x) for x in (*test.interval(CONFIDENCE), test.p, test.above))


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
    for confidence in (CONFIDENCE, 0.99):
        low, high = backward.interval(confidence)
        assert is_same(forward.interval(confidence)[0], -high)
        assert is_same(forward.interval(confidence)[1], -low)
    assert is_same(forward.p, backward.p)
    assert is_same(forward.above, backward.below)
    assert is_same(forward.effect_size, -backward.effect_size)


@given(columns(), st.randoms(use_true_random=False))
def test_the_order_of_the_users_changes_no_bit(both: tuple[Floats, Floats], random: Random) -> None:
    a, b = both
    order = list(range(len(a)))
    random.shuffle(order)

    before, after = one(a, b), one(a[order], b[order])

    assert repr(after) == repr(before)
    assert repr(after.interval(CONFIDENCE)) == repr(before.interval(CONFIDENCE))


def low_end(test: PairedTest) -> float:
    return test.interval(CONFIDENCE)[0]


def is_same(x: float, y: float) -> bool:
    return x == y or (math.isnan(x) and math.isnan(y))
