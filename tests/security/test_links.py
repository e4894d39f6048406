"""Links and pipes in folders that others may write to do not mislead Concord."""

import os
import socket
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from concord.pipeline.mlflow.client import Tracking
from concord.pipeline.running.outputs import spill_folder

PRECIOUS = "somebody's thesis\n"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "thesis.txt"
    path.write_text(PRECIOUS)
    return path


def test_a_link_among_the_folders_for_spilling_leads_nowhere(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)  # everybody may write there
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    name = f"concord-duckdb-{socket.gethostname()}-999999999-"
    (shared / f"{name}link").symlink_to(victim.parent)
    os.mkfifo(shared / f"{name}pipe")
    with spill_folder() as folder:
        mode = Path(folder).stat().st_mode & 0o777

    assert mode == 0o700
    assert victim.read_text() == PRECIOUS
    assert list(shared.iterdir()) == []


def test_a_link_beside_a_shared_database_empties_no_file(tmp_path: Path, victim: Path) -> None:
    database = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(database)):
        (tmp_path / "mlflow.db.lock").symlink_to(victim)
    with Tracking(f"sqlite:///{database}").lock():
        pass

    assert victim.read_text() == PRECIOUS
    assert [path.name for path in tmp_path.glob("mlflow.db*")] == ["mlflow.db"]
