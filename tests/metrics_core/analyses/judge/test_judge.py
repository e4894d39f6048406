"""`concord.search.judge`: bounds against all judgements, and the items to judge next."""

import random
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.analyses.judge import bounds as unjudged_bounds
from concord.metrics_core.analyses.judge.result import ScoreBounds
from tests.metrics_core.defined import defined

LABELS = {  # by the rank up to which lists are read
    3: [
        "P@3",
        "R@3",
        "F1@3",
        "Hit@3",
        "RR@3",
        "AP@3",
        "CG@3",
        "DCG@3",
        "nDCG@3",
        "RBP(p=0.8)@3",
        "ERR@3",
    ],
    4: ["P", "R", "F1", "RR", "AP", "DCG", "nDCG", "RBP(p=0.6)"],
}
GRADES = (0, 1, 2)
DEFINITIONS: dict[str, dict[str, Any]] = {
    "standard": {},
    "second threshold": {
        "relevance_threshold": 2,
        "user_empty_truth": "zero",
        "user_both_empty": "zero",
    },
    "one without relevant items": {"user_empty_truth": "one", "user_both_empty": "one"},
    "exponential": {"gain": "exp2", "rbp_gain": "linear", "ideal": "truth"},
    "as long as the list": {
        "precision_denominator": "len",
        "recall_denominator": "min_k_relevant",
        "ap_denominator": "min_len_relevant",
        "ideal": "truth_at_min_k_len",
        "rbp_norm": "sum_weights",
        "rr_cutoff": "none",
    },
    "reachable": {
        "precision_denominator": "min_len_relevant",
        "ap_denominator": "relevant",
        "hit_kind": "count",
        "discount": {"jk": 2},
        "rbp_norm": "none",
    },
    "of the hits": {
        "precision_denominator": "min_k_relevant",
        "ap_denominator": "hits",
        "gain": {"map": {1: 5, 2: 1}},
        "undefined": "zero",
    },
    "all ranks": {"ap_sum_over": "all_ranks", "ap_denominator": "k", "user_empty_truth": "drop"},
    "full ideal": {"gain": "binary", "ideal": "full_k"},
}
Lists = dict[str, dict[str, list[str]]]
Truth = dict[str, dict[str, int]]


def random_case(seed: int, *, has_copies: bool = False) -> tuple[Lists, Truth]:
    """Return three models' lists and ground truth of two queries with few unjudged items."""
    draw = random.Random(seed)
    models: Lists = {"a": {}, "b": {}, "c": {}}
    truth: Truth = {}
    for query in ("q1", "q2"):
        pool = [f"d{n}" for n in range(7)]
        unjudged = draw.sample(pool, draw.randint(0, 4))
        grades = draw.choice(((0,), (0, 1), (0, 1, 2)))
        truth[query] = {item: draw.choice(grades) for item in pool if item not in unjudged}
        for lists in models.values():
            if length := draw.choice((0, 2, 4, 4, 4, 4)):
                lists[query] = draw.sample(pool, length)
                if has_copies:
                    lists[query].insert(draw.randint(1, length), lists[query][0])
    for lists in models.values():
        lists.setdefault("q1", ["d0"])  # a model has at least one list
    truth["q1"]["d9"] = 2  # a mean has at least one query
    return models, truth


def all_values(
    models: Lists, truth: Truth, labels: list[str], depth: int, **options: Any
) -> dict[tuple[str, str], list[np.ndarray]]:
    """Return label, model -> values of each query under all judgements of its top items.

    Each judgement of a query is a user of its own.
    """
    judged: dict[str, dict[str, int]] = {}
    for query, grades in truth.items():
        listed = {item for lists in models.values() for item in lists.get(query, [])[:depth]}
        unjudged = sorted(listed - {*grades})
        for number, added in enumerate(product(GRADES, repeat=len(unjudged))):
            judged[f"{query}#{number:03}"] = grades | dict(zip(unjudged, added, strict=True))
    values: dict[tuple[str, str], list[np.ndarray]] = {}
    for model, lists in models.items():
        recs = {user: lists[q] for user in judged if (q := user.partition("#")[0]) in lists}
        frame = cc.evaluate(recs, judged, metrics=labels, **options).per_user
        for label, query in product(labels, truth):
            of_query = frame.filter(pl.col("user").str.starts_with(query))[label]
            rows = of_query.cast(pl.Float64).fill_null(np.nan).to_numpy()
            values.setdefault((label, model), []).append(rows)
    return values


