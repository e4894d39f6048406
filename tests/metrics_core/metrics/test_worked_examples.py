"""One row a metric and a convention's value, with the arithmetic left in."""

import math
from math import log2
from typing import Any, Literal

import polars as pl
import pytest

import concord as cc

approx = pytest.approx

List = list[str]
Grades = dict[str, float]

# Three of the six users that every metric is tried on; log2(rank + 1) is 1, 1.58, 2, 2.32, 2.58 …
GRADED: tuple[List, Grades] = (list("abcde"), {"b": 3, "c": 0, "d": 1, "f": 2})  # hits at 2 and 4
SHORT: tuple[List, Grades] = (list("ab"), {"b": 2, "c": 1})  # shorter than k; hit at 2
MANY: tuple[List, Grades] = (list("axbc"), {"a": 1, "b": 2, "c": 1, "d": 1, "e": 4})  # R = 5 > k

# label, GRADED, SHORT, MANY under `standard`
WORKED = [
    ("P@3", 1 / 3, 1 / 3, 2 / 3),
    ("P", 2 / 5, 1 / 2, 3 / 4),
    ("P(rel=2)@3", 1 / 3, 1 / 3, 1 / 3),
    ("R@3", 1 / 3, 1 / 2, 2 / 5),
    ("R", 2 / 3, 1 / 2, 3 / 5),
    ("F1@3", 2 / (3 + 3), 2 / (3 + 2), 2 * 2 / (3 + 5)),  # 2 hits / (k + R)
    ("F1", 2 * 2 / (5 + 3), 2 / (2 + 2), 2 * 3 / (4 + 5)),
    ("Hit@1", 0, 0, 1),
    ("Hit@3", 1, 1, 1),
    ("AP@3", (1 / 2) / 3, (1 / 2) / 2, (1 / 1 + 2 / 3) / 3),
    ("AP@5", (1 / 2 + 2 / 4) / 3, (1 / 2) / 2, (1 / 1 + 2 / 3 + 3 / 4) / 5),
    ("AP(rel=2)@5", (1 / 2) / 2, (1 / 2) / 1, (1 / 3) / 2),
    ("RR@1", 0, 0, 1 / 1),
    ("RR@3", 1 / 2, 1 / 2, 1 / 1),
    ("CG@3", 3, 2, 1 + 2),
    ("CG", 3 + 1, 2, 1 + 2 + 1),
    ("DCG@3", 3 / log2(3), 2 / log2(3), 1 / log2(2) + 2 / log2(4)),
    (
        "nDCG@3",
        (3 / log2(3)) / (3 / log2(2) + 2 / log2(3) + 1 / log2(4)),
        (2 / log2(3)) / (2 / log2(2) + 1 / log2(3)),
        (1 / log2(2) + 2 / log2(4)) / (4 / log2(2) + 2 / log2(3) + 1 / log2(4)),
    ),
    (
        "nDCG",
        (3 / log2(3) + 1 / log2(5)) / (3 / log2(2) + 2 / log2(3) + 1 / log2(4)),
        (2 / log2(3)) / (2 / log2(2) + 1 / log2(3)),
        (1 / log2(2) + 2 / log2(4) + 1 / log2(5))
        / (4 / log2(2) + 2 / log2(3) + 1 / log2(4) + 1 / log2(5) + 1 / log2(6)),
    ),
    ("Rprec", 1 / 3, 1 / 2, 3 / 5),
    ("RBP(p=0.8)@3", 0.2 * 0.8, 0.2 * 0.8, 0.2 * (1 + 0.8**2)),
    ("RBP(p=0.8)", 0.2 * (0.8 + 0.8**3), 0.2 * 0.8, 0.2 * (1 + 0.8**2 + 0.8**3)),
    # a grade g satisfies with probability (2^g - 1) / 2^4
    ("ERR@3", (1 / 2) * 7 / 16, (1 / 2) * 3 / 16, 1 / 16 + (1 / 3) * (15 / 16) * (3 / 16)),
    (
        "ERR",
        (1 / 2) * 7 / 16 + (1 / 4) * (9 / 16) * (1 / 16),
        (1 / 2) * 3 / 16,
        1 / 16 + (1 / 3) * (15 / 16) * (3 / 16) + (1 / 4) * (15 / 16) * (13 / 16) * (1 / 16),
    ),
    # ERR@3 / ERR@3 of the grades 3 2 1, of 2 1, and of 4 2 1
    (
        "nERR@3",
        (1 / 2) * 7 / 16 / (7 / 16 + (1 / 2) * (9 / 16) * 3 / 16 + (1 / 3) * (9 * 13 / 256) / 16),
        (1 / 2) * 3 / 16 / (3 / 16 + (1 / 2) * (13 / 16) * 1 / 16),
        (1 / 16 + (1 / 3) * (15 / 16) * (3 / 16))
        / (15 / 16 + (1 / 2) * (1 / 16) * 3 / 16 + (1 / 3) * (1 / 16) * (13 / 16) * (1 / 16)),
    ),
    # at each hit (hits + gains) / (rank + gains of the ideal): 3 2 1, 2 1, and 4 2 1 1 1
    ("Q(beta=1)@3", (1 + 3) / (2 + 5) / 3, (1 + 2) / (2 + 3) / 2, (2 / 5 + (2 + 3) / (3 + 7)) / 3),
    (
        "Q(beta=2)",
        ((1 + 2 * 3) / (2 + 2 * 5) + (2 + 2 * 4) / (4 + 2 * 6)) / 3,
        (1 + 2 * 2) / (2 + 2 * 3) / 2,
        (3 / (1 + 2 * 4) + (2 + 2 * 3) / (3 + 2 * 7) + (3 + 2 * 4) / (4 + 2 * 8)) / 5,
    ),
    ("O(beta=1)@3", (1 + 3) / (2 + 5), (1 + 2) / (2 + 3), (1 + 1) / (1 + 4)),
    ("O(beta=1)@1", 0, 0, (1 + 1) / (1 + 4)),
]


