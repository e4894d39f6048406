"""Every refusal of train, catalogue and users, with its whole message."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.loading.load_background import load_background
from concord.pipeline.params.model import BackgroundFile
from concord.pipeline.running.connections import workspace
from tests.pipeline.loading.load_project import params_of

CATEGORIES = "write a list of text, or text with `|` between the categories; leave it empty for an item without"
VECTOR = "write a list of finite numbers of one length for every item; leave it empty for an item without"
PLAIN = "write plain numbers (decimal point), or name another column: `background.train.columns`"


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _load(name: str, path: str, **entry: Any) -> list[dict[str, Any]]:
    file = BackgroundFile.model_validate({"path": path, **entry})
    params = params_of("lists.csv").model_copy(update={"background": {name: file}})
    with workspace() as connection:
        load_background(connection, params, name)
    return pl.read_parquet(f"results/data/{name}.parquet").to_dicts()


def _refusal(name: str, path: str, **entry: Any) -> str:
    with pytest.raises(InputError) as refused:
        _load(name, path, **entry)
    assert not Path("results").exists()
    return str(refused.value)


CASES: dict[str, tuple[str, str, str | bytes, dict[str, Any], str]] = {
    "ids of the catalogue": (
        "items", "i.csv", "item,categories\na,x\n b,\nc,x\na,q\n", {},
        "i.csv: line 3, column 'item' (item ' b'): ' b' begins or ends with a space; 1 row affected\n"
        "  fix: strip the ids where the table is made\n"
        "i.csv: line 2 and line 5: item 'a' stands more than once; 1 row affected\n  fix: keep one row for each item",
    ),
    "a user twice": (
        "users", "u.csv", "user,plan\nu1,a\nu2,b\nu1,b\n", {},
        "u.csv: line 2 and line 4: user 'u1' stands more than once; 1 row affected\n  fix: keep one row for each user",
    ),
    "no column of ids": (
        "users", "u.csv", "id,plan\nu1,a\n", {},
        "u.csv: column 'user': is missing; the columns are: id, plan\n"
        "  fix: name its own column: `background.users.columns: {user: …}`",
    ),
    "a column name twice": (
        "users", "u.csv", "user,plan,plan\nu1,a,b\n", {},
        "u.csv: column 'plan': stands 2 times\n  fix: give each column its own name",
    ),
    "no rows": ("users", "u.csv", "user,plan\n", {}, "u.csv: holds no rows\n  fix: check what made it"),
    "a blank category": (
        "items", "i.csv", "item,categories\na,x|y\nc,x||y\n", {},
        f"i.csv: column 'categories' (item 'c'): a category is blank; 1 item affected\n  fix: {CATEGORIES}",
    ),
    "semicolons": (
        "items", "i.csv", "item;categories\na;x\n", {},
        "i.csv: line 1: the columns are separated by semicolons, not by commas: 'item;categories'\n"
        "  fix: separate them by commas",
    ),
    "a ragged row": (
        "items", "i.csv", "item,categories\na,x\nb\n", {},
        "i.csv: line 3: has 1 values, but the header names 2 columns\n"
        "  fix: give each row one value a column; quote values that hold the separator",
    ),
    "another encoding": (
        "items", "i.csv", b"item,categories\na,x\nb,\xe9\n", {},
        "i.csv: line 3: byte 0xe9 is not UTF-8\n  fix: save the file as UTF-8",
    ),
    "vectors of two lengths": (
        "items", "i.jsonl", '{"item":1,"v":[1,2]}\n{"item":"x","v":[1]}\n', {"columns": {"vector": "v"}},
        f"i.jsonl: column 'v' (item 'x'): vectors have different lengths: [1, 2]; 1 item affected\n  fix: {VECTOR}",
    ),
    "a number that is missing": (
        "items", "i.jsonl", '{"item":1,"vector":[1,2]}\n{"item":"x","vector":[1,null]}\n', {},
        f"i.jsonl: column 'vector' (item 'x'): a number is missing or not finite; 1 item affected\n  fix: {VECTOR}",
    ),
    "values of two kinds": (
        "items", "i.jsonl", '{"item":1,"categories":["x"]}\n{"item":"2","categories":"y|z"}\n', {},
        "i.jsonl: column 'categories': holds values of different kinds: list of text, text\n"
        "  fix: write values of one kind in all lines",
    ),
    "a mapped column that is missing": (
        "items", "i.csv", "item,genre\na,x\n", {"columns": {"categories": "genres"}},
        "i.csv: column 'genres': is missing; the columns are: item, genre\n"
        "  fix: mend `background.items.columns`",
    ),
    "columns that differ in capitals": (
        "users", "u.csv", "user,Age,age\na,1,2\n", {},
        "u.csv: column 'age': and 'Age' would be one column: they differ in capitals alone, or one is mapped to the"
        " other\n  fix: rename or remove one of them",
    ),
    "an id beside the one that is mapped": (
        "users", "u.csv", "customer,user\na,b\n", {"columns": {"user": "customer"}},
        "u.csv: column 'user': and 'customer' would be one column: they differ in capitals alone, or one is mapped to the"
        " other\n  fix: rename or remove one of them",
    ),
    "a TREC file": (
        "items", "i.run", "u Q0 a 1 2 x\n", {},
        "i.run: is trec\n  fix: give it as parquet, arrow, csv, tsv or jsonl",
    ),
    "times that are none": (
        "train", "t.csv", "user,item,time\na,b,2020-01-01\na,c,soon\n", {"columns": {"time": "time"}},
        "t.csv: line 3, column 'time' (user 'a', item 'c'): 'soon' is neither a number nor a time such as"
        f" 2026-05-30 08:10; 1 row affected\n  fix: {PLAIN}",
    ),
    "ids of the train": (
        "train", "t.csv", "user,item\na,\n ,b\n", {},
        "t.csv: line 3, column 'user' (user ' ', item 'b'): is blank; 1 row affected\n"
        "  fix: give every row an id, or drop the row where the table is made\n"
        "t.csv: line 2, column 'item' (user 'a', item ''): is blank; 1 row affected\n"
        "  fix: give every row an id, or drop the row where the table is made",
    ),
}  # fmt: skip
ROWS = {
    "ids of the catalogue": 57, "a user twice": 57, "a blank category": 58, "vectors of two lengths": 59,
    "a number that is missing": 59,
}  # fmt: skip


def _case(name: str) -> Any:
    what = CASES[name][-1].splitlines()[-2 if name == "ids of the catalogue" else 0]
    marks = [pytest.mark.bad_input(ROWS[name], f"refused: {what}")] if name in ROWS else []
    return pytest.param(*CASES[name], marks=marks, id=name)


@pytest.mark.parametrize(
    ("name", "path", "content", "entry", "expected"), [_case(name) for name in CASES]
)
def test_background_is_refused_in_these_words(
    name: str, path: str, content: str | bytes, entry: dict[str, Any], expected: str
) -> None:
    Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())

    assert _refusal(name, path, **entry) == expected


@pytest.mark.bad_input(59, "refused: a column of the wrong type")
def test_columns_of_the_wrong_type_are_refused() -> None:
    pl.DataFrame({"item": [1], "categories": [3]}).write_parquet("i.parquet")
    assert _refusal("items", "i.parquet") == (
        f"i.parquet: column 'categories': is of type Int64\n  fix: {CATEGORIES}"
    )
    pl.DataFrame({"item": [1, 2], "vector": [[1.0], [float("nan")]]}).write_parquet("i.parquet")
    assert _refusal("items", "i.parquet") == (
        f"i.parquet: column 'vector' (item 2): a number is missing or not finite; 1 item affected\n  fix: {VECTOR}"
    )


def test_a_catalogue_that_was_cut_is_refused() -> None:
    pl.DataFrame({"item": [1], "title": ["x"]}).write_parquet("i.parquet")
    Path("i.parquet").write_bytes(Path("i.parquet").read_bytes()[:-9])

    assert _refusal("items", "i.parquet").startswith("i.parquet: is damaged or not complete")


@pytest.mark.bad_input(58, "an item without category, a user without a value: kept as missing")
def test_what_is_empty_is_missing() -> None:
    Path("i.csv").write_text('item,categories\na,x|y\nb,\n\nc,"x\ny"\n')
    assert [row["categories"] for row in _load("items", "i.csv")] == [["x", "y"], None, ["x\ny"]]
    Path("u.csv").write_text("user,plan\nu1,a\nu2,\n")
    assert [row["plan"] for row in _load("users", "u.csv")] == ["a", None]


def test_interactions_that_repeat_are_counted_and_their_last_time_is_kept() -> None:
    Path("t.csv").write_text("user,item,time\nu,a,1\nu,a,100\nu,b,5\n")
    rows = _load("train", "t.csv", columns={"time": "time"})
    assert [(row["item"], row["time"], row["last"]) for row in rows] == [("a", 1, 100), ("b", 5, 5)]
    assert json.loads(Path("results/data/train.json").read_text())["repeated"] == 1


def test_times_with_a_zone_are_those_of_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    zoned = pl.Series([0]).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone("Asia/Tokyo")
    pl.DataFrame({"user": ["u"], "item": ["a"], "time": zoned}).write_parquet("t.parquet")
    for zone in ("UTC", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        assert _load("train", "t.parquet", columns={"time": "time"})[0]["time"] == 0


def test_fixed_size_vectors_of_which_some_are_missing_are_refused_in_words() -> None:
    """Arrow's reader of parquet fails on them; plain lists may be missing."""
    frame = pl.DataFrame(
        {"item": ["a", "b"], "vector": [[1.0, 2.0], None]},
        schema_overrides={"vector": pl.Array(pl.Float64, 2)},
    )
    frame.write_parquet("i.parquet")
    assert _refusal("items", "i.parquet").startswith(
        "i.parquet: holds lists of a fixed size of which some are missing"
    )
    frame.cast({"vector": pl.List(pl.Float64)}).write_parquet("i.parquet")
    assert [row["vector"] for row in _load("items", "i.parquet")] == [[1, 2], None]


def test_fixed_size_vectors_and_packed_files_are_read() -> None:
    kind = pl.Array(pl.Float32, 2)
    frame = pl.DataFrame(
        {"item": [2, 1], "vector": [[1, 2], [3, 4]]}, schema_overrides={"vector": kind}
    )
    frame.write_parquet("i.parquet")
    assert [row["vector"] for row in _load("items", "i.parquet")] == [[3, 4], [1, 2]]