def all_means(rows: list[np.ndarray], undefined: str) -> np.ndarray:
    """Return the mean of the two queries under each combination of their judgements."""
    first, second = np.meshgrid(*rows, indexing="ij")
    both = np.stack([first.ravel(), second.ravel()])
    if undefined == "zero":
        both = np.nan_to_num(both)
    counted = ~np.isnan(both)
    return np.where(counted, both, 0).sum(axis=0) / counted.sum(axis=0)


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", LABELS)
def test_bounds_are_the_extremes_over_all_judgements(name: str, seed: int, depth: int) -> None:
    check_bounds(name, seed, depth)


COPIES: dict[str, Any] = {
    "first": {"duplicates": "first"},
    "drop": {"duplicates": "drop"},
    "both": {"duplicates": "drop", "overrides": {"P": {"duplicates": "first"}}},
}


@pytest.mark.parametrize("policy", COPIES)
@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("depth", LABELS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 2))])
def test_bounds_are_the_extremes_if_lists_hold_copies(
    name: str, policy: str, depth: int, seed: int
) -> None:
    check_bounds(name, seed, depth, COPIES[policy], has_copies=True)


def test_lists_without_copies_have_the_same_bounds_under_each_policy() -> None:
    models, truth = random_case(0)
    first, *others = (
        cc.search.judge(
            models, truth, metrics=LABELS[3], conventions=cc.preset("standard", duplicates=d)
        )
        for d in ("error", "keep", "first", "drop")
    )
    assert all(other == first for other in others)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_many_unjudged_items_hold_all_judgements(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unjudged_bounds, "MAX_TRIED", 0)
    differences = check_bounds("standard", seed, 3)
    assert "AP@3" in {each.label for each in differences if not each.is_exact}


def test_grades_between_those_of_judged_items_change_no_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(globals(), "GRADES", (0, 1, 2, 3, 4))  # grade 3 is not tried
    check_bounds("standard", 0, 3)


def check_bounds(
    name: str,
    seed: int,
    depth: int,
    policy: Mapping[str, Any] = MappingProxyType({}),
    *,
    has_copies: bool = False,
) -> tuple[ScoreBounds, ...]:
    """Compare the bounds of a random case with all judgements; return those of differences."""
    models, truth = random_case(seed, has_copies=has_copies)
    conventions: Any = {"preset": "standard", **DEFINITIONS[name], **policy}
    labels = [each for each in LABELS[depth] if each != "RR@3" or name != "as long as the list"]
    result = cc.search.judge(
        models, truth, metrics=labels, max_grade=max(GRADES), conventions=conventions
    )
    values = all_values(models, truth, labels, depth, conventions=conventions)
    undefined = conventions.get("undefined", "skip")
    means = {key: all_means(rows, undefined) for key, rows in values.items()}
    for score in result.scores:
        expected = means[score.label, score.model]
        assert score.low == pytest.approx(expected.min(), abs=1e-12), score
        assert score.high == pytest.approx(expected.max(), abs=1e-12), score
        assert expected.min() - 1e-12 <= defined(score.current) <= expected.max() + 1e-12
    for pair in result.differences:
        versus = defined(pair.versus)
        expected = means[pair.label, pair.model] - means[pair.label, versus]
        assert pair.low <= expected.min() + 1e-12, pair
        assert pair.high >= expected.max() - 1e-12, pair
        if pair.is_exact:
            assert pair.low == pytest.approx(expected.min(), abs=1e-12), pair
            assert pair.high == pytest.approx(expected.max(), abs=1e-12), pair
    return result.differences


RUNS = {"bm25": {"q1": ["a", "b", "c"]}, "dense": {"q1": ["d", "b", "a"]}}
QRELS = {"q1": {"a": 1, "c": 1}}


def ends(bounds: ScoreBounds) -> Any:
    return pytest.approx([bounds.low, bounds.high], abs=1e-12)