def _value(label: str, listed: List, grades: Grades, conventions: cc.metrics.Conventions) -> float:
    result = cc.evaluate({"u": listed}, {"u": grades}, metrics=[label], conventions=conventions)
    value: float = result.per_user[label].item()
    return value


@pytest.mark.parametrize(("label", "graded", "short", "many"), WORKED)
def test_worked_example(label: str, graded: float, short: float, many: float) -> None:
    users = {
        "graded": (*GRADED, graded),
        "short": (*SHORT, short),
        "many": (*MANY, many),
        "nothing judged": (list("ab"), {}, math.nan),
        "nothing relevant": (list("ab"), {"a": 0.0}, math.nan),
        "no list": ([], {"a": 2.0}, 0.0),
    }
    recs = {user: listed for user, (listed, _, _) in users.items()}
    truth = {user: grades for user, (_, grades, _) in users.items()}

    result = cc.evaluate(recs, truth, metrics=[label], conventions=cc.preset("standard"))

    expected = {user: value for user, (_, _, value) in users.items()}
    assert dict(result.per_user.iter_rows()) == approx(expected, nan_ok=True)
    assert result[label] == approx((graded + short + many + 0) / 4)


LN3, LN5 = math.log(3), math.log(5)
MAP = {"map": {1: 10, 2: 1, 3: 4}}

