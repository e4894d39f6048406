"""Prediction-powered means: by hand, against plain Python, against the authors' package."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concord.metrics_core.analyses.ppi.prediction_powered import (
    power_tuning,
    powered_mean,
    weighted_kappa,
)
from concord.metrics_core.metrics.metric import UNBOUNDED
from tests.metrics_core.analyses.ppi.ppi_reference import powered

T_2 = 4.302652729911275  # 97.5 % point of t with 2 degrees of freedom, from a table


def test_three_sampled_of_six_queries_by_hand() -> None:
    human, judged = np.array([1.0, 0.0, 0.5]), np.array([0.8, 0.2, 0.2])
    others = np.array([0.6, 0.4, 0.2])

    result = powered_mean(human, judged, others, confidence=0.95)

    # All six values of the judge: mean 0.4; squares 0.16 + 0.04 + 0.04 + 0.04 + 0 + 0.04 = 0.32.
    # The variance is 0.32 / 5 = 0.064, and 1 + n / N = 2.
    # The sampled queries: means 0.5 and 0.4; products 0.5 · 0.4 + 0.5 · 0.2 + 0 = 0.3.
    assert result.tuning == pytest.approx(0.3 / 3 / (2 * 0.064))  # 0.78
    # Without the first query: (0, 0.5) and (0.2, 0.2) have covariance 0, so lambda is 0.
    # Without the second: (1, 0.5) and (0.8, 0.2): 2 · 0.25 · 0.3 / 2 = 0.075, / 0.128 = 0.586.
    # Without the third: (1, 0) and (0.8, 0.2): 2 · 0.5 · 0.3 / 2 = 0.15, cut at 1.
    # The judge's mean of the others is 0.4.
    weights = [0.0, 0.075 / 0.128, 1.0]
    corrected = [1.0 - 0.0 * 0.4, 0.0 + weights[1] * 0.2, 0.5 + 1.0 * 0.2]
    mean = sum(corrected) / 3  # 0.606
    assert result.corrected.tolist() == pytest.approx(corrected)
    assert result.mean == pytest.approx(mean)
    of_people = sum((each - mean) ** 2 for each in corrected) / 2 / 3
    of_judge = (sum(weights) / 3) ** 2 * 0.04 / 3  # the others: variance (0.04 + 0 + 0.04) / 2
    error = math.sqrt(of_people + of_judge)
    assert result.standard_error == pytest.approx(error)
    assert result.ci_high - result.mean == pytest.approx(T_2 * error)
    # People alone: variance (0.25 + 0.25 + 0) / 2 = 0.25; of the mean 0.25 / 3.
    assert result.effective_labels == pytest.approx(3 * (0.25 / 3) / error**2)


values = st.integers(0, 20).map(lambda number: number / 20)


@given(
    st.lists(st.tuples(values, values), min_size=3, max_size=60),
    st.lists(values, min_size=2, max_size=60),
    st.sampled_from([None, (0.0, 1.0)]),
)
def test_equals_plain_python(
    sample: list[tuple[float, float]], others: list[float], bounds: tuple[float, float] | None
) -> None:
    human, judged = ([row[side] for row in sample] for side in (0, 1))
    result = powered_mean(
        *map(np.array, (human, judged, others)), confidence=0.95, bounds=bounds or UNBOUNDED
    )
    mean, low, high, labels = powered(human, judged, others, bounds)

    assert result.mean == pytest.approx(mean, abs=1e-9)
    if result.standard_error > 1e-6 and (bounds is None or len(human) < 50 or len({*human}) > 1):
        assert (result.ci_low, result.ci_high) == pytest.approx((low, high), abs=1e-9)
        assert result.effective_labels == pytest.approx(labels, rel=1e-6)


# human; judged; others; the mean of ppi-python 0.2.3, ppi_mean_pointestimate
CASES = """
0.49 0.29 0.21 0.46 0.56 0.1 0.83 0.67 0.11 0.38 0.85 0.17
0.63 0.18 0.39 0.39 0.74 0.12 1 0.78 0.06 0.6 1 0.26
0.15 0.53 0.34 0.36 0.88 0.36 0.15 0.41 0.17 0.67 0.62 1 0.15 0.22 0.34 0.73 0.27 0.93
0.39969257334162467
0.56 0.19 0.14 0.58 0.57 0.18 0.54 0.34 0.72
0.96 0.26 0.27 0.56 1 0.27 0 0.16 0.03
0 0.31 1 0.47 0 0.33 1 0.28 0.81 0.43 0.97 1
0.43528395354245375
"""


def _cases() -> list[list[list[float]]]:
    lines = [[float(value) for value in line.split()] for line in CASES.strip().splitlines()]
    return [lines[first : first + 4] for first in range(0, len(lines), 4)]


@pytest.mark.parametrize(("human", "judged", "others", "expected"), _cases())
def test_tuning_and_mean_equal_those_of_ppi_python(
    human: list[float], judged: list[float], others: list[float], expected: list[float]
) -> None:
    tuning = power_tuning(*map(np.array, (human, judged, others)))

    mean = np.mean(human) + tuning * (np.mean(others) - np.mean(judged))

    assert [mean] == pytest.approx(expected, abs=1e-12)
    assert 0 < tuning < 1


def test_values_without_variance_have_an_interval_within_bounds_only() -> None:
    ones, judge = np.ones(60), np.linspace(0, 1, 60)

    bounded = powered_mean(ones, judge, judge, confidence=0.95, bounds=(0.0, 1.0))
    unbounded = powered_mean(ones, judge, judge, confidence=0.95)

    assert bounded.tuning == 0
    # that of people alone: 60 hits of 60 have the lower end 0.025^(1/60)
    assert (bounded.ci_low, bounded.ci_high) == pytest.approx((0.025 ** (1 / 60), 1))
    assert math.isnan(unbounded.ci_low)


def test_a_mean_beyond_the_bounds_is_the_bound() -> None:
    """Two hits of ten, which the judge finds; in the 20 other queries it finds none: 0.2 - 0.3."""
    people = np.array([1.0, 1.0, *[0.0] * 8])
    judged = np.array([1.0, 1.0, 1.0, *[0.0] * 7])

    def estimate(bounds: tuple[float, float]) -> float:
        return powered_mean(people, judged, np.zeros(20), confidence=0.95, bounds=bounds).mean

    assert estimate((-1.0, 1.0)) < 0
    assert estimate((0.0, 1.0)) == 0


def test_a_constant_judge_is_not_used() -> None:
    human = np.array([0.1, 0.5, 0.9, 0.2])

    result = powered_mean(human, np.full(4, 0.3), np.full(50, 0.3), confidence=0.95)

    assert (result.tuning, result.mean, result.effective_labels) == (0, human.mean(), 4)


@pytest.mark.parametrize(
    ("first", "second", "kappa"),
    [
        # Squares of gaps: 0, 0, 1, 1, mean 0.5. By chance over all pairs of 0, 1, 2, 1 and
        # 0, 1, 1, 2: (0 + 1 + 1 + 4 + 2 · (1 + 0 + 0 + 1) + 4 + 1 + 1 + 0) / 16 = 1.
        ([0.0, 1.0, 2.0, 1.0], [0.0, 1.0, 1.0, 2.0], 0.5),
        ([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], 1.0),
        ([0.0, 1.0], [1.0, 0.0], -1.0),
        ([1.0, 1.0], [1.0, 1.0], math.nan),
    ],
)
def test_kappa_weights_gaps_by_their_squares(
    first: list[float], second: list[float], kappa: float
) -> None:
    result = weighted_kappa(np.array(first), np.array(second))

    assert result == pytest.approx(kappa, nan_ok=True)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=40))
def test_kappa_equals_its_definition_over_all_pairs(grades: list[tuple[int, int]]) -> None:
    first, second = (np.array([row[side] for row in grades], dtype=float) for side in (0, 1))
    by_chance = np.mean([(x - y) ** 2 for x in first for y in second])

    kappa = weighted_kappa(first, second)

    if by_chance:
        assert kappa == pytest.approx(1 - np.mean((first - second) ** 2) / by_chance)
