"""Each stage names under `deps` all code that it imports, so that `dvc repro` misses no change."""

import ast
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.project import ROOT

PACKAGES = ("metrics_core", "pipeline", "reports")
STAGES = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["stages"]


def _module(name: str) -> Path | None:
    """The file of one of the project's modules."""
    path = ROOT / name.replace(".", "/")
    found = [
        candidate
        for candidate in (path.with_suffix(".py"), path / "__init__.py")
        if candidate.exists()
    ]
    return found[0] if found and name.split(".")[0] in PACKAGES else None


def _imported(path: Path) -> set[Path]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {module for name in names if (module := _module(name))}


def _closure(path: Path) -> set[Path]:
    seen, waiting = set(), {path}
    while waiting:
        seen |= waiting
        waiting = set().union(*map(_imported, waiting)) - seen
    return seen


@pytest.mark.parametrize("name", STAGES)
def test_all_imported_code_is_a_dependency(name: str) -> None:
    stage = STAGES[name].get("do", STAGES[name])
    module = _module(stage["cmd"].partition(" -m ")[2].split()[0])
    assert module is not None
    named = [ROOT / dep for dep in stage["deps"] if "$" not in dep]
    missing = {
        str(path.relative_to(ROOT))
        for path in _closure(module)
        if not any(path == dep or dep in path.parents for dep in named)
    }

    assert missing == set()


@pytest.mark.parametrize("name", STAGES)
def test_every_code_dependency_exists(name: str) -> None:
    stage = STAGES[name].get("do", STAGES[name])

    assert all((ROOT / dep).exists() for dep in stage["deps"] if "$" not in dep)