CONVENTION_OPTIONS: list[tuple[dict[str, Any], str, tuple[List, Grades], float]] = [
    ({"relevance_threshold": 1}, "R@5", GRADED, 2 / 3),
    ({"relevance_threshold": 2}, "R@5", GRADED, 1 / 2),
    ({"relevance_threshold": 2}, "CG@5", GRADED, 3),  # grade 1 is not relevant and earns nothing
    ({"relevance_threshold": None}, "R@5", GRADED, 3 / 4),  # grade 0 counts too
    ({"truth_visible": "all"}, "R@2", GRADED, 1 / 3),
    ({"truth_visible": "retrieved"}, "R@2", GRADED, 1 / 2),  # b and d, anywhere in the list
    ({"truth_visible": "retrieved"}, "Rprec", GRADED, 1 / 2),
    ({"precision_denominator": "k"}, "P@3", SHORT, 1 / 3),
    ({"precision_denominator": "len"}, "P@3", SHORT, 1 / 2),
    ({"precision_denominator": "min_k_relevant"}, "P@5", GRADED, 2 / 3),
    ({"precision_denominator": "min_k_relevant"}, "P@3", MANY, 2 / 3),
    (
        {"precision_denominator": "min_len_relevant"},
        "P@9",
        MANY,
        3 / 4,
    ),  # four items, five relevant
    ({"recall_denominator": "relevant"}, "R@3", MANY, 2 / 5),
    ({"recall_denominator": "min_k_relevant"}, "R@3", MANY, 2 / 3),
    ({"hit_kind": "indicator"}, "Hit@5", GRADED, 1),
    ({"hit_kind": "count"}, "Hit@5", GRADED, 2),
    ({"ap_denominator": "relevant"}, "AP@3", MANY, (1 / 1 + 2 / 3) / 5),
    ({"ap_denominator": "min_k_relevant"}, "AP@3", MANY, (1 / 1 + 2 / 3) / 3),
    ({"ap_denominator": "hits"}, "AP@3", MANY, (1 / 1 + 2 / 3) / 2),
    ({"ap_denominator": "hits"}, "AP@1", GRADED, 0),  # 0 / 0 hits
    ({"ap_denominator": "k"}, "AP@5", GRADED, (1 / 2 + 2 / 4) / 5),
    ({"ap_denominator": "min_len_relevant"}, "AP@9", SHORT, (1 / 2) / 2),
    ({"ap_denominator": "min_len_relevant"}, "AP@9", MANY, (1 / 1 + 2 / 3 + 3 / 4) / 4),
    ({"ap_sum_over": "hits"}, "AP@4", SHORT, (1 / 2) / 2),
    ({"ap_sum_over": "all_ranks"}, "AP@4", SHORT, (0 / 1 + 1 / 2 + 1 / 3 + 1 / 4) / 2),
    ({"rr_cutoff": "k"}, "RR@1", GRADED, 0),
    ({"rr_cutoff": "none"}, "RR@1", GRADED, 1 / 2),
    ({"gain": "binary"}, "CG@5", GRADED, 1 + 1),
    ({"gain": "linear"}, "CG@5", GRADED, 3 + 1),
    ({"gain": "exp2"}, "CG@5", GRADED, (2**3 - 1) + (2**1 - 1)),
    (
        {"gain": "exp2_above_threshold", "relevance_threshold": 2},
        "CG@5",
        MANY,
        2 ** (2 - 2 + 1) - 1,
    ),
    ({"gain": MAP}, "CG@5", GRADED, 4 + 10),
    # under a map the ideal is sorted by gain: d (10), b (4), f (1)
    (
        {"gain": MAP},
        "nDCG@2",
        GRADED,
        (4 / log2(3)) / (10 / log2(2) + 4 / log2(3)),
    ),
    ({"discount": {"log": 2}}, "DCG@5", GRADED, 3 / log2(3) + 1 / log2(5)),
    ({"discount": {"log": math.e}}, "DCG@5", GRADED, 3 / LN3 + 1 / LN5),
    ({"discount": {"jk": 2}}, "DCG@5", GRADED, 3 / 1 + 1 / log2(4)),
    ({"discount": {"jk": 3}}, "DCG@5", GRADED, 3 / 1 + 1 / (math.log(4) / LN3)),
    ({"discount": {"halflife": 3}}, "DCG@5", GRADED, 3 * 2 ** (-1 / 2) + 1 * 2 ** (-3 / 2)),
    ({"discount": {"geometric": 0.5}}, "DCG@5", GRADED, 3 * 0.5 + 1 * 0.5**3),
    (
        {"ideal": "truth_at_k"},
        "nDCG@2",
        GRADED,
        (3 / log2(3)) / (3 / log2(2) + 2 / log2(3)),
    ),
    (
        {"ideal": "truth"},
        "nDCG@2",
        GRADED,
        (3 / log2(3)) / (3 / log2(2) + 2 / log2(3) + 1 / log2(4)),
    ),
    ({"ideal": "retrieved_at_k"}, "nDCG@3", GRADED, (3 / log2(3)) / (3 / log2(2))),
    (
        {"ideal": "retrieved"},
        "nDCG@3",
        GRADED,
        (3 / log2(3)) / (3 / log2(2) + 1 / log2(3)),
    ),
    ({"ideal": "retrieved"}, "nDCG@1", GRADED, 0),
    ({"ideal": "retrieved_at_k"}, "nDCG@1", GRADED, 0),  # 0 / 0 for a user with relevant items
    (
        {"ideal": "full_k", "gain": "binary"},
        "nDCG@3",
        SHORT,
        (1 / log2(3)) / (1 / log2(2) + 1 / log2(3) + 1 / log2(4)),
    ),
    (
        {"ideal": "truth_at_min_k_len"},
        "nDCG@5",
        MANY,
        (1 / log2(2) + 2 / log2(4) + 1 / log2(5))
        / (4 / log2(2) + 2 / log2(3) + 1 / log2(4) + 1 / log2(5)),
    ),
    ({"rbp_gain": "binary"}, "RBP(p=0.5)@5", GRADED, 0.5 * (0.5 + 0.5**3)),
    ({"rbp_gain": "linear"}, "RBP(p=0.5)@5", GRADED, 0.5 * (3 * 0.5 + 1 * 0.5**3)),
    ({"rbp_norm": "one_minus_p"}, "RBP(p=0.8)@3", GRADED, (1 - 0.8) * 0.8),
    ({"rbp_norm": "sum_weights"}, "RBP(p=0.8)@3", GRADED, 0.8 / (1 + 0.8 + 0.8**2)),
    ({"rbp_norm": "sum_weights"}, "RBP(p=0.8)", SHORT, 0.8 / (1 + 0.8)),
    ({"rbp_norm": "none"}, "RBP(p=0.8)@3", GRADED, 0.8),
    ({"err_max_grade": 4}, "ERR@3", GRADED, (1 / 2) * (2**3 - 1) / 2**4),
    ({"err_max_grade": 3}, "ERR@3", GRADED, (1 / 2) * (2**3 - 1) / 2**3),
    ({"duplicates": "keep"}, "P@4", (list("axaa"), {"a": 1, "b": 1}), 3 / 4),
    ({"duplicates": "keep"}, "R@4", (list("axaa"), {"a": 1, "b": 1}), 3 / 2),
    ({"duplicates": "keep"}, "AP@4", (list("axaa"), {"a": 1, "b": 1}), (1 / 1 + 2 / 3 + 3 / 4) / 2),
    # later copies are misses that keep their ranks
    ({"duplicates": "first"}, "P@4", (list("aaab"), {"a": 1, "b": 1}), 2 / 4),
    ({"duplicates": "first"}, "AP@4", (list("aaab"), {"a": 1, "b": 1}), (1 / 1 + 2 / 4) / 2),
    ({"round": None}, "P@3", GRADED, 1 / 3),
    ({"round": {"user": 2}}, "P@3", GRADED, 0.33),
]


