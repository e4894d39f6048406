"""`concord split` on files of every format, on MovieLens, and on invalid input."""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from tests.project import attempt, movielens, run

ROWS = 2_000
TABLE = pl.DataFrame(
    {
        "user": [(7 * n) % 83 for n in range(ROWS)],
        "item": [(n * n) % 211 for n in range(ROWS)],
        "time": [1_700_000_000 + (n * 7919) % 40_009 for n in range(ROWS)],
        "grade": [n % 5 + 1 for n in range(ROWS)],
    }
)
LAST = ("--how", "leave-last-out")
GLOBAL = ("--how", "global-time", "--share", "0.2", "--gap", "1h")


def manifest_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return content


def content_of(folder: Path) -> Mapping[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    TABLE.write_parquet(tmp_path / "all.parquet")
    return tmp_path


def test_parts_add_up_to_the_manifest(project: Path) -> None:
    output = run(
        project, "concord", "split", "all.parquet", *GLOBAL, "--into", "split", COLUMNS="100"
    )
    manifest = manifest_of(project / "split")
    train, truth = (
        pl.read_parquet(project / "split" / f"{side}.parquet") for side in ("train", "truth")
    )

    assert sorted(content_of(project / "split")) == [
        "manifest.json",
        "train.parquet",
        "truth.parquet",
    ]
    assert manifest["input"]["path"] == "all.parquet"
    assert manifest["input"]["rows"] == ROWS
    assert manifest["method"] == {
        "how": "global-time",
        "at": None,
        "share": 0.2,
        "gap": 3600.0,
        "repeats": "first",
    }
    assert len(train) + len(truth) + sum(manifest["excluded"].values()) == ROWS
    assert manifest["files"]["train.parquet"]["rows"] == len(train)
    assert train["time"].max() < truth["time"].min() - 3600  # type: ignore[operator]
    assert truth.columns == ["user", "item", "time", "grade"]
    assert "in the gap between training set and ground truth" in output
    assert "data: {truth: {path: split/truth.parquet, columns: {time: time}}}" in output
    assert str(project) not in (project / "split" / "manifest.json").read_text(encoding="utf-8")


def test_library_and_command_give_the_same_result(project: Path) -> None:
    how = ("--how", "random", "--share", "0.3", "--seed", "5")
    run(project, "concord", "split", "all.parquet", *how, "--into", "split")
    split = cc.data.split(TABLE, "random", share=0.3, seed=5)

    for side in ("train", "truth"):
        assert pl.read_parquet(project / "split" / f"{side}.parquet").equals(getattr(split, side))
    written = manifest_of(project / "split")
    assert written["excluded"] == split.manifest["excluded"]
    assert written["counts"] == split.manifest["counts"]


@pytest.mark.parametrize(
    "how", [("--how", "leave-last-out", "--last", "2"), ("--how", "user-time", "--share", "0.2")]
)
def test_bytes_do_not_depend_on_order_format_threads_or_spilling(
    project: Path, how: tuple[str, ...]
) -> None:
    rows = TABLE.sample(fraction=1.0, shuffle=True, seed=1)
    rows.write_ipc(project / "other.arrow")
    (project / "parts").mkdir()
    rows[:900].write_parquet(project / "parts" / "part-0.parquet")
    rows[900:].write_parquet(project / "parts" / "part-1.parquet", row_group_size=100)
    run(project, "concord", "split", "all.parquet", *how, "--into", "one", CONCORD_THREADS="1")
    limits = {"CONCORD_THREADS": "4", "CONCORD_MEMORY": "30MB"}
    run(project, "concord", "split", "other.arrow", *how, "--into", "two", **limits)
    run(project, "concord", "split", "parts", *how, "--into", "three")

    contents = [content_of(project / folder) for folder in ("one", "two", "three")]
    for name in contents[0].keys() - {"manifest.json"}:
        assert contents[0][name] == contents[1][name] == contents[2][name]


def test_order_holds_over_many_row_groups_and_threads(tmp_path: Path) -> None:
    """DuckDB keeps the order of 600,000 rows with four threads and 60 MB of memory."""
    chance = random.Random(3)
    rows = 600_000
    table = pl.DataFrame(
        {
            "user": [chance.randrange(5_000) for _ in range(rows)],
            "item": [chance.randrange(900) for _ in range(rows)],
            "time": [chance.randrange(50_000) for _ in range(rows)],
        }
    )
    table.write_parquet(tmp_path / "all.parquet")
    words = ("split", "all.parquet", *LAST, "--repeats", "keep", "--into", "one")
    run(tmp_path, "concord", *words, CONCORD_THREADS="4", CONCORD_MEMORY="60MB")
    train = pl.read_parquet(tmp_path / "one" / "train.parquet")
    once = table.unique().with_columns(pl.col("time").cast(pl.Float64)).sort("user", "time", "item")
    last = once.group_by("user", maintain_order=True).tail(1)

    assert train.equals(
        once.join(last, on=["user", "item", "time"], how="anti", maintain_order="left")
    )
    assert pl.read_parquet(tmp_path / "one" / "truth.parquet").equals(last)


def test_existing_split_is_kept_without_force(project: Path) -> None:
    run(project, "concord", "split", "all.parquet", *LAST, "--into", "split")
    (project / "split" / "notes.txt").write_text("mine")
    before = content_of(project / "split")
    process = attempt(project, "concord", "split", "all.parquet", *GLOBAL, "--into", "split")

    assert process.returncode == 2
    assert (
        "split/: contains manifest.json, train.parquet, truth.parquet\n  "
        "fix: name another folder, or add --force"
    ) in process.stderr
    assert content_of(project / "split") == before
    run(project, "concord", "split", "all.parquet", *GLOBAL, "--into", "split", "--force")
    assert content_of(project / "split").keys() == before.keys()
    assert (project / "split" / "notes.txt").read_text() == "mine"
    assert manifest_of(project / "split")["method"]["how"] == "global-time"


@pytest.mark.fault(1, "files of an interrupted `concord split` have no manifest.json")
def test_a_killed_replacement_leaves_a_complete_split_or_no_manifest(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each write the files on disk are copied: a kill there would leave these."""
    run(project, "concord", "split", "all.parquet", *LAST, "--into", "split")
    kills: list[Path] = []

    def copy_before(write: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            kills.append(project.parent / f"kill-{len(kills)}")
            shutil.copytree(project / "split", kills[-1])
            return write(*arguments, **options)

        return call

    for owner, name in ((Path, "replace"), (Path, "unlink"), (os, "fsync")):
        monkeypatch.setattr(owner, name, copy_before(getattr(owner, name)))
    run(project, "concord", "split", "all.parquet", *GLOBAL, "--into", "split", "--force")
    monkeypatch.undo()

    finished = [each for each in kills if (each / "manifest.json").exists()]
    for folder in (*finished, project / "split"):
        for name, side in manifest_of(folder)["files"].items():
            content = (folder / name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == side["sha256"], folder
    assert 0 < len(finished) < len(kills)


def test_split_does_not_overwrite_its_input(project: Path) -> None:
    run(project, "concord", "split", "all.parquet", *GLOBAL, "--into", "split")
    failed = attempt(
        project, "concord", "split", "split/train.parquet", *GLOBAL, "--into", "split", "--force"
    )

    assert "split/train.parquet: would be overwritten by its own split" in failed.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--how", "last"),
            "command line: --how: 'last' is not a split method\n  fix: known: global-time",
        ),
        (
            ("--how", "random", "--share", "1.5"),
            "command line: --share: is 1.5\n  fix: write a number between 0 and 1",
        ),
        (
            ("--how", "leave-last-out", "--column", "time"),
            "command line: --column: 'time' is not a column name\n  fix: write it as user=userId",
        ),
        (
            ("--how", "leave-last-out", "--column", "tim=t"),
            "'tim': is not a column that Concord reads",
        ),
        (
            ("--how", "leave-last-out", "--column", "time=at"),
            "all.parquet: column 'at': is missing; the columns are: user, item, time, grade",
        ),
        ((), "`concord split` needs --how"),
    ],
)
def test_impossible_request_is_refused(
    project: Path, arguments: tuple[str, ...], message: str
) -> None:
    failed = attempt(project, "concord", "split", "all.parquet", "--into", "split", *arguments)

    assert failed.returncode == 2
    assert message in failed.stderr
    assert not (project / "split" / "manifest.json").exists()
    assert not (project / "split" / "train.parquet").exists()


def test_a_table_that_cannot_be_split_is_refused(project: Path) -> None:
    TABLE.rename({"time": "timestamp", "grade": "rating"}).write_csv(project / "names.csv")
    TABLE.with_columns(time=pl.lit("last week")).write_csv(project / "words.csv")
    how = ("--how", "leave-last-out", "--into", "split")

    names = attempt(project, "concord", "split", "names.csv", *how).stderr
    words = attempt(project, "concord", "split", "words.csv", *how).stderr
    nowhere = attempt(project, "concord", "split", "all.parqet", *how).stderr
    assert (
        "names.csv: column 'time': is missing; the columns are: user, item, timestamp, rating"
        in names
    )
    assert "fix: did you mean 'timestamp'? Else name its own column: `--column time=…`" in names
    assert "`--column grade=rating`; if every row has grade 1: `--column grade=`" in names
    assert (
        "words.csv: line 2, column 'time' (user '0', item '0'): 'last week' is neither a "
        "number nor a time such as 2026-05-30 08:10; 2,000 rows affected"
    ) in words
    assert "there is no such file; similar names: all.parquet" in nowhere


def test_movielens_splits_in_four_ways(tmp_path: Path) -> None:
    """100,004 ratings of 671 users; none is repeated, and many have the same second."""
    parts = [pl.read_parquet(movielens() / f"{each}.parquet") for each in ("train", "test")]
    pl.concat(parts).write_parquet(tmp_path / "ratings.parquet")
    names = ("--column", "time=timestamp", "--column", "grade=rating")
    for how in (
        ("leave-last-out",),
        ("global-time", "--share", "0.1", "--gap", "7d"),
        ("random", "--share", "0.1"),
        ("user-time", "--share", "0.1"),
    ):
        run(
            tmp_path, "concord", "split", "ratings.parquet", *names, "--into", how[0], "--how", *how
        )
    manifests = {each.name: manifest_of(each) for each in tmp_path.iterdir() if each.is_dir()}

    for each in manifests.values():
        sides = sum(side["rows"] for side in each["files"].values())
        assert sides + sum(each["excluded"].values()) == 100_004
    assert manifests["leave-last-out"]["files"]["truth.parquet"]["rows"] == 671
    assert manifests["leave-last-out"]["counts"]["users_tied_at_the_cut"] == 127
    assert manifests["global-time"]["counts"]["train_rows_from_the_first_of_truth_on"] == 0
    assert (
        manifests["global-time"]["files"]["truth.parquet"]["rows"] == 10_001
    )  # a tenth, rounded up
    assert manifests["user-time"]["files"]["truth.parquet"]["users"] == 671
    assert manifests["random"]["files"]["truth.parquet"]["rows"] == pytest.approx(10_000, rel=0.05)
