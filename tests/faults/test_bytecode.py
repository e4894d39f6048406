"""A disk that is full while Python writes its bytecode: the next run reads the source, and nothing is deleted by hand."""

import os
from pathlib import Path

import pytest

from tests.faults.test_disk import MOUNTS, PRIVATE
from tests.faults.tiny import LOAD, digests, stage
from tests.project import attempt

pytestmark = pytest.mark.whole

WRITES = {"PYTHONDONTWRITEBYTECODE": ""}
SIZES = (17, 1500)  # bytes that were written; Python itself sees to fewer than 16


def _bytecode(project: Path) -> list[Path]:
    return sorted(
        path for path in project.rglob("*.pyc") if path.parent.parent != project / "pipeline"
    ) + sorted((project / "pipeline" / "__pycache__").glob("[!_]*.pyc"))


@pytest.mark.parametrize("size", SIZES)
def test_bytecode_that_was_cut_off_is_written_again(
    project: Path, expected: dict[str, str], size: int
) -> None:
    stage(project, *LOAD, **WRITES)
    whole = {path: path.stat().st_size for path in _bytecode(project)}
    for path in whole:
        os.truncate(path, min(size, whole[path] - 1))
    (project / "results" / "lists" / "popularity.parquet").unlink()
    mended = stage(project, *LOAD, **WRITES)
    stage(project, *LOAD, **WRITES)

    assert len(whole) > 20
    assert mended.returncode == 0, mended.stderr
    assert "marshal" not in mended.stderr
    assert {path: path.stat().st_size for path in whole} == whole
    assert digests(project) == expected


@pytest.mark.fault(13, "bytecode that a full disk cut off is read from its source instead")
def test_a_limit_of_file_sizes_that_cuts_bytecode_off_breaks_no_later_run(project: Path) -> None:
    attempt(project, "prlimit", "--fsize=4096", "concord", "stage", *LOAD, **WRITES)
    later = stage(project, *LOAD, **WRITES)

    assert later.returncode == 0, later.stderr


@pytest.mark.skipif(not MOUNTS, reason="needs the right to mount")
def test_a_full_disk_that_cuts_bytecode_off_breaks_no_later_run(project: Path) -> None:
    (project / "pipeline" / "running" / "__pycache__").mkdir(exist_ok=True)
    mount = "mount -t tmpfs -o size=20k tmpfs pipeline/running/__pycache__"
    run = f"python -m {' '.join(LOAD)}"
    done = attempt(project, *PRIVATE, f"{mount} && {run} -q; {run} -q", **WRITES)

    assert (done.returncode, done.stderr) == (0, "")
