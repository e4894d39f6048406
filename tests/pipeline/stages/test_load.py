"""Stages that load: quality files, hashes, unused columns, the same rows from every format."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_readers import EXPECTED_OUTCOMES, outcomes
from benchmarks.odd_types import ENCODERS
from concord.metrics_core.data import quality as quality_file
from concord.metrics_core.data.formats import FORMATS, format_by_name
from concord.metrics_core.data.hashes import ContentHashes, hash_content
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.errors import InputError
from concord.pipeline.params.read import read_params
from tests.inputs.inputs import write_table
from tests.pipeline.stages.load_project import (
    Row,
    frame,
    loaded,
    loaded_background,
    loaded_truth,
    refusal,
    write_every_form,
)
from tests.project import ROOT, change_params, copied, run_all_stages

ROWS: list[Row] = [
    ("u1", "007", 1, 0.5),
    ("u1", "7", 2, 0.25),
    ("u2", "café", 1, -1.0),
    ("u2", "7", 2, -1.5),
    ("u2", "a", 3, -2.0),
]
IDS = st.text("aB01ñ9-_:.#", min_size=1, max_size=4).filter(
    lambda id_: not id_.endswith(".0")  # `1.0` is read as 1
)


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_quality_file_describes_lists() -> None:
    Path("lists.csv").write_text("user,item,rank\nu,a,1\nu,b,2\nv,a,1\n")
    content = Path("lists.csv").read_bytes()
    assert loaded("lists.csv")[1] == {
        "model": "m",
        "path": "lists.csv",
        "format": "csv",
        "sha256": hashlib.sha256(content).hexdigest(),
        "md5": hashlib.md5(content).hexdigest(),
        "bytes": len(content),
        "reading": {
            "required": ["user", "item"],
            "optional": ["rank", "score"],
            "columns": {},
            "unit": {},
            "order": None,
            "shared": [],
            "input": vars(Policies()),
        },
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


def test_quality_file_describes_train_and_catalogue() -> None:
    Path("train.csv").write_text("user,sku\nu,a\nv,a\n")
    Path("items.csv").write_text("item,genres\na,x|y\nb,\n")
    train = loaded_background("train", "train.csv", columns={"item": "sku"})[1]
    items = loaded_background("items", "items.csv", columns={"categories": "genres"})[1]
    assert (train["path"], train["users"], train["item_type"]) == ("train.csv", 2, "text")
    assert (items["rows"], items["features"]) == (2, "categories")


def test_folder_has_the_md5_of_dvc() -> None:
    Path("parts").mkdir()
    entries = []
    for name, content in (("a", b"1"), ("b", b"2")):
        Path("parts", name).write_bytes(content)
        entries.append({"md5": hashlib.md5(content).hexdigest(), "relpath": name})
    known = hash_content(Path("parts"))
    assert known.md5 == hashlib.md5(json.dumps(entries).encode()).hexdigest() + ".dir"
    assert known.bytes == 2


def test_same_lists_in_every_format_give_the_same_bytes() -> None:
    written = set()
    for name in write_every_form(ROWS):
        assert loaded(name)[0] == ROWS, name
        written.add(Path("results/lists/m.parquet").read_bytes())
    assert len(written) == 1


@given(
    lists=st.dictionaries(
        IDS, st.lists(IDS, min_size=1, max_size=4, unique=True), min_size=1, max_size=4
    )
)
@settings(max_examples=12)
@pytest.mark.whole
def test_any_lists_are_the_same_in_every_format(
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


def test_the_ground_truth_has_the_words_of_params() -> None:
    Path("truth.csv").write_text("user,item\nu1,a\n")
    assert "words" not in loaded_truth("truth.csv")[1]

    quality = loaded_truth("truth.csv", words={"user": "query", "item": "item"})[1]

    assert quality["words"] == {"user": "query"}


def test_same_truth_in_every_format() -> None:
    expected = [("u1", "007", 2.0), ("u1", "7", 0.5), ("u2", "a", 0.0)]
    Path("truth.csv").write_text("user,item,grade\nu2,a,0\nu1,7,0.5\nu1,007,2\n")
    Path("truth.qrels").write_text("u2 0 a 0\nu1 0 7 0.5\nu1 0 007 2\n")
    Path("flat.jsonl").write_text(
        '{"user":"u2","item":"a","grade":0}\n{"user":"u1","item":7,"grade":0.5}\n'
        '{"user":"u1","item":"007","grade":2}\n'
    )
    Path("nested.jsonl").write_text(
        '{"user":"u2","items":["a"],"grades":[0]}\n'
        '{"user":"u1","items":[7,"007"],"grades":[0.5,2]}\n'
    )
    Path("truth.json").write_text('{"u2": {"a": 0}, "u1": {"7": 0.5, "007": 2}}')
    table = pl.read_csv("truth.csv", schema_overrides={"item": pl.String})
    table.write_csv("truth.tsv", separator="\t")
    table.write_parquet("truth.parquet")
    table.write_ipc("truth.arrow")
    paths = sorted(Path().iterdir())
    assert {format_by_name(path) for path in paths} == FORMATS.keys()
    for path in paths:
        rows, quality = loaded_truth(path.name)
        assert rows == expected, path
        assert quality["grades"] == {"0": 1, "0.5": 1, "2": 1}


def test_bytes_do_not_depend_on_threads_or_row_order() -> None:
    """There are more rows than DuckDB assigns to one thread."""
    rng = np.random.default_rng(1)
    users, length = 6_600, 20
    rows = pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), length),
            "item": np.tile(np.arange(length), users),
            "score": rng.integers(0, 3, users * length).astype(float),
        }
    )
    written = set()
    for threads in (1, 8):
        rows.sample(fraction=1, shuffle=True, seed=threads).write_parquet("lists.parquet")
        loaded("lists.parquet", threads=threads)
        written.add(Path("results/lists/m.parquet").read_bytes())
    assert len(written) == 1
    ranked = pl.read_parquet("results/lists/m.parquet").select("user", "item", "score")
    assert ranked.equals(rows.sort("user", "score", "item", descending=[False, True, False]))


@pytest.mark.parametrize("table", ["lists", "items", "users"])
@pytest.mark.bad_input(68, "ignored if the column is not used")
def test_unused_columns_may_be_of_any_type(table: str) -> None:
    columns = {"user": ["u", "v"], "item": ["a", "b"], "score": [1.0, 1.0]}
    unusual = {f"odd_{name}": values([1, 2]) for name, values in ENCODERS.items()}
    write_table(pa.table(columns | unusual), Path("a.arrow"))
    rows, _ = loaded("a.arrow") if table == "lists" else loaded_background(table, "a.arrow")
    assert len(rows) == 2


def test_error_of_a_path_from_a_parent_folder_has_the_correct_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("recs").mkdir()
    Path("recs/a.csv").write_text("user,item,rank\nu,a,1\n")
    Path("evaluation").mkdir()
    monkeypatch.chdir("evaluation")
    assert refusal("recs/a.csv") == (
        "recs/a.csv: there is no such file below this folder\n  fix: write '../recs/a.csv'"
    )


def test_row_of_too_many_bytes_is_refused() -> None:
    Path("a.csv").write_text("user,item,rank\nu,b,2\nu," + "a" * 9_000_000 + ",1\n")
    assert refusal("a.csv").startswith(
        "a.csv: has a row that is longer than the limit (16 MiB; CSV: 4 MiB)\n  fix: check "
        "the line ends"
    )


_MEASURED = """
from concord.metrics_core.errors import InputError
from concord.pipeline.running.messages import peak_memory
from tests.pipeline.stages.load_project import loaded
for name in ("a.csv.gz", "a.jsonl.gz", "a.run.gz"):
    try:
        loaded(name)
    except InputError as error:
        print(error)