def test_bounds_of_rbp_add_the_weights_of_unjudged_items() -> None:
    result = cc.search.judge(RUNS, QRELS, metrics=["RBP(p=0.5)@3"])
    bm25, dense = result.scores
    assert ends(bm25) == [0.5 + 0.125, 0.5 + 0.125 + 0.25]
    assert ends(dense) == [0.125, 0.125 + 0.5 + 0.25]
    assert ends(result.differences[0]) == [0.5 - 0.5, 0.5]  # b has rank 2 in both
    assert not result.differences[0].is_open
    assert (bm25.judged, dense.judged) == pytest.approx((2 / 3, 1 / 3))
    assert bm25.residual == pytest.approx(0.25 + 0.5**3)  # b, and the ranks from 4 on


def test_a_relevant_item_that_one_list_lacks_lowers_its_recall() -> None:
    result = cc.search.judge(RUNS, QRELS, metrics=["R@3"])
    bm25, dense = result.scores
    assert ends(bm25) == [2 / 3, 1.0]  # d is relevant: 2 of 3 items
    assert ends(dense) == [1 / 2, 3 / 4]  # none is; b and d are: 3 of 4
    assert ends(result.differences[0]) == [2 / 3 - 2 / 3, 1 - 1 / 2]  # d is; none is


def test_the_next_items_are_those_that_can_change_an_open_difference_most() -> None:
    runs = {
        "bm25": {"q1": ["a", "b", "c"], "q2": ["x", "y"]},
        "dense": {"q1": ["d", "b", "a"], "q2": ["z", "x"]},
    }
    qrels = {"q1": {"c": 1}, "q2": {"w": 1}}
    items = pl.DataFrame({"item": ["a", "d"], "title": ["Returns", "Refunds"]})
    options: Any = {"items": items, "input": {"unknown_items": "keep"}}
    result = cc.search.judge(runs, qrels, metrics=["RBP(p=0.5)@3"], next=4, **options)
    rows = [(each.user, each.item, each.weight, each.ranks, each.title) for each in result.next]
    # Over two queries: 1/2 for d and z; 1/2 - 1/8 for a; 1/4 for x and y. Turns: d, a, z, x.
    assert rows == [
        ("q1", "d", 0.25, "dense:1", "Refunds"),
        ("q2", "z", 0.25, "dense:1", None),
        ("q1", "a", 0.1875, "bm25:1 dense:3", "Returns"),
        ("q2", "x", 0.125, "bm25:1 dense:2", None),
    ]


def test_nothing_is_to_judge_if_no_judgement_changes_who_wins() -> None:
    nothing = cc.search.judge(RUNS, QRELS, metrics=["RBP(p=0.5)@3"])
    assert nothing.next == ()
    reason = "no judgement reverses a difference on the first metric."
    assert str(nothing).endswith(f"There is nothing to judge: {reason}")
    alone = cc.search.judge({"bm25": {"q1": ["a"]}}, QRELS, metrics=["P@1"])
    assert str(alone).endswith("\nThere is nothing to judge.")


def test_nothing_is_open_if_no_item_counts() -> None:
    conventions: Any = {
        "preset": "standard",
        "user_empty_truth": "zero",
        "user_both_empty": "zero",
        "overrides": {"P": {"relevance_threshold": 2}},
    }
    truth, metrics = {"q1": {"x": 1}}, ["P@1"]  # x has a grade, which P does not count
    runs = {"a": {"q1": ["x"]}, "b": {"q1": ["x"]}}
    result = cc.search.judge(runs, truth, metrics=metrics, max_grade=2, conventions=conventions)
    (pair,) = result.differences
    assert (pair.low, pair.high, pair.is_exact, result.next) == (0.0, 0.0, True, ())


def test_a_copy_is_a_miss_and_not_an_unjudged_item() -> None:
    run, truth = {"q": ["x", "x"]}, {"q": {"x": 0, "r": 1}}
    for policy, judged in (("first", 1 / 2), ("drop", 1)):  # as Judged@3
        conventions: Any = {"preset": "standard", "duplicates": policy}
        options: Any = {"metrics": ["P@3", "Judged@3"], "conventions": conventions}
        result = cc.search.judge({"a": run}, truth, **options | {"metrics": ["P@3"]})
        (score,) = result.scores
        assert (score.low, score.high, score.is_exact) == (0.0, 0.0, True)
        assert (result.n_unjudged, result.next) == (0, ())
        assert score.judged == judged == cc.evaluate(run, truth, **options)["Judged@3"]


