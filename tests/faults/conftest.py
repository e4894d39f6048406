"""One finished tiny project for all workers; each test gets a copy."""

from pathlib import Path

import pytest

from tests.faults.tiny import digests, repro, tiny_project
from tests.project import copied_from, made_once


def finished_tiny(folder: Path) -> None:
    repro(tiny_project(folder))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The tiny project after `dvc repro`."""
    return made_once(tmp_path_factory, worker_id, finished_tiny) / "a project"


@pytest.fixture(scope="session")
def expected(finished: Path) -> dict[str, str]:
    """What every run must give, whatever happened before it."""
    return digests(finished)


@pytest.fixture
def project(finished: Path, tmp_path: Path) -> Path:
    """A finished project of the test's own."""
    return copied_from(finished, tmp_path)
