"""The published wheel and sdist: one package, which does not change what others installed."""

import hashlib
import os
import re
import shutil
import tarfile
import tomllib
from importlib.metadata import EntryPoints, PathDistribution
from pathlib import Path
from zipfile import Path as InZip
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from tests.installed.environments import built, run, wheel_of
from tests.project import ROOT

pytestmark = pytest.mark.whole

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]
NAME = f"concord_eval-{VERSION}"
PAGES = f"https://github.com/concord-eval/concord/blob/v{VERSION}/"
RAW = f"https://raw.githubusercontent.com/concord-eval/concord/v{VERSION}/"
OTHERS = ("pipeline", "reports", "metrics_core")  # packages that others have too


def _code() -> set[str]:
    """Return the package's files in the checkout."""
    package = ROOT / "concord"
    folders = [path for path in package.iterdir() if path.is_dir()]
    files = [*package.iterdir(), *(path for folder in folders for path in folder.rglob("*"))]
    names = {path.relative_to(ROOT).as_posix() for path in files if path.is_file()}
    return {name for name in names if "__pycache__" not in name}


def test_the_wheel_holds_one_package(wheel: Path) -> None:
    with ZipFile(wheel) as files:
        items = {name: files.read(name) for name in files.namelist()}

    assert {name.split("/")[0] for name in items} == {"concord", f"{NAME}.dist-info"}
    assert {name for name in items if name.startswith("concord/")} == _code()
    assert {
        "concord/datasets/demo/truth.parquet",
        "concord/pipeline/init/templates/dvc.yaml.j2",
        "concord/py.typed",
    } <= set(items)
    for name in ("LICENSE", "NOTICE"):
        assert items[f"{NAME}.dist-info/licenses/{name}"] == (ROOT / name).read_bytes()


def test_the_sdist_holds_one_package_and_no_links(sdist: Path) -> None:
    with tarfile.open(sdist) as files:
        source = files.getmembers()
    names = {file.name.removeprefix(f"{NAME}/") for file in source}
    other = {".gitignore", "LICENSE", "NOTICE", "PKG-INFO", "README.md", "pyproject.toml"}

    assert names == _code() | other
    assert {file.type for file in source} == {tarfile.REGTYPE}


def test_the_wheel_of_the_checkout_is_that_of_the_sdist(wheel: Path, tmp_path: Path) -> None:
    from_checkout = wheel_of(ROOT, tmp_path)

    assert from_checkout.name == wheel.name
    assert _sha256(from_checkout) == _sha256(wheel)


def test_another_checkout_gives_the_same_bytes(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    """In another folder, with the times and rights of another day and umask."""
    checkout, packages = tmp_path / "another checkout", tmp_path / "packages"
    checkout.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("concord", *OTHERS):
        shutil.copytree(ROOT / name, checkout / name, symlinks=True, ignore=ignored)
    for name in (".gitignore", "LICENSE", "NOTICE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, checkout)
    for path in checkout.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o600)
            os.utime(path, (1e9, 1e9))
    umask = os.umask(0o077)
    try:
        built(packages, checkout)
    finally:
        os.umask(umask)

    assert _sha256(packages / sdist.name) == _sha256(sdist)
    assert _sha256(packages / wheel.name) == _sha256(wheel)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_long_description_links_to_files_of_this_version(wheel: Path) -> None:
    metadata = PathDistribution(InZip(wheel, f"{NAME}.dist-info/")).metadata
    text = str(metadata["Description"])
    targets = re.findall(r"(!?)\[[^]]*\]\(([^)]*)\)", text)
    pictures = [target for mark, target in targets if mark]
    files = {
        target: target.removeprefix(RAW if mark else PAGES)
        for mark, target in targets
        if not target.startswith("#")
    }

    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "\npip install 'concord-eval[report]'" in text
    assert "<this repository>" not in text
    assert len(pictures) == 1
    assert len(files) > 20
    assert [target for target, path in files.items() if not (ROOT / path).is_file()] == []


def test_the_metadata_name_commands_extras_and_needs_without_pins(wheel: Path) -> None:
    """Each requirement has a lower bound; tests/installed/test_extras.py covers the extras."""
    reported = PathDistribution(InZip(wheel, f"{NAME}.dist-info/"))
    commands: EntryPoints = reported.entry_points
    needs = [Requirement(need) for need in reported.requires or []]
    extras = set(reported.metadata.get_all("Provides-Extra") or [])
    core = {need.name for need in needs if need.marker is None}
    brings = {
        extra: {n.name for n in needs if n.marker and n.marker.evaluate({"extra": extra})}
        for extra in extras
    }
    report = {"jinja2", "pydantic", "pyyaml", "ruamel-yaml"}

    assert reported.metadata["Name"] == "concord-eval"
    assert reported.metadata["Requires-Python"] == ">=3.11"
    assert reported.metadata["License-Expression"] == "Apache-2.0"
    assert {(each.group, each.name) for each in commands} == {
        ("console_scripts", "concord"),
        ("mlflow.model_evaluator", "concord"),
        ("pytest11", "concord"),
    }
    assert extras == {"report", "dvc", "mlflow", "delta", "spark", "all"}
    assert core == {"duckdb", "numpy", "polars", "pyarrow", "scipy"}
    assert all(">=" in str(need.specifier) for need in needs)
    assert not any("==" in str(need.specifier) for need in needs)
    assert brings["report"] == report
    assert brings["dvc"] == report | {"dvc", "shtab"}
    assert brings["mlflow"] == report | {"mlflow"}
    assert brings["all"] == brings["dvc"] | brings["mlflow"]


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


def test_beside_packages_of_the_same_names(installed: Path, tmp_path: Path) -> None:
    for name in OTHERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("WHOSE = 'the shop'\n")

    def messages(*command: str) -> str:
        return run(str(installed / command[0]), *command[1:], cwd=tmp_path)

    folder = messages("python", "-c", "import concord; print(concord.__file__)").strip()

    assert Path(folder).is_relative_to(installed.parent)  # it is the wheel's
    assert messages("python", "-c", BOTH) == "0.5\n"
    assert messages("python", "-m", "concord", "--version") == f"concord {VERSION}\n"
    assert messages("concord", "--version") == f"concord {VERSION}\n"


PLUGIN = """
import sys

def test_pytest_starts_with_the_plugin_alone(pytestconfig):
    assert pytestconfig.getoption("--concord-dir") is None
    assert not {"polars", "concord.metrics_core", "concord.testing"} & {*sys.modules}

def test_fixture_is_found(request):
    try:
        request.getfixturevalue("concord_comparison")
    except BaseException as error:
        assert "params.yaml: there is no such file" in str(error)
"""


def test_pytest_finds_the_plugin(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_plugin.py").write_text(PLUGIN)
    output = run(str(installed / "python"), "-m", "pytest", "-q", cwd=tmp_path)

    assert "2 passed" in output
