"""What load makes of scores, ties, duplicates and ranks, and what it says about them."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.metrics_core.reading.hashes import hashes
from tests.pipeline.loading.load_project import loaded
from tests.project import movielens


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def items(content: str, **changes: Any) -> list[Any]:
    Path("lists.csv").write_text(content)
    return [row[1] for row in loaded("lists.csv", **changes)[0]]


TIED = "user,item,score\nu,10,0.5\nu,9,0.5\nu,é,0.5\nu,z,0.7\n"


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("input", ["z", "10", "9", "é"]),
        ("item_asc", ["z", "10", "9", "é"]),
        ("item_desc", ["z", "é", "9", "10"]),
        ("given", ["10", "9", "é", "z"]),
    ],
)
@pytest.mark.bad_input(24, "`conventions.ties` decides; counted")
def test_ties_follow_the_convention_and_text_is_compared_by_its_bytes(
    ties: str, expected: list[str]
) -> None:
    assert items(TIED, conventions={"ties": ties}) == expected


def test_integer_items_are_compared_as_numbers() -> None:
    pl.DataFrame({"user": [1, 1], "item": [10, 9], "score": [0.5, 0.5]}).write_parquet(
        "lists.parquet"
    )
    rows, quality = loaded("lists.parquet")
    assert [row[1] for row in rows] == [9, 10]
    assert quality["ties"] == {"rows": 2, "users": 1, "policy": "item_asc"}


def test_minus_zero_ties_with_zero() -> None:
    assert items("user,item,score\nu,b,0.0\nu,a,-0.0\n") == ["a", "b"]


def test_single_precision_sees_ties_that_double_does_not() -> None:
    content = "user,item,score\nu,b,0.10000000001\nu,a,0.1\n"
    assert items(content) == ["b", "a"]
    assert items(content, conventions={"score_dtype": "float32"}) == ["a", "b"]


REPEATED = "user,item,rank\nu,a,1\nu,b,2\nu,a,3\nu,c,4\nv,a,1\n"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("keep", [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 1)]),
        ("first", [("a", 1), ("b", 2), (None, 3), ("c", 4), ("a", 1)]),
        ("drop", [("a", 1), ("b", 2), ("c", 3), ("a", 1)]),
    ],
)
@pytest.mark.bad_input(14, "`conventions.duplicates` decides: refused by default; counted")
def test_duplicates_follow_the_convention(policy: str, expected: list[tuple[str, int]]) -> None:
    Path("lists.csv").write_text(REPEATED)
    rows, quality = loaded("lists.csv", conventions={"duplicates": policy})
    assert [row[1:] for row in rows] == expected
    assert quality["duplicates"] == {"rows": 1, "users": 1, "policy": policy}
    assert quality["notes"] == [
        f"1 row of 1 user repeat an item of the same list; `duplicates: {policy}` was applied"
    ]


def test_the_first_of_copies_with_scores_is_the_best() -> None:
    content = "user,item,score\nu,a,1\nu,b,2\nu,a,3\n"
    assert items(content, conventions={"duplicates": "drop"}) == ["a", "b"]


@pytest.mark.bad_input(18, "the ranks decide; users counted in the report")
@pytest.mark.bad_input(21, "kept; counted in the report")
def test_ranks_decide_where_scores_disagree_and_it_is_counted() -> None:
    Path("lists.csv").write_text("user,item,rank,score\nu,a,1,1\nu,b,2,inf\nv,a,1,1\n")
    rows, quality = loaded("lists.csv")
    assert [row[1] for row in rows] == ["a", "b", "a"]
    assert quality["rank_score_disagreements"] == {"users": 1}
    assert quality["infinite_scores"] == 1
    assert quality["notes"] == [
        "ranks and scores disagree in the lists of 1 user; the ranks decided",
        "1 infinite score",
    ]


@pytest.mark.bad_input(19, "`order: file` takes the order of the rows")
def test_the_order_may_be_chosen() -> None:
    content = "user,item,rank,score\nu,a,2,1\nu,b,1,2\nu,c,3,3\n"
    assert items(content) == ["b", "a", "c"]
    assert items(content, order="score") == ["c", "b", "a"]
    assert items(content, order="file") == ["a", "b", "c"]


@pytest.mark.bad_input(17, "`input.rank_base: 0` reads them")
def test_ranks_may_start_at_zero() -> None:
    Path("lists.csv").write_text("user,item,rank\nu,b,1\nu,a,0\n")
    assert loaded("lists.csv", rank_base=0)[0] == [("u", "a", 1), ("u", "b", 2)]


def test_nested_lists_are_ranked_whatever_the_base() -> None:
    Path("lists.jsonl").write_text('{"user": "u", "items": ["b", "a"]}\n')
    assert loaded("lists.jsonl", rank_base=0)[0] == [("u", "b", 1), ("u", "a", 2)]


def test_the_quality_file_says_what_was_read() -> None:
    Path("lists.csv").write_text("user,item,rank\nu,a,1\nu,b,2\nv,a,1\n")
    _, quality = loaded("lists.csv")
    content = Path("lists.csv").read_bytes()
    assert quality == {
        "model": "m",
        "path": "lists.csv",
        "format": "csv",
        "sha256": hashlib.sha256(content).hexdigest(),
        "md5": hashlib.md5(content).hexdigest(),
        "bytes": len(content),
        "rows": 3,
        "users": 2,
        "items": 2,
        "user_type": "text",
        "item_type": "text",
        "order": "rank",
        "list_length": {"min": 1, "median": 1.5, "max": 2},
        "has_scores": False,
        "ties": {"rows": 0, "users": 0, "policy": "item_asc"},
        "duplicates": {"rows": 0, "users": 0, "policy": "error"},
        "rank_score_disagreements": {"users": 0},
        "infinite_scores": 0,
        "notes": [],
    }


def test_a_folder_has_the_hash_that_dvc_gives_it() -> None:
    Path("parts").mkdir()
    Path("parts/b").write_bytes(b"2")
    Path("parts/a").write_bytes(b"1")
    entries = [
        {"md5": hashlib.md5(content).hexdigest(), "relpath": name}
        for name, content in (("a", b"1"), ("b", b"2"))
    ]
    known = hashes(Path("parts"))
    assert known.md5 == hashlib.md5(json.dumps(entries).encode()).hexdigest() + ".dir"
    assert known.bytes == 2


def run_stage(*arguments: str) -> "subprocess.CompletedProcess[str]":
    code = Path(__file__).parents[3]
    command = [sys.executable, "-m", "concord", "stage", "load", *arguments]
    return subprocess.run(
        command, env={"PYTHONPATH": str(code)}, capture_output=True, text=True, check=False
    )


def test_a_refusal_leaves_with_two_and_no_traceback() -> None:
    done = run_stage("m")
    assert done.returncode == 2
    assert done.stderr.startswith("params.yaml: there is no such file in this folder\n  fix: ")
    assert "Traceback" not in done.stderr
    assert "Traceback" in run_stage("m", "--debug").stderr


@pytest.mark.parametrize(
    "name", ["popularity.csv", "item-knn.parquet", "ease.parquet", "als.jsonl", "bpr.run"]
)
def test_real_lists_are_ranked_without_a_gap(name: str) -> None:
    rows, quality = loaded(str(movielens() / name), allow_outside=True)
    assert quality["rows"] == len(rows) == 671 * 100
    assert [row[2] for row in rows] == [*range(1, 101)] * 671
