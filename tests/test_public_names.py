"""Public names: few of them, each in one place, and an old place names the new one."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import concord as cc
from tests.project import ROOT

NAMESPACES = ("data", "metrics", "results", "search")
MOVED = [
    (name, namespace)
    for namespace in NAMESPACES
    for name in importlib.import_module(f"concord.{namespace}").__all__
]


def test_at_most_18_names_are_public() -> None:
    assert len(dir(cc)) <= 18
    assert not {name for name, _ in MOVED} & {*dir(cc)}


@pytest.mark.parametrize(("name", "namespace"), MOVED)
def test_an_old_place_names_the_new_one(name: str, namespace: str) -> None:
    with pytest.raises(ImportError, match=rf"concord\.{name} is now concord\.{namespace}\.{name}"):
        getattr(cc, name)


def test_an_import_from_an_old_place_names_the_new_one() -> None:
    script = "from concord import Comparison"
    failed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )

    assert failed.returncode == 1
    last = failed.stderr.splitlines()[-1]
    name = "Comparison"
    assert last == f"ImportError: concord.{name} is now concord.results.{name}"


def test_an_unknown_name_has_the_usual_error() -> None:
    with pytest.raises(AttributeError, match="module 'concord' has no attribute 'compar'"):
        cc.compar  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.parametrize(("name", "namespace"), MOVED)
def test_help_shows_the_public_module(name: str, namespace: str) -> None:
    value = getattr(importlib.import_module(f"concord.{namespace}"), name)

    assert value.__module__ == f"concord.{namespace}"


def test_type_checkers_see_the_public_names_that_are_there_at_run_time() -> None:
    source = ast.parse((ROOT / "concord" / "__init__.py").read_text(encoding="utf-8"))
    imports = {
        alias.asname: f"{each.module}.{alias.name}"
        for each in ast.walk(source)
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
        if alias.asname
    }

    modules = vars(cc)["_MODULES"]
    namespaces = {name: f"concord.{name}" for name in ("datasets", *NAMESPACES)}
    assert imports == namespaces | {
        name: f"concord.metrics_core.{modules[name]}.{name}" for name in modules
    }


def test_another_package_of_the_same_name_is_noticed(tmp_path: Path) -> None:
    """If it is installed after concord-eval, its `__init__.py` replaces that of Concord."""
    package = tmp_path / "concord"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("metrics_core", "pipeline"):
        (package / name).symlink_to(ROOT / name)
    code = "from concord.pipeline.commands.cli import main"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )

    assert f"ImportError: {package / '__init__.py'} is not of concord-eval" in done.stderr
    assert "pip uninstall concord, then pip install --force-reinstall" in done.stderr
