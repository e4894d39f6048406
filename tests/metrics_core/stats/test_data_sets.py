"""Means over data sets and ranks: by hand, against SciPy, and Fieller by its definition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from concord.metrics_core.analyses.study.data_sets import (
    average_ranks,
    mean_difference_interval,
    rank_intervals,
)


def test_the_interval_of_a_mean_is_that_of_students_t() -> None:
    differences = [0.01, 0.03, -0.02, 0.05, 0.0]

    low, high = mean_difference_interval(differences, level=0.99) or (math.nan, math.nan)

    assert (low, high) == pytest.approx(
        tuple(ttest_1samp(differences, 0).confidence_interval(0.99)), rel=1e-9
    )
    assert mean_difference_interval([*reversed(differences)], level=0.99) == (low, high)


POINTS = st.lists(st.tuples(st.floats(-1, 1), st.floats(0.5, 2)), min_size=4, max_size=8)


@settings(max_examples=30)
@given(POINTS, st.sampled_from([0.95, 0.99]))
def test_ends_of_a_ratio_are_significant_exactly(
    points: list[tuple[float, float]], level: float
) -> None:
    """A ratio R is in the interval if z = y - R b does not differ from 0."""
    y, b = (np.array(each) for each in zip(*points, strict=True))
    quantile = student.ppf((1 + level) / 2, len(y) - 1)

    def excess(ratio: float) -> float:
        z = y - ratio * b
        return float(abs(z.mean()) - quantile * z.std(ddof=1) / math.sqrt(len(z)))

    ends = mean_difference_interval(y.tolist(), b.tolist(), level=level)

    if ends is None:  # the baseline's mean may be 0
        assert abs(b.mean()) <= quantile * b.std(ddof=1) / math.sqrt(len(b))
        return
    low, high = (end / b.mean() for end in ends)
    assert [excess(low), excess(high)] == pytest.approx([0, 0], abs=1e-6)
    assert excess((low + high) / 2) <= 1e-9
    assert excess(high + 0.1) > 0
    assert excess(low - 0.1) > 0


def test_ties_have_their_mean_rank() -> None:
    ranks = average_ranks({"a": 0.3, "b": 0.1, "c": 0.3, "d": 0.2}, higher_is_better=True)

    assert ranks == {"a": 1.5, "c": 1.5, "d": 3.0, "b": 4.0}  # (1 + 2) / 2
    assert average_ranks({"a": 0.3, "b": 0.1}, higher_is_better=False) == {"a": 2.0, "b": 1.0}


def test_rank_intervals_by_hand() -> None:
    intervals = rank_intervals("abcd", {("a", "d"), ("b", "d"), ("a", "c")})

    assert intervals == {"a": (1, 2), "b": (1, 3), "c": (2, 4), "d": (3, 4)}  # 1 + above, 4 - below