@pytest.mark.parametrize(("options", "label", "lists", "expected"), CONVENTION_OPTIONS)
def test_convention(
    options: dict[str, Any], label: str, lists: tuple[List, Grades], expected: float
) -> None:
    assert _value(label, *lists, cc.preset("standard", **options)) == approx(expected)


# How lists are ranked: the scores of the rows in the order of the file, and the items in rank order

RANKING: list[tuple[dict[str, Any], list[tuple[Any, float]], Any]] = [
    ({"ties": "item_asc"}, [("a", 1), ("c", 2), ("b", 2)], "bca"),
    ({"ties": "item_desc"}, [("a", 1), ("b", 2), ("c", 2)], "cba"),
    ({"ties": "input"}, [("a", 1), ("c", 2), ("b", 2)], "cba"),
    ({"ties": "given"}, [("a", 1), ("c", 2), ("b", 2)], "acb"),  # scores are ignored
    ({"ties": "error"}, [("a", 1), ("c", 2), ("b", 3)], "bca"),
    ({"score_dtype": "float64"}, [("a", 1), ("b", 1 + 1e-9)], "ba"),
    ({"score_dtype": "float32"}, [("a", 1), ("b", 1 + 1e-9)], "ab"),  # a tie
    ({"score_dtype": "float64"}, [("a", 1e39), ("b", 2e39)], "ba"),
    ({"score_dtype": "float32"}, [("a", 1e39), ("b", 2e39)], "ab"),  # both infinite: a tie
    # integers are compared as numbers or as text
    ({"ties": "item_asc"}, [(10, 1), (2, 1), (100, 1)], [2, 10, 100]),
    ({"ties": "item_desc"}, [(10, 1), (2, 1), (100, 1)], [100, 10, 2]),
    ({"ties": "item_text_asc"}, [(10, 1), (2, 1), (100, 1)], [10, 100, 2]),
    ({"ties": "item_text_desc"}, [(10, 1), (2, 1), (100, 1)], [2, 100, 10]),
    ({"duplicates": "drop"}, [("a", 4), ("b", 3), ("a", 2), ("c", 1)], "abc"),
    ({"duplicates": "first"}, [("a", 4), ("b", 3), ("a", 2), ("c", 1)], "ab-c"),
    ({"duplicates": "error"}, [("a", 4), ("b", 3), ("c", 1)], "abc"),
]


