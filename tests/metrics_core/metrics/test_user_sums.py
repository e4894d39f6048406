"""Sums by user and means with one rounding."""

import math
import random as randoms
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from concord.metrics_core.metrics.user_sums import UserSums, mean_of

NUMBERS = st.floats(-1e300, 1e300) | st.floats(-1, 1) | st.integers(-40, 40).map(lambda n: n / 40)


def by_fractions(values: Sequence[float], n: int) -> float:
    return float(sum(map(Fraction, values)) / n)


@given(st.lists(NUMBERS, min_size=1, max_size=12), st.integers(1, 12))
def test_a_mean_is_rounded_once(values: list[float], n: int) -> None:
    rows = [np.array([value]) for value in values]

    assert mean_of(rows, n)[0] == by_fractions(values, n)


@given(NUMBERS, st.integers(1, 30))
def test_the_mean_of_equal_numbers_is_that_number(value: float, n: int) -> None:
    assert mean_of([np.array([value])] * n, n)[0] == value


@example([[0.0, 1.0, 0.1, -1.0], [6.696928794914171e299]], randoms.Random(1))
@given(st.lists(st.lists(NUMBERS, max_size=8), min_size=1, max_size=4), st.randoms())
def test_sums_by_user_are_rounded_once_in_any_order(
    users: list[list[float]], random: object
) -> None:
    rows = [(user, value) for user, values in enumerate(users) for value in values]
    random.shuffle(rows)  # type: ignore[attr-defined]
    user = np.array([user for user, _ in rows], dtype=np.int64)
    values = np.array([value for _, value in rows], dtype=np.float64)

    result = UserSums.from_values(user, values, len(users)).total()

    assert result.tolist() == [by_fractions(values, 1) for values in users]


def test_blocks_of_values_add_up() -> None:
    rng = np.random.default_rng(1)
    values, user = rng.random(500), rng.integers(0, 9, 500)
    blocks = UserSums(9, 1.0, 500)
    for first in range(0, 500, 50):
        blocks.add(user[first : first + 50], values[first : first + 50])

    assert blocks.mean(7).tobytes() == UserSums.from_values(user, values, 9).mean(7).tobytes()


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_nan_affects_its_user_only(number: float) -> None:
    user, values = np.array([0, 0, 1, 1]), np.array([1.0, number, 0.1, 0.2])

    result = UserSums.from_values(user, values, 3).mean(np.array([2, 2, 0]))

    assert str(result[0]) == str(number)
    assert result[1] == by_fractions([0.1, 0.2], 2)
    assert math.isnan(result[2])
