"""Disks that are full or read-only."""

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.faults.small import LOAD, parts, run_stage
from tests.project import attempt, change_params

PRIVATE = ("unshare", "--mount", "--map-root-user", "sh", "-c")  # mounts that end with the command


def _failing(number: int) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.fault(13, "the message names folder and free space; no partial file is left")
@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the quota is used up"),
        (errno.EFBIG, "the limit of file sizes (ulimit -f) is reached"),
    ],
)
def test_a_full_disk_at_the_outputs(
    project: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    lists = project / "results" / "lists" / "first.parquet"
    lists.unlink()
    monkeypatch.setattr(os, "fsync", _failing(number))
    ended = run_stage(*LOAD)

    assert ended.code == 1
    assert ended.err.startswith(f"results/lists/first.parquet: {reason}: ")
    assert " are free, " in ended.err
    assert ended.err.endswith("fix: free space there, then `concord run`\n")
    assert ended.err.count("\n") == 1
    assert parts(project) == []
    assert not lists.exists()


@pytest.mark.fault(16, "an error before any work")
@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_be_written(
    project: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(Path, "write_bytes", _failing(number))
    ended = run_stage(*LOAD, "-v")

    assert ended.code == 1
    assert ended.err.startswith(f"results/lists: cannot be written: {os.strerror(number)}; fix: ")
    assert ended.err.count("\n") == 1  # -v would name what was read


@pytest.mark.nightly
def test_a_file_system_that_is_full_where_duckdb_spills(project: Path, tmp_path: Path) -> None:
    try:
        subprocess.run([*PRIVATE, "mount -t tmpfs tmpfs /mnt"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount")
    users = pl.DataFrame({"user": [f"user-{number:09d}" for number in range(20_000)]})
    items = pl.DataFrame({"item": [f"item-{number * 7919 % 100_003:09d}" for number in range(50)]})
    lists = users.join(items, how="cross").with_columns(score=pl.int_range(pl.len()).hash(3) / 1e19)
    lists.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(project / "data/long.parquet")
    change_params(project, {"models.first": {"path": "data/long.parquet"}})
    (tmp_path / "spill").mkdir()
    mount = f"mount -t tmpfs -o size=8m tmpfs '{tmp_path}/spill'"
    small = {"CONCORD_MEMORY": "60MB", "CONCORD_THREADS": "2", "TMPDIR": f"{tmp_path}/spill"}
    done = attempt(project, *PRIVATE, f"{mount} && concord stage load first", **small)

    assert done.returncode == 1, done.stderr
    assert f"{tmp_path}/spill: the disk is full with DuckDB's temporary files" in done.stderr
    assert "raise CONCORD_MEMORY (it is 60MB)" in done.stderr
