"""A disk that is full while Python writes its bytecode: the next run reads the source, and nothing is deleted by hand."""

import os
from pathlib import Path

import pytest

from tests.faults.test_disk import MOUNTS, PRIVATE
from tests.faults.tiny import LOAD, digests, stage
from tests.project import attempt

pytestmark = pytest.mark.whole

FIRST = (
    "concord",
    "pipeline",
)  # their own bytecode is smaller than a page of a disk: whole or absent
SIZES = (17, 1500)  # bytes that were written; Python itself sees to fewer than 16


def _writes(project: Path) -> dict[str, str]:
    """The project's own code is run, and its bytecode written."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": str(project)}


def _bytecode(project: Path) -> list[Path]:
    first = {project / room for room in FIRST}
    return sorted(path for path in project.rglob("*.pyc") if path.parent.parent not in first)


@pytest.mark.parametrize("size", SIZES)
def test_bytecode_that_was_cut_off_is_written_again(
    project: Path, expected: dict[str, str], size: int
) -> None:
    stage(project, *LOAD, **_writes(project))
    whole = {path: path.stat().st_size for path in _bytecode(project)}
    for path in whole:
        os.truncate(path, min(size, whole[path] - 1))
    (project / "results" / "lists" / "popularity.parquet").unlink()
    mended = stage(project, *LOAD, **_writes(project))
    stage(project, *LOAD, **_writes(project))

    assert len(whole) > 20
    assert mended.returncode == 0, mended.stderr
    assert "marshal" not in mended.stderr
    assert {path: path.stat().st_size for path in whole} == whole
    assert digests(project) == expected


@pytest.mark.fault(13, "bytecode that a full disk cut off is read from its source instead")
def test_a_limit_of_file_sizes_that_cuts_bytecode_off_breaks_no_later_run(project: Path) -> None:
    attempt(project, "prlimit", "--fsize=4096", "concord", "stage", *LOAD, **_writes(project))
    later = stage(project, *LOAD, **_writes(project))

    assert later.returncode == 0, later.stderr


@pytest.mark.skipif(not MOUNTS, reason="needs the right to mount")
def test_a_full_disk_that_cuts_bytecode_off_breaks_no_later_run(project: Path) -> None:
    (project / "pipeline" / "running" / "__pycache__").mkdir(exist_ok=True)
    mount = "mount -t tmpfs -o size=20k tmpfs pipeline/running/__pycache__"
    run = f"concord stage {' '.join(LOAD)}"
    done = attempt(project, *PRIVATE, f"{mount} && {run} -q; {run} -q", **_writes(project))

    assert (done.returncode, done.stderr) == (0, "")
