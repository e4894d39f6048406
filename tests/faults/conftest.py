"""One evaluated project of 30 users; each test works in a copy of its own."""

import shutil
from pathlib import Path

import pytest

from tests.faults.small import digests, run_all, small_project


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small project after every stage up to the report."""
    project = small_project(tmp_path_factory.mktemp("small") / "a project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        run_all()
    return project


@pytest.fixture(scope="session")
def expected(evaluated: Path) -> dict[str, str]:
    """The hashes that every run must give, whatever happened before it."""
    return digests(evaluated)


@pytest.fixture
def project(evaluated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the evaluated project, which is the current folder."""
    copy = tmp_path / "a project"
    shutil.copytree(evaluated, copy)
    monkeypatch.chdir(copy)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return copy
