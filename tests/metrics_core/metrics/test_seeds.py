"""The worked examples of the five texts that define what is computed, in their own arithmetic."""

import math
from math import log2
from typing import Any

import pytest

import concord as cc

approx = pytest.approx

PRINTED = 0.0005  # half a unit of three printed decimals


def _mean(
    label: str, recs: dict[str, list[Any]], truth: dict[str, Any], conventions: cc.Conventions
) -> float:
    return cc.evaluate(recs, truth, metrics=[label], conventions=conventions)[label]


# 1. Bellei 2017, "The confusion over information retrieval metrics in Recommender Systems"

BELLEI_LISTS = {"U1": [1, 6, 8], "U2": [1, 2, 3, 4, 5], "U3": [], "U4": [1, 2, 3, 4], "U5": []}
BELLEI_LABELS = {"U1": [1, 2, 3, 4, 5, 6], "U2": [2, 4, 6], "U3": [2, 4, 6], "U4": [], "U5": []}

# U2 hits at ranks 2 and 4. The natural logarithm cancels; the ideal is the retrieved top k, sorted.
NDCG_U2_AT_3 = (1 / log2(3)) / (1 / log2(2))  # 0.6309297535714574
NDCG_U2_AT_5 = (1 / log2(3) + 1 / log2(5)) / (1 / log2(2) + 1 / log2(3))  # 0.6509209298071323

BELLEI = [  # metric, k, U1, U2, mean over U1, U2 and U3 (0); U4 and U5 are undefined
    ("P", 1, 1 / 1, 0 / 1, 1 / 3),
    ("P", 3, 2 / 3, 1 / 3, 1 / 3),
    ("P", 5, 2 / 5, 2 / 5, 4 / 15),
    # Erratum: the formula of recall prints TN where FN is meant.
    ("R", 1, 1 / 6, 0 / 3, 1 / 18),
    ("R", 3, 2 / 6, 1 / 3, 2 / 9),
    ("R", 5, 2 / 6, 2 / 3, 1 / 3),
    ("F1", 1, 2 / 7, 0, 2 / 21),
    ("F1", 3, 4 / 9, 1 / 3, 7 / 27),
    ("F1", 5, 4 / 11, 1 / 2, 19 / 66),
    # Erratum: the text says that AP divides by min(k, labels); its formula and code: by the hits.
    ("AP", 1, 1 / 1, 0, 1 / 3),
    ("AP", 3, (1 / 1 + 2 / 2) / 2, (1 / 2) / 1, 1 / 2),
    ("AP", 5, (1 / 1 + 2 / 2) / 2, (1 / 2 + 2 / 4) / 2, 1 / 2),
    ("RR", 1, 1 / 1, 0, 1 / 3),
    # Erratum: MRR@3 and MRR@5 are printed as 1/3; the terms give (1 + 1/2 + 0) / 3.
    ("RR", 3, 1 / 1, 1 / 2, (1 + 1 / 2 + 0) / 3),
    ("RR", 5, 1 / 1, 1 / 2, (1 + 1 / 2 + 0) / 3),
    ("nDCG", 1, 1, 0, 1 / 3),
    ("nDCG", 3, 1, NDCG_U2_AT_3, (1 + 0.6309297535714574 + 0) / 3),
    ("nDCG", 5, 1, NDCG_U2_AT_5, (1 + 0.6509209298071323 + 0) / 3),
]


@pytest.mark.parametrize(("metric", "k", "u1", "u2", "mean"), BELLEI)
def test_bellei(metric: str, k: int, u1: float, u2: float, mean: float) -> None:
    label = f"{metric}@{k}"
    result = cc.evaluate(
        BELLEI_LISTS, BELLEI_LABELS, metrics=[label], conventions=cc.preset("bellei")
    )

    undefined = math.nan
    values = dict(result.per_user.select("user", label).iter_rows())
    assert values == approx(
        {"U1": u1, "U2": u2, "U3": 0, "U4": undefined, "U5": undefined}, nan_ok=True
    )
    assert result[label] == approx(mean)
    assert result.summary.select("n_users", "n_undefined").row(0) == (3, 2)


@pytest.mark.parametrize(("k", "printed"), [(3, 0.544), (5, 0.550)])
def test_bellei_prints_mean_ndcg_with_three_decimals(k: int, printed: float) -> None:
    mean = _mean(f"nDCG@{k}", BELLEI_LISTS, BELLEI_LABELS, cc.preset("bellei"))

    assert mean == approx(printed, abs=PRINTED)


@pytest.mark.parametrize("k", [5, 10])
def test_bellei_finds_a_first_hit_at_rank_4_whatever_the_list_of_cutoffs(k: int) -> None:
    # Erratum: the text's `mrrAtk` compares the cutoff's position in (5, 10) with the rank: 0.
    rr = _mean(f"RR@{k}", {"u": ["x", "y", "z", "hit"]}, {"u": ["hit"]}, cc.preset("bellei"))

    assert rr == 1 / 4