@pytest.mark.parametrize(("options", "rows", "order"), RANKING)
def test_ranking(options: dict[str, Any], rows: list[tuple[Any, float]], order: Any) -> None:
    recs = pl.DataFrame(
        [("u", item, float(score)) for item, score in rows],
        schema=["user", "item", "score"],
        orient="row",
    )
    conventions = cc.preset("standard", **options)
    for rank, item in enumerate(order, 1):
        if item != "-":
            result = cc.evaluate(recs, {"u": [item]}, metrics=["RR"], conventions=conventions)
            assert result["RR"] == approx(1 / rank)


# Who is averaged. `found` has P@2 = 1/2; each policy meets one user of its kind.

KINDS = {
    "user_no_recs": ({"found": ["a", "x"]}, {"found": ["a"], "other": ["a"]}),
    "user_empty_truth": ({"found": ["a", "x"], "other": ["a"]}, {"found": ["a"], "other": []}),
    "user_recs_only": ({"found": ["a", "x"], "other": ["a"]}, {"found": ["a"]}),
    "user_both_empty": ({"found": ["a", "x"], "other": []}, {"found": ["a"], "other": []}),
}
POLICIES: list[tuple[str, float | None, float, int]] = [  # the user's value, mean, n_undefined
    ("zero", 0.0, (1 / 2 + 0) / 2, 0),
    ("one", 1.0, (1 / 2 + 1) / 2, 0),
    ("drop", None, 1 / 2, 0),
    ("nan", math.nan, 1 / 2, 1),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("policy", "value", "mean", "n_undefined"), POLICIES)
def test_policy(kind: str, policy: str, value: float | None, mean: float, n_undefined: int) -> None:
    changed: dict[str, Any] = {kind: policy}
    conventions = cc.preset("standard", **changed)
    result = cc.evaluate(*KINDS[kind], metrics=["P@2"], conventions=conventions)

    users = dict(result.per_user.iter_rows())
    assert users["found"] == 1 / 2
    if value is None:
        assert users.get("other") is None
    else:
        assert users["other"] == approx(value, nan_ok=True)
    assert result["P@2"] == mean
    assert result.to_frame()["n_undefined"].item() == n_undefined


OF_USERS = "P R F1 Hit AP RR CG DCG nDCG Rprec ERR nERR Bpref infAP AUC Judged RBP(p=0.8) Q(beta=1)"
OF_USERS += " O(beta=1) HLU(halflife=2) Spearman Kendall FCP"
OF_LISTS = {"UserCoverage": 1, "Novelty": 0.5, "ARP": 1.5, "LongTail": 0, "ILD": 1, "PopCorr": -1}


@pytest.mark.parametrize(
    ("metric", "own"), [*((name, None) for name in OF_USERS.split()), *OF_LISTS.items()]
)
def test_a_user_who_is_not_in_the_ground_truth_follows_the_policy(
    metric: str, own: float | None
) -> None:
    """Metrics of the list alone keep their own value."""
    lists, truth = {"found": ["a", "b"], "other": ["b", "a"]}, {"found": {"a": 2, "b": 1}}
    side: Any = {"train": {"x": ["a", "b", "c"], "y": ["a"]}, "items": {"a": ["p"], "b": ["q"]}}
    for policy, value in (("zero", 0.0), ("one", 1.0), ("nan", math.nan)):
        conventions: Any = {"preset": "standard", "user_recs_only": policy}
        options = {"metrics": [metric], "conventions": conventions, **({} if own is None else side)}
        values = dict(cc.evaluate(lists, truth, **options).per_user.iter_rows())

        assert values["other"] == approx(value if own is None else own, nan_ok=True)


def test_a_user_whose_grades_all_have_no_gain_has_nothing_relevant() -> None:
    """With `relevance_threshold: null` a row of grade 0 is relevant, but has no gain."""
    conventions = cc.preset("standard", relevance_threshold=None, user_empty_truth="one")
    result = cc.evaluate(
        {"ann": ["a"]}, {"ann": {"a": 0}}, metrics=["nDCG"], conventions=conventions
    )

    assert result["nDCG"] == 1.0


