"""Ground truth in several tables: the first, and files with more judgements."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from tests.pipeline.stages.load_project import loaded_truth

LISTS = {"q1": ["a", "b", "c"]}
QRELS = {"q1": {"a": 1}}


def gain(truth: Any, **options: Any) -> float:
    """Return CG@3, the sum of the grades of the list."""
    return cc.evaluate(LISTS, truth, metrics=["CG@3"], **options)["CG@3"]


def test_grades_of_a_filled_file_are_added_and_empty_ones_left_out(tmp_path: Path) -> None:
    qrels, judged = tmp_path / "test.qrels", tmp_path / "judged.csv"
    qrels.write_text("q1 0 a 1\n")
    judged.write_text("user,item,grade,weight,ranks\nq1,b,2,0.5,als:2\nq1,c,,0.1,als:3\n")
    assert gain([qrels, judged]) == 1 + 2
    assert cc.evaluate(LISTS, [qrels, judged], metrics=["Judged@3"])["Judged@3"] == 2 / 3


def test_a_first_table_without_grades_and_ids_of_other_types_fit() -> None:
    lists = pl.DataFrame({"user": [1, 1], "item": [7, 8], "rank": [1, 2]})
    truth = pl.DataFrame({"user": [1], "item": [7]})
    judged = pl.DataFrame({"user": ["1"], "item": ["8"], "grade": [3.0]})
    assert cc.evaluate(lists, [truth, judged], metrics=["CG@2"])["CG@2"] == 1 + 3


@pytest.mark.parametrize("columns", [{"grade": "g"}, {"item": "doc"}, {"user": "u", "grade": "g"}])
def test_more_judgements_have_our_columns(columns: dict[str, str]) -> None:
    judged = pl.DataFrame({"user": ["q1"], "item": ["b"], "grade": [0]}).rename(columns)
    with pytest.raises(cc.InputError) as refused:
        gain([QRELS, judged])
    for problem, name in zip(refused.value.problems, columns, strict=True):
        assert problem.location == f"truth[1]: column {name!r}"
        assert problem.fix == "call the columns user, item and grade where the table is made"


def test_policies_count_the_rows_of_all_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels.csv").write_text("user,item,grade\nq1,a,1\nq1,b,-1\n")
    Path("judged.csv").write_text("user,item,grade\nq1,c,-2\nq2,a,-1\n")

    rows, quality = loaded_truth("qrels.csv", additional=["judged.csv"], negative_grade="zero")

    assert rows == [("q1", "a", 1), ("q1", "b", 0), ("q1", "c", 0), ("q2", "a", 0)]
    assert quality["negative_grade"] == {"rows": 3, "users": 2, "policy": "zero"}


def test_explain_and_compare_read_them_too() -> None:
    truth = [QRELS, {"q1": {"c": 1}}]
    assert cc.explain(LISTS, truth, user="q1", metric="P@3").value == 2 / 3
    models = {"als": LISTS, "ease": LISTS}
    comparison = cc.compare(models, truth, metrics=["P@3"], baseline="als", panel=False)
    assert comparison.leaderboard["mean"].to_list() == [2 / 3, 2 / 3]


@pytest.mark.parametrize(("policy", "expected"), [("first", 1), ("highest", 3)])
def test_an_item_that_both_judge_follows_the_policy(policy: Any, expected: float) -> None:
    both = [QRELS, {"q1": {"a": 3}}]
    assert gain(both, input={"repeated_grade": policy}) == expected
    with pytest.raises(cc.InputError, match="judges item 'a' of user 'q1', as truth does"):
        gain(both)


@pytest.mark.parametrize("policy", ["unjudged", "pooled"])
@pytest.mark.parametrize("repeated", ["error", "first"])
def test_a_judgement_replaces_the_row_of_an_item_without_one(policy: Any, repeated: Any) -> None:
    truth = [{"q1": {"a": 1, "b": -1}}, {"q1": {"b": 3}}]
    assert gain(truth, input={"negative_grade": policy, "repeated_grade": repeated}) == 1 + 3


def test_problems_name_the_table() -> None:
    with pytest.raises(cc.InputError, match=r"truth\[1\]: row 1, column 'grade'"):
        gain([QRELS, pl.DataFrame({"user": ["q1"], "item": ["b"], "grade": [-1.0]})])
