"""`concord report`: the addresses of the report, which is rendered again if it is missing."""

import webbrowser
from pathlib import Path

import pytest

import concord as cc
from concord.pipeline.running.outputs import write_json
from tests.pipeline.commands.test_run import evaluated_without_dvc
from tests.project import attempt, copied_from, made_once, run

PAGE = "results/report/report.html"


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory, worker_id: str, tmp_path: Path) -> Path:
    finished = made_once(tmp_path_factory, worker_id, evaluated_without_dvc) / "shop"
    return copied_from(finished, tmp_path) / "evaluation"


def test_addresses_of_the_report_are_printed_from_any_folder(project: Path) -> None:
    lines = run(project.parent, "concord", "report").splitlines()

    files = (PAGE, "results/report/report.md")
    assert lines == [f"{name}  {(project / name).as_uri()}" for name in files]


def test_the_address_of_the_view_in_mlflow_is_printed_if_it_is_known(project: Path) -> None:
    view = "https://mlflow.example.org/#/experiments/7/runs?viewStateShareKey=concord"
    write_json(project / "results/mlflow/runs.json", {"view": view})

    assert run(project, "concord", "report").splitlines()[-1] == f"MLflow: {view}"


def test_a_missing_page_is_rendered_from_the_stored_comparison(project: Path) -> None:
    before = (project / PAGE).read_bytes()
    (project / PAGE).unlink()

    run(project, "concord", "report")

    assert (project / PAGE).read_bytes() == before


def test_the_page_is_opened_or_its_address_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_page(address: str) -> bool:
        opened.append(address)
        return len(opened) == 1

    monkeypatch.setattr(webbrowser, "open", open_page)

    shown, failed = [attempt(project, "concord", "report", "--open") for _ in range(2)]

    assert opened == [(project / PAGE).as_uri()] * 2
    assert shown.stderr == ""
    assert failed.stderr == f"warning: no browser can be started: open the address of {PAGE}\n"


def test_without_results_the_command_that_makes_them_is_named(project: Path) -> None:
    (project / "results/comparison/comparison.json").unlink()

    done = attempt(project, "concord", "report")

    assert done.returncode == 2
    assert "comparison.json: does not exist yet\n  fix: run `concord run` first" in done.stderr


def test_what_was_done_is_printed_for_a_paper(project: Path) -> None:
    text = run(project, "concord", "report", "--methods")

    assert text == f"{cc.load(project).methods}\n"
    assert len(text.split()) <= 120
