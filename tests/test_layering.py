"""What the import contracts in pyproject.toml do not cover.

Heavy imports, lazy imports, and the code folders that each stage of dvc.yaml lists under `deps`.

`pipeline/params` imports the names of all metrics to refuse unknown ones; no result of a stage
depends on their formulas through that import.
"""

import ast
import inspect
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from concord.pipeline.commands.stage import import_main
from tests.project import ROOT

PACKAGES = ("metrics_core", "pipeline", "reports")


def _files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def _module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {_module(file): file for package in PACKAGES for file in _files(package)}


class _WithoutTypes(ast.NodeTransformer):
    """Removes imports for type checkers, which no result depends on."""

    def visit_If(self, node: ast.If) -> ast.If | None:
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_for_types else node


@cache
def _imported_names(file: Path) -> set[str]:
    """Return the dotted names that a file imports, at its head or inside a function."""
    results: set[str] = set()
    for node in ast.walk(_WithoutTypes().visit(ast.parse(file.read_text(encoding="utf-8")))):
        if isinstance(node, ast.Import):
            results |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write the whole name"
            results |= {f"{node.module}.{alias.name}" for alias in node.names}
    assert not {name for name in results if name.partition(".")[0] in PACKAGES}, file
    return {name.removeprefix("concord.") for name in results}


def _imported(file: Path) -> set[Path]:
    """Return the project's files that a file imports."""
    names = _imported_names(file)
    return {
        FILES[known]
        for name in names
        for known in (name, name.rpartition(".")[0])
        if known in FILES and not (known != name and name in FILES)
    }


def _relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = {file: _imported(file) - {file} for file in FILES.values()}

    assert len(list(TopologicalSorter(graph).static_order())) == len(FILES)


@pytest.mark.parametrize(
    ("imported", "heavy"),
    [
        (
            "concord.pipeline.mlflow.log",
            {"mlflow", "polars", "duckdb"},
        ),
        ("concord.pipeline.stages.report", {"polars", "duckdb"}),
        ("concord.pipeline.stages.load", {"polars"}),
        (
            "concord.pipeline.commands.leaderboard, concord.pipeline.stages.run_state, "
            "concord.pipeline.stages.load, concord.pipeline.stages.evaluate, "
            "concord.pipeline.stages.compare, concord.pipeline.stages.report",
            {"dvc", "mlflow"},
        ),
        ("concord.pipeline.running.stage, concord.pipeline.params.read", {"pyarrow", "duckdb"}),
        ("concord.metrics_core.comparison.compare", {"mlflow", "jinja2"}),
        (
            "concord.pipeline.commands.cli, concord.pipeline.running.stage",
            {"numpy", "polars", "duckdb", "pydantic", "concord.pipeline.commands.registry"},
        ),
        ("concord.pipeline.commands.registry", {"numpy", "polars", "duckdb"}),
        ("concord", {"numpy", "polars", "duckdb"}),
        ("concord.typing", {"numpy", "polars", "pyarrow", "duckdb"}),
        (
            "concord.testing, concord.pipeline.pytest_plugin",
            {"numpy", "polars", "pydantic", "concord.metrics_core", "concord.pipeline.params"},
        ),
    ],
)
def test_nothing_heavy_is_imported_where_it_is_not_needed(imported: str, heavy: set[str]) -> None:
    script = f"import sys, {imported}; print(*sorted({heavy} & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert run.stdout.split() == []


def test_only_drawing_and_analyses_are_imported_by_name() -> None:
    """The tests above would not see an import that is no statement."""
    by_name = {
        _relative(file)
        for file in FILES.values()
        if re.search(r"\bimport_module\(|__import__\(", file.read_text(encoding="utf-8"))
    }

    assert by_name == {
        "metrics_core/results/comparison_methods.py",
        "metrics_core/results/rendering.py",
    }


PARAMS = ROOT / "pipeline" / "params"
STAGES = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["stages"]


def _closure(path: Path) -> set[Path]:
    observed, waiting = set(), {path}
    while waiting:
        observed |= waiting
        waiting = set().union(*(_imported(at) for at in waiting if at.parent != PARAMS)) - observed
    return observed


@pytest.mark.parametrize("name", STAGES)
def test_all_imported_code_is_a_dependency(name: str) -> None:
    stage = STAGES[name].get("do", STAGES[name])
    module = Path(
        inspect.getfile(import_main(stage["cmd"].removeprefix("exec concord stage ").split()[0]))
    ).resolve()
    selected = [ROOT / dep for dep in stage["deps"] if "$" not in dep]
    missing = {
        str(path.relative_to(ROOT))
        for path in _closure(module)
        if not any(path == dep or dep in path.parents for dep in selected)
    }

    assert missing == set()


LOADING = {"load-truth", "load-background", "load"}
EVERY = {*LOADING, "evaluate", "reference", "compare", "report", "log"}
RUN_AGAIN = {  # a changed file -> the stages that run their code again
    "metrics_core/metrics/accuracy.py": {"evaluate", "reference", "compare", "log"},
    "metrics_core/conventions/presets.py": EVERY,
    "metrics_core/errors.py": EVERY,
    "metrics_core/data/ranking.py": {*LOADING, "evaluate", "reference", "compare"},
    "metrics_core/comparison/differences.py": {"compare"},
    "metrics_core/results/comparison_parts.py": {"compare", "report", "log"},
    "metrics_core/evaluation/score.py": {"evaluate", "reference", "compare"},
    "pipeline/params/model.py": EVERY,
    "pipeline/running/outputs.py": EVERY,
    "pipeline/stages/load.py": {*LOADING, "reference"},
    "pipeline/stages/evaluate.py": {"evaluate"},
    "pipeline/stages/reference.py": {"reference"},
    "pipeline/stages/compare.py": {"compare"},
    "pipeline/stages/report.py": {"report"},
    "pipeline/mlflow/runs.py": {"log"},
    "pipeline/dvc/changes.py": set(),
    "pipeline/commands/cli.py": set(),
    "reports/page.py": {"report"},
    "reports/charts/curves.py": {"report"},
}


@pytest.mark.parametrize("file", RUN_AGAIN)
def test_changed_file_reruns_the_stages_that_use_it(file: str) -> None:
    """DVC compares these folders; test_repro.py has one change that DVC must notice."""
    assert (ROOT / file).is_file()
    deps = {name: stage.get("do", stage)["deps"] for name, stage in STAGES.items()}
    concerned = {
        name
        for name, positions in deps.items()
        if any(f"{file}/".startswith(f"{p}/") for p in positions)
    }

    assert concerned == RUN_AGAIN[file]
