"""In folders that others may write to, no link and no pipe leads Concord astray."""

import hashlib
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from concord.pipeline.tracking.store import Tracking, TrackingError
from tests.project import ROOT

STAGE = """
import sys; sys.argv[0] = "load"
from concord.pipeline.running.stage import run
run(lambda: None)
"""
SPILLING = """
from concord.pipeline.running.leftovers import spill_folder
with spill_folder():
    pass
"""
PRECIOUS = "somebody's thesis\n"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder for temporary files that everybody may write to."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "thesis.txt"
    path.write_text(PRECIOUS)
    return path


def _python(script: str, here: Path, shared: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(shared)}
    environment.pop("DVC_ROOT", None)
    here.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _lock_of(here: Path, stage: str) -> str:
    mark = hashlib.sha256(f"{here}\0{stage}".encode()).hexdigest()[:8]
    return f"{stage}-{mark}.lock"


def test_a_link_under_the_name_of_a_lock_empties_no_file(
    tmp_path: Path, shared: Path, victim: Path
) -> None:
    here = tmp_path / "here"
    for folder in ("concord", f"concord-{os.getuid()}"):
        (shared / folder).mkdir(mode=0o700)
        (shared / folder / _lock_of(here, "load")).symlink_to(victim)
    done = _python(STAGE, here, shared)

    assert victim.read_text() == PRECIOUS
    assert done.returncode == 2
    assert "is a link or no file: remove it" in done.stderr


def test_a_link_among_the_locks_of_dvc_empties_no_file(
    tmp_path: Path, shared: Path, victim: Path
) -> None:
    here = tmp_path / "here"
    locks = here / ".dvc" / "tmp" / "concord"
    locks.mkdir(parents=True)
    (locks / _lock_of(here, "load")).symlink_to(victim)
    done = _python(STAGE, here, shared)

    assert victim.read_text() == PRECIOUS
    assert done.returncode == 2


def test_a_pipe_under_the_name_of_a_lock_is_refused(tmp_path: Path, shared: Path) -> None:
    here = tmp_path / "here"
    locks = here / ".dvc" / "tmp" / "concord"
    locks.mkdir(parents=True)
    os.mkfifo(locks / _lock_of(here, "load"))

    assert "is a link or no file: remove it" in _python(STAGE, here, shared).stderr


def test_without_dvc_locks_lie_in_a_folder_of_the_users_own(tmp_path: Path, shared: Path) -> None:
    done = _python(STAGE, tmp_path / "here", shared)
    (folder,) = shared.iterdir()

    assert done.returncode == 0, done.stderr
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in folder.iterdir()] == [_lock_of(tmp_path / "here", "load")]


@pytest.mark.parametrize("what", ["link", "writable", "file"])
def test_a_folder_that_others_may_write_to_is_not_trusted(
    tmp_path: Path, shared: Path, what: str
) -> None:
    folder = shared / f"concord-{os.getuid()}"
    if what == "link":
        (shared / "elsewhere").mkdir()
        folder.symlink_to(shared / "elsewhere")
    elif what == "writable":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.touch()
    done = _python(STAGE, tmp_path / "here", shared)

    assert done.returncode == 2
    assert f"{folder}: is not a folder that this user alone may write to" in done.stderr
    assert "set TMPDIR to a folder of your own" in done.stderr


def test_a_pipe_among_the_folders_for_spilling_hangs_nothing(tmp_path: Path, shared: Path) -> None:
    os.mkfifo(shared / "concord-spill-x")

    assert _python(SPILLING, tmp_path / "here", shared).returncode == 0


def test_a_link_beside_a_shared_database_empties_no_file(tmp_path: Path, victim: Path) -> None:
    database = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(database)):
        (tmp_path / "mlflow.db.lock").symlink_to(victim)
    with (
        pytest.raises(TrackingError, match=re.escape("mlflow.db.lock is a link or no file")),
        Tracking(f"sqlite:///{database}").ready(),
    ):
        pass

    assert victim.read_text() == PRECIOUS
