"""Models with values of another tool, from their files to the comparison, gate and history."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.results.stored import read_comparison, to_json
from tests.pipeline.dvc.revisions import commit, git
from tests.pipeline.params.params_content import value_params_content
from tests.pipeline.stages.values_project import (
    METRICS,
    MODELS,
    samples,
    values_project,
    write_params,
    write_samples,
)
from tests.project import (
    attempt,
    change_params,
    commit_results,
    copied_from,
    run,
    run_all_stages,
    run_stages,
    stages_to_run,
)

SETTINGS = value_params_content(MODELS, METRICS)
INVALID = {  # text of large.csv -> the problem and the fix
    "sample_id,faithfulness,latency_ms\ns1,0.5,fast\ns2,,90\n": (
        "runs/large.csv: column 'latency_ms': 'fast' of user 's1' is not a number; "
        "1 value affected\n  fix: write numbers, and leave a cell empty where a user has no value"
    ),
    "sample_id,faithfulness,latency_ms\ns1,1.5,80\ns2,0.1,90\n": (
        "runs/large.csv: faithfulness of user 's1' is 1.5, and its bounds are 0 to 1; "
        "1 value affected\n  fix: correct the values or the bounds"
    ),
    "sample_id,faithfulness\ns1,0.5\n": (
        "runs/large.csv: column 'latency_ms': is missing; the columns are: sample_id, "
        "faithfulness\n  fix: change `models.large.columns`"
    ),
    "sample_id,faithfulness,latency_ms\ns1,0.5,80\ns1,0.1,90\n": (
        "runs/large.csv: line 2 and line 3: user 's1' occurs more than once; 1 row affected\n"
        "  fix: keep one row for each user"
    ),
}


def _content(project: Path) -> Any:
    return json.loads((project / "results/comparison/comparison.json").read_text("utf-8"))


def _write(project: Path, **sections: Any) -> None:
    write_params(project, {**SETTINGS, **sections})


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = values_project(tmp_path_factory.mktemp("values"))
    run_all_stages(project)
    return project


def test_numbers_are_those_of_compare_values(compared: Path) -> None:
    settings = SETTINGS["comparison"]
    comparison = cc.compare_values(
        {model: samples(model) for model in MODELS},
        higher_is_better={name: metric["higher_is_better"] for name, metric in METRICS.items()},
        bounds={"faithfulness": (0, 1)},
        title=SETTINGS["report"]["title"],
        **settings,
    )
    expected, content = json.loads(to_json(comparison)), _content(compared)

    files = {each["role"]: each["path"] for each in content["provenance"]["inputs"]}
    assert files == {name: entry["values"] for name, entry in MODELS.items()}
    for part in (expected, content):
        del part["provenance"]["inputs"]
        part["quality"] = {model: each["users"] for model, each in part["quality"].items()}
    assert content == expected


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_column_of_queries_is_that_of_users(compared: Path, tmp_path: Path, format_: str) -> None:
    project = copied_from(compared, tmp_path)
    model = next(iter(MODELS))
    table = samples(model).rename({"user": "query_id"})
    getattr(table, f"write_{format_}")(project / f"renamed.{format_}")
    change_params(project, {f"models.{model}": {"values": f"renamed.{format_}"}})

    assert "no problem found" in run(project, "concord", "validate")


def test_report_and_mlflow_show_values_only(compared: Path) -> None:
    assert "latency_ms" in (compared / "results/report/report.html").read_text("utf-8")
    assert not read_comparison(compared / "results/comparison/comparison.json").has_lists
    assert json.loads((compared / "results/mlflow/receipt.json").read_text())["logged"]
    assert "faithfulness" in run(compared, "concord", "leaderboard")


def test_validate_reads_every_file(compared: Path) -> None:
    output = run(compared, "concord", "validate")
    assert output.splitlines()[0] == "large: 60 rows, 60 users"
    assert output.endswith("no problem found: `dvc repro` evaluates\n")


@pytest.mark.parametrize("command", ["stage load-truth", "audit", "cases large --versus small"])
def test_what_needs_lists_is_refused(compared: Path, command: str) -> None:
    result = attempt(compared, "concord", *command.split())
    assert result.returncode != 0
    assert "models: have values of another tool, and this needs recommendations" in result.stderr


def test_users_without_a_row_are_counted(tmp_path: Path) -> None:
    project = values_project(tmp_path)
    values = {model: samples(model) for model in MODELS}
    write_samples(project, values | {"large": values["large"].filter(pl.col("user") != "s7")})
    run_all_stages(project, last="compare")

    content = _content(project)
    users = {model: each["users"] for model, each in content["quality"].items()}
    assert users["large"] == {"evaluated": 60, "missing": 1}
    assert users["small"] == {"evaluated": 60, "missing": 0}
    assert [each["code"] for each in content["warnings"]] == ["user_sets_differ"]


@pytest.mark.parametrize("text", INVALID)
def test_invalid_values_are_refused(compared: Path, text: str) -> None:
    file = compared / "runs/large.csv"
    before = file.read_bytes()
    file.write_text(text)
    result = attempt(compared, "concord", "stage", "load", "large")
    file.write_bytes(before)
    assert result.returncode == 2
    assert INVALID[text] in result.stderr


@pytest.mark.whole
def test_project_with_a_history(tmp_path: Path) -> None:
    """Gate, diff, history and comment against a tag; the values of one model got worse."""
    project = values_project(tmp_path)
    change_params(project, {"gate": {"guardrails": {"faithfulness": 0.02, "latency_ms": "5%"}}})
    run_all_stages(project)
    commit_results(project)
    commit(project, "first")
    git(project, "tag", "v1")
    values = {model: samples(model) for model in MODELS}
    worse = values["small"].with_columns(pl.col("faithfulness") * 0.8)
    write_samples(project, values | {"small": worse})
    assert {*stages_to_run(project)} >= {"load@small"}
    run_stages(project, "load small", "evaluate small", "compare", "report", "log")
    commit_results(project)
    commit(project, "second")

    gate = attempt(project, "concord", "gate", "v1")
    assert gate.returncode == 1
    assert "small" in gate.stdout
    diff = run(project, "concord", "diff", "v1", "--metric", "faithfulness")
    assert "worse" in diff
    comment = attempt(project, "concord", "comment", "v1")
    assert comment.returncode == 1
    assert "values of small" in comment.stdout
    assert "fingerprint" not in comment.stdout
    assert "small  worse" in run(project, "concord", "history")


def test_concord_run_runs_the_stages_of_values(tmp_path: Path) -> None:
    project = values_project(tmp_path)
    run(project, "concord", "run", "compare")
    assert set(_content(project)["models"]) == {*MODELS}


def test_a_file_by_hand_gets_its_dvc_yaml(tmp_path: Path) -> None:
    project = values_project(tmp_path)
    expected = (project / "dvc.yaml").read_text()
    (project / "dvc.yaml").unlink()
    run(project, "concord", "init", "--upgrade")
    assert (project / "dvc.yaml").read_text() == expected
