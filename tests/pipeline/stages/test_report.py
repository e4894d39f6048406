"""Stage `report`: pages, and errors."""

import sys
from pathlib import Path

import pytest

from concord.pipeline.running.outputs import write_json
from concord.pipeline.stages.plots import render_plots_page
from concord.reports.plots_page import plots_page
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
    assert done.stderr.startswith("report: a page of ")
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


def test_failed_page_of_plots_fails_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("concord.pipeline.stages.plots.VEGA", tmp_path / "no vega.js")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        render_plots_page() as page,
        pytest.raises(RuntimeError, match="`dvc plots` could not be made: 1"),
    ):
        page()


def test_vega_is_bundled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vega = tmp_path / "vega.js"
    monkeypatch.setattr("concord.reports.plots_page.VEGA", vega)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    first = plots_page()

    monkeypatch.delattr("vl_convert.javascript_bundle")
    assert plots_page() == first
    assert list(tmp_path.iterdir()) == [vega]


def test_vega_is_bundled_for_a_read_only_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("concord.reports.plots_page.VEGA", tmp_path / "missing" / "vega.js")
    monkeypatch.setattr("vl_convert.javascript_bundle", lambda _: "let vega;")

    assert "let vega;" in plots_page()
    assert list(tmp_path.iterdir()) == []
