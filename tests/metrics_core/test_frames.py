"""`cc.evaluate` takes dicts, frames and paths, and refuses what it cannot read."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc

STANDARD = cc.preset("standard")
LISTS = pl.DataFrame({"user": [1, 1, 2], "item": [10, 20, 10], "rank": [1, 2, 1]})
TRUTH = pl.DataFrame({"user": [1, 2], "item": [20, 10], "grade": [2.0, 1.0]})
EXPECTED = (1 / 2 + 1) / 2  # RR: item 20 at rank 2, item 10 at rank 1


def _rr(lists: Any, truth: Any, **more: Any) -> float:
    return cc.evaluate(lists, truth, metrics=["RR"], conventions=STANDARD, **more)["RR"]


@pytest.mark.parametrize(
    ("lists", "truth"),
    [
        (LISTS, TRUTH),
        (LISTS.lazy(), TRUTH.lazy()),
        (LISTS.to_arrow(), TRUTH.to_arrow()),
        (LISTS.to_pandas(), TRUTH.to_pandas()),
        ({1: [10, 20], 2: [10]}, {1: {20: 2}, 2: {10: 1}}),
        ({"1": ["10", "20"], "2": ["10"]}, {"1": ["20"], "2": ["10"]}),
        (LISTS.with_columns(pl.col("user", "item").cast(pl.String)), TRUTH),  # by decimal text
    ],
    ids=["polars", "lazy", "pyarrow", "pandas", "dict", "text", "mixed"],
)
def test_every_form_gives_the_same_number(lists: Any, truth: Any) -> None:
    assert _rr(lists, truth) == EXPECTED


def test_paths_give_the_same_number(tmp_path: Path) -> None:
    LISTS.write_parquet(tmp_path / "lists.parquet")
    TRUTH.write_csv(tmp_path / "truth.csv")

    assert _rr(tmp_path / "lists.parquet", str(tmp_path / "truth.csv")) == EXPECTED


def test_scores_are_ranked_best_first_and_ties_by_item() -> None:
    scored = pl.DataFrame({"user": ["u"] * 3, "item": ["c", "b", "a"], "score": [0.5, 0.9, 0.5]})

    assert _rr(scored, {"u": ["c"]}) == 1 / 3


def test_stated_users_are_evaluated_and_no_others() -> None:
    lists, truth = {"a": ["x"], "b": ["y"]}, {"a": ["x"], "c": ["z"]}
    result = cc.evaluate(lists, truth, metrics=["RR"], conventions=STANDARD, users=["a", "b", "c"])

    assert result.per_user["user"].to_list() == ["a", "b", "c"]
    assert result["RR"] == (1 + 0) / 2  # b has nothing relevant: undefined, skipped
    assert result.summary.row(0)[4:] == (2, 1)


@pytest.mark.parametrize(
    ("lists", "truth", "message"),
    [
        (LISTS.drop("rank"), TRUTH, "there are neither ranks nor scores"),
        (LISTS.drop("item"), TRUTH, r"column 'item': is missing; the columns are: user, rank"),
        (LISTS, TRUTH.with_columns(grade=-1.0), "-1.0 is negative"),
        (LISTS, pl.concat([TRUTH, TRUTH]), "the item is judged more than once for the user"),
        (LISTS, {1: ["a", 2]}, "hold.* values that do not make one column: int, str"),
        ([1, 2], TRUTH, "list is no frame, path or dict"),
        ("lists.txt", TRUTH, "there is no such file"),
        ({1: [10, 10]}, TRUTH, "stands more than once"),
    ],
)
def test_what_cannot_be_read_is_refused(lists: Any, truth: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _rr(lists, truth)
