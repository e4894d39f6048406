"""What tables of other people are taken for: their columns, and the words of their paths."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from concord.pipeline.project.peek import Peeked, peeked
from concord.pipeline.project.taken_for import as_table, taken_for

RATINGS = ("userId", "movieId", "rating", "timestamp")


@pytest.mark.parametrize(
    ("path", "columns", "role", "meant"),
    [
        ("data/test.csv", RATINGS, "truth", {"user": "userId", "item": "movieId", "grade": "rating", "time": "timestamp"}),
        ("data/train.csv", RATINGS, "train", {"user": "userId", "item": "movieId", "time": "timestamp"}),
        ("data/u1.base", ("user_id", "item_id"), "unsaid", {"user": "user_id", "item": "item_id"}),
        ("training/output/test_predictions.csv", RATINGS, "lists", {"user": "userId", "item": "movieId", "score": "rating"}),
        ("data/holdout.csv", ("customer_id", "article_id"), "truth", {"user": "customer_id", "item": "article_id"}),
        ("data/held_out.csv", ("uid", "asin"), "truth", {"user": "uid", "item": "asin"}),
        ("data/valid.csv", ("user", "item"), "validation", {"user": "user", "item": "item"}),
        ("als.csv", ("USER_ID", "ItemID", "Prediction"), "lists", {"user": "USER_ID", "item": "ItemID", "score": "Prediction"}),
        ("recs/train_als.csv", ("user", "item", "rank"), "lists", {"user": "user", "item": "item", "rank": "rank"}),
        ("training/out/als.csv", ("user", "item", "rank"), "lists", {"user": "user", "item": "item", "rank": "rank"}),
        ("data/train.csv", ("userId", "movieId", "score"), "train", {"user": "userId", "item": "movieId"}),
        ("data/test.csv", ("session_id", "item_id", "position"), "truth", {"user": "session_id", "item": "item_id"}),
        ("data/test/0.csv", ("session_id", "item_id", "position"), "truth", {"user": "session_id", "item": "item_id"}),
        ("preds/als_val.csv", ("user", "item", "score"), "validation lists", {"user": "user", "item": "item", "score": "score"}),
        ("val/recs_als.csv", ("user", "item", "rating"), "validation lists", {"user": "user", "item": "item", "score": "rating"}),
        ("preds/als_test.csv", ("user", "item", "score"), "lists", {"user": "user", "item": "item", "score": "score"}),
        ("data/test.csv", ("user", "item", "rating", "score"), "truth", {"user": "user", "item": "item", "grade": "rating"}),
        ("recs/als.csv", ("visitor_id", "track_id"), "lists", {"user": "visitor_id", "item": "track_id"}),
        ("data/movies.csv", ("movieId", "title", "genres"), "items", {"item": "movieId", "categories": "genres", "title": "title"}),
        ("data/prices.csv", ("item_id", "price"), None, {}),
        ("data/customers.csv", ("customer_id", "plan"), "users", {"user": "customer_id"}),
        ("data/logins.csv", ("customer_id", "plan"), None, {}),
        ("metrics/scores.csv", ("epoch", "loss"), None, {}),
    ],
)  # fmt: skip
def test_a_table_is_taken_for(
    path: str, columns: tuple[str, ...], role: str | None, meant: dict[str, str]
) -> None:
    seen = Peeked(Path(path), "csv", columns)
    found = taken_for(seen, path)

    assert found == role
    if found is not None:
        assert as_table(seen, found).columns == meant


@pytest.mark.parametrize(
    ("columns", "lists", "order"),
    [
        (("user", "item"), (), "file"),
        (("user", "item", "rank"), (), None),
        (("user", "item", "rating"), (), None),
        (("user", "items"), ("items",), None),
    ],
)
def test_lists_without_rank_and_score_stand_in_the_order_of_the_file(
    columns: tuple[str, ...], lists: tuple[str, ...], order: str | None
) -> None:
    assert as_table(Peeked(Path("a"), "csv", columns, lists), "lists").order == order


def test_a_row_with_many_items_is_a_list_whatever_its_file_is_called() -> None:
    seen = Peeked(Path("out/ease.jsonl"), "jsonl", ("customer_id", "products"), ("products",))

    assert taken_for(seen, "out/ease.jsonl") == "lists"
    assert as_table(seen, "lists").columns == {"user": "customer_id", "item": "products"}
    assert taken_for(seen, "out/test.jsonl") == "truth"


def test_columns_are_seen_in_files_of_every_form(tmp_path: Path) -> None:
    frame = pl.DataFrame({"userId": [1], "items": [["a"]]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    (tmp_path / "parts").mkdir()
    frame.write_parquet(tmp_path / "parts" / "0.parquet")
    (tmp_path / "a.tsv").write_text("userId\titems\n1\ta\n")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfuserId,items\n1,a\n"))
    (tmp_path / "a.jsonl").write_text(json.dumps({"userId": 1, "items": ["a"]}) + "\n")
    seen = {path.name: peeked(path) for path in tmp_path.iterdir()}

    assert {each.columns for each in seen.values() if each} == {("userId", "items")}
    assert {name for name, each in seen.items() if each and each.lists} == {"a.parquet", "a.arrow", "a.jsonl", "parts"}  # fmt: skip
    assert None not in seen.values()


@pytest.mark.parametrize(
    ("columns", "lists", "role"),
    [
        (("reader_id", "books"), ("books",), "lists"),
        (("reader_id", "shelf"), ("shelf",), "lists"),
        (("reader_id", "genres"), ("genres",), None),
        (("reader_id", "shelf", "history"), ("shelf", "history"), None),
        (("epoch", "losses"), ("losses",), None),
    ],
)
def test_the_only_list_beside_a_user_holds_items_unless_its_name_says_something_else(
    columns: tuple[str, ...], lists: tuple[str, ...], role: str | None
) -> None:
    assert (
        taken_for(Peeked(Path("out/knn.jsonl"), "jsonl", columns, lists), "out/knn.jsonl") == role
    )
