"""Diversity asks for the direction of vectors, whatever their length."""

import math

import pytest

import concord as cc

LISTS = {"u": ["a", "b"]}
TRUTH = {"u": ["a"]}


def _ild(first: list[float], second: list[float]) -> float:
    result = cc.evaluate(
        LISTS, TRUTH, metrics=["ILD@2"], conventions=cc.preset("standard"),
        items={"a": first, "b": second},
    )  # fmt: skip
    return result["ILD@2"]


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e300, 1e-160, 1e160, 5e-324 * 2**20])
def test_the_length_of_a_vector_changes_nothing(size: float) -> None:
    """cos((1, 1), (1, 0)) = 1 / sqrt 2, though the squares of 1e200 are infinite and those of 1e-200 are 0."""
    assert _ild([size, size], [1.0, 0.0]) == pytest.approx(1 - 1 / math.sqrt(2), abs=1e-12)


@pytest.mark.parametrize("power", [-900, -3, 5, 900])
def test_a_power_of_two_changes_no_bit(power: int) -> None:
    first, second = [0.3, 0.7, 0.1], [0.2, -0.4, 0.9]
    assert _ild([x * 2.0**power for x in first], second) == _ild(first, second)


def test_an_item_without_features_stays_without() -> None:
    assert _ild([0.0, 0.0], [1.0, 0.0]) == _ild([0.0, 0.0], [1e300, 0.0])
