"""One evaluated project of 30 users; each test works in its own copy."""

import shutil
from pathlib import Path

import pytest

from tests.faults.small import digests, run_all, small_project


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the small project after all stages up to the report."""
    project = small_project(tmp_path_factory.mktemp("small") / "a project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        run_all()
    return project


@pytest.fixture(scope="session")
def expected(evaluated: Path) -> dict[str, str]:
    """Return the hashes that every run must give after any failure."""
    return digests(evaluated)


@pytest.fixture
def project(evaluated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the evaluated project, which becomes the current folder."""
    copy = tmp_path / "a project"
    shutil.copytree(evaluated, copy)
    monkeypatch.chdir(copy)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return copy
