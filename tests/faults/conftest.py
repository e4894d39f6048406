"""One finished tiny project for all workers; each test gets a copy."""

import fcntl
import shutil
from pathlib import Path

import pytest

from tests.faults.tiny import digests, repro, tiny_project

IGNORED = shutil.ignore_patterns("__pycache__", "dvc-site")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The tiny project after `dvc repro`."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "finished"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            repro(tiny_project(folder))
            (folder / "done").touch()
    return folder / "a project"


@pytest.fixture(scope="session")
def expected(finished: Path) -> dict[str, str]:
    """What every run must give, whatever happened before it."""
    return digests(finished)


@pytest.fixture
def project(finished: Path, tmp_path: Path) -> Path:
    """A finished project of the test's own."""
    copy = tmp_path / "a project"
    shutil.copytree(finished, copy, symlinks=True, ignore=IGNORED)
    return copy
