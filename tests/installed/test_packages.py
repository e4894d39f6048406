"""What is published: a wheel and an sdist with one package, which leaves what others have installed alone."""

import hashlib
import tarfile
from importlib.metadata import EntryPoints, PathDistribution
from pathlib import Path
from zipfile import Path as InZip
from zipfile import ZipFile

import pytest

from tests.installed.environments import attempt, environment, run, wheel_of
from tests.project import ROOT

pytestmark = pytest.mark.whole

NAME = "concord_eval-0.1.0"
EXTRAS = {"report", "dvc", "mlflow", "delta", "spark", "all"}


@pytest.fixture(scope="module")
def held(wheel: Path) -> dict[str, bytes]:
    """What the wheel holds."""
    with ZipFile(wheel) as files:
        return {name: files.read(name) for name in files.namelist()}


@pytest.fixture(scope="module")
def told(wheel: Path) -> PathDistribution:
    """What the wheel tells of itself."""
    return PathDistribution(InZip(wheel, f"{NAME}.dist-info/"))


@pytest.fixture(scope="module")
def source(sdist: Path) -> list[tarfile.TarInfo]:
    """What the sdist holds."""
    with tarfile.open(sdist) as files:
        return files.getmembers()


def _code() -> set[str]:
    """The files of the package, where the checkout has them."""
    found = {f"concord/{path.name}" for path in (ROOT / "concord").iterdir() if path.is_file()}
    for room in ("metrics_core", "pipeline", "reports"):
        files = (path for path in (ROOT / room).rglob("*") if path.is_file())
        found |= {f"concord/{path.relative_to(ROOT)}" for path in files}
    return {name for name in found if "__pycache__" not in name}


def test_the_wheel_holds_one_package(held: dict[str, bytes]) -> None:
    assert {name.split("/")[0] for name in held} == {"concord", f"{NAME}.dist-info"}
    assert {name for name in held if name.startswith("concord/")} == _code()
    assert {"concord/py.typed", "concord/pipeline/project/templates/dvc.yaml.j2"} <= set(held)
    assert held[f"{NAME}.dist-info/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_the_sdist_holds_one_package_and_no_links(source: list[tarfile.TarInfo]) -> None:
    names = {file.name.removeprefix(f"{NAME}/") for file in source}
    beside = {".gitignore", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}

    assert names == _code() | beside
    assert {file.type for file in source} == {tarfile.REGTYPE}


def test_the_wheel_of_the_checkout_is_that_of_the_sdist(wheel: Path, tmp_path: Path) -> None:
    own = wheel_of(ROOT, tmp_path)

    assert own.name == wheel.name
    assert _sha256(own) == _sha256(wheel)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_metadata_name_extras_and_commands(told: PathDistribution) -> None:
    commands: EntryPoints = told.entry_points

    assert told.metadata["Name"] == "concord-eval"
    assert told.metadata["Requires-Python"] == ">=3.11"
    assert told.metadata["License-Expression"] == "Apache-2.0"
    assert set(told.metadata.get_all("Provides-Extra") or []) == EXTRAS
    assert {(each.group, each.name) for each in commands} == {
        ("console_scripts", "concord"),
        ("mlflow.model_evaluator", "concord"),
    }


def test_metadata_pins_nothing(told: PathDistribution) -> None:
    """Each need has a lower bound, and an upper one at most where the next major version is."""
    needs = told.requires or []
    core = {need.split(">=")[0] for need in needs if "extra ==" not in need}

    assert core == {"duckdb", "numpy", "polars", "pyarrow", "scipy"}
    assert all(">=" in need for need in needs)
    assert not any("==" in need.split(";")[0] for need in needs)


OTHERS = {  # a project that has packages of these names too
    "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "shop"
version = "1"
requires-python = ">=3.11"

[tool.hatch.build.targets.wheel]
packages = ["pipeline", "reports", "metrics_core"]
""",
    "pipeline/__init__.py": "WHOSE = 'the shop'\n",
    "reports/__init__.py": "WHOSE = 'the shop'\n",
    "metrics_core/__init__.py": "WHOSE = 'the shop'\n",
}
BOTH = """
import concord, metrics_core, pipeline, reports
from concord import evaluate
from concord.pipeline.commands import cli
from concord.reports import latex
assert {metrics_core.WHOSE, pipeline.WHOSE, reports.WHOSE} == {"the shop"}
assert cli.__file__.startswith(concord.__path__[0])
found = evaluate({"u": ["a", "b"]}, {"u": ["b"]}, metrics=["RR@2"], conventions="standard")
print(found["RR@2"])
"""


@pytest.fixture(scope="module")
def beside(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with Concord and the other project."""
    folder = tmp_path_factory.mktemp("shop")
    for name, text in OTHERS.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    programs = environment("beside", wheel, "")
    other = wheel_of(folder, folder)
    run("uv", "pip", "install", "-q", "--no-deps", "--python", str(programs.parent), str(other))
    return programs


def test_beside_packages_of_the_same_names(beside: Path, tmp_path: Path) -> None:
    """One after the other: both are used, then Concord is uninstalled."""

    def said(*command: str) -> str:
        return run(str(beside / command[0]), *command[1:], cwd=tmp_path)

    folder = Path(said("python", "-c", "import concord; print(concord.__path__[0])").strip())
    installed = {path for path in folder.parent.iterdir() if path.name.startswith("concord")}

    assert said("python", "-c", BOTH) == "0.5\n"
    assert said("python", "-m", "concord", "--version") == "concord 0.1.0\n"
    assert said("concord", "--version") == "concord 0.1.0\n"
    assert {path.name for path in installed} == {"concord", f"{NAME}.dist-info"}

    run("uv", "pip", "uninstall", "-q", "--python", str(beside.parent), "concord-eval")
    others = "import metrics_core, pipeline, reports; print(pipeline.WHOSE, reports.WHOSE)"
    gone = attempt(str(beside / "python"), "-c", "import concord", cwd=tmp_path)

    assert said("python", "-c", others) == "the shop the shop\n"
    assert "No module named 'concord'" in gone.stderr
    assert not any(path.exists() for path in installed)
    assert not (beside / "concord").exists()
