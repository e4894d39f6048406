"""One wheel for all workers, and one environment with everything."""

from pathlib import Path

import pytest

from tests.installed.environments import built, environment
from tests.project import made_once


def packages(folder: Path) -> None:
    built(folder)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The wheel, built from the sdist."""
    (found,) = made_once(tmp_path_factory, worker_id, packages).glob("*.whl")
    return found


@pytest.fixture(scope="session")
def sdist(wheel: Path) -> Path:
    """The sdist that the wheel is built from."""
    (found,) = wheel.parent.glob("*.tar.gz")
    return found


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The `bin` of an environment with `concord-eval[all]`, of the versions in the lock."""

    def everything(folder: Path) -> None:
        (folder / "bin").symlink_to(environment("all", wheel, "all"))

    return (made_once(tmp_path_factory, worker_id, everything) / "bin").resolve()
