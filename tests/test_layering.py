"""Who imports whom: pipeline -> metrics_core, pipeline -> reports, and mlflow in one place."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"metrics_core", "pipeline", "reports"}


def _imported(file: Path) -> set[str]:
    """The top-level names that a file imports, at its head or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            own = file.relative_to(ROOT).parts[0]
            found.add(own if node.level else (node.module or "").partition(".")[0])
    return found


def _files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", ["metrics_core", "reports"])
def test_metrics_core_and_reports_import_neither_each_other_nor_pipeline(package: str) -> None:
    wrong = {
        str(file.relative_to(ROOT)): names
        for file in _files(package)
        if (names := _imported(file) & (OURS - {package}))
    }

    assert _files(package)
    assert wrong == {}


def _relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def test_only_the_log_stage_and_its_parts_import_mlflow() -> None:
    importers = {
        _relative(file)
        for package in OURS
        for file in _files(package)
        if "mlflow" in _imported(file)
    }

    allowed = {"pipeline/log.py", *map(_relative, (ROOT / "pipeline/tracking").glob("*.py"))}
    assert importers <= allowed


def test_the_log_stage_imports_mlflow_when_it_is_needed() -> None:
    script = "import sys, pipeline.log, pipeline.commands.log; print('mlflow' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert run.stdout == "False\n"


def test_nothing_heavy_is_imported_with_metrics_core() -> None:
    script = "import sys, metrics_core; print(*sorted({'mlflow', 'altair'} & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert run.stdout.split() == []
