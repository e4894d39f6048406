"""What a capability has outside its own folders, and what goes when it is removed.

To remove one: `git rm -r` its folders in `metrics_core/analyses` and `reports`, `git rm` its
command, the tests beside them, and the lines in the files below.
"""

import re
import subprocess
from pathlib import Path

import pytest

from tests.project import ROOT

ANALYSES = ROOT / "metrics_core" / "analyses"
EVERY = {"concord/__init__.py", "pipeline/commands/registry.py"}  # public names, commands
OUTSIDE: dict[str, set[str]] = {  # other files that name it
    "audit": {
        "docs/concepts/statistics/paired-comparison.md",
        "docs/decisions/statistics.md",
        "docs/how-to/audit.md",
        "docs/how-to/library.md",
        "docs/reference/api/parts.md",
        "docs/reference/commands.md",
    },
    "cases": {
        "docs/decisions/reports.md",
        "docs/gallery.md",
        "docs/gallery_pages.py",
        "docs/how-to/error-analysis.md",
        "docs/how-to/library.md",
        "docs/how-to/search.md",
        "docs/reference/api/parts.md",
        "docs/reference/commands.md",
        "docs/tutorials/compare-models.md",
        "docs/tutorials/search-and-rag.md",
        "metrics_core/results/comparison.py",
        "metrics_core/results/stored.py",
        "pipeline/stages/evaluations.py",
        "reports/page.py",
    },
    "check_metric": {
        "docs/how-to/own-metrics.md",
        "docs/reference/commands.md",
        "docs/reference/robustness.md",
        "metrics_core/metrics/custom_metric.py",
    },
    "explain": {
        "docs/get-started/dvc-repository.md",
        "docs/how-to/error-analysis.md",
        "docs/how-to/exposure-bias.md",
        "docs/how-to/fairness.md",
        "docs/how-to/library.md",
        "docs/how-to/own-metrics.md",
        "docs/how-to/reconcile.md",
        "docs/how-to/sampled.md",
        "docs/how-to/sessions.md",
        "docs/make_docs.py",
        "docs/reference/api/parts.md",
        "docs/reference/commands.md",
        "docs/tutorials/different-ndcg.md",
        "reports/reconcile/text.py",
    },
    "judge": {
        "docs/how-to/judge-labels.md",
        "docs/how-to/judge.md",
        "docs/how-to/search.md",
        "docs/reference/api/parts.md",
        "docs/reference/commands.md",
        "reports/text/warnings.py",
    },
    "plan": {
        "benchmarks/simulated_power.py",
        "docs/concepts/statistics/sessions-and-clusters.md",
        "docs/concepts/statistics/verdicts.md",
        "docs/decisions/statistics.md",
        "docs/faq.md",
        "docs/get-started/notebook.md",
        "docs/get-started/read-the-report.md",
        "docs/how-to/gate.md",
        "docs/how-to/library.md",
        "docs/how-to/plan.md",
        "docs/reference/api/parts.md",
        "docs/reference/commands.md",
        "docs/tutorials/gate.md",
        "docs/tutorials/is-the-difference-real.md",
        "metrics_core/stats/power.py",
        "reports/text/summary.py",
    },
    "ppi": {
        "benchmarks/simulated_judges.py",
        "docs/concepts/statistics/judge-labels.md",
        "docs/how-to/judge-labels.md",
        "docs/reference/api/parts.md",
        "docs/reference/commands.md",
        "pipeline/params/model.py",
    },
    "reconcile": {
        "docs/get-started/dvc-repository.md",
        "docs/get-started/notebook.md",
        "docs/how-to/library.md",
        "docs/how-to/reconcile.md",
        "docs/reference/commands.md",
        "docs/tutorials/different-ndcg.md",
        "metrics_core/evaluation/definition_search.py",
        "reports/verify/text.py",
    },
    "split": {
        "docs/how-to/split.md",
        "docs/reference/commands.md",
        "docs/reference/robustness.md",
        "pipeline/commands/completion.py",
    },
    "study": {
        "benchmarks/simulated_studies.py",
        "docs/concepts/statistics/limitations.md",
        "docs/concepts/statistics/replicates-and-data-sets.md",
        "docs/concepts/statistics/sessions-and-clusters.md",
        "docs/gallery.md",
        "docs/gallery_pages.py",
        "docs/how-to/sampled.md",
        "docs/how-to/study.md",
        "docs/reference/api/parts.md",
        "docs/reference/commands.md",
        "pipeline/dvc/study.py",
    },
    "verify": {
        "docs/how-to/library.md",
        "docs/how-to/reconcile.md",
        "docs/migrate/recbole.md",
        "docs/reference/commands.md",
        "docs/reference/published.md",
    },
}


def _own(name: str) -> tuple[str, ...]:
    return f"metrics_core/analyses/{name}/", f"reports/{name}/", f"pipeline/commands/{name}.py"


def _names(name: str) -> re.Pattern[str]:
    """Return a pattern for an import of the capability, a call of it, and its command."""
    module = rf"(?:metrics_core[./]analyses|reports|pipeline[./]commands)[./]{name}\b"
    imported = rf"^    {name},$|from concord\.reports import {name}\b"
    command = rf"\bconcord {name.replace('_', '-')}\b"
    return re.compile(rf"{module}|{imported}|\bcc\.{name}\(|{command}", re.MULTILINE)


def _files_that_name(name: str) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "metrics_core", "pipeline", "reports", "concord", "benchmarks", "docs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    files = [file for file in listed if Path(file).suffix in {".py", ".md", ".j2", ".yaml"}]
    pattern = _names(name)
    return {
        file
        for file in files
        if not file.startswith(_own(name))
        and (ROOT / file).is_file()
        and pattern.search((ROOT / file).read_text(encoding="utf-8"))
    }


def test_each_analysis_is_listed() -> None:
    assert {path.parent.name for path in ANALYSES.glob("*/__init__.py")} == set(OUTSIDE)


@pytest.mark.parametrize("name", OUTSIDE)
def test_only_these_files_name_a_capability(name: str) -> None:
    assert _files_that_name(name) == EVERY | OUTSIDE[name]
