"""Concord in three repositories that did not use it: install, `concord init`, `dvc repro`."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.installed.repository import Repository
from tests.project import stages_run

pytestmark = pytest.mark.whole

Evaluated = Callable[[str], Repository]


@pytest.fixture(scope="module")
def get_started(evaluated: Evaluated) -> Repository:
    """A repository with `src/`, params.yaml and data in DVC."""
    return evaluated("get_started")


def test_report_and_runs_are_there(get_started: Repository) -> None:
    results = get_started.root / "evaluation" / "results"
    database = sqlite3.connect(results.parent / "mlflow.db")
    names = {name for (name,) in database.execute("SELECT name FROM runs")}
    database.close()

    assert "Against popular, nDCG@10: als +0." in (results / "report" / "report.md").read_text()
    assert (results / "report" / "report.html").stat().st_size > 100_000
    assert {"als", "bpr", "popular"} <= names


def test_git_sees_no_results_but_the_short_ones(get_started: Repository) -> None:
    known = get_started.run("git", "ls-files", "evaluation").split()

    assert known == [
        f"evaluation/{name}"
        for name in (
            ".dvcignore",
            ".gitignore",
            "dvc.lock",
            "dvc.yaml",
            "params.yaml",
            "results/report/primary.json",
            "results/report/report.md",
        )
    ]


def test_everything_works_from_the_subfolder(get_started: Repository, tmp_path: Path) -> None:
    at, get_started = "evaluation", get_started.copied(tmp_path)
    get_started.replace("params.yaml", "als: {seed: 2, weight: 2", "als: {seed: 2, weight: 0")
    ran = stages_run(get_started.run("dvc", "repro", at=at))
    metrics = json.loads(get_started.run_here("dvc", "metrics", "diff", "--json", at=at))
    params = get_started.run_here("dvc", "params", "diff", at=at)
    plots = get_started.run_here("dvc", "plots", "diff", "HEAD", at=at)
    drawn = (get_started.root / at / "dvc_plots/index.html").read_text()
    diff = get_started.run("concord", "diff", "HEAD", at=at)

    assert ran == ["../dvc.yaml:train@als", "load@als", "evaluate@als", "compare", "report", "log"]
    assert list(metrics) == ["results/report/primary.json"]
    assert metrics["results/report/primary.json"]["nDCG@10.als"]["diff"] < 0
    assert "train.als.weight" in params
    assert "dvc_plots" in plots
    assert "vegaEmbed('#metric-by-k'" in drawn
    assert "nDCG@10: als, against HEAD: worse" in diff
    assert "no problem found" in get_started.run("concord", "validate", at=at)


def test_own_packages_are_not_taken_for_concords(evaluated: Evaluated) -> None:
    """Its packages are called `pipeline` and `reports`; MLflow holds its training runs."""
    shop = evaluated("own_packages")
    output = shop.root.with_name("said.txt").read_text(encoding="utf-8")
    database = sqlite3.connect(shop.root / "mlflow.db")
    parents = dict(
        database.execute(
            "SELECT r.name, p.name FROM runs r JOIN tags t ON t.run_uuid = r.run_uuid"
            " AND t.key = 'mlflow.parentRunId' JOIN runs p ON p.run_uuid = t.value"
            " JOIN experiments e ON e.experiment_id = p.experiment_id WHERE e.name = 'training'"
        )
    )
    database.close()

    assert "MLflow run in ../out/neighbours.run.json: run_id" in output
    assert parents == {"neighbours": "neighbours", "top_sellers": "top_sellers"}
    assert (
        "nDCG@10: neighbours +0." in (shop.root / "evaluation/results/report/report.md").read_text()
    )