def test_copies_that_count_are_refused() -> None:
    conventions: Any = {"preset": "standard", "duplicates": "keep"}
    with pytest.raises(cc.InputError, match="a: has lists that hold an item twice"):
        cc.search.judge({"a": {"q1": ["x", "x"]}}, QRELS, metrics=["P@3"], conventions=conventions)


def test_items_of_the_pool_without_a_judgement_are_unjudged() -> None:
    runs = {"a": {"q": ["x", "y"]}, "b": {"q": ["y", "z"]}}
    truth = {"q": {"x": 1, "y": -1, "z": -1}}
    pooled, unjudged = (
        cc.search.judge(runs, truth, metrics=["P@2"], input={"negative_grade": policy})
        for policy in ("pooled", "unjudged")
    )
    assert pooled == unjudged
    assert (pooled.n_unjudged, pooled.scores[0].high) == (2, 1.0)


def test_a_difference_that_only_rounding_makes_is_none() -> None:
    hits = {"a": (2, 3, 4), "b": (1, 1, 7)}  # of 10: a - b = 0.1, 0.2 and -0.3
    runs = {
        model: {
            f"q{query}": [f"d{rank}" if rank < n else f"e{rank}" for rank in range(10)]
            for query, n in enumerate(numbers)
        }
        for model, numbers in hits.items()
    }
    grades = {f"d{rank}": 1 for rank in range(10)} | {f"e{rank}": 0 for rank in range(10)}
    qrels = dict.fromkeys(runs["a"], grades)
    result = cc.search.judge(runs, qrels, metrics=["P@10"])
    (pair,) = result.differences
    assert (pair.current, pair.low, pair.high) == (0.0, 0.0, 0.0)
    for score in result.scores:
        assert score.low <= defined(score.current) <= score.high


def test_unjudged_items_get_grades_up_to_the_highest_of_the_ground_truth() -> None:
    table = {0.5: 1, 1.5: 5, 1: 1, 2: 9, 3: 5}
    conventions: Any = {"preset": "standard", "relevance_threshold": 0.5, "gain": {"map": table}}
    for grade, highest, best in ((0.5, 1.5, 5), (1, 3, 9)):
        truth = {"q": {"x": grade, "y": highest}}
        options: Any = {"metrics": ["CG@2"], "conventions": conventions}
        result = cc.search.judge({"m": {"q": ["x", "a"]}}, truth, **options)
        (score,) = result.scores
        assert ends(score) == [1, 1 + best]
        assert result.differences == ()


def test_unjudged_items_get_the_grades_of_a_gain_map() -> None:
    conventions: Any = {"preset": "standard", "gain": {"map": {1: 1, 3: 7, 9: 2}}}
    options: Any = {"metrics": ["CG@2", "nDCG@2"], "conventions": conventions}
    runs, truth = {"m": {"q1": ["r", "x"]}}, {"q1": {"r": 3, "s": 1}}
    for max_grade, highest in ((None, 7), (2, 1), (10, 7)):
        cg, ndcg = cc.search.judge(runs, truth, max_grade=max_grade, **options).scores
        assert ends(cg) == [7, 7 + highest]
        assert 0 < ndcg.low <= ndcg.high == 1
    conventions["gain"]["map"] = {2: 1, 3: 7}
    with pytest.raises(cc.InputError, match="max_grade: is 1, and CG@2 counts no grade up to it"):
        cc.search.judge(runs, {"q1": {"r": 3}}, max_grade=1, **options)


TWO = {"q1": {"s": 0}, "q2": {"r": 3}}


