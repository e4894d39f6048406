"""Delta tables are read as their current rows, on disk and in an object store."""

import json
import re
import shutil
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake

import concord
from tests.pipeline.stages.load_project import loaded, refusal
from tests.stores.server import Line, Store, environment

LISTS = pl.DataFrame(
    {
        "user": [f"u{n // 4}" for n in range(40)],
        "item": [f"i{n % 4}" for n in range(40)],
        "rank": [n % 4 + 1 for n in range(40)],
        "day": ["2026-01", "2 / %"] * 20,
    }
)


def _table(path: str = "table", **how: Any) -> str:
    """Write three versions: created, appended, rows deleted; old files remain."""
    write_deltalake(path, LISTS[:20], **how)
    write_deltalake(path, LISTS[20:], mode="append", **how)
    DeltaTable(path).delete("user = 'u1'")
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.bad_input(60, "the current rows of a Delta table are read")
@pytest.mark.parametrize("keys", [None, ["day"], ["user"], ["rank", "day"]])
def test_the_current_rows_are_read(keys: list[str] | None) -> None:
    _table(partition_by=keys)
    LISTS.filter(pl.col("user") != "u1").write_parquet("plain.parquet")

    rows, quality = loaded("table")

    assert rows == loaded("plain.parquet")[0]
    assert quality["delta_version"] == 2
    assert len(quality["sha256"]) == 64
    assert len(list(Path("table").rglob("*.parquet"))) > len(DeltaTable("table").file_uris())


def test_its_hash_is_that_of_the_version_and_its_files() -> None:
    _table()
    before = loaded("table")[1]
    again = loaded("table")[1]
    Path("table/_delta_log/left by somebody.tmp").write_text("x", encoding="utf-8")
    other = loaded("table")[1]
    write_deltalake("table", LISTS.filter(pl.col("user") == "u1"), mode="append")
    after = loaded("table")[1]

    assert before == again == other
    assert before["sha256"] != after["sha256"]
    assert (before["delta_version"], after["delta_version"]) == (2, 3)
    assert after["rows"] == len(LISTS)


def test_the_library_reads_it_from_a_store(s3: Store) -> None:
    address = s3.put(Path(_table(partition_by=["day"])), "delta/table")
    truth = {f"u{n}": ["i1", "i3"] for n in range(10)}

    result = concord.evaluate("table", truth, metrics=["AP@4"], conventions="standard")
    actual = concord.evaluate(address, truth, metrics=["AP@4"], conventions="standard")
    rows, quality = loaded(address, allow_outside=True)

    assert actual.per_user.equals(result.per_user, null_equal=True)
    assert rows == loaded("table")[0]
    assert quality["delta_version"] == 2
    assert quality["etag"].endswith(".dir")


@pytest.mark.parametrize("lets", [2_500, 4_000, 9_000, 14_000])
def test_a_line_that_is_cut_is_reported(
    s3: Store, monkeypatch: pytest.MonkeyPatch, lets: int
) -> None:
    address = s3.put(Path(_table()), "delta/cut")
    with Line(s3.port, lets=lets) as line:
        monkeypatch.setenv("AWS_ENDPOINT_URL", environment(line.port)["AWS_ENDPOINT_URL"])
        begun = time.monotonic()
        message = refusal(address, allow_outside=True)
        took = time.monotonic() - begun

    assert line.was_cut
    assert message.startswith(address)
    assert "could not be read" in message
    assert took < 60


def _with_a_later_column() -> None:
    write_deltalake("table", LISTS.select("user", "item", "rank")[:20])
    later = LISTS[20:].with_columns(score=pl.lit(1.0)).select("user", "item", "rank", "score")
    write_deltalake("table", later, mode="append", schema_mode="merge")


def _without_rows() -> None:
    write_deltalake("table", LISTS)
    DeltaTable("table").delete()


def _with_a_broken_log() -> None:
    Path("table/_delta_log").mkdir(parents=True)
    Path("table/_delta_log/00000000000000000000.json").write_text("{", encoding="utf-8")


def _without_a_file() -> None:
    write_deltalake("table", LISTS)
    Path(DeltaTable("table").file_uris()[0]).unlink()


def _with_mapped_columns() -> None:
    write_deltalake("table", LISTS)
    mode = {"delta.columnMapping.mode": "name"}
    _change_log("metaData", lambda metadata: metadata["configuration"].update(mode))


def _with_a_file_elsewhere(name: str) -> Callable[[], None]:
    def write() -> None:
        write_deltalake("table", LISTS)
        _change_log("add", lambda file: file.update(path=name))

    return write


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (_with_a_later_column, r".*column 'score'.* missing"),
        (_without_rows, "table: has no rows"),
        (_with_a_broken_log, "table: has a log that cannot be read"),
        (_without_a_file, r"table/\S+\.parquet: is missing, and its table names it"),
        (_with_mapped_columns, "table: is a Delta Lake table whose files use other column names"),
        (_with_a_file_elsewhere("../secret.parquet"), ".*with a file outside its folder"),
        (_with_a_file_elsewhere("%2e%2e/secret.parquet"), ".*with a file outside its folder"),
        (_with_a_file_elsewhere("/etc/secret"), ".*with a file outside its folder"),
        (_with_a_file_elsewhere("file:///etc/secret"), ".*with a file outside its folder"),
    ],
)  # fmt: skip
def test_a_table_whose_current_rows_are_not_known_is_refused(
    write: Callable[[], None], message: str
) -> None:
    write()

    assert re.match(message, refusal("table"), re.DOTALL)


def test_rows_that_are_marked_as_deleted_are_refused() -> None:
    write_deltalake("table", LISTS, configuration={"delta.enableDeletionVectors": "true"})
    assert len(loaded("table")[0]) == len(LISTS)  # none is marked yet
    shutil.rmtree("results")

    _change_log("add", lambda file: file.update(deletionVector=_deleted(3)))
    vectors = pl.DataFrame(DeltaTable("table").deletion_vectors())
    assert vectors["selection_vector"][0].to_list()[:4] == [True, True, True, False]

    message = refusal("table")
    assert "contain rows that are marked as deleted (deletion vectors)" in message
    assert "REORG TABLE" in message


def test_without_deltalake_the_refusal_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    _table()
    monkeypatch.setitem(sys.modules, "deltalake", None)

    message = refusal("table")

    assert message.startswith("table: is a Delta Lake table")
    assert "`pip install 'concord-eval[delta]'`; or write its current rows as plain parquet" in (
        message
    )


def _change_log(kind: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the actions of one kind in the log."""
    log = Path("table/_delta_log/00000000000000000000.json")
    actions = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for action in actions:
        if kind in action:
            change(action[kind])
    text = "\n".join(json.dumps(action) for action in actions) + "\n"
    log.write_text(text, encoding="utf-8")


def _deleted(row: int) -> dict[str, Any]:
    """Return the deletion vector of one row, inline in the log: a roaring bitmap in Z85."""
    bitmap = struct.pack("<IIHHIH", 12346, 1, 0, 0, 16, row)
    content = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    content += bytes(-len(content) % 4)
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    words = struct.unpack(f">{len(content) // 4}I", content)
    text = "".join(
        digits[word // 85**position % 85] for word in words for position in (4, 3, 2, 1, 0)
    )
    return {
        "storageType": "i",
        "pathOrInlineDv": text,
        "sizeInBytes": len(content),
        "cardinality": 1,
    }
