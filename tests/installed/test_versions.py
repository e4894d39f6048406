"""The lowest and newest versions within the ranges, on every installed Python: same bits."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installed.environments import HIGHEST, LOWEST, environment, run
from tests.installed.repository import Repository
from tests.project import ROOT

pytestmark = pytest.mark.nightly

DIGESTS = Path(__file__).parent / "digests.py"
INTERVALS = "intervals and p values"
OLD_NEEDS = (
    "pathspec<1",
    "sqlalchemy<2.1",
)  # of DVC before 3.66 and MLflow before 3.9, which do not say so


def _interpreter(minor: str) -> Path | None:
    """Return a Python of this version: the running one, pyenv's, or the one on the path."""
    if minor == f"3.{sys.version_info.minor}":
        return Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    results = [*pyenv.glob(f"{minor}.*/bin/python{minor}")]
    results += [Path(each) for each in [shutil.which(f"python{minor}")] if each]
    runs = (p for p in results if not subprocess.run([p, "-c", ""], capture_output=True).returncode)
    return next(runs, None)


INTERPRETERS = {
    m: p for m in ("3.11", "3.12", "3.13", "3.14") if (p := _interpreter(m)) is not None
}
LAST = max(INTERPRETERS)
on_3_11 = pytest.mark.parametrize(
    "python", [path for minor, path in INTERPRETERS.items() if minor == "3.11"]
)
"""The lowest versions have wheels only for this Python."""


def _digests(programs: Path, folder: Path) -> dict[str, str]:
    python = str(programs / "python")
    output = run(python, str(DIGESTS), str(ROOT / "data" / "demo"), cwd=folder)
    return json.loads(output)


def _versions(programs: Path) -> dict[str, str]:
    listed = ("uv", "pip", "list", "-q", "--format", "json", "--python", str(programs.parent))
    return {each["name"]: each["version"] for each in json.loads(run(*listed))}


@pytest.fixture(scope="module")
def expected(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the digests with the versions of the lock."""
    return _digests(installed, tmp_path_factory.mktemp("expected"))


@pytest.mark.parametrize("minor", INTERPRETERS)
def test_the_newest_versions_give_the_same_bits(
    wheel: Path, expected: dict[str, str], tmp_path: Path, minor: str
) -> None:
    newest = environment(
        f"newest-{minor}", wheel, "", python=INTERPRETERS[minor], resolution=HIGHEST
    )

    assert _digests(newest, tmp_path) == expected


def test_the_constraints_of_the_release_give_the_same_bits(
    wheel: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    constrained = environment("constrained", wheel, "")

    assert _digests(constrained, tmp_path) == expected


@on_3_11
def test_the_lowest_versions_give_the_same_bits_but_for_students_t(
    wheel: Path, expected: dict[str, str], tmp_path: Path, python: Path
) -> None:
    """Since SciPy 1.17, Student's t differs in the 11th digit of intervals and p-values."""
    lowest = environment("lowest", wheel, "", python=python, resolution=LOWEST)
    hashes = _digests(lowest, tmp_path)
    ranges = re.findall(r'^    "(\w+)>=([0-9.]+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    versions = _versions(lowest)

    assert len(ranges) >= 5
    assert all(f"{versions[name]}.".startswith(f"{low}.") for name, low in ranges[:5])
    assert {part for part in expected if hashes[part] != expected[part]} == {INTERVALS}


def _whole(programs: Path, folder: Path) -> dict[str, bytes]:
    """Run all stages of a small project; return results by name."""
    tiny = Repository("tiny", folder, programs)
    tiny.run("concord", "init")
    tiny.run("dvc", "repro", at="evaluation")
    database = sqlite3.connect(tiny.root / "evaluation" / "mlflow.db")
    logged = {name for (name,) in database.execute("SELECT name FROM runs")}
    database.close()
    results = tiny.root / "evaluation" / "results"
    reported = [
        *results.glob("metrics/*.json"),
        *results.glob("report/*.json"),
        *results.glob("report/*.md"),
    ]

    assert logged == {"one", "two", "comparison"}
    assert len(reported) == 4
    return {path.name: path.read_bytes() for path in reported}


@on_3_11
def test_a_project_with_the_lowest_versions_of_all_extras_and_with_the_newest(
    wheel: Path, tmp_path: Path, python: Path
) -> None:
    """From `concord init` to MLflow 2.22 and 3: metrics, verdicts and the report are the same."""
    lowest = environment("all-lowest", wheel, "all", *OLD_NEEDS, python=python, resolution=LOWEST)
    newest = environment("all-newest", wheel, "all", python=INTERPRETERS[LAST], resolution=HIGHEST)
    for name in ("lowest", "newest"):
        (tmp_path / name).mkdir()

    assert _versions(lowest)["mlflow"] == "2.22.0"
    assert _versions(newest)["mlflow"].startswith("3.")
    assert _whole(lowest, tmp_path / "lowest") == _whole(newest, tmp_path / "newest")