@pytest.mark.parametrize("threshold", [1, 1.5, 2])
def test_a_large_maximum_needs_no_list_of_the_grades_below(threshold: float) -> None:
    conventions: Any = {"preset": "standard", "relevance_threshold": threshold, "gain": "linear"}
    options: Any = {"metrics": ["CG@2"], "max_grade": 1e9, "conventions": conventions}
    runs = {"a": {"q1": ["x", "y"]}, "b": {"q1": ["r", "x"]}}
    result = cc.search.judge(runs, {"q1": {"r": 3}}, **options)
    assert ends(result.differences[0]) == [-3, 1e9 - 3]
    (score,) = cc.search.judge({"a": {"q1": ["x", "y"], "q2": ["r"]}}, TWO, **options).scores
    assert ends(score) == [(np.ceil(threshold) + 3) / 2, (2e9 + 3) / 2]


def test_only_a_difference_is_open() -> None:
    mean = cc.search.judge(RUNS, QRELS, metrics=["P@3"]).scores[0]
    assert not replace(mean, low=-1.0).is_open
    assert replace(mean, low=-1.0, versus="dense").is_open


@pytest.mark.parametrize("rounded", ["user", "mean"])
def test_rounding_opens_no_difference_and_leaves_the_range(rounded: str) -> None:
    conventions: Any = {"preset": "standard", "round": {rounded: 5}}
    options: Any = {"metrics": ["RBP(p=0.5)@3", "P@3"], "conventions": conventions}
    result = cc.search.judge({**RUNS, "same": RUNS["dense"]}, QRELS, **options)
    for score in result.scores:
        assert 0.0 <= score.low <= score.high <= 1.0
    (bm25_dense, _, dense_same, *_) = result.differences
    assert ends(bm25_dense) == [0.0, 0.5 + 1e-5]  # no judgement favours dense
    assert repr((dense_same.low, dense_same.high, dense_same.is_exact)) == "(0.0, 0.0, True)"
    assert not any(each.is_open for each in result.differences[:3])
    assert not result.next

    runs = {"a": {"q1": ["x"]}, "b": {"q1": ["y"]}}
    (pair,) = cc.search.judge(runs, {"q1": {"r": 1}}, **options | {"metrics": ["P@1"]}).differences
    assert (pair.low, pair.high, pair.is_open, pair.is_exact) == (-1.0, 1.0, True, False)


def test_rounded_values_above_the_usual_range_keep_their_margin() -> None:
    conventions: Any = {"preset": "standard", "hit_kind": "count", "round": {"mean": 1}}
    (score,) = cc.search.judge(
        {"a": {"q1": ["x", "y"]}}, QRELS, metrics=["Hit@2"], conventions=conventions
    ).scores
    assert ends(score) == [0.0, 2.05]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"metrics": ["nDCG@3"], "conventions": {"gain": {"map": {1: 0, 2: 3}}}}, "gain of 0"),
        (
            {"metrics": ["DCG@3"], "max_grade": 31, "conventions": {"gain": "exp2"}},
            "max_grade: is 31, and the gain exp2 of DCG@3 allows grades up to 30",
        ),
        ({"metrics": ["ERR@3"], "max_grade": 6}, "err_max_grade: is 4, and"),
        ({"metrics": ["Rprec"]}, "metrics: Rprec: has no bounds"),
        ({"metrics": ["P(judged_only=true)@3"]}, "has no bounds"),
        ({"conventions": {"relevance_threshold": None}}, "with relevance_threshold: null"),
        ({"conventions": {"truth_visible": "retrieved"}}, "with truth_visible: retrieved"),
        ({"max_grade": 0}, "max_grade: is 0"),
        (
            {
                "truth": {"q1": {"a": 2}},
                "max_grade": 1,
                "conventions": {"relevance_threshold": 2},
            },
            "max_grade: is 1, and P@3 counts no grade up to it",
        ),
        ({"next": -1}, "next: is -1"),
        ({"baseline": "bm26"}, "did you mean 'bm25'?"),
        ({"models": {"a": {"replicates": {1: RUNS["bm25"], 2: RUNS["dense"]}}}}, "replicates"),
    ],
)
def test_what_has_no_bounds_is_refused(options: dict[str, Any], problem: str) -> None:
    arguments = {"models": RUNS, "truth": QRELS, "metrics": ["P@3"], **options}
    if "conventions" in options:
        arguments["conventions"] = {"preset": "standard", **options["conventions"]}
    with pytest.raises(cc.InputError, match=re.escape(problem)):
        cc.search.judge(**arguments)
