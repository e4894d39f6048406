"""Every form in which lists and truth are left gives the same rows."""

import gzip
import json
import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipeline.loading.load_project import (
    Row,
    frame,
    loaded,
    loaded_truth,
    write_every_form,
    write_parts,
)

ROWS: list[Row] = [
    ("u1", "007", 1, 0.5),
    ("u1", "7", 2, 0.25),
    ("u2", "café", 1, -1.0),
    ("u2", "7", 2, -1.5),
    ("u2", "a", 3, -2.0),
]
IDS = st.text("aB01ñ9-_:.#", min_size=1, max_size=4).filter(
    lambda text: not text.endswith(".0")  # a whole number as a float writes it: `1.0` is 1
)


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_same_lists_in_every_form_are_the_same_bytes() -> None:
    written = set()
    for name in write_every_form(ROWS):
        rows, _ = loaded(name)
        assert rows == ROWS, name
        written.add(Path("results/lists/m.parquet").read_bytes())
    assert len(written) == 1


@given(
    lists=st.dictionaries(
        IDS, st.lists(IDS, min_size=1, max_size=4, unique=True), min_size=1, max_size=4
    )
)
@settings(max_examples=12)
@pytest.mark.whole
def test_any_lists_are_the_same_in_every_form(
    lists: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows: list[Row] = [
        (user, item, rank, 1 / rank)
        for user, items in sorted(lists.items(), key=lambda pair: pair[0].encode())
        for rank, item in enumerate(items, 1)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("forms"))
        for name in write_every_form(rows):
            assert loaded(name)[0] == rows, name


@pytest.mark.bad_input(29, "stays text: 007 is not 7")
def test_text_formats_keep_ids_as_they_are_written() -> None:
    Path("lists.csv").write_text("user,item,rank\n007,1e3,1\n7,+5,1\n")
    rows, quality = loaded("lists.csv")
    assert rows == [("007", "1e3", 1), ("7", "+5", 1)]
    assert (quality["user_type"], quality["item_type"]) == ("text", "text")


def test_integers_in_json_become_text() -> None:
    Path("lists.jsonl").write_text('{"user": 7, "items": [3, "03", 18446744073709551615]}\n')
    assert loaded("lists.jsonl")[0] == [
        ("7", "3", 1),
        ("7", "03", 2),
        ("7", "18446744073709551615", 3),
    ]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt16, pl.UInt64, pl.Float32, pl.Float64])
@pytest.mark.bad_input(30, "whole floats are read as integers")
def test_numbers_in_parquet_become_integers(dtype: type[pl.DataType]) -> None:
    ids = pl.Series([2, 10, 9]).cast(dtype)
    pl.DataFrame({"user": ids, "item": ids, "rank": [1, 1, 1]}).write_parquet("lists.parquet")
    rows, quality = loaded("lists.parquet")
    assert rows == [(2, 2, 1), (9, 9, 1), (10, 10, 1)]
    assert quality["user_type"] == "integer"


@pytest.mark.bad_input(12, "read as if they were not there")
def test_a_byte_order_mark_and_windows_line_ends_are_accepted() -> None:
    Path("lists.csv").write_bytes(b"\xef\xbb\xbfuser,item,rank\r\nu,a,1\r\nu,b,2\r\n")
    assert loaded("lists.csv")[0] == [("u", "a", 1), ("u", "b", 2)]
    Path("lists.run").write_bytes(b"\xef\xbb\xbfu Q0 a 1 2.5 x\r\nu Q0 b 2 1.5 x\r\n\r\n")
    assert loaded("lists.run")[0] == [("u", "a", 1, 2.5), ("u", "b", 2, 1.5)]


def test_trec_fields_may_be_aligned_with_blanks_and_tabs() -> None:
    Path("lists.run").write_text("u   Q0\ta 1 2.5 x\n  u Q0 b  2 1.5 x \n")
    assert loaded("lists.run")[0] == [("u", "a", 1, 2.5), ("u", "b", 2, 1.5)]


def test_quoted_values_may_hold_the_separator() -> None:
    Path("lists.csv").write_text('user,item,rank\n"a,b","say ""hi""",1\n')
    assert loaded("lists.csv")[0] == [("a,b", 'say "hi"', 1)]


def test_columns_are_mapped_and_others_are_ignored() -> None:
    Path("lists.csv").write_text("when,uid,sku,pos,user\n1,u,a,1,x\n2,u,b,2,x\n")
    rows, _ = loaded("lists.csv", columns={"user": "uid", "item": "sku", "rank": "pos"})
    assert rows == [("u", "a", 1), ("u", "b", 2)]


