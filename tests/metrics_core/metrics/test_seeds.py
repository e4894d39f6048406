"""Worked examples of the five texts that define what is computed, in their own arithmetic.

examples/published/texts.py has the others; `tests/test_published.py` runs it.
"""

import math
from math import log2
from typing import Any

import pytest

import concord as cc

approx = pytest.approx

PRINTED = 0.0005  # half a unit of three printed decimals

List = list[Any]
# label, list, truth, conventions, expected and printed value
Example = tuple[str, List, Any, cc.metrics.Conventions, float, float | None]


# 1. Bellei 2017, "The confusion over information retrieval metrics in Recommender Systems"


U1, U1_LABELS = [1, 6, 8], [1, 2, 3, 4, 5, 6]  # hits at ranks 1 and 2
FIRST_TWO = 1 / log2(2) + 1 / log2(3)
LATE = ["x", "y", "z", "hit"]
BASE_E, BASE_2 = cc.preset("bellei"), cc.preset("bellei", discount={"log": 2})
FULL_IDEAL = cc.preset("bellei", ideal="truth_at_k")
BY_LABELS, BY_MIN_K, BY_MIN_LENGTH = (
    cc.preset("bellei", ap_denominator=name)
    for name in ("relevant", "min_k_relevant", "min_len_relevant")
)
BELLEI_ALTERNATIVES: list[Example] = [  # other definitions that the page mentions
    ("AP@3", U1, U1_LABELS, BY_LABELS, (1 / 1 + 2 / 2) / 6, None),  # Spark
    # Erratum: Kaggle is quoted as min(k, length of the list); its code has min(k, labels).
    ("AP@3", U1, U1_LABELS, BY_MIN_K, (1 / 1 + 2 / 2) / 3, None),
    ("AP@5", U1, U1_LABELS, BY_MIN_K, (1 / 1 + 2 / 2) / 5, None),
    ("AP@5", U1, U1_LABELS, BY_MIN_LENGTH, (1 / 1 + 2 / 2) / 3, None),
    ("DCG@3", U1, U1_LABELS, BASE_E, math.log(math.e) / math.log(2) + 1 / math.log(3), None),
    ("DCG@3", U1, U1_LABELS, BASE_2, FIRST_TWO, None),
    ("nDCG@3", U1, U1_LABELS, BASE_2, 1, None),
    # Spark: the ideal over all labels
    ("nDCG@3", U1, U1_LABELS, FULL_IDEAL, FIRST_TWO / (FIRST_TWO + 1 / log2(4)), None),
    # Erratum: the text's `mrrAtk` compares the cutoff's position in (5, 10) with the rank: 0.
    ("RR@5", LATE, ["hit"], BASE_E, 1 / 4, None),
    ("RR@10", LATE, ["hit"], BASE_E, 1 / 4, None),
]  # fmt: skip

# 2. "Introduce and achieve NDCG" (the Wikipedia definitions): grades 3, 2, 3, 0, 1, 2 in the list,
# and two judged items with grades 3 and 2 outside it

LISTED = ["d1", "d2", "d3", "d4", "d5", "d6"]
BEST_FIRST = ["d1", "d3", "d2", "d6", "d5", "d4"]
GRADED = {"d1": 3, "d2": 2, "d3": 3, "d4": 0, "d5": 1, "d6": 2, "d7": 3, "d8": 2}

LINEAR_DCG = 3 + 2 / log2(3) + 3 / log2(4) + 0 / log2(5) + 1 / log2(6) + 2 / log2(7)
LINEAR_IDCG_OF_LIST = 3 + 3 / log2(3) + 2 / log2(4) + 2 / log2(5) + 1 / log2(6) + 0 / log2(7)
# Erratum: printed as 16.047, which adds 2.585, the discount of rank 5, in place of 1 / 2.585.
EXP_DCG = 7 + 3 / log2(3) + 7 / log2(4) + 0 / log2(5) + 1 / log2(6) + 3 / log2(7)
EXP_IDCG = 7 + 7 / log2(3) + 7 / log2(4) + 3 / log2(5) + 3 / log2(6) + 3 / log2(7)

LINEAR, EXP = cc.preset("wikipedia"), cc.preset("wikipedia_exp")
LINEAR_OF_LIST = cc.preset("wikipedia", ideal="retrieved")
WIKIPEDIA: list[Example] = [
    ("DCG@6", BEST_FIRST, GRADED, LINEAR, LINEAR_IDCG_OF_LIST, 7.141),  # IDCG of the list
    ("nDCG@6", LISTED, GRADED, LINEAR_OF_LIST, LINEAR_DCG / LINEAR_IDCG_OF_LIST, 0.961),
    ("DCG@6", LISTED, GRADED, EXP, EXP_DCG, 13.848),
    ("nDCG@6", LISTED, GRADED, EXP, EXP_DCG / EXP_IDCG, 0.7511),
]  # fmt: skip

