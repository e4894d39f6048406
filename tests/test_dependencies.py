"""Each stage names under `deps` the rooms whose code it runs: `dvc repro` misses no change and repeats nothing else.

`pipeline/params` knows the names of all metrics, to refuse those that are none; no result of a stage depends on their
formulas by that way.
"""

import ast
import inspect
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from concord.pipeline.commands.stage import stage as stage_of
from tests.project import ROOT

PACKAGES = ("metrics_core", "pipeline", "reports")
PARAMS = ROOT / "pipeline" / "params"
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
    return {module for name in names if (module := _module(name.removeprefix("concord.")))}


def _closure(path: Path) -> set[Path]:
    seen, waiting = set(), {path}
    while waiting:
        seen |= waiting
        waiting = set().union(*(_imported(at) for at in waiting if at.parent != PARAMS)) - seen
    return seen


@pytest.mark.parametrize("name", STAGES)
def test_all_imported_code_is_a_dependency(name: str) -> None:
    stage = STAGES[name].get("do", STAGES[name])
    module = Path(
        inspect.getfile(stage_of(stage["cmd"].removeprefix("exec concord stage ").split()[0]))
    ).resolve()
    named = [ROOT / dep for dep in stage["deps"] if "$" not in dep]
    missing = {
        str(path.relative_to(ROOT))
        for path in _closure(module)
        if not any(path == dep or dep in path.parents for dep in named)
    }

    assert missing == set()


LOADING = {"load-truth", "load-background", "load"}
EVERY = {*LOADING, "evaluate", "compare", "report", "log"}
RUN_AGAIN = {  # a file of a room that is changed -> the stages that run their code again
    "metrics_core/metrics/accuracy.py": {"evaluate", "compare", "log"},
    "metrics_core/conventions/presets.py": EVERY - {"report"},
    "metrics_core/checking/row_checks.py": EVERY,
    "metrics_core/reading/ranking.py": {*LOADING, "compare"},
    "metrics_core/reading/formats/jsonl.py": {*LOADING, "compare"},
    "metrics_core/comparing/differences.py": {"compare"},
    "metrics_core/comparison/parts.py": {"compare", "report", "log"},
    "metrics_core/scoring/score.py": {"evaluate", "compare"},
    "metrics_core/statistics/paired.py": {"compare"},
    "metrics_core/explaining/versus.py": {"compare"},
    "pipeline/params/model.py": EVERY,
    "pipeline/running/outputs.py": EVERY,
    "pipeline/loading/load.py": LOADING,
    "pipeline/evaluating/engines/duckdb.py": {"evaluate"},
    "pipeline/comparing/compare.py": {"compare"},
    "pipeline/reporting/report.py": {"report"},
    "pipeline/tracking/runs.py": {"log"},
    "pipeline/diffing/changes.py": set(),
    "pipeline/commands/cli.py": set(),
    "reports/page.py": {"report"},
    "reports/charts/curves.py": {"report"},
    "reports/sections/wins.py": {"report"},
    "reports/writing/numbers.py": {"report"},
}


@pytest.mark.parametrize("file", RUN_AGAIN)
def test_a_change_in_a_room_concerns_the_stages_that_use_it(file: str) -> None:
    """Its folders are what DVC compares; test_repro.py has one change that DVC has to see."""
    assert (ROOT / file).is_file()
    deps = {name: stage.get("do", stage)["deps"] for name, stage in STAGES.items()}
    concerned = {
        name for name, folders in deps.items() if any(file.startswith(f"{f}/") for f in folders)
    }

    assert concerned == RUN_AGAIN[file]