def test_keys_of_json_are_mapped() -> None:
    Path("nested.jsonl").write_text(json.dumps({"u'1": 1, 're"cs': ["a", "b"], "w": [2, 1]}) + "\n")
    columns = {"user": "u'1", "item": 're"cs', "score": "w"}
    assert loaded("nested.jsonl", columns=columns)[0] == [("1", "a", 1, 2.0), ("1", "b", 2, 1.0)]
    Path("flat.jsonl").write_text('{"uid": "u", "item": "a", "pos": 1}\n')
    assert loaded("flat.jsonl", columns={"user": "uid", "rank": "pos"})[0] == [("u", "a", 1)]


def test_the_format_may_be_given() -> None:
    Path("lists.txt").write_text("u Q0 a 1 2.5 x\n")
    assert loaded("lists.txt", format="trec")[0] == [("u", "a", 1, 2.5)]


@pytest.mark.bad_input(44, "the named file is read, no other")
def test_wildcards_in_names_mean_themselves() -> None:
    Path("a1.csv").write_text("user,item,rank\nwrong,wrong,1\n")
    Path("a[1].csv").write_text("user,item,rank\nu,a,1\n")
    assert loaded("a[1].csv")[0] == [("u", "a", 1)]
    frame(ROWS).write_parquet("*.parquet")
    frame(ROWS[:1]).write_parquet("b.parquet")
    assert loaded("*.parquet")[0] == ROWS


def test_a_name_cannot_speak_sql() -> None:
    name = "a'); DROP TABLE source; --.csv"
    Path(name).write_text("user,item,rank\nu,a,1\n")
    assert loaded(name)[0] == [("u", "a", 1)]


def test_gzip_of_several_members_is_read_whole() -> None:
    members = [b"user,item,rank\nu,a,1\n", b"u,b,2\n"]
    Path("lists.csv.gz").write_bytes(b"".join(gzip.compress(member) for member in members))
    assert loaded("lists.csv.gz")[0] == [("u", "a", 1), ("u", "b", 2)]


def test_parts_are_read_in_the_order_of_their_names() -> None:
    write_parts(ROWS, "parts")
    assert loaded("parts", order="file")[0] == ROWS


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_neither_threads_nor_the_order_of_rows_leave_a_trace(threads: int) -> None:
    generator = random.Random(threads)
    rows = [
        (user, item, float(generator.randrange(3)))
        for user in range(1500)
        for item in generator.sample(range(900), 100)
    ]
    expected = sorted(rows, key=lambda row: (row[0], -row[2], row[1]))
    columns = ["user", "item", "score"]
    written = set()
    for _ in range(2):
        pl.DataFrame(rows, schema=columns, orient="row").write_parquet("lists.parquet")
        got, _ = loaded("lists.parquet", threads=threads)
        assert [(user, item, score) for user, item, _, score in got] == expected
        assert [rank for _, _, rank, _ in got] == [*range(1, 101)] * 1500
        written.add(Path("results/lists/m.parquet").read_bytes())
        generator.shuffle(rows)
    assert len(written) == 1


def test_any_number_of_threads_writes_the_same_bytes() -> None:
    items = [(user, (user * 7 + n * 31) % 997, n + 1) for user in range(3000) for n in range(100)]
    pl.DataFrame(items, schema=["user", "item", "rank"], orient="row").write_parquet(
        "lists.parquet"
    )
    written = set()
    for threads in (1, 2, 8):
        loaded("lists.parquet", threads=threads)
        written.add(Path("results/lists/m.parquet").read_bytes())
    assert len(written) == 1


def test_the_truth_is_the_same_in_every_form() -> None:
    expected = [("u1", "007", 2.0), ("u1", "7", 0.5), ("u2", "a", 0.0)]
    Path("truth.csv").write_text("user,item,grade\nu2,a,0\nu1,7,0.5\nu1,007,2\n")
    Path("truth.qrels").write_text("u2 0 a 0\nu1 0 7 0.5\nu1 0 007 2\n")
    Path("flat.jsonl").write_text(
        '{"user":"u2","item":"a","grade":0}\n{"user":"u1","item":7,"grade":0.5}\n'
        '{"user":"u1","item":"007","grade":2}\n'
    )
    Path("nested.jsonl").write_text(
        '{"user":"u2","items":["a"],"grades":[0]}\n{"user":"u1","items":[7,"007"],"grades":[0.5,2]}\n'
    )
    pl.read_csv("truth.csv", schema_overrides={"item": pl.String}).write_parquet("truth.parquet")
    for name in ("truth.csv", "truth.qrels", "flat.jsonl", "nested.jsonl", "truth.parquet"):
        rows, quality = loaded_truth(name)
        assert rows == expected, name
        assert quality["grades"] == {"0": 1, "0.5": 1, "2": 1}


def test_truth_without_grades_has_grade_one() -> None:
    Path("truth.csv").write_text("user,item\nu,b\nu,a\n")
    rows, quality = loaded_truth("truth.csv")
    assert rows == [("u", "a", 1.0), ("u", "b", 1.0)]
    assert quality["grades"] == {"1": 2}
    assert quality["notes"] == ["there is no column 'grade': every row has grade 1"]
