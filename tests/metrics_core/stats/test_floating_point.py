"""Exact sums, against `math.fsum` and `round`."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from concord.metrics_core.stats import floating_point
from concord.metrics_core.stats.floating_point import (
    difference,
    differences,
    exact_parts,
    exact_sum,
    round_decimals,
)

FINITE = st.floats(-1e300, 1e300)


@given(st.lists(FINITE, max_size=40), st.integers(1, 9))
def test_a_sum_has_the_bits_of_fsum(values: list[float], block_size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(floating_point, "BLOCK_SIZE", block_size)

        assert exact_sum(np.array(values)) == math.fsum(values)


@given(st.lists(st.lists(FINITE, max_size=20), min_size=1, max_size=4))
def test_parts_of_partitions_have_the_sum_of_all_values(partitions: list[list[float]]) -> None:
    parts = [part for values in partitions for part in exact_parts(np.array(values))]

    assert math.fsum(parts) == math.fsum(value for values in partitions for value in values)


@pytest.mark.parametrize("seed", range(3))
def test_a_sum_of_many_magnitudes_has_the_bits_of_fsum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 50_000
    sizes = rng.normal(size=n) * 10.0 ** rng.integers(-30, 30, n)
    for values in (rng.random(n), rng.integers(-40, 40, n) / 40, sizes, sizes * 1e-290):
        assert exact_sum(values) == math.fsum(values)


def test_nan_stays_nan() -> None:
    assert math.isnan(exact_sum(np.array([1.0, math.nan])))
    assert exact_sum(np.array([1.0, math.inf])) == math.inf
    assert exact_sum(np.array([])) == 0


NEAR_A_HALF = st.builds(
    lambda whole, digits, ulps: (whole + 0.5) / 10**digits * (1 + ulps * 2.0**-52),
    st.integers(-10_000, 10_000),
    st.integers(0, 15),
    st.integers(-3, 3),
)


@given(st.lists(st.floats() | st.floats(-1, 1) | NEAR_A_HALF, max_size=20), st.integers(0, 15))
def test_values_are_rounded_like_pythons_round(values: list[float], digits: int) -> None:
    expected = np.array([round(value, digits) for value in values])

    assert round_decimals(np.array(values), digits).tobytes() == expected.tobytes()


NEAR_ONE = st.integers(-10, 10).map(lambda n: 1 + n * 2e-10)  # on both sides of the limit


@given(
    st.floats() | NEAR_ONE,
    st.floats() | NEAR_ONE,
    st.none() | st.floats(0, 1e3) | st.floats(0, allow_infinity=False),
)
@example(math.inf, math.inf, None)
@example(-0.0, 0.0, None)
@example(1.7e308, -1.7e308, None)
def test_the_difference_of_two_numbers_has_the_bits_of_that_of_arrays(
    a: float, b: float, scale: float | None
) -> None:
    with np.errstate(over="ignore"):
        expected = differences(np.array([a]), np.array([b]), scale)

    assert repr(difference(a, b, scale)) == repr(float(expected[0]))  # NaN, and -0.0


@pytest.mark.parametrize("rows", [0, 1, 31, 4_000, 10_000])  # below, within and over blocks
@pytest.mark.parametrize("columns", [1, 20, 300])
def test_products_of_blocks_are_the_product(rows: int, columns: int) -> None:
    random = np.random.default_rng(rows)
    a = random.integers(0, 9, (64, rows)).astype(np.float64)
    b = random.integers(-(1 << 30), 1 << 30, (rows, columns)).astype(np.float64)
    expected = [[int(x) for x in row] for row in a.astype(np.int64) @ b.astype(np.int64)]
    assert floating_point.exact_product(a, b).tolist() == expected
