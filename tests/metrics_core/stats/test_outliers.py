"""A training that lies far from the others: Grubbs's test against its published table, and what is no outlier."""

import math

import pytest

from concord.metrics_core.stats.replicates import find_outlier, grubbs_p

# Grubbs (1969), Technometrics 11(1), 1-21, table I: critical values of (mean - lowest) / s at the one-sided 5 % level.
TABLE = {3: 1.153, 4: 1.463, 5: 1.672, 6: 1.822, 10: 2.176}


@pytest.mark.parametrize(("count", "critical"), TABLE.items())
def test_the_published_critical_values(count: int, critical: float) -> None:
    def p(ratio: float) -> float:
        """Of values whose lowest is `ratio` standard deviations below the mean: two others beside, the rest between."""
        return grubbs_p(_with_ratio(count, ratio))

    assert p(critical - 0.002) > 0.05 > p(critical + 0.001)


def _with_ratio(count: int, ratio: float) -> list[float]:
    """One value at -1, the others about 1 / (n - 1), as far apart as makes (mean - lowest) / s this ratio."""
    centre = 1 / (count - 1)
    sum_of_squares = (count - 1) / ratio**2  # about the mean, which is 0
    separate = math.sqrt((sum_of_squares - 1 - (count - 1) * centre**2) / 2)
    return [-1.0, centre - separate, centre + separate, *[centre] * (count - 3)]


def test_a_training_that_failed_is_found_and_one_that_varies_is_not() -> None:
    assert find_outlier([0.251, 0.112, 0.249, 0.250], (1,)) == 1
    assert find_outlier([0.251, 0.240, 0.249, 0.245], (1,)) is None
    assert (
        find_outlier([0.251, 0.112, 0.249, 0.250], (-1,)) is None
    )  # above is where it does not fail
    assert find_outlier([0.02, 0.02, 0.021, 0.19], (1, -1)) == 3


def test_three_trainings_need_two_that_are_close_together() -> None:
    assert find_outlier([0.10, 0.250, 0.251], (1,)) == 0
    assert find_outlier([0.10, 0.235, 0.265], (1,)) is None


def test_equal_trainings_make_no_outlier_of_the_third() -> None:
    """Two of three have equal means, as coarse metrics have; chance of users alone is worth 0.01."""
    assert find_outlier([0.24, 0.25, 0.25], (1,), 0.01**2) is None
    assert find_outlier([0.01, 0.25, 0.25], (1,), 0.01**2) == 0
    assert find_outlier([0.1 + 0.2, 0.3, 0.3], (1, -1)) is None  # rounding


@pytest.mark.parametrize("values", [[], [0.1], [0.1, 0.9], [0.1, math.nan, 0.1], [0.2, 0.2, 0.2]])
def test_too_few_missing_or_equal_values_have_none(values: list[float]) -> None:
    assert find_outlier(values, (1, -1)) is None
