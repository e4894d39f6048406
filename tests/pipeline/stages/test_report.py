"""Stage `report`: pages, and errors."""

from pathlib import Path

import pytest

from concord.pipeline.running.outputs import write_json
from tests.pipeline.mlflow.log_project import write_project
from tests.project import attempt
from tests.reports.samples import sample

COMPARISON = "results/comparison/comparison.json"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    write_json(tmp_path / COMPARISON, sample.five_models())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_html_and_markdown_are_written(project: Path) -> None:
    done = attempt(project, "concord", "stage", "report")
    assert done.returncode == 0
    assert done.stderr.startswith("report: results/report/report.html, ")
    assert done.stderr.count("\n") == 1
    for name in ("report.html", "report.md"):
        text = (project / "results/report" / name).read_text(encoding="utf-8")
        assert "ease and als are too close to call; both beat popularity." in text


def test_a_missing_comparison_is_refused_with_exit_2(project: Path) -> None:
    (project / COMPARISON).unlink()
    done = attempt(project, "concord", "stage", "report")
    assert done.returncode == 2
    fix = "run `concord run`, which makes it again"
    assert done.stderr == f"{COMPARISON}: there is no such file\n  fix: {fix}\n"
