"""Which code outside its own folders names an analysis.

`python -m tests.test_capabilities NAME` prints all that goes when the analysis is removed: its own
files, and each line of code, docs and tests that names it.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import ROOT

ANALYSES = ROOT / "metrics_core" / "analyses"
PUBLIC = ROOT / "concord"
EVERY = {"pipeline/commands/registry.py"}
NAMED = {"concord/__init__.py", "concord/results.py"}  # the function and the type of its result
METHODS = "metrics_core/results/comparison_methods.py"
OUTSIDE: dict[str, set[str]] = {  # other code that names it, by analysis
    "audit": {*NAMED, METHODS, "metrics_core/comparison/arguments.py"},
    "cases": {
        *NAMED,
        METHODS,
        "metrics_core/comparison/arguments.py",
        "metrics_core/results/comparison.py",
        "metrics_core/results/stored.py",
        "pipeline/params/model.py",
        "pipeline/stages/evaluations.py",
        "reports/page.py",
    },
    "check_metric": {"concord/metrics.py", "metrics_core/metrics/custom_metric.py"},
    "explain": {*NAMED, METHODS, "metrics_core/evaluation/inputs.py", "reports/reconcile/text.py"},
    "judge": {
        "concord/results.py",
        "concord/search.py",
        METHODS,
        "benchmarks/simulated_judges.py",
        "benchmarks/simulated_judging.py",
        "reports/text/warnings.py",
    },
    "plan": {
        *NAMED,
        METHODS,
        "benchmarks/simulated_power.py",
        "metrics_core/stats/power.py",
        "reports/text/gate.py",
    },
    "ppi": {
        "concord/results.py",
        "concord/search.py",
        "benchmarks/simulated_judges.py",
        "metrics_core/data/input_table.py",
        "pipeline/params/model.py",
    },
    "reconcile": {
        *NAMED,
        METHODS,
        "metrics_core/evaluation/definition_search.py",
        "metrics_core/evaluation/inputs.py",
        "pipeline/commands/explain.py",
        "reports/verify/text.py",
    },
    "split": {
        "concord/data.py",
        "concord/results.py",
        "metrics_core/data/argument_types.py",
        "metrics_core/data/arguments.py",
        "pipeline/commands/completion.py",
    },
    "study": {
        *NAMED,
        "benchmarks/simulated_studies.py",
        "pipeline/dvc/study.py",
        "pipeline/init/named_tables.py",
    },
    "verify": {*NAMED, "pipeline/commands/explain.py"},
}


def _own(name: str) -> tuple[str, ...]:
    places = (f"metrics_core/analyses/{name}/", f"reports/{name}/", f"pipeline/commands/{name}.py")
    return (
        *places,
        *(f"tests/{place}" for place in places[:2]),
        f"tests/pipeline/commands/test_{name}.py",
    )


def _pattern(name: str) -> re.Pattern[str]:
    """Return what names the analysis: imports, its public names, calls, its command."""
    module = rf"(?:metrics_core[./]analyses|reports|pipeline[./]commands)[./]{name}\b"
    command = name.replace("_", "-")
    imported = rf"from concord\.reports import {name}\b"
    called = rf"\b(?:cc|concord)\.{name}\b|\bconcord {command}\b|`{name}`"
    imported_names = re.findall(
        rf"analyses\.{name}\.\w+ import (.+)",
        "".join(file.read_text(encoding="utf-8") for file in sorted(PUBLIC.glob("*.py"))),
    )
    public = {each for names in imported_names for each in re.findall(r"\w+", names)} - {"as"}
    listed = rf'^\s+({name},|{"|".join(sorted(public))})$|"analyses\.{name}\.|"{command}": {name},'
    types = "".join(rf"|\b{each}\b" for each in sorted(public) if re.search("[a-z][A-Z]", each))
    return re.compile(f"{module}|{listed}|{imported}|{called}{types}")


def _tracked(*folders: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [file for file in listed.stdout.splitlines() if (ROOT / file).is_file()]


def _lines_that_name(name: str, *folders: str) -> list[tuple[str, int, str]]:
    """Return file, number and text of each line outside its own files that names the analysis."""
    pattern = _pattern(name)
    return [
        (file, number, line.strip())
        for file in _tracked(*folders)
        if Path(file).suffix in {".j2", ".md", ".py", ".toml", ".txt", ".yaml"}
        and not file.startswith(_own(name))
        for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def test_each_analysis_is_listed() -> None:
    assert {path.parent.name for path in ANALYSES.glob("*/__init__.py")} == set(OUTSIDE)


@pytest.mark.parametrize("name", OUTSIDE)
def test_only_this_code_names_an_analysis(name: str) -> None:
    code = ("metrics_core", "pipeline", "reports", "concord", "benchmarks")
    named = {file for file, _, _ in _lines_that_name(name, *code) if not file.endswith(".md")}
    assert named == EVERY | OUTSIDE[name]


if __name__ == "__main__":
    for analysis in sys.argv[1:]:
        print(*_tracked(*_own(analysis)), sep="\n")
        for file, number, line in _lines_that_name(analysis):
            print(f"{file}:{number}: {line}")
