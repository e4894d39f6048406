"""Popularity drift: SciPy's divergence, and a truth that was drawn from train."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from concord.metrics_core.auditing.drift import _drawn, divergence

_counts = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=30)


@given(_counts.filter(lambda pairs: all(map(sum, zip(*pairs, strict=True)))))
def test_it_is_scipys_distance_squared(pairs: list[tuple[int, int]]) -> None:
    train, truth = (np.array(counts) for counts in zip(*pairs, strict=True))

    found = divergence(train, truth).sum()

    assert found == pytest.approx(jensenshannon(train, truth, base=2) ** 2, abs=1e-9)
    assert -1e-12 <= found <= 1 + 1e-12


def test_shares_that_are_alike_and_shares_with_no_item_in_common() -> None:
    assert divergence(np.array([2, 4]), np.array([1, 2])).sum() == 0
    assert divergence(np.array([3, 0]), np.array([0, 5])).sum() == 1


def test_draws_have_the_rows_of_the_truth_and_the_shares_of_train() -> None:
    train = np.array([0, 10, 30, 60])

    drawn = _drawn(train, 10_000)

    assert all(counts.sum() == 10_000 and counts[0] == 0 for counts in drawn)
    assert np.mean(drawn, axis=0) == pytest.approx([0, 1000, 3000, 6000], abs=60)
