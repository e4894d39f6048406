"""One wheel, one environment with it, and each repository trained and evaluated once."""

import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.installed.environments import built
from tests.installed.repository import Repository
from tests.project import made_once

COMMAND = """#!{python}
import sys
from concord.pipeline.commands.cli import main
sys.exit(main())
"""


def packages(folder: Path) -> None:
    built(folder)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the wheel, built from the sdist."""
    (path,) = made_once(tmp_path_factory, worker_id, packages).glob("*.whl")
    return path


@pytest.fixture(scope="session")
def sdist(wheel: Path) -> Path:
    """Return the sdist of the wheel."""
    (result,) = wheel.parent.glob("*.tar.gz")
    return result


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the `bin` of an environment with the wheel and this environment's packages."""

    def installed_wheel(folder: Path) -> None:
        venv.create(folder, symlinks=True)
        site_packages = sysconfig.get_path("purelib")
        packages_of = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
        with ZipFile(wheel) as files:
            files.extractall(packages_of)
        # A .pth file with a path adds the packages there but reads no .pth file there,
        # such as that of the checkout.
        (packages_of / "tests.pth").write_text(f"{site_packages}\n")
        command = folder / "bin" / "concord"
        command.write_text(COMMAND.format(python=folder / "bin" / "python"))
        command.chmod(0o755)
        (folder / "bin" / "dvc").symlink_to(Path(sys.executable).with_name("dvc"))

    return made_once(tmp_path_factory, worker_id, installed_wheel) / "bin"


@pytest.fixture(scope="session")
def evaluated(
    installed: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Callable[[str], Repository]:
    """Return copies of a repository after training, `concord init` and `dvc repro`, committed."""

    def once(name: str) -> Repository:
        def make(folder: Path) -> None:
            _evaluate(Repository(name, folder, installed))

        make.__name__ = f"repository_{name}"
        return Repository.at(made_once(tmp_path_factory, worker_id, make) / name, installed)

    return once


def _evaluate(repository: Repository) -> None:
    training = "recommender" if repository.root.name == "monorepo" else "."
    if repository.root.name == "get_started":
        repository.run("python", "data/make_ratings.py")
        repository.run_here("dvc", "add", "-q", "data/ratings.csv")
    repository.run_here("dvc", "repro", "-q", at=training)
    repository.commit("training")
    output = repository.run("concord", "init", at=training)
    evaluation = f"{training}/evaluation"
    if repository.root.name == "monorepo":  # what its pull request is decided by
        repository.replace(
            f"{evaluation}/params.yaml", "gate: {} ", "gate: {segments: {activity: {nDCG@10: 5%}}} "
        )
        repository.replace(f"{evaluation}/params.yaml", "edges: [0, 20, 50]", "edges: [0, 9]")
    repository.run("dvc", "repro", at=evaluation)
    assert repository.changed() == []
    repository.commit("evaluation")
    repository.root.with_name("said.txt").write_text(output, encoding="utf-8")
