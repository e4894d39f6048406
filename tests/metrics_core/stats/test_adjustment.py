"""Adjusted p-values and false winners, against hand calculation and SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, false_discovery_control

from concord.metrics_core.stats.adjustment import (
    benjamini_hochberg,
    chance_of_false_winner,
    holm,
    reuse_severity,
)

NAN = math.nan
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_missing_p_values_are_not_part_of_the_family() -> None:
    assert holm(np.array([NAN, 0.01, NAN, 0.02])) == pytest.approx(
        [NAN, 0.01 * 2, NAN, 0.02 * 1], nan_ok=True
    )
    assert benjamini_hochberg(np.array([NAN, 0.01, 0.03])) == pytest.approx(
        [NAN, 0.01 * 2 / 1, 0.03 * 2 / 2], nan_ok=True
    )
    assert holm(np.array([])).size == 0
    assert np.isnan(holm(np.array([NAN]))).all()


@given(P_VALUES)
def test_benjamini_hochberg_equals_scipy(p: list[float]) -> None:
    assert benjamini_hochberg(np.array(p)) == pytest.approx(false_discovery_control(p), rel=1e-12)


@given(P_VALUES)
def test_holm_equals_its_definition(p: list[float]) -> None:
    """p_(i) adjusted = max over j <= i of (m - j + 1) p_(j), at most 1."""
    ascending, m = sorted(p), len(p)
    expected = {
        value: min(1.0, max((m - j) * ascending[j] for j in range(i + 1)))
        for i, value in enumerate(ascending)
    }

    assert holm(np.array(p)) == pytest.approx([expected[value] for value in p], rel=1e-12)


@pytest.mark.parametrize("alpha", [0.0001, 0.01, 0.05, 0.5])
@pytest.mark.parametrize("m", [0, 1, 5, 28, 1_000, 100_000])
def test_false_winner_probability_equals_scipys_binomial(m: int, alpha: float) -> None:
    assert chance_of_false_winner(m, alpha) == pytest.approx(binom.sf(0, m, alpha / 2), rel=1e-9)


def test_severity_increases_at_5_and_at_28_comparisons() -> None:
    severity = {m: reuse_severity(chance_of_false_winner(m, 0.05)) for m in (1, 4, 5, 27, 28, 500)}

    assert severity == {1: None, 4: None, 5: "notice", 27: "notice", 28: "serious", 500: "serious"}