# Numbers of public reports: the data, the preset, and the value of the library.
ONE_CATEGORY = {item: [item] for item in "abc"}
REPORTED: list[tuple[str, str, dict[str, Any], float]] = [
    (
        "replay",
        "Novelty@2",
        {
            "recs": {1: {"a": 2.0, "b": 1.0}, 2: {"c": 1.0}},
            "truth": {1: ["a"], 2: ["c"]},
            "train": {1: ["a"], 2: ["b"], 3: ["c"]},
        },
        (1.0 + 0.5) / 2,
    ),
    (
        "rectools",
        "ILD@3",
        {
            "recs": {1: ["a", "b", "c"], 2: ["a"]},
            "truth": {1: ["a"], 2: ["a"]},
            "items": ONE_CATEGORY,
        },
        (2.0 + 0.0) / 2,
    ),
    (
        "sklearn_ndcg",
        "nDCG",
        {
            "recs": {1: {"a": 1.4, "b": 0.5, "c": 0.3, "d": 0.2, "e": 0.1}},
            "truth": {1: dict(zip("abcde", (0.53, 1.39, 0.47, 1.56, 0.11), strict=True))},
        },
        0.7996,
    ),
]


@pytest.mark.parametrize(("preset", "label", "data", "expected"), REPORTED)
def test_presets_give_the_values_of_public_reports(
    preset: Any, label: str, data: dict[str, Any], expected: float
) -> None:
    data = dict(data)
    recs, truth = data.pop("recs"), data.pop("truth")
    result = cc.evaluate(recs, truth, metrics=[label], conventions=preset, **data)

    assert result[label] == pytest.approx(expected, abs=5e-5)


UNDEFINED = [("skip", (1 / 2) / 1, 1), ("zero", (1 / 2 + 0) / 2, 2), ("propagate", math.nan, 2)]


@pytest.mark.parametrize(("undefined", "mean", "n_users"), UNDEFINED)
def test_undefined_users_in_the_mean(
    undefined: Literal["skip", "zero", "propagate"], mean: float, n_users: int
) -> None:
    conventions = cc.preset("standard", undefined=undefined)
    result = cc.evaluate(*KINDS["user_empty_truth"], metrics=["P@2"], conventions=conventions)

    assert result["P@2"] == approx(mean, nan_ok=True)
    assert result.to_frame().select("n_users", "n_undefined").row(0) == (n_users, 1)


# Means that are no means of the users' values: P@2 = 1/2 and 2/2, R@2 = 1/1 and 2/4

TWO = (
    {"one": ["a", "x"], "two": ["a", "b"]},
    {"one": ["a"], "two": ["a", "b", "c", "d"]},
)
POOLED: list[tuple[dict[str, Any], str, float]] = [
    (
        {"precision_aggregate": "macro", "precision_denominator": "min_k_relevant"},
        "P@2",
        (1 / 1 + 2 / 2) / 2,
    ),
    ({"precision_aggregate": "macro"}, "P@2", (1 / 2 + 2 / 2) / 2),
    ({"precision_aggregate": "micro"}, "P@2", (1 + 2) / (2 + 2)),
    (
        {"precision_aggregate": "micro", "precision_denominator": "min_k_relevant"},
        "P@3",
        (1 + 2) / (1 + 3),
    ),
    ({"f1_aggregate": "per_user"}, "F1@2", (2 * 1 / (2 + 1) + 2 * 2 / (2 + 4)) / 2),
    ({"f1_aggregate": "of_means"}, "F1@2", 2 * 0.75 * 0.75 / (0.75 + 0.75)),
    ({"round": {"mean": 2}}, "F1@2", 0.67),
    ({"round": {"mean": 1}, "f1_aggregate": "of_means"}, "F1@2", 0.8),
]


@pytest.mark.parametrize(("options", "label", "mean"), POOLED)
def test_mean(options: dict[str, Any], label: str, mean: float) -> None:
    result = cc.evaluate(*TWO, metrics=[label], conventions=cc.preset("standard", **options))

    assert result[label] == approx(mean)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"gain": "exp2_above_threshold", "relevance_threshold": None}, "nDCG@3", "threshold"),
    ({"ideal": "full_k"}, "nDCG@3", "full_k"),
    ({"gain": {"map": {1: 1, 2: 2}}}, "DCG@3", "3"),  # the grade 3 has no gain
    ({"err_max_grade": 2}, "ERR@3", "err_max_grade"),  # the grade 3 is above the scale
]


@pytest.mark.parametrize(("options", "label", "names"), REFUSED)
def test_contradictions_are_refused(options: dict[str, Any], label: str, names: str) -> None:
    with pytest.raises(ValueError, match=names):
        _value(label, *GRADED, cc.preset("standard", **options))
