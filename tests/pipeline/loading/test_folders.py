"""Folders of parts: every part is read, wherever it lies, or the folder is refused."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.pipeline.loading.load_project import loaded, loaded_truth, refusal

KEEP = "keep nothing but `*.parquet` files of one table in the folder"


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _part(path: str, user: str | int | None = "u") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    table = pl.DataFrame({"user": [user] * 2, "item": ["a", "b"], "score": [2.0, 1.0]})
    (table if user is not None else table.drop("user")).write_parquet(path)


@pytest.mark.parametrize(
    "name", [".b.parquet", "_b.parquet", "_temporary/0/b.parquet", ".x/b.parquet"]
)
def test_parts_that_are_hidden_are_refused(name: str) -> None:
    _part("p/a.parquet", "u")
    _part(f"p/{name}", "v")
    hidden = name.split("/")[0]
    what = f"p: holds {hidden!r}, a name that readers of folders skip, with rows in it"
    assert refusal("p").startswith(what)


@pytest.mark.bad_input(60, "all parts are read, in the order of their paths")
def test_parts_in_folders_of_folders_are_read() -> None:
    _part("p/part-0.parquet", "u")
    _part("p/2026/part-1.parquet", "v")
    _part("p/2026/11/part-2.parquet", "w")
    for name in ("_SUCCESS", ".part-0.parquet.crc", "2026/_SUCCESS"):
        Path("p", name).touch()

    rows, quality = loaded("p")

    assert [row[0] for row in rows] == ["u", "u", "v", "v", "w", "w"]
    assert quality["rows"] == 6


def test_a_truth_in_folders_of_folders_is_read_whole() -> None:
    for number in range(3):
        path = Path("t", *["more"] * number, "part.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"user": [number], "item": [1], "grade": [1]}).write_parquet(path)

    assert [row[0] for row in loaded_truth("t")[0]] == [0, 1, 2]


@pytest.mark.bad_input(60, "the keys of partitions (`user=1/`) are columns")
@pytest.mark.parametrize(
    ("keys", "users"), [(["1", "12"], [1, 12]), (["1", "a%20b"], ["1", "a b"]), (["007"], ["007"])]
)
def test_keys_of_partitions_are_columns(keys: list[str], users: list[str | int]) -> None:
    for key in keys:
        _part(f"p/date=2026-11-22/user={key}/part.parquet", None)

    rows, _ = loaded("p")

    assert sorted({row[0] for row in rows}, key=str) == users
    assert {row[1] for row in rows} == {"a", "b"}


def test_a_column_of_the_part_goes_before_the_key_of_its_folder() -> None:
    _part("p/user=9/part.parquet", "u")
    assert {row[0] for row in loaded("p")[0]} == {"u"}


def test_a_missing_key_is_a_missing_id() -> None:
    _part("p/user=__HIVE_DEFAULT_PARTITION__/part.parquet", None)
    assert "row 1, column 'user' (item 'a'): is missing; 2 rows affected" in refusal("p")


@pytest.mark.bad_input(42, "refused where a part lacks a column that another has")
def test_a_column_that_only_a_later_part_has_is_no_secret() -> None:
    _part("p/a.parquet")
    ranked = pl.DataFrame({"user": ["v"], "item": ["a"], "score": [1.0], "rank": [1]})
    ranked.write_parquet("p/b.parquet")
    assert refusal("p").startswith(
        "p/a.parquet: column 'rank': is missing, but int64 in b.parquet\n"
    )


def test_parts_may_differ_in_the_width_of_a_type() -> None:
    Path("p").mkdir()
    narrow: dict[str, Any] = {"user": pl.Int32, "item": pl.Categorical, "score": pl.Float32}
    wide: dict[str, Any] = {"user": pl.Int64, "item": pl.String, "score": pl.Float64}
    for number, schema in enumerate((narrow, wide)):
        columns = {"user": [number], "item": ["a"], "score": [0.5]}
        pl.DataFrame(columns, schema=schema).write_parquet(f"p/{number}.parquet")
    pl.DataFrame({name: pl.Series([], dtype=pl.Null) for name in wide}).write_parquet("p/2.parquet")

    assert loaded("p")[0] == [(0, "a", 1, 0.5), (1, "a", 1, 0.5)]


@pytest.mark.parametrize(
    ("name", "lake"),
    [(".hoodie", "a Hudi"), ("metadata", "an Iceberg")],
)
@pytest.mark.bad_input(60, "Hudi and Iceberg are refused: their files hold deleted rows")
def test_tables_with_a_log_are_refused(name: str, lake: str) -> None:
    _part("p/part.parquet")
    Path("p", name).mkdir()
    Path("p", name, "v1.metadata.json").touch()
    assert refusal("p").startswith(
        f"p: is {lake} table: its files also hold rows that were deleted"
    )


WRONG: dict[str, Callable[[], object]] = {
    "p.parquet": lambda: os.mkfifo("p/sub/p.parquet"),
    "gone.parquet": lambda: Path("p/sub/gone.parquet").symlink_to("nowhere"),
    "x.csv": Path("p/sub/x.csv").touch,
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_part_is_refused_wherever_it_lies(name: str) -> None:
    _part("p/sub/part.parquet")
    WRONG[name]()
    assert refusal("p") == f"p: holds 'sub/{name}', which is no part\n  fix: {KEEP}"


def test_a_link_to_a_folder_is_refused_since_no_hash_covers_it() -> None:
    _part("p/part.parquet")
    _part("other/part.parquet")
    Path("p/linked").symlink_to(Path("other").resolve())
    assert refusal("p").startswith(
        "p: holds 'linked', a link to a folder, which DVC does not follow"
    )


def test_a_folder_of_csv_is_refused_with_what_to_do() -> None:
    Path("p").mkdir()
    assert refusal("p", format="csv") == (
        "p: is a folder, and csv is not read in parts\n  fix: write one file, or parts in parquet"
    )


def test_a_damaged_part_is_named() -> None:
    _part("p/a.parquet")
    _part("p/b/c.parquet")
    os.truncate("p/b/c.parquet", 100)
    assert refusal("p").startswith("p/b/c.parquet: is damaged or not complete")
