"""Lists that go on after k, users with nothing to find, grades that are none."""

import math
from typing import Unpack

import pytest

import concord as cc
from concord.typing import ConventionOptions

TRUTH = {"u": {"a": 1, "b": 2}, "v": {"a": 0}}


def _evaluate(
    lists: dict[str, list[str]], *metrics: str, **changed: Unpack[ConventionOptions]
) -> cc.results.Evaluation:
    conventions = cc.preset("standard", **changed)
    return cc.evaluate(lists, TRUTH, metrics=list(metrics), conventions=conventions)


@pytest.mark.bad_input(35, "items after rank k do not count")
def test_items_after_rank_k_change_nothing() -> None:
    short = {"u": ["c", "a"], "v": ["a", "c"]}
    long = {user: [*items, "b", "d"] for user, items in short.items()}
    labels = ["P@2", "R@2", "nDCG@2", "AP@2", "RR@2", "RBP(p=0.8)@2"]

    result, actual = _evaluate(short, *labels), _evaluate(long, *labels)

    assert [result[label] for label in labels] == [actual[label] for label in labels]
    assert _evaluate(long, "R@3")["R@3"] > result["R@2"]


@pytest.mark.bad_input(
    46, "`conventions.user_empty_truth` decides; undefined where the metric divides 0 by 0"
)
def test_users_without_a_relevant_item_are_undefined() -> None:
    lists = {"u": ["a"], "v": ["a"]}
    skipped = _evaluate(lists, "R@1")
    row = skipped.to_frame().row(0, named=True)

    assert math.isnan(dict(skipped.per_user.iter_rows())["v"])
    assert (skipped["R@1"], row["n_users"], row["n_undefined"]) == (0.5, 1, 1)


@pytest.mark.bad_input(50, "an error")
def test_a_grade_that_would_drown_all_others_is_refused() -> None:
    truth = {"u": {"a": 31}}
    exponential = cc.preset("standard", gain="exp2")

    with pytest.raises(ValueError, match=r"gain exp2: grade 31 is above 30; take the gain linear"):
        cc.evaluate({"u": ["a"]}, truth, metrics=["nDCG@1"], conventions=exponential)
    with pytest.raises(ValueError, match="30"):
        cc.evaluate({"u": ["a"]}, truth, metrics=["DCG@1"], conventions=exponential)
    linear = cc.preset("standard")
    assert cc.evaluate({"u": ["a"]}, truth, metrics=["nDCG@1"], conventions=linear)["nDCG@1"] == 1