def test_reciprocal_ranks_are_not_summed_over_all_relevant_items() -> None:
    rr = _mean("RR@3", {"U1": BELLEI_LISTS["U1"]}, {"U1": BELLEI_LABELS["U1"]}, cc.preset("bellei"))

    assert rr == 1  # and not 1/1 + 1/2, the wrong reading of MRR


BELLEI_ALTERNATIVES = [  # what the page names beside its own choice, for U1: hits at ranks 1 and 2
    ("AP@3", {"ap_denominator": "relevant"}, (1 / 1 + 2 / 2) / 6),  # Spark: meanAveragePrecision
    # Erratum: Kaggle is quoted as min(k, length of the list); its code has min(k, labels).
    ("AP@3", {"ap_denominator": "min_k_relevant"}, (1 / 1 + 2 / 2) / 3),
    ("AP@5", {"ap_denominator": "min_k_relevant"}, (1 / 1 + 2 / 2) / 5),
    ("AP@5", {"ap_denominator": "min_len_relevant"}, (1 / 1 + 2 / 2) / 3),
    ("DCG@3", {}, math.log(math.e) / math.log(2) + 1 / math.log(3)),
    ("DCG@3", {"discount": {"log": 2}}, 1 / log2(2) + 1 / log2(3)),
    ("nDCG@3", {"discount": {"log": 2}}, 1),
    (  # Spark: the ideal over all labels
        "nDCG@3",
        {"ideal": "truth_at_k"},
        (1 / log2(2) + 1 / log2(3)) / (1 / log2(2) + 1 / log2(3) + 1 / log2(4)),
    ),
]


@pytest.mark.parametrize(("label", "knobs", "expected"), BELLEI_ALTERNATIVES)
def test_bellei_alternatives(label: str, knobs: dict[str, Any], expected: float) -> None:
    conventions = cc.preset("bellei", **knobs)
    value = _mean(label, {"U1": BELLEI_LISTS["U1"]}, {"U1": BELLEI_LABELS["U1"]}, conventions)

    assert value == approx(expected)


# 2. "Introduce and achieve NDCG" (the Wikipedia definitions): grades 3, 2, 3, 0, 1, 2 in the list,
# and two judged items with grades 3 and 2 outside it

WIKIPEDIA_LIST = {"u": ["d1", "d2", "d3", "d4", "d5", "d6"]}
WIKIPEDIA_TRUTH = {"u": {"d1": 3, "d2": 2, "d3": 3, "d4": 0, "d5": 1, "d6": 2, "d7": 3, "d8": 2}}

LINEAR_DCG = 3 + 2 / log2(3) + 3 / log2(4) + 0 / log2(5) + 1 / log2(6) + 2 / log2(7)
LINEAR_IDCG_OF_LIST = 3 + 3 / log2(3) + 2 / log2(4) + 2 / log2(5) + 1 / log2(6) + 0 / log2(7)
LINEAR_IDCG = 3 + 3 / log2(3) + 3 / log2(4) + 2 / log2(5) + 2 / log2(6) + 2 / log2(7)
# Erratum: printed as 16.047, which adds 2.585, the discount of rank 5, in place of 1 / 2.585.
EXP_DCG = 7 + 3 / log2(3) + 7 / log2(4) + 0 / log2(5) + 1 / log2(6) + 3 / log2(7)
EXP_IDCG = 7 + 7 / log2(3) + 7 / log2(4) + 3 / log2(5) + 3 / log2(6) + 3 / log2(7)

WIKIPEDIA = [
    ("CG@6", cc.preset("wikipedia"), 3 + 2 + 3 + 0 + 1 + 2, 11),
    ("DCG@6", cc.preset("wikipedia"), LINEAR_DCG, 6.861),
    (
        "nDCG@6",
        cc.preset("wikipedia", ideal="retrieved"),
        LINEAR_DCG / LINEAR_IDCG_OF_LIST,
        0.961,
    ),
    ("nDCG@6", cc.preset("wikipedia"), LINEAR_DCG / LINEAR_IDCG, 0.7850),
    ("DCG@6", cc.preset("wikipedia_exp"), EXP_DCG, 13.848),
    ("nDCG@6", cc.preset("wikipedia_exp"), EXP_DCG / EXP_IDCG, 0.7511),
]


@pytest.mark.parametrize(("label", "conventions", "expected", "printed"), WIKIPEDIA)
def test_wikipedia(
    label: str, conventions: cc.Conventions, expected: float, printed: float
) -> None:
    value = _mean(label, WIKIPEDIA_LIST, WIKIPEDIA_TRUTH, conventions)

    assert value == approx(expected)
    assert value == approx(printed, abs=PRINTED)


