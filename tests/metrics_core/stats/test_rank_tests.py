"""Rank tests over data sets, against hand calculation, enumeration and published examples."""

import math
from collections.abc import Sequence
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from concord.metrics_core.stats.data_sets import (
    average_ranks,
    critical_difference,
    friedman_test,
    indistinguishable_groups,
    rank_intervals,
    signed_rank_p,
    smallest_signed_rank_p,
)

# Demšar (2006), JMLR 7, table 6: AUC of C4.5 with parameters m and cf tuned or not, on 14 data
# sets.
DEMSAR = (
    (0.763, 0.768, 0.771, 0.798),
    (0.599, 0.591, 0.590, 0.569),
    (0.954, 0.971, 0.968, 0.967),
    (0.628, 0.661, 0.654, 0.657),
    (0.882, 0.888, 0.886, 0.898),
    (0.936, 0.931, 0.916, 0.931),
    (0.661, 0.668, 0.609, 0.685),
    (0.583, 0.583, 0.563, 0.625),
    (0.775, 0.838, 0.866, 0.875),
    (1.000, 1.000, 1.000, 1.000),
    (0.940, 0.962, 0.965, 0.962),
    (0.619, 0.666, 0.614, 0.669),
    (0.972, 0.981, 0.9751, 0.975),
    (0.957, 0.978, 0.946, 0.970),
)
RANKS = [
    [*average_ranks({str(i): v for i, v in enumerate(row)}, higher_is_better=True).values()]
    for row in DEMSAR
]


def test_ties_have_their_mean_rank() -> None:
    ranks = average_ranks({"a": 0.3, "b": 0.1, "c": 0.3, "d": 0.2}, higher_is_better=True)

    assert ranks == {"a": 1.5, "c": 1.5, "d": 3.0, "b": 4.0}  # (1 + 2) / 2
    assert average_ranks({"a": 0.3, "b": 0.1}, higher_is_better=False) == {"a": 2.0, "b": 1.0}


def test_friedman_by_hand() -> None:
    result = friedman_test([[1, 2, 3], [1, 2, 3], [1, 3, 2], [2, 1, 3]])

    # Mean ranks 5/4, 8/4, 11/4; 12 · 4 / (3 · 4) · ((-3/4)² + 0 + (3/4)²) = 4 · 9/8 = 4.5
    assert result.chi2 == pytest.approx(4.5)
    assert result.f == pytest.approx(3 * 4.5 / (4 * 2 - 4.5))  # (N - 1) chi2 / (N (k - 1) - chi2)
    assert (result.df1, result.df2) == (2, 6)


def test_demsars_published_example() -> None:
    result = friedman_test(RANKS)
    mean_ranks = [sum(column) / 14 for column in zip(*RANKS, strict=True)]

    assert [round(mean, 3) for mean in mean_ranks] == [3.143, 2.000, 2.893, 1.964]
    # Demšar does not correct for ties: chi2 = 9.28, F = 3.69. The correction divides by C: one tie
    # of all four models ((64 - 4) of 14 · 60) and three of two models (3 · 6 of 14 · 60).
    uncorrected = result.chi2 * (1 - (60 + 3 * 6) / (14 * 60))
    assert round(uncorrected, 2) == 9.28
    assert round(13 * uncorrected / (14 * 3 - uncorrected), 2) == 3.69
    assert round(critical_difference(14, 4, confidence=0.95), 2) == 1.25
    assert round(critical_difference(14, 4, confidence=0.90), 2) == 1.12


# Demšar (2006), table 5(a): q of Nemenyi's test for 2 to 10 models, at 0.05 and 0.10
@pytest.mark.parametrize(
    ("confidence", "published"),
    [
        (0.95, (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)),
        (0.90, (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920)),
    ],
)
def test_demsars_critical_values(confidence: float, published: tuple[float, ...]) -> None:
    for k, q in enumerate(published, start=2):
        n = k * (k + 1)  # data sets, so that CD = q / √6
        assert critical_difference(n, k, confidence=confidence) == pytest.approx(
            q / math.sqrt(6), abs=0.001
        )


@pytest.mark.parametrize("ranks", [(1, 2, 3), (1.5, 1.5, 3)])  # ties leave fewer orders
def test_p_is_exact_if_all_data_sets_agree(ranks: tuple[float, ...]) -> None:
    result = friedman_test([[*ranks]] * 5)

    orders = set(permutations(ranks))  # all orders of the other four, against the first
    agree = sum(all(order == ranks for order in others) for others in product(orders, repeat=4))
    assert result.f is None
    assert result.p == pytest.approx(agree / len(orders) ** 4)


def test_models_that_are_equal_everywhere_do_not_differ() -> None:
    assert friedman_test([[1.5, 1.5, 3.0]] * 2 + [[2, 2, 2]] * 3).p > 0.1
    assert friedman_test([[2, 2, 2]] * 5).p == 1.0


def test_rank_intervals_by_hand() -> None:
    intervals = rank_intervals("abcd", {("a", "d"), ("b", "d"), ("a", "c")})

    assert intervals == {"a": (1, 2), "b": (1, 3), "c": (2, 4), "d": (3, 4)}  # 1 + above, 4 - below


def test_groups_are_the_longest_runs_without_a_significant_pair() -> None:
    different = [frozenset("ad"), frozenset("ac"), frozenset("ae"), frozenset("be")]

    assert indistinguishable_groups("abcde", different) == [
        ("a", "b"),
        ("b", "c", "d"),
        ("c", "d", "e"),
    ]
    assert indistinguishable_groups("ab", [frozenset("ab")]) == []


# Hollander & Wolfe: depression of nine patients before and after; p = 0.0391 in R's help page of
# wilcox.test.
BEFORE = (1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30)
AFTER = (0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29)


def _reference_p(differences: Sequence[float]) -> float:
    """Return the p-value by enumerating all signs, with ranks by counting."""
    sizes = [abs(d) for d in differences if d]
    ranks = [sum(o < s for o in sizes) + (sum(o == s for o in sizes) + 1) / 2 for s in sizes]
    w = abs(sum(r if d > 0 else -r for r, d in zip(ranks, filter(None, differences), strict=True)))
    sums = [
        abs(sum(s * r for s, r in zip(signs, ranks, strict=True)))
        for signs in product((-1, 1), repeat=len(ranks))
    ]
    return sum(each >= w for each in sums) / len(sums)


def test_signed_ranks_of_three_data_sets_by_hand() -> None:
    # Ranks 1, 2, 3, all positive: of the 8 choices of signs, +++ and --- are as extreme.
    assert signed_rank_p([0.1, 0.2, 0.3]) == 2 / 8 == smallest_signed_rank_p(3)
    # w = 3 + 2 - 1 = 4; |±1 ± 2 ± 3| >= 4 for +++ (6), -++ (4) and their mirror images.
    assert signed_rank_p([-0.1, 0.2, 0.3]) == 4 / 8


def test_signed_ranks_of_a_published_example() -> None:
    differences = [b - a for b, a in zip(BEFORE, AFTER, strict=True)]

    assert signed_rank_p(differences) == pytest.approx(0.0390625)
    assert wilcoxon(differences, method="exact").pvalue == pytest.approx(0.0390625)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8).filter(any))
def test_p_of_signed_ranks_equals_the_reference(differences: list[int]) -> None:
    assert signed_rank_p(differences) == pytest.approx(_reference_p(differences))


def test_no_difference_gives_no_p_of_signed_ranks() -> None:
    assert signed_rank_p([0.0, 0.0]) is None
