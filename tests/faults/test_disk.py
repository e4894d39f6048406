"""Disks that are full, or may not be written."""

import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.faults.tiny import LOAD, digests, leftovers, stage
from tests.project import attempt, change_params

pytestmark = pytest.mark.whole

HOLD = "concord stage load popularity; code=$?; ls -A results/lists; exit $code"
PRIVATE = ("unshare", "--mount", "--map-root-user", "sh", "-c")  # mounts that end with the command


def _can_mount() -> bool:
    try:
        done = subprocess.run(
            [*PRIVATE, "mount -t tmpfs tmpfs /mnt"], capture_output=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


MOUNTS = _can_mount()  # elsewhere limits of file sizes and permissions stand for it
FULL = ["limit", *(["tmpfs"] if MOUNTS else [])]
READ_ONLY = ["permissions", *(["mount"] if MOUNTS else [])]


@pytest.mark.fault(13, "a full disk is named with place and space; no partial file is left")
@pytest.mark.parametrize("how", FULL)
def test_a_full_disk_at_the_outputs(project: Path, how: str) -> None:
    lists = project / "results" / "lists" / "popularity.parquet"
    lists.unlink()
    if how == "tmpfs":
        mount = "mount -t tmpfs -o size=16k tmpfs results/lists"
        done = attempt(project, *PRIVATE, f"{mount} && {HOLD}")
        assert done.stdout == ""
        assert "results/lists/popularity.parquet: the disk is full: 0 bytes are free" in done.stderr
    else:
        done = attempt(project, "prlimit", "--fsize=16384", "sh", "-c", HOLD)
        assert done.stdout == "als.parquet\n"
        assert "popularity.parquet: the limit of file sizes (ulimit -f) is reached" in done.stderr
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "fix: free space there, then `dvc repro`" in done.stderr
    assert leftovers(project) == []
    assert not lists.exists()


@pytest.mark.fault(13, "what cannot be printed is not worth a failed stage")
def test_a_full_disk_behind_stdout_is_said_and_harms_no_result(
    project: Path, expected: dict[str, str]
) -> None:
    done = attempt(project, "sh", "-c", "concord stage compare > /dev/full")

    assert done.returncode == 0
    assert "stdout: No space left on device" in done.stderr
    assert digests(project) == expected


def _long_lists(project: Path) -> None:
    users = pl.DataFrame({"user": [f"user-{number:09d}" for number in range(20_000)]})
    items = pl.DataFrame({"item": [f"item-{number * 7919 % 100_003:09d}" for number in range(50)]})
    lists = users.join(items, how="cross").with_columns(score=pl.int_range(pl.len()).hash(3) / 1e19)
    lists.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(project / "data/long.parquet")
    change_params(project, {"models.popularity": {"path": "data/long.parquet"}})


@pytest.mark.fault(14, "a full disk for spilling is named with its folder, limit and what to raise")
def test_a_full_disk_for_spilling(project: Path, tmp_path: Path) -> None:
    _long_lists(project)
    small = {"CONCORD_MEMORY": "60MB", "CONCORD_THREADS": "2"}
    if MOUNTS:
        (tmp_path / "spill").mkdir()
        mount = f"mount -t tmpfs -o size=8m tmpfs '{tmp_path}/spill'"
        done = attempt(
            project, *PRIVATE, f"{mount} && {HOLD}", **small, TMPDIR=str(tmp_path / "spill")
        )
        assert f"{tmp_path}/spill: the disk is full with DuckDB's temporary files" in done.stderr
    else:
        done = attempt(project, "prlimit", "--fsize=2000000", "sh", "-c", HOLD, **small)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1
    assert "max_temp_directory_size" in done.stderr
    assert "raise CONCORD_MEMORY (it is 60MB)" in done.stderr


@pytest.mark.fault(16, "a folder that cannot be written is refused before any work")
@pytest.mark.parametrize("how", READ_ONLY)
def test_a_folder_that_cannot_be_written(project: Path, how: str) -> None:
    if how == "mount":
        mount = "mount -t tmpfs -o ro tmpfs results/lists"
        done = attempt(project, *PRIVATE, f"{mount} && concord stage load popularity -v")
        reason = "Read-only file system"
    else:
        without = "--bounding-set=-dac_override,-dac_read_search"  # root is asked like anyone
        (project / "results" / "lists").chmod(0o555)
        done = attempt(project, "setpriv", without, "concord", "stage", *LOAD, "-v")
        (project / "results" / "lists").chmod(0o755)
        reason = "Permission denied"
    assert done.returncode == 1
    assert done.stderr.startswith(f"results/lists: cannot be written: {reason}; fix: ")
    assert done.stderr.count("\n") == 1  # -v would say what was read


def test_a_folder_without_room_for_a_page_is_refused_before_any_work(project: Path) -> None:
    done = attempt(project, "prlimit", "--fsize=1000", "concord", "stage", *LOAD, "-v")

    assert done.returncode == 1
    assert done.stderr.startswith("results/lists: the limit of file sizes")
    assert done.stderr.count("\n") == 1


def test_a_limit_of_memory_that_is_no_size_is_refused(project: Path) -> None:
    done = stage(project, *LOAD, CONCORD_MEMORY="lots")

    assert done.returncode == 2
    assert "CONCORD_MEMORY: is 'lots'" in done.stderr