print(peak_memory())
"""


@pytest.mark.bad_input(70, "an error beyond 16 MiB, in bounded memory")
def test_line_without_end_is_refused_in_bounded_memory() -> None:
    with gzip.open("a.csv.gz", "wb", compresslevel=1) as packed:
        for _ in range(90):  # 1.5 GB
            packed.write(b"a" * (1 << 24))
    for name in ("a.jsonl.gz", "a.run.gz"):
        Path(name).hardlink_to("a.csv.gz")
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    *messages, memory = done.stdout.splitlines()
    assert sum("longer than the limit" in line for line in messages) == 3
    assert int(memory) < 1 << 30  # bytes


@pytest.mark.whole
@pytest.mark.parametrize(
    ("kind", "cases"),
    [
        ("bytes", 240),
        ("types", 60),
        ("folders", 60),
        ("streams", 60),
        ("shapes", 60),
        ("history", 10),
    ],
)
def test_damaged_and_unusual_files_are_refused_or_read_correctly(kind: str, cases: int) -> None:
    """`benchmarks/fuzz_readers.py` tests more of them."""
    result = list(outcomes(1_000_000, cases, kind))
    counts = Counter(outcome for outcome, _, _ in result)
    assert [each for each in result if each[0] not in EXPECTED_OUTCOMES] == []
    assert counts.total() == cases
    assert counts["right"] >= 5


@pytest.mark.whole
@pytest.mark.bad_input(3, "`input.empty_lists: keep` reads it: no user has a list")
def test_empty_lists_pass_through_the_pipeline(tmp_path: Path) -> None:
    project = copied(tmp_path)
    (project / "data/demo/none.csv").write_text("user,item,rank\n")
    remaining = read_params(project / "params.yaml").models["ease"].model_dump(exclude_none=True)
    models = {
        "none": {"path": "data/demo/none.csv"},
        "popularity": {name: value for name, value in remaining.items() if value},
    }
    change_params(project, {"models": models, "input.empty_lists": "keep"})

    run_all_stages(project, last="report")

    values = pl.read_parquet(project / "results/per_user/none.parquet")
    assert set(values["R@10"]) == {0.0}
    assert len(values) == 1192
    assert "the file has no lists" in (project / "results/report/report.md").read_text()


@pytest.mark.parametrize("order", ["by user", "rows in any order"])
@pytest.mark.parametrize("read", [loaded, loaded_truth])
def test_a_file_that_changes_before_its_hash_leaves_no_result(
    read: Any, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "rank": [1, 2, 1]})
    rows = rows if order == "by user" else rows.sort("rank", "user")
    path = Path("a.csv")
    rows.write_csv(path)

    def late(items: Path) -> ContentHashes:
        path.write_text(path.read_text() + "3,7,1\n")
        return hash_content(items)

    monkeypatch.setattr(quality_file, "hash_content", late)

    with pytest.raises(InputError, match="while it was read"):
        read("a.csv")
    assert not [file for file in Path("results").rglob("*") if file.is_file()]


TABLE = frame([("u1", "a", 1, 2.5), ("u1", "b", 2, 1.5), ("u2", "c", 1, 0.5)]).to_arrow()


def test_markers_of_a_format_may_be_values() -> None:
    rows = [("PAR1PAR1", "ARROW1ARROW1", 1, 1.0)]
    pq.write_table(frame(rows).to_arrow(), "a.parquet", use_dictionary=False, compression="none")
    frame(rows).write_ipc("a.arrow")
    assert loaded("a.parquet")[0] == loaded("a.arrow")[0] == rows


def test_empty_batch_is_not_the_end() -> None:
    with pyarrow.ipc.new_stream("a.arrow", TABLE.schema) as stream:
        for piece in (TABLE[:0], TABLE[:1], TABLE[:0], TABLE[1:]):
            for batch in piece.to_batches() or [pa.RecordBatch.from_pylist([], TABLE.schema)]:
                stream.write_batch(batch)
    assert len(loaded("a.arrow")[0]) == 3
