"""Every Arrow type: read where it can be meant, refused in words where it is needed and cannot, nothing where nobody reads it."""

import uuid
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from benchmarks.fuzz_readers import FINE, outcomes
from benchmarks.odd_types import ALL, INDEXES, write
from tests.pipeline.loading.load_project import (
    background_refusal,
    loaded,
    loaded_background,
    loaded_truth,
    refusal,
)

ID = uuid.UUID("0f8fad5b-d9cb-469f-a165-70867728950e")


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _arrow(**columns: Any) -> str:
    table = pa.table(columns)
    with pyarrow.ipc.new_file("a.arrow", table.schema) as writer:
        writer.write_table(table)
    return "a.arrow"


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_text_is_text_in_every_encoding(index: pa.DataType, kind: pa.DataType) -> None:
    places = pa.array([0, 1, 0], index)
    coded = pa.DictionaryArray.from_arrays(places, pa.array(["u", "v"], kind))
    items = pa.array(["a", "b", "c"], kind)
    rows = loaded(_arrow(user=coded, item=items, score=pa.array([2.0, 1.0, 1.0])))[0]
    assert [row[:3] for row in rows] == [("u", "a", 1), ("u", "c", 2), ("v", "b", 1)]


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_floats_of_every_width_are_ids_and_scores(kind: pa.DataType) -> None:
    numbers = pa.array(np.array([7.0, 8.0], dtype=kind.to_pandas_dtype()))
    assert loaded(_arrow(user=numbers, item=numbers, score=numbers))[0] == [
        (7, 7, 1, 7.0),
        (8, 8, 1, 8.0),
    ]


@pytest.mark.parametrize("form", ["uuid", "sixteen bytes"])
def test_uuids_are_read_as_text(form: str) -> None:
    held = pa.array([ID.bytes, ID.bytes], pa.binary(16))
    users = pa.ExtensionArray.from_storage(pa.uuid(), held) if form == "uuid" else held
    pq.write_table(pa.table({"user": users, "item": ["a", "b"], "score": [2.0, 1.0]}), "a.parquet")
    assert {row[0] for row in loaded("a.parquet")[0]} == {str(ID)}


@pytest.mark.parametrize("name", [name for name in ALL if name != "empty_struct"])
@pytest.mark.parametrize("what", ["lists", "items", "users"])
@pytest.mark.bad_input(68, "not looked at where nobody reads the column")
def test_a_column_that_nobody_reads_may_be_of_any_type(name: str, what: str) -> None:
    other = ALL[name]([1, 2])
    columns = {"user": ["u", "v"], "item": ["a", "b"], "score": [1.0, 1.0], "other": other}
    path = write(Random(1), pa.table(columns))
    if what == "lists":
        assert len(loaded(path)[0]) == 2
    else:
        assert len(loaded_background(what, path)[0]) == 2


def test_columns_of_users_that_no_segment_could_use_are_left_out_and_told() -> None:
    pq.write_table(pa.table({"user": ["u"], "photo": [b"\xff"], "plan": ["free"]}), "u.parquet")
    rows, quality = loaded_background("users", "u.parquet")
    assert rows == [{"user": "u", "plan": "free"}]
    assert quality["notes"] == [
        "left out, since they hold neither text nor numbers: 'photo' (binary)"
    ]


@pytest.mark.parametrize(
    ("role", "values", "what"),
    [
        ("user", pa.array([b"u"]), "is of type binary\n  fix: write ids as integers or text"),
        ("item", pa.array([1], pa.duration("s")), "is of type duration[s]\n  fix: write ids as integers or text"),
        ("score", pa.array([1], pa.time32("s")), "is of type time32[s]\n  fix: write it as numbers"),
        ("score", pa.array([True]), "is of type bool\n  fix: write it as numbers"),
        ("rank", pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())), "is of type map<string, int8>\n  fix: write it as numbers"),
    ],
)  # fmt: skip
@pytest.mark.bad_input(68, "refused with the type where it is needed")
def test_types_that_cannot_be_meant_are_refused(role: str, values: pa.Array, what: str) -> None:
    columns = {"user": ["u"], "item": ["a"], "score": [1.0]} | {role: values}
    assert refusal(_arrow(**columns)) == f"a.arrow: column '{role}': {what}"


@pytest.mark.parametrize("values", [pa.array([["a"]]), pa.array([b"a"]), pa.array([{"a": 1}])])
def test_titles_that_are_no_text_are_refused(values: pa.Array) -> None:
    pq.write_table(pa.table({"item": ["a"], "title": values}), "i.parquet")
    assert background_refusal("items", "i.parquet").startswith(
        "i.parquet: column 'title': is of type "
    )


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.int8(), pa.decimal128(21, 2)])
def test_vectors_may_be_of_every_kind_of_numbers(kind: pa.DataType) -> None:
    values = pa.array([1, 0, 0, 2], pa.int64()).cast(kind, safe=False)
    vectors = pa.ListArray.from_arrays(pa.array([0, 2, 4], pa.int32()), values)
    pq.write_table(pa.table({"item": ["a", "b"], "vector": vectors}), "i.parquet")
    rows, _ = loaded_background("items", "i.parquet")
    assert [list(map(float, row["vector"])) for row in rows] == [[1.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_every_unit_are_the_same_seconds(unit: str) -> None:
    seconds = pa.array([1_700_000_000], pa.timestamp("s")).cast(pa.timestamp(unit, "Europe/Berlin"))
    pq.write_table(
        pa.table({"user": ["u"], "item": ["a"], "time": seconds}), "t.parquet", version="2.6"
    )
    assert loaded_truth("t.parquet", columns={"time": "time"})[0] == [("u", "a", 1.0, 1.7e9)]


@pytest.mark.whole
@pytest.mark.parametrize("kind", ["types", "folders", "streams", "shapes"])
def test_whatever_tables_come_there_are_words_or_the_right_answer(kind: str) -> None:
    found = list(outcomes(2_000_000, 60, kind))
    assert [each for each in found if each[0] not in FINE] == []
    assert sum(outcome == "right" for outcome, _, _ in found) >= 5
