"""Wilcoxon's exact test over data sets: on paper, all signs one by one, a published example, SciPy."""

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from concord.metrics_core.studying.signed_rank import signed_rank_p, smallest_p

# Hollander & Wolfe: depression before and after, on nine patients; R's help page of wilcox.test has p = 0.0391.
BEFORE = (1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30)
AFTER = (0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29)


def _one_by_one(differences: Sequence[float]) -> float:
    """Every choice of signs, with ranks by counting."""
    sizes = [abs(d) for d in differences if d]
    ranks = [sum(o < s for o in sizes) + (sum(o == s for o in sizes) + 1) / 2 for s in sizes]
    w = abs(sum(r if d > 0 else -r for r, d in zip(ranks, filter(None, differences), strict=True)))
    sums = [
        abs(sum(s * r for s, r in zip(signs, ranks, strict=True)))
        for signs in product((-1, 1), repeat=len(ranks))
    ]
    return sum(each >= w for each in sums) / len(sums)


def test_three_data_sets_on_paper() -> None:
    # Ranks 1, 2, 3, all positive: of the 8 choices of signs +++ and --- are as far out.
    assert signed_rank_p([0.1, 0.2, 0.3]) == 2 / 8 == smallest_p(3)
    # w = 3 + 2 - 1 = 4; |±1 ± 2 ± 3| >= 4 for +++ (6), -++ (4) and their mirror images.
    assert signed_rank_p([-0.1, 0.2, 0.3]) == 4 / 8


def test_a_published_example() -> None:
    differences = [b - a for b, a in zip(BEFORE, AFTER, strict=True)]

    assert signed_rank_p(differences) == pytest.approx(0.0390625)
    assert wilcoxon(differences, method="exact").pvalue == pytest.approx(0.0390625)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8).filter(any))
def test_it_is_the_share_of_all_signs_as_far_out(differences: list[int]) -> None:
    assert signed_rank_p(differences) == pytest.approx(_one_by_one(differences))


def test_no_difference_gives_no_p() -> None:
    assert signed_rank_p([0.0, 0.0]) is None