# 3. recohut, "NDCG": dcg_at_k([3, 2, 3, 0, 1, 2], 6)

MISSES = [f"miss{i}" for i in range(1, 7)]
METHOD_1 = cc.preset("recohut_method1")
NDCG_ONE, NEXT_ITEM = cc.preset("recohut_ndcg_one"), cc.preset("recohut_method1", ideal="truth")
RECOHUT: list[Example] = [
    # method 1 has the ideal of the whole retrieved list, and looks below k for it
    ("nDCG@2", LISTED, GRADED, METHOD_1, (3 + 2 / log2(3)) / (3 + 3 / log2(3)), None),
    # binary, with the ideal of the retrieved top k. Erratum: `ndcg_one` raises IndexError here,
    # because a hit (rank 4) is below k = 3.
    ("nDCG@3", [1, 2, 3, 4, 5], {2: 5, 4: 1, 6: 1}, NDCG_ONE, (1 / log2(3)) / (1 / log2(2)), None),
    # the next item: the discount of the one item that is held out
    *(
        ("nDCG", [*MISSES[: rank - 1], "next"], ["next"], NEXT_ITEM, 1 / log2(rank + 1), None)
        for rank in (1, 2, 3, 7)
    ),
]  # fmt: skip

# 4. University of Minnesota lecture, "Rank-aware top-N metrics"

RATINGS = {"A": 4, "B": 3, "C": 0, "D": 5}
LECTURE, HALF_LIFE = cc.preset("minnesota"), cc.preset("minnesota_halflife")
HALF_LIVES = {n: cc.preset("minnesota_halflife", discount={"halflife": n}) for n in (2, 5)}
MINNESOTA_PERFECT = 5 / 1 + 4 / 1 + 3 / log2(3) + 0 / log2(4)

HALF_LIFE_DCG = 4 + 3 * 2 ** (-1 / 4) + 0 * 2 ** (-2 / 4) + 5 * 2 ** (-3 / 4)
MINNESOTA: list[Example] = [
    # good, bad, good, good, bad
    ("AP", list("ABCDE"), ["A", "C", "D"], LECTURE, (1 / 1 + 2 / 3 + 3 / 4) / 3, None),
    ("DCG@4", list("DABC"), RATINGS, LECTURE, MINNESOTA_PERFECT, 10.893),
    # the half-life: rank alpha is reached with probability 1/2
    *(("DCG", ["hit"], ["hit"], half_life, 1, None) for half_life in HALF_LIVES.values()),
    *(
        ("DCG", [*MISSES[: alpha - 1], "hit"], ["hit"], half_life, 1 / 2, None)
        for alpha, half_life in HALF_LIVES.items()
    ),
    ("DCG@4", list("ABCD"), RATINGS, HALF_LIFE, HALF_LIFE_DCG, None),
]  # fmt: skip

# 5. "Evaluation Metrics For Information Retrieval": 1, 0, 1, 0, 1 with three relevant items

FIVE = ["d1", "d2", "d3", "d4", "d5"]
GRADES = {"d1": 3, "d2": 2, "d3": 3, "d4": 0, "d5": 1}
PAGE, PAGE_EXP = cc.preset("amitness"), cc.preset("amitness_exp")
GRADES_DCG = 7 + 3 / log2(3) + 7 / log2(4) + 0 / log2(5) + 1 / log2(6)
AMITNESS: list[Example] = [
    ("RR@1", ["miss", "hit"], ["hit"], PAGE, 1 / 2, None),  # reciprocal rank knows no cutoff
    # the ideal knows only the retrieved items
    ("nDCG@2", FIVE, {**GRADES, "unseen": 3}, PAGE, (3 + 2 / log2(3)) / (3 + 3 / log2(3)), None),
    ("DCG@5", FIVE, GRADES, PAGE_EXP, GRADES_DCG, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "listed", "truth", "conventions", "expected", "printed"),
    [*BELLEI_ALTERNATIVES, *WIKIPEDIA, *RECOHUT, *MINNESOTA, *AMITNESS],
)
def test_example_of_a_text(
    label: str,
    listed: List,
    truth: Any,
    *,
    conventions: cc.metrics.Conventions,
    expected: float,
    printed: float | None,
) -> None:
    result = cc.evaluate({"u": listed}, {"u": truth}, metrics=[label], conventions=conventions)
    value = result[label]

    assert value == approx(expected)
    assert printed is None or value == approx(printed, abs=PRINTED)
