"""Ids mean what was meant: `1.0` for 1 is read and told; what is not seen at an end, and lost keys, are refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.loading.load_project import (
    loaded,
    loaded_background,
    loaded_truth,
    refusal,
)

Ids = list[Any]


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _csv(ids: Ids) -> str:
    Path("a.csv").write_text("user,item,rank\n" + "".join(f"{user},a,1\n" for user in ids))
    return "a.csv"


def _jsonl(ids: Ids) -> str:
    rows = ({"user": user, "item": "a", "rank": 1} for user in ids)
    Path("a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return "a.jsonl"


def _parquet(ids: Ids) -> str:
    n = len(ids)
    pq.write_table(
        pa.table({"user": list(map(str, ids)), "item": ["a"] * n, "rank": [1] * n}), "a.parquet"
    )
    return "a.parquet"


@pytest.mark.parametrize("form", [_csv, _jsonl, _parquet])
@pytest.mark.parametrize("ids", [[1.0, "2", 30.0], [1.0, 2.0], ["1.0", 12]])
@pytest.mark.bad_input(65, "read as 1, and told")
def test_whole_numbers_that_a_float_wrote_are_read_as_integers(
    form: Callable[[Ids], str], ids: Ids
) -> None:
    rows, quality = loaded(form(ids))
    assert [row[0] for row in rows] == sorted(str(int(float(user))) for user in ids)
    n = sum(str(user).endswith(".0") for user in ids)
    counted = f"{n} row" + "s" * (n > 1)
    assert quality["notes"] == [f"{counted}: user '1.0' and the like are read as '1' and the like"]


def test_the_truth_tells_it_too() -> None:
    Path("t.csv").write_text("user,item\n1.0,5\n2,6.0\n")
    rows, quality = loaded_truth("t.csv")
    assert [row[:2] for row in rows] == [("1", "5"), ("2", "6")]
    assert len(quality["notes"]) == 3


@pytest.mark.parametrize("form", [_csv, _parquet])
def test_among_other_texts_it_is_read_alike(form: Callable[[Ids], str]) -> None:
    assert [row[0] for row in loaded(form(["1.0", "v2"]))[0]] == ["1", "v2"]
    assert [row[0] for row in loaded(form(["v2", "-3.0", "0.0"]))[0]] == ["-3", "0", "v2"]


@pytest.mark.parametrize("form", [_csv, _parquet])
def test_what_no_float_writes_stays_as_it_is(form: Callable[[Ids], str]) -> None:
    ids = ["-0.0", "007.0", "1.10", "1.1", "1234567890123456.0", "python 3.0", "v1.0"]
    assert [row[0] for row in loaded(form(ids))[0]] == sorted(ids)


@pytest.mark.parametrize("ids", [[1.5, "v2"], [9007199254740993.0, 1]])
def test_json_numbers_that_are_no_integers_are_refused(ids: Ids) -> None:
    assert "is neither text nor a 64-bit integer" in refusal(_jsonl(ids))


@pytest.mark.parametrize("form", [_csv, _jsonl, _parquet])
@pytest.mark.parametrize(
    "mark", ["\u3000", "\u2003", "\u200b", "\u00ad", "\ufeff", "\u202e", "\x85", "\x1f"]
)
@pytest.mark.bad_input(27, "refused whatever the space, also what has no width")
def test_what_is_not_seen_at_an_end_is_refused(form: Callable[[Ids], str], mark: str) -> None:
    for user in (f"u{mark}", f"{mark}u" if mark != "\ufeff" else f"u{mark}"):
        shown = ascii(user)[1:-1]
        what = f"'{shown}' begins or ends with a character that is not seen; 1 row affected"
        assert what in refusal(form([user, "v"]))
    assert "is blank" in refusal(form([mark * 2, "v"]))


def test_what_is_not_seen_inside_an_id_belongs_to_it() -> None:
    assert loaded(_csv(["x\u200cy", "a b"]))[0][0][0] == "a b"


def test_an_escaped_key_alone_is_that_key() -> None:
    Path("a.jsonl").write_text(
        '{"user": "u", "\\u0069tems": ["a"]}\n{"\\u0075ser": "v", "items": ["b"]}\n'
    )
    assert [row[:2] for row in loaded("a.jsonl")[0]] == [("u", "a"), ("v", "b")]


def test_a_whole_character_may_be_written_in_two_halves() -> None:
    Path("i.jsonl").write_text('{"item": "b", "title": "x\\ud83d\\ude00"}\n')
    assert loaded_background("items", "i.jsonl")[0] == [{"item": "b", "title": "x😀"}]