def test_wikipedia_prints_the_ideal_of_the_list_alone() -> None:
    # IDCG6 = 7.141 is the DCG of the list's own items, best first.
    best_first = {"u": ["d1", "d3", "d2", "d6", "d5", "d4"]}

    idcg = _mean("DCG@6", best_first, WIKIPEDIA_TRUTH, cc.preset("wikipedia"))

    assert idcg == approx(LINEAR_IDCG_OF_LIST)
    assert idcg == approx(7.141, abs=PRINTED)


# 3. recohut, "NDCG": dcg_at_k([3, 2, 3, 0, 1, 2], 6)

RECOHUT_TRUTH = {"u": {"d1": 3, "d2": 2, "d3": 3, "d4": 0, "d5": 1, "d6": 2}}


def test_recohut_method_0_leaves_the_first_two_ranks_undiscounted() -> None:
    dcg = _mean("DCG@6", WIKIPEDIA_LIST, RECOHUT_TRUTH, cc.preset("recohut_method0"))

    assert dcg == approx(3 + 2 + 3 / log2(3) + 0 / log2(4) + 1 / log2(5) + 2 / log2(6))
    assert dcg == approx(8.097171433256849)


def test_recohut_method_1_has_the_ideal_of_the_whole_retrieved_list() -> None:
    ndcg = _mean("nDCG@6", WIKIPEDIA_LIST, WIKIPEDIA_TRUTH, cc.preset("recohut_method1"))

    assert ndcg == approx(LINEAR_DCG / LINEAR_IDCG_OF_LIST)
    assert ndcg == approx(0.9608081943360617)


def test_recohut_method_1_looks_below_k_for_its_ideal() -> None:
    ndcg = _mean("nDCG@2", WIKIPEDIA_LIST, WIKIPEDIA_TRUTH, cc.preset("recohut_method1"))

    assert ndcg == approx((3 + 2 / log2(3)) / (3 + 3 / log2(3)))


def test_recohut_ndcg_one_is_binary_with_the_ideal_of_the_retrieved_top_k() -> None:
    # Erratum: `ndcg_one` raises IndexError here, because a hit (rank 4) lies below k = 3.
    ndcg = _mean(
        "nDCG@3", {"u": [1, 2, 3, 4, 5]}, {"u": {2: 5, 4: 1, 6: 1}}, cc.preset("recohut_ndcg_one")
    )

    assert ndcg == approx((1 / log2(3)) / (1 / log2(2)))


@pytest.mark.parametrize("rank", [1, 2, 3, 7])
def test_recohut_next_item_is_the_discount_of_the_one_held_out_item(rank: int) -> None:
    listed = [f"miss{i}" for i in range(1, rank)] + ["next"]

    ndcg = _mean(
        "nDCG", {"u": listed}, {"u": ["next"]}, cc.preset("recohut_method1", ideal="truth")
    )

    assert ndcg == approx(1 / log2(rank + 1))


# 4. University of Minnesota lecture, "Rank-aware top-N metrics"


@pytest.mark.parametrize(("liked", "rank"), [("B", 2), ("C", 3), ("D", 4)])
def test_minnesota_reciprocal_rank(liked: str, rank: int) -> None:
    rr = _mean("RR", {"u": ["A", "B", "C", "D"]}, {"u": [liked]}, cc.preset("minnesota"))

    assert rr == 1 / rank


def test_minnesota_average_precision() -> None:
    # good, bad, good, good, bad
    ap = _mean("AP", {"u": list("ABCDE")}, {"u": {"A": 1, "C": 1, "D": 1}}, cc.preset("minnesota"))

    assert ap == approx((1 / 1 + 2 / 3 + 3 / 4) / 3)


RATINGS = {"u": {"A": 4, "B": 3, "C": 0, "D": 5}}
MINNESOTA_DCG = 4 / 1 + 3 / 1 + 0 / log2(3) + 5 / log2(4)
MINNESOTA_PERFECT = 5 / 1 + 4 / 1 + 3 / log2(3) + 0 / log2(4)

MINNESOTA = [
    ("DCG@4", ["A", "B", "C", "D"], MINNESOTA_DCG, 9.5),
    ("DCG@4", ["D", "A", "B", "C"], MINNESOTA_PERFECT, 10.893),
    ("nDCG@4", ["A", "B", "C", "D"], MINNESOTA_DCG / MINNESOTA_PERFECT, 0.872),
]


@pytest.mark.parametrize(("label", "listed", "expected", "printed"), MINNESOTA)
def test_minnesota_discounts_from_the_base_on(
    label: str, listed: list[str], expected: float, printed: float
) -> None:
    value = _mean(label, {"u": listed}, RATINGS, cc.preset("minnesota"))

    assert value == approx(expected)
    assert value == approx(printed, abs=PRINTED)


