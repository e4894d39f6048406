"""Agreement in sign and order, against hand calculation, plain Python and SciPy."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, kendalltau, norm

from concord.metrics_core.analyses.calibrate_statistics import (
    best_sign_test_p,
    experiments_needed,
    mcnemar,
    permutation_p_values,
    sign_test_p,
    tau_b,
    tau_interval,
)
from concord.metrics_core.stats.mean_interval import clopper_pearson

SERIES = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=2, max_size=12)


def test_perfect_agreement_of_five_experiments_by_hand() -> None:
    low, high = clopper_pearson(5, 5, 0.95)

    assert low == pytest.approx(0.025 ** (1 / 5))  # 0.478
    assert high == 1.0
    assert clopper_pearson(0, 5, 0.95) == pytest.approx((0.0, 1 - 0.025 ** (1 / 5)))
    assert all(map(math.isnan, clopper_pearson(0, 0, 0.95)))


@pytest.mark.parametrize(("agree", "n"), [(8, 10), (1, 7), (33, 40), (20, 40)])
def test_interval_of_signs_equals_scipy(agree: int, n: int) -> None:
    expected = binomtest(agree, n).proportion_ci(0.9, method="exact")

    assert clopper_pearson(agree, n, 0.9) == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_tau_b_by_hand() -> None:
    """Pairs of (1, 2), (2, 1), (3, 3), (3, 4): signs -1 +1 +1 +1 +1 0, one tie in x."""
    tau = tau_b(np.array([1.0, 2, 3, 3]), np.array([2.0, 1, 3, 4]))

    assert tau == pytest.approx(3 / math.sqrt(5 * 6))


@given(SERIES)
def test_tau_b_equals_plain_python_and_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(each, dtype=np.float64) for each in zip(*pairs, strict=True))
    result, expected = tau_b(x, y), float(kendalltau(x, y).statistic)

    assert result == pytest.approx(_reference_tau(pairs), nan_ok=True)
    assert result == pytest.approx(expected, nan_ok=True)


def _reference_tau(pairs: list[tuple[int, int]]) -> float:
    total = untied_x = untied_y = 0
    for (a, b), (c, d) in itertools.combinations(pairs, 2):
        sign_x, sign_y = (a > c) - (a < c), (b > d) - (b < d)
        total += sign_x * sign_y
        untied_x += abs(sign_x)
        untied_y += abs(sign_y)
    return total / math.sqrt(untied_x * untied_y) if untied_x * untied_y else math.nan


def test_interval_of_tau_by_hand() -> None:
    """atanh(0.5) = 0.549, 1.96 √(0.437 / 16) = 0.324; tanh(0.225) = 0.222, tanh(0.873) = 0.703."""
    assert tau_interval(0.5, 20, 0.95) == pytest.approx((0.2217, 0.7030), abs=1e-4)


def test_perfect_order_has_an_interval_and_few_experiments_have_none() -> None:
    low, high = tau_interval(1.0, 10, 0.95)

    assert high == 1.0
    assert low == pytest.approx(
        math.tanh(math.atanh(1 - 1 / 45) - norm.ppf(0.975) * math.sqrt(0.437 / 6))
    )
    assert tau_interval(-1.0, 10, 0.95) == pytest.approx((-1.0, -low))
    assert all(map(math.isnan, tau_interval(0.5, 9, 0.95)))


def test_sign_test_by_hand() -> None:
    assert sign_test_p(4, 5) == 6 / 32  # 4 in 5 ways, 5 in one way
    assert sign_test_p(0, 5) == 1.0
    assert best_sign_test_p(5, 5, 10) == pytest.approx(1 - (31 / 32) ** 10)
    assert best_sign_test_p(0, 5, 10) == 1.0


@pytest.mark.parametrize(("a", "b"), [(5, 1), (1, 5), (3, 3), (0, 1), (12, 3)])
def test_mcnemar_equals_scipys_exact_binomial_test(a: int, b: int) -> None:
    assert mcnemar(a, b) == pytest.approx(binomtest(a, a + b).pvalue)


def test_power_is_enough_from_the_number_needed() -> None:
    needed = experiments_needed(0.7, 0.05, 0.8)
    powers = [_power_by_scipy(n) for n in range(needed - 1, needed + 8)]

    assert powers[0] < 0.8 <= min(powers[1:])


def _power_by_scipy(n: int) -> float:
    """Return the probability that binomtest is significant with a share above 1/2."""
    significant = [k for k in range(n // 2 + 1, n + 1) if binomtest(k, n).pvalue <= 0.05]
    return sum(math.comb(n, k) * 0.7**k * 0.3 ** (n - k) for k in significant)


def test_orders_of_few_experiments_are_enumerated() -> None:
    """1 of 3! orders is right; signs + + - all agree in 1/3 of the orders."""
    offline = np.array([[3.0, 2, -1], [1.0, 2, 3]])
    p_values = permutation_p_values(offline, np.array([2.0, 1, -2]), np.array([1.0, 1, -1]))

    assert p_values.tau.tolist() == pytest.approx([1 / 6, 1])
    assert p_values.sign[0] == pytest.approx(1 / 3)
    # the reverse order is perfect for the other label
    assert p_values.tau_best[0] == pytest.approx(2 / 6)


def test_p_value_of_the_best_label_equals_an_enumeration() -> None:
    rng = np.random.default_rng(7)
    offline, online = rng.normal(size=(4, 5)), rng.normal(size=5)
    p_values = permutation_p_values(offline, online, np.sign(online))
    observed = [kendalltau(each, online).statistic for each in offline]
    best = [
        max(kendalltau(each, order).statistic for each in offline)
        for order in itertools.permutations(online)
    ]

    expected = [np.mean([b >= s - 1e-12 for b in best]) for s in observed]
    assert p_values.tau_best.tolist() == pytest.approx(expected)


def test_p_value_of_tau_equals_scipy() -> None:
    rng = np.random.default_rng(3)
    online = rng.normal(size=12)
    offline = (online + rng.normal(size=12))[None]
    p_values = permutation_p_values(offline, online, np.sign(online))
    exact = kendalltau(offline[0], online, method="exact", alternative="greater").pvalue

    assert float(p_values.tau[0]) == pytest.approx(exact, abs=4 * math.sqrt(exact / 1_999))


def test_equal_signs_have_a_p_value_of_one() -> None:
    """All lifts are positive, online and offline: signs agree in every order."""
    p_values = permutation_p_values(np.ones((1, 12)), np.arange(1.0, 13), np.ones(12))

    assert p_values.sign.tolist() == [1.0]
    assert np.isnan(p_values.tau).all()
