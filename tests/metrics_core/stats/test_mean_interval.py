"""Intervals of means: few users, binary values, equal values."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, t

from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.mean_interval import ValueSpread, mean_interval

UNIT = (0.0, 1.0)


@pytest.mark.parametrize(("hits", "n"), [(20, 20), (0, 20), (3, 20), (1, 1), (40, 1000)])
def test_binary_values_have_the_clopper_pearson_interval(hits: int, n: int) -> None:
    values = np.repeat([1.0, 0.0], [hits, n - hits])

    expected = binomtest(hits, n).proportion_ci(0.95, method="exact")

    assert mean_interval(values, 0.95, UNIT) == pytest.approx((expected.low, expected.high))


def test_bounded_values_of_few_users_have_pseudo_values_at_the_bounds() -> None:
    """Values of 0.2 and 0.8: t interval of 0, 0.2, 0.8, 1, clipped to 0 and 1."""
    values = [0.2, 0.8, 0.3, 0.4, 0.5, 0.6]
    padded = np.array([0.0, *values, 1.0])
    half = t.ppf(0.975, len(padded) - 1) * padded.std(ddof=1) / math.sqrt(len(padded))

    low, high = mean_interval(np.array(values), 0.95, UNIT)

    assert (low, high) == pytest.approx((padded.mean() - half, padded.mean() + half))
    assert mean_interval(np.array([0.2, 0.8]), 0.95, UNIT) == (0.0, 1.0)


def test_equal_values_have_an_interval() -> None:
    """Twelve times 0.5: (0.025)^(1/12) = 73.5 % or more of all users have 0.5."""
    share = 0.025 ** (1 / 12)

    low, high = mean_interval(np.full(12, 0.5), 0.95, UNIT)

    assert low == pytest.approx(share * 0.5)
    assert high == pytest.approx(share * 0.5 + 1 - share)


def test_many_users_and_metrics_without_bounds_have_the_t_interval() -> None:
    values = np.random.default_rng(1).random(60) * 0.9
    half = t.ppf(0.975, 59) * values.std(ddof=1) / math.sqrt(60)
    few = values[:10] + 3
    half_of_few = t.ppf(0.975, 9) * few.std(ddof=1) / math.sqrt(10)

    assert mean_interval(values, 0.95, UNIT) == pytest.approx(
        (values.mean() - half, values.mean() + half)
    )
    for bounds in ((0.0, math.inf), UNIT):  # values outside the bounds: another convention
        result = mean_interval(few, 0.95, bounds)
        assert result == pytest.approx((few.mean() - half_of_few, few.mean() + half_of_few))


def test_no_values_and_equal_unbounded_values_have_no_interval() -> None:
    for values, bounds in (([], UNIT), ([2.5], (0.0, math.inf)), ([2.5] * 9, (0.0, math.inf))):
        assert all(map(math.isnan, mean_interval(np.array(values), 0.95, bounds)))


def test_spreads_of_partitions_add_up() -> None:
    values = np.array([0.0, 1.0, 0.5, 1.0, 0.25])
    parts = (
        ValueSpread.from_values(values[:2], UNIT)
        + ValueSpread.from_values(values[2:2], UNIT)
        + ValueSpread.from_values(values[2:], UNIT)
    )

    assert parts == ValueSpread.from_values(values, UNIT) == ValueSpread(5, 1, 2, 0.0, 1.0)


def test_interval_of_sessions_is_inside_the_bounds() -> None:
    """Four users with two sessions each, all hits."""
    clusters = Clusters(np.repeat(np.arange(4), 2), 4, "requests")

    low, high = clusters.ratio(np.ones(8)).interval(0.95, UNIT)

    assert 0 < low < 1
    assert high == 1.0
