"""Intervals of means: few users, values of 0 and 1, values that are all equal."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, t

from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.mean_interval import ValueSpread, mean_interval

UNIT = (0.0, 1.0)


@pytest.mark.parametrize(("hits", "n"), [(20, 20), (0, 20), (3, 20), (1, 1), (40, 1000)])
def test_zeros_and_ones_have_the_interval_of_clopper_and_pearson(hits: int, n: int) -> None:
    values = np.repeat([1.0, 0.0], [hits, n - hits])

    expected = binomtest(hits, n).proportion_ci(0.95, method="exact")

    assert mean_interval(values, 0.95, UNIT) == pytest.approx((expected.low, expected.high))


def test_twenty_hits_by_hand() -> None:
    """Of 20 of 20 the lower limit is (α / 2)^(1 / 20)."""
    low, high = mean_interval(np.ones(20), 0.95, UNIT)

    assert low == pytest.approx(0.025 ** (1 / 20)) == pytest.approx(0.8316, abs=1e-4)
    assert high == 1.0


def test_bounded_values_of_few_users_have_one_value_more_at_each_bound() -> None:
    """Two users, 0.2 and 0.8: t interval of 0, 0.2, 0.8, 1, cut at 0 and 1."""
    values = [0.2, 0.8, 0.3, 0.4, 0.5, 0.6]
    wider = np.array([0.0, *values, 1.0])
    half = t.ppf(0.975, len(wider) - 1) * wider.std(ddof=1) / math.sqrt(len(wider))

    low, high = mean_interval(np.array(values), 0.95, UNIT)

    assert (low, high) == pytest.approx((wider.mean() - half, wider.mean() + half))
    assert mean_interval(np.array([0.2, 0.8]), 0.95, UNIT) == (0.0, 1.0)


def test_equal_values_may_be_others_of_users_who_were_not_seen() -> None:
    """Twelve times 0.5: at least (0.025)^(1/12) = 73.5 % of users have 0.5, the others between 0 and 1."""
    share = 0.025 ** (1 / 12)

    low, high = mean_interval(np.full(12, 0.5), 0.95, UNIT)

    assert low == pytest.approx(share * 0.5)
    assert high == pytest.approx(share * 0.5 + 1 - share)


def test_many_users_and_metrics_without_bounds_have_the_t_interval() -> None:
    values = np.random.default_rng(1).random(60) * 0.9
    half = t.ppf(0.975, 59) * values.std(ddof=1) / math.sqrt(60)
    few = values[:10] + 3
    half_of_few = t.ppf(0.975, 9) * few.std(ddof=1) / math.sqrt(10)

    assert mean_interval(values, 0.95, UNIT) == pytest.approx((values.mean() - half, values.mean() + half))  # fmt: skip
    for bounds in ((0.0, math.inf), UNIT):  # values outside the bounds: another convention
        result = mean_interval(few, 0.95, bounds)
        assert result == pytest.approx((few.mean() - half_of_few, few.mean() + half_of_few))


def test_there_is_no_interval_of_nothing_and_none_of_one_value_without_bounds() -> None:
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


def test_requests_of_few_users_have_an_interval_inside_the_bounds() -> None:
    """Four users with two requests each, all hits: no point, and nothing above 1."""
    clusters = Clusters(np.repeat(np.arange(4), 2), 4, "requests")

    low, high = clusters.ratio(np.ones(8)).interval(0.95, UNIT)

    assert 0 < low < 1
    assert high == 1.0
