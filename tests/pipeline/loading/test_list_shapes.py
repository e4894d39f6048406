"""Lists as other tools write them: a list a row, a list of structs, a column a place."""

from pathlib import Path
from typing import Any

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
    ],
)  # fmt: skip
def test_lists_that_do_not_fit_are_refused_by_row(columns: dict[str, Any], what: str) -> None:
    assert (
        refusal(_parquet(user=["u", "v"], **columns)).removeprefix("a.parquet: ").startswith(what)
    )


def test_parts_of_lists_are_placed_by_part_and_row() -> None:
    Path("p").mkdir()
    pq.write_table(pa.table({"user": ["u"], "items": [["a"]]}), "p/0.parquet")
    pq.write_table(pa.table({"user": ["v", "w"], "items": [["a"], ["a", None]]}), "p/1.parquet")
    assert refusal("p").startswith(
        "p: 1.parquet, row 2, place 2, column 'item' (user 'w'): is missing"
    )