@pytest.mark.parametrize("alpha", [2, 5])
def test_minnesota_half_life_reaches_rank_alpha_with_probability_one_half(alpha: int) -> None:
    conventions = cc.preset("minnesota_halflife", discount={"halflife": alpha})
    listed = [f"miss{i}" for i in range(1, alpha)] + ["hit"]

    assert _mean("DCG", {"u": ["hit"]}, {"u": ["hit"]}, conventions) == 1
    assert _mean("DCG", {"u": listed}, {"u": ["hit"]}, conventions) == 1 / 2


def test_minnesota_half_life_of_the_ratings() -> None:
    dcg = _mean("DCG@4", {"u": list("ABCD")}, RATINGS, cc.preset("minnesota_halflife"))

    assert dcg == approx(4 + 3 * 2 ** (-1 / 4) + 0 * 2 ** (-2 / 4) + 5 * 2 ** (-3 / 4))


# 5. "Evaluation Metrics For Information Retrieval": 1, 0, 1, 0, 1 with three relevant items

AMITNESS_LIST = {"u": ["d1", "d2", "d3", "d4", "d5"]}
AMITNESS_BINARY = {"u": ["d1", "d3", "d5"]}

AMITNESS: dict[str, list[float]] = {
    "P": [1 / 1, 1 / 2, 2 / 3, 2 / 4, 3 / 5],
    "R": [1 / 3, 1 / 3, 2 / 3, 2 / 3, 3 / 3],
    "F1": [1 / 2, 2 / 5, 2 / 3, 4 / 7, 3 / 4],  # erratum: F1@5 is printed as 0.749
    "RR": [1, 1, 1, 1, 1],
}


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("metric", AMITNESS)
def test_amitness_binary(metric: str, k: int) -> None:
    value = _mean(f"{metric}@{k}", AMITNESS_LIST, AMITNESS_BINARY, cc.preset("amitness"))

    assert value == approx(AMITNESS[metric][k - 1])


def test_amitness_average_precision() -> None:
    ap = _mean("AP", AMITNESS_LIST, AMITNESS_BINARY, cc.preset("amitness"))

    # Erratum: printed as 0.7575, later as 0.7555.
    assert ap == approx((1 / 1 + 2 / 3 + 3 / 5) / 3)
    assert ap == approx(0.7556, abs=PRINTED / 10)


def test_amitness_reciprocal_rank_knows_no_cutoff() -> None:
    rr = _mean("RR@1", {"u": ["miss", "hit"]}, {"u": ["hit"]}, cc.preset("amitness"))

    assert rr == 1 / 2


AMITNESS_GRADES = {"u": {"d1": 3, "d2": 2, "d3": 3, "d4": 0, "d5": 1}}

# The ideal is the whole retrieved list, best first (3, 3, 2, 1, 0), cut at k.
AMITNESS_GRADED: dict[str, list[float]] = {
    "CG": [3, 5, 8, 8, 9],
    "DCG": [3, 4.2619, 5.7619, 5.7619, 6.1487],
    # Erratum: printed as 0.9777 and 0.9723 at 3 and 5: cut off, not rounded.
    "nDCG": [3 / 3, 0.8710, 0.9778, 0.9112, 0.9724],
}
AMITNESS_IDEAL = [3, 4.8928, 5.8928, 6.3235, 6.3235]


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("metric", AMITNESS_GRADED)
def test_amitness_graded(metric: str, k: int) -> None:
    value = _mean(f"{metric}@{k}", AMITNESS_LIST, AMITNESS_GRADES, cc.preset("amitness"))

    assert value == approx(AMITNESS_GRADED[metric][k - 1], abs=PRINTED / 10)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_amitness_ideal(k: int) -> None:
    best_first = {"u": ["d1", "d3", "d2", "d5", "d4"]}

    ideal = _mean(f"DCG@{k}", best_first, AMITNESS_GRADES, cc.preset("amitness"))

    assert ideal == approx(AMITNESS_IDEAL[k - 1], abs=PRINTED / 10)


def test_amitness_ideal_knows_only_the_retrieved_items() -> None:
    unseen = {"u": {**AMITNESS_GRADES["u"], "unseen": 3}}

    ndcg = _mean("nDCG@2", AMITNESS_LIST, unseen, cc.preset("amitness"))

    assert ndcg == approx((3 + 2 / log2(3)) / (3 + 3 / log2(3)))


def test_amitness_exponential_gain() -> None:
    dcg = _mean("DCG@5", AMITNESS_LIST, AMITNESS_GRADES, cc.preset("amitness_exp"))

    assert dcg == approx(7 + 3 / log2(3) + 7 / log2(4) + 0 / log2(5) + 1 / log2(6))
