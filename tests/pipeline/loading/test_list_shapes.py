"""Lists as other tools write them: a list a row, a list of structs, a column a place."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.loading.load_project import loaded, loaded_truth, refusal

ALS = {"user": "userId", "item": "movieId", "score": "rating"}


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _parquet(**columns: Any) -> str:
    pq.write_table(pa.table(columns), "a.parquet")
    return "a.parquet"


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
    ],
)
@pytest.mark.bad_input(43, "columns `items`, `scores`, `ranks`, `grades` of lists are read")
def test_lists_in_rows_are_read_best_item_first(kind: pa.DataType) -> None:
    path = _parquet(user=[7, 8, 9], items=pa.array([["b", "a"], [], ["a"]], kind))
    assert loaded(path)[0] == [(7, "b", 1), (7, "a", 2), (9, "a", 1)]


def test_lists_of_scores_and_ranks_stand_beside() -> None:
    path = _parquet(user=["u"], items=[["b", "a"]], scores=[[1.5, 2.5]], ranks=[[2, 1]])
    assert loaded(path)[0] == [("u", "a", 1, 2.5), ("u", "b", 2, 1.5)]


def test_a_truth_may_hold_lists_too() -> None:
    path = _parquet(user=["u", "v"], items=[["b", "a"], ["c"]], grades=[[1, 3], [2]])
    assert loaded_truth(path)[0] == [("u", "a", 3.0), ("u", "b", 1.0), ("v", "c", 2.0)]


@pytest.mark.bad_input(43, "lists of structs are read: their fields are named by `columns`")
def test_what_spark_als_recommends_is_read() -> None:
    recommended = [[(5, 0.5), (6, 0.25)], [(5, 0.5)]]
    kind = pa.list_(pa.struct({"movieId": pa.int32(), "rating": pa.float32()}))
    rows = [[{"movieId": item, "rating": score} for item, score in own] for own in recommended]
    path = _parquet(userId=pa.array([1, 2], pa.int32()), recommendations=pa.array(rows, kind))

    assert loaded(path, columns=ALS)[0] == [(1, 5, 1, 0.5), (1, 6, 2, 0.25), (2, 5, 1, 0.5)]
    Path("results").rename("before")
    assert "the columns are: userId, recommendations (lists of movieId, rating)" in refusal(path)


def test_two_columns_with_the_item_are_refused() -> None:
    both = [[{"item": "a"}]]
    assert refusal(_parquet(user=["u"], first=both, second=both)) == (
        "a.parquet: the columns 'first' and 'second' have a field 'item'\n  fix: keep one of them"
    )


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"items": [["a", "b"], ["c"]], "scores": [[2.0, 1.0], [1.0, 2.0]]}, "row 2: 'scores' is not as long as 'items'"),
        ({"items": [["a", "b"], None]}, "row 2: has no list 'items'"),
        ({"items": [["a", "b"], [None]]}, "row 2, place 1, column 'item' (user 'v'): is missing"),
        ({"items": [["a", "b"], ["c"]], "score": [1.0, 2.0]}, "column 'score': holds one value a row, and the items stand in"),
        ({"item_1": ["a", "b"], "item_3": ["c", "d"]}, "column 'item_2': is missing, and 'item_3' is there"),
        ({"item_1": ["a", None], "item_2": ["c", "d"]}, "row 2, place 1, column 'item' (user 'v'): is missing"),
        ({"item_1": ["a", "b"], "item_2": ["c", "d"], "score_1": [1.0, 2.0]}, "columns 'score_…': there is not one for each of 'item_1' to 'item_2'"),
    ],
)  # fmt: skip
def test_lists_that_do_not_fit_are_refused_by_row(columns: dict[str, Any], what: str) -> None:
    assert (
        refusal(_parquet(user=["u", "v"], **columns)).removeprefix("a.parquet: ").startswith(what)
    )


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.bad_input(43, "columns item_1 … item_n are read; a list ends where nothing follows")
def test_a_column_a_place_is_read(first: int) -> None:
    wide = {
        "user": ["u", "v", "w"],
        f"item_{first}": ["a", "b", None],
        f"item_{first + 1}": ["c", None, None],
    }
    assert loaded(_parquet(**wide))[0] == [("u", "a", 1), ("u", "c", 2), ("v", "b", 1)]


def test_a_column_a_place_is_read_from_text_too() -> None:
    Path("a.csv").write_text("user,item_1,item_2,score_1,score_2\nu,a,c,2,1\n\nv,b,,3,\n")
    assert loaded("a.csv")[0] == [("u", "a", 1, 2.0), ("u", "c", 2, 1.0), ("v", "b", 1, 3.0)]
    Path("results").rename("before")
    Path("a.csv").write_text("user,item_1,item_2\nu,a,c\n\nv,b, d\n")
    assert refusal("a.csv").startswith(
        "a.csv: line 4, column 'item' (user 'v', item ' d'): ' d' begins or"
    )


@pytest.mark.parametrize("write", ["parquet", "csv"])
def test_a_place_that_few_lists_reach_is_a_column_of_floats(write: str) -> None:
    table = pd.DataFrame({"user": ["u", "v"], "item_1": [1, 3], "item_2": [2, np.nan],
                          "score_1": [3, 3], "score_2": [1.5, np.nan]})  # fmt: skip
    if write == "csv":
        table.to_csv("a.csv", index=False)
    else:
        table.to_parquet("a.parquet")

    rows, _ = loaded(f"a.{write}")
    assert [(user, str(item)) for user, item, *_ in rows] == [("u", "1"), ("u", "2"), ("v", "3")]


def test_two_columns_of_one_place_are_refused() -> None:
    pl.DataFrame({"user": ["u"], "item_1": ["a"], "item_01": ["b"]}).write_parquet("a.parquet")
    assert refusal("a.parquet").startswith(
        "a.parquet: column 'item_01': and 'item_1' have the same number"
    )


def test_ten_columns_are_ten_places_in_the_order_of_their_numbers() -> None:
    wide = {f"item_{place}": [f"i{place}"] for place in reversed(range(1, 13))}
    assert [row[1] for row in loaded(_parquet(user=["u"], **wide))[0]] == [
        f"i{n}" for n in range(1, 13)
    ]


def test_parts_of_lists_are_placed_by_part_and_row() -> None:
    Path("p").mkdir()
    pq.write_table(pa.table({"user": ["u"], "items": [["a"]]}), "p/0.parquet")
    pq.write_table(pa.table({"user": ["v", "w"], "items": [["a"], ["a", None]]}), "p/1.parquet")
    assert refusal("p").startswith(
        "p: 1.parquet, row 2, place 2, column 'item' (user 'w'): is missing"
    )
