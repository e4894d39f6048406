"""Corrected value of a sampled rank: by hand, and in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from concord.metrics_core.conventions.conventions import Candidates
from concord.metrics_core.evaluation.sampled_candidates import (
    correction,
    rank_probabilities,
)
from tests.metrics_core.evaluation.sampled_reference import chance, corrected

sizes = st.integers(2, 14).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(1, n - 1), st.integers(1, n))
)


def test_one_negative_of_two_by_hand() -> None:
    # N = 3, m = 1, Hit@1: rank 1 is always sampled first, rank 3 always second, rank 2 either way.
    result = rank_probabilities(np.array([1, 2, 3]), Candidates(1, 3))
    assert result.tolist() == [[1, 0], [1 / 2, 1 / 2], [0, 1]]

    # gamma = 1: the mean of Hit@1 given r = 1 is 1 of 1 + 1/2 + 0; given r = 2 it is 0.
    hit = np.array([1.0])
    assert correction(hit, Candidates(1, 3), gamma=1.0) == pytest.approx([1 / 1.5, 0])

    # gamma = 0: least squares of f1 = 1, (f1 + f2) / 2 = 0, f2 = 0,
    # that is 5/4 f1 + 1/4 f2 = 1 and 1/4 f1 + 5/4 f2 = 0.
    assert correction(hit, Candidates(1, 3), gamma=0.0) == pytest.approx([5 / 6, -1 / 6])

    # gamma = 0.1: 0.9 of these squares, and 0.1 (1 + 1/2) on the diagonal.
    diagonal, other = 0.9 * 5 / 4 + 0.1 * 1.5, 0.9 * 1 / 4
    both = diagonal * diagonal - other * other
    expected = [diagonal / both, -other / both]
    assert correction(hit, Candidates(1, 3), gamma=0.1) == pytest.approx(expected)


@given(sizes, st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(1, 1000)]))
def test_it_is_the_solution_in_fractions(size: tuple[int, int, int], gamma: Fraction) -> None:
    catalogue, negatives, k = size
    by_rank = [Fraction(1, rank) for rank in range(1, k + 1)]

    expected = corrected(by_rank, negatives, gamma, catalogue=catalogue)

    aim = np.array(by_rank, dtype=np.float64)
    result = correction(aim, Candidates(negatives, catalogue), float(gamma))
    assert result == pytest.approx([float(each) for each in expected], abs=1e-9)


@given(sizes)
def test_chances_are_those_of_counting(size: tuple[int, int, int]) -> None:
    catalogue, negatives, _ = size
    ranks = np.arange(1, catalogue + 1)
    expected = [
        [float(chance(r, full, negatives, catalogue)) for r in range(1, negatives + 2)]
        for full in ranks.tolist()
    ]

    assert rank_probabilities(ranks, Candidates(negatives, catalogue)) == pytest.approx(
        np.array(expected), abs=1e-14
    )


@pytest.mark.parametrize(("negatives", "catalogue"), [(100, 26_744), (1_000, 1_000_000)])
def test_chances_are_scipys_where_numbers_are_large(negatives: int, catalogue: int) -> None:
    ranks = np.array([1, 2, 10, 1_000, catalogue // 2, catalogue - 5, catalogue])
    drawn = np.arange(negatives + 1)

    expected = hypergeom.pmf(drawn, catalogue - 1, ranks[:, None] - 1, negatives)

    result = rank_probabilities(ranks, Candidates(negatives, catalogue))
    assert result == pytest.approx(expected, rel=1e-6, abs=1e-12)
