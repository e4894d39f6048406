"""Outliers among replicates: Grubbs's test against its published table."""

import math

import pytest

from concord.metrics_core.stats.replicates import find_outlier, grubbs_p

# Grubbs (1969), Technometrics 11(1), 1-21, table I: critical values of (mean - lowest) / s at the
# one-sided 5 % level.
TABLE = {3: 1.153, 4: 1.463, 5: 1.672, 6: 1.822, 10: 2.176}


@pytest.mark.parametrize(("count", "critical"), TABLE.items())
def test_the_published_critical_values(count: int, critical: float) -> None:
    def p(ratio: float) -> float:
        return grubbs_p(_values_with_ratio(count, ratio))

    assert p(critical - 0.002) > 0.05 > p(critical + 0.001)


def _values_with_ratio(count: int, ratio: float) -> list[float]:
    """Return -1 and values around 1 / (n - 1) with this (mean - lowest) / s."""
    centre = 1 / (count - 1)
    sum_of_squares = (count - 1) / ratio**2  # about the mean, which is 0
    distance = math.sqrt((sum_of_squares - 1 - (count - 1) * centre**2) / 2)
    return [-1.0, centre - distance, centre + distance, *[centre] * (count - 3)]


def test_a_failed_replicate_is_an_outlier() -> None:
    assert find_outlier([0.251, 0.112, 0.249, 0.250], (1,)) == 1
    assert find_outlier([0.251, 0.240, 0.249, 0.245], (1,)) is None
    assert find_outlier([0.251, 0.112, 0.249, 0.250], (-1,)) is None  # tests the highest
    assert find_outlier([0.02, 0.02, 0.021, 0.19], (1, -1)) == 3


def test_an_outlier_of_three_needs_two_similar_values() -> None:
    assert find_outlier([0.10, 0.250, 0.251], (1,)) == 0
    assert find_outlier([0.10, 0.235, 0.265], (1,)) is None


def test_equal_replicates_make_no_outlier_of_the_third() -> None:
    """Two of three means are equal, as for coarse metrics; the standard error is 0.01."""
    assert find_outlier([0.24, 0.25, 0.25], (1,), 0.01**2) is None
    assert find_outlier([0.01, 0.25, 0.25], (1,), 0.01**2) == 0
    assert find_outlier([0.1 + 0.2, 0.3, 0.3], (1, -1)) is None  # rounding


@pytest.mark.parametrize("values", [[], [0.1], [0.1, 0.9], [0.1, math.nan, 0.1], [0.2, 0.2, 0.2]])
def test_few_missing_or_equal_values_have_no_outlier(values: list[float]) -> None:
    assert find_outlier(values, (1, -1)) is None
