"""The stage `log` with sqlite stores: runs of models and comparisons, and standings of models."""

import json
import math
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from concord.metrics_core.errors import InputError
from concord.pipeline.mlflow.client import Tracking, experiment_id, open_client
from concord.pipeline.mlflow.evaluation_runs import evaluation_runs
from concord.pipeline.mlflow.log import main as log
from concord.pipeline.mlflow.runs import RunLocation, Runs
from concord.pipeline.running.outputs import write_json
from tests.pipeline.mlflow.log_project import MEANS, params_of, write_project
from tests.pipeline.mlflow.stores import (
    Logged,
    RunsByName,
    assert_logged_once,
    client_interrupted_at,
    points,
    runs_of,
)


def dataset_inputs(run: Run) -> list[tuple[str, str]]:
    assert run.inputs is not None
    return [(used.dataset.name, used.dataset.digest) for used in run.inputs.dataset_inputs]


def test_a_run_holds_metrics_curves_params_inputs_and_files(logged_twice: Logged) -> None:
    client, run = logged_twice.client, logged_twice.run("als")

    assert_logged_once(client)
    assert run.data.params["ks"] == "5, 10"
    assert [tag for tag in run.data.tags if tag.startswith("convention.")] == []
    assert dataset_inputs(run) == [("truth", "a" * 32), ("lists", "b" * 32)]
    stored = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert stored == {"metrics", "conventions.yaml", "inputs.json"}


def test_no_request_has_an_empty_list_of_data_sets(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers before MLflow 3 reject it; the comparison has no data set of its own."""
    logged = []
    monkeypatch.setattr(MlflowClient, "log_inputs", lambda *arguments: logged.append(arguments[2]))
    log(params_of(project))

    assert [len(inputs) for inputs in logged] == [2, 2]


def test_values_of_another_version_are_not_logged(project: Path) -> None:
    path = project / "results/summary/als.json"
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | {"values_version": 2})

    with pytest.raises(InputError, match=r"als\.json: has values of version 2"):
        evaluation_runs(params_of(project))


def test_logging_twice_leaves_one_run_for_each_model_named_in_runs_json(
    logged_twice: Logged,
) -> None:
    als, (first, second) = logged_twice.run("als"), logged_twice.outputs
    run_ids = json.loads((logged_twice.folder / "results/mlflow/runs.json").read_text())

    assert first == "3 new runs for 2 models"
    assert second == "0 new runs for 2 models"
    view = (
        "mlflow ui --backend-store-uri sqlite:///mlflow.db, then open http://127.0.0.1:5000"
        f"/#/experiments/{als.info.experiment_id}/runs?viewStateShareKey=concord"
    )
    assert run_ids["view"] == view
    assert run_ids["runs"]["als"] == als.info.run_id
    assert run_ids["comparison"] == als.data.tags["concord.comparison"]


def test_a_changed_metric_makes_a_run_and_the_former_value_makes_none(
    project: Path, client: MlflowClient
) -> None:
    metrics = project / "results/metrics/als.json"
    log(params_of(project))
    write_json(metrics, {**MEANS["als"], "nDCG@10": 0.41})
    log(params_of(project))
    write_json(metrics, MEANS["als"])
    log(params_of(project))

    runs = runs_of(client)
    assert (len(runs["als"]), len(runs["popularity"])) == (2, 1)


@pytest.mark.fault(12, "an interrupted run is found and completed")
@pytest.mark.parametrize("step", ["log_batch", "log_inputs", "log_artifact", "set_terminated"])
def test_an_interrupted_run_is_completed_with_one_point_a_step(
    project: Path, client: MlflowClient, step: str
) -> None:
    interrupted = client_interrupted_at(step, f"sqlite:///{project}/mlflow.db")
    location = RunLocation(
        experiment_id(interrupted, "demo", Tracking(f"sqlite:///{project}/mlflow.db"))
    )
    als = evaluation_runs(params_of(project)).models[1]
    runs = Runs(interrupted, {})
    with pytest.raises(KeyboardInterrupt):
        runs.finish(runs.begin(als, location), als)
    (begun,) = runs_of(client)["als"]
    log(params_of(project))

    (completed,) = runs_of(client)["als"]
    assert begun.info.status == "RUNNING"
    assert completed.info.run_id == begun.info.run_id
    assert_logged_once(client)
    assert len(dataset_inputs(completed)) == 2


@pytest.mark.fault(12, "a partly created database is created again")
def test_a_partly_created_store_is_created_again(project: Path) -> None:
    (project / "mlflow.db").unlink()
    with closing(sqlite3.connect(project / ".mlflow.db.part")) as partial_store:
        partial_store.execute("CREATE TABLE experiments (experiment_id INTEGER)")
    log(params_of(project))

    assert_logged_once(MlflowClient(tracking_uri=f"sqlite:///{project}/mlflow.db"))
    assert [path.name for path in project.glob(".mlflow.db*")] == []


@pytest.mark.fault(6, "they wait for each other")
def test_three_processes_create_one_experiment(tmp_path: Path) -> None:
    tracking = Tracking(f"sqlite:///{tmp_path}/mlflow.db")

    def create(_: int) -> str:
        with tracking.lock(), open_client(tracking) as client:
            return experiment_id(client, "demo", tracking)

    with ThreadPoolExecutor(3) as threads:
        ids = list(threads.map(create, range(3)))

    assert len(set(ids)) == 1
    assert [path.name for path in tmp_path.glob(".mlflow.db*")] == []


def test_receipt_is_the_same_on_every_machine(project: Path, logged_twice: Logged) -> None:
    log(params_of(project))
    receipt = (project / "results/mlflow/receipt.json").read_bytes()

    assert receipt == (logged_twice.folder / "results/mlflow/receipt.json").read_bytes()
    assert json.loads(receipt) == {
        "tracking_uri": "sqlite:///mlflow.db",
        "experiment": "demo",
        "logged": True,
        "comparison": evaluation_runs(params_of(project)).comparison.fingerprint,
        "fingerprints": evaluation_runs(params_of(project)).fingerprints,
    }


THREE = {**MEANS, "twin": MEANS["als"]}


@pytest.fixture(scope="module")
def logged_runs(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> RunsByName:
    """Return the runs after logging two models, then three, then the two again."""
    folder = tmp_path_factory.mktemp("comparison")
    shutil.copy(empty_store, folder / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DVC_ROOT", raising=False)
        patch.chdir(folder)
        for means in (MEANS, THREE, MEANS):
            log(params_of(write_project(folder, means=means)))
    return runs_of(MlflowClient(tracking_uri=f"sqlite:///{folder}/mlflow.db"))


def test_adding_a_model_leaves_the_runs_of_the_others_alone(logged_runs: RunsByName) -> None:
    assert {name: len(runs) for name, runs in logged_runs.items()} == {
        "comparison": 2,
        "popularity": 1,
        "als": 1,
        "twin": 1,
    }
    assert all(run.info.status == "FINISHED" for runs in logged_runs.values() for run in runs)


def test_runs_have_no_parents_and_comparisons_name_their_models(
    logged_runs: RunsByName,
) -> None:
    second, first = logged_runs["comparison"]  # the newest first
    (als,), (twin,) = logged_runs["als"], logged_runs["twin"]

    all_runs = [run for runs in logged_runs.values() for run in runs]
    assert [run for run in all_runs if "mlflow.parentRunId" in run.data.tags] == []
    assert second.data.tags["concord.run.als"] == als.info.run_id
    assert second.data.tags["concord.run.twin"] == twin.info.run_id
    assert first.data.tags["concord.run.als"] == als.info.run_id
    assert "concord.run.twin" not in first.data.tags
    assert second.data.params["models"] == "popularity, als, twin"


def test_the_run_of_the_comparison_has_the_report(logged_runs: RunsByName) -> None:
    (_, first) = logged_runs["comparison"]
    folder = Path(first.info.artifact_uri.removeprefix("file://"))

    assert {file.name for file in folder.iterdir()} == {
        "report.html",
        "report.md",
        "comparison.json",
        "decision.concord",
    }


def test_a_deleted_run_is_logged_again_with_another_id(project: Path, client: MlflowClient) -> None:
    params = params_of(project)
    log(params)
    (before,) = runs_of(client)["als"]
    client.delete_run(before.info.run_id)
    log(params)

    (after,) = runs_of(client)["als"]
    (comparison,) = runs_of(client)["comparison"]
    assert after.info.run_id != before.info.run_id
    assert comparison.data.tags["concord.run.als"] == after.info.run_id


DIFFERENCE, P = "difference/ndcg_at_10", "p_adjusted/ndcg_at_10"
VERDICT = "concord.verdict.ndcg_at_10"


def als_params(client: MlflowClient) -> Run:
    (als,) = runs_of(client)["als"]
    return als


def change_comparison(**changed: Any) -> None:
    file = Path("results/comparison/comparison.json")
    content = json.loads(file.read_text())
    content["pairs"][0].update(changed)
    write_json(file, content)


def test_runs_are_found_by_difference_p_and_verdict(logged_twice: Logged) -> None:
    client, als = logged_twice.client, logged_twice.run("als")
    runs = client.search_runs(
        [als.info.experiment_id],
        f"metrics.`{DIFFERENCE}` > 0.04 and metrics.`{P}` < 0.01 and tags.`{VERDICT}` = 'better'",
    )

    assert [run.info.run_name for run in runs] == ["als"]
    assert (als.data.tags["concord.place"], als.data.tags["concord.baseline"]) == (
        "1 of 2",
        "popularity",
    )
    ((step, difference),) = points(client, als, DIFFERENCE)  # though logged twice
    assert step == 0
    assert difference == pytest.approx(0.05)
    popularity = logged_twice.run("popularity")
    assert popularity.data.tags[VERDICT] == "baseline"
    assert {DIFFERENCE, P} & popularity.data.metrics.keys() == set()


def test_run_of_the_comparison_has_values_of_its_leader(logged_twice: Logged) -> None:
    comparison = logged_twice.run("comparison")

    assert comparison.data.metrics == {
        "leader/ndcg_at_10": pytest.approx(0.40),
        "leader/difference_ndcg_at_10": pytest.approx(0.05),
        "leader/p_adjusted_ndcg_at_10": logged_twice.run("als").data.metrics[P],
    }
    assert comparison.data.tags["concord.leader.ndcg_at_10"] == "als"
    assert comparison.data.tags[VERDICT] == "better"


def test_standing_of_a_run_follows_the_last_comparison(client: MlflowClient) -> None:
    log(params_of(Path()))
    before = als_params(client).data.metrics
    change_comparison(p_adjusted=0.2, verdict="undecided")
    log(params_of(Path()))
    als = als_params(client)

    assert als.data.tags[VERDICT] == "undecided"
    assert als.data.metrics[P] == 0.2
    assert points(client, als, P) == [(0, before[P]), (0, 0.2)]
    assert points(client, als, DIFFERENCE) == [(0, before[DIFFERENCE])]  # it did not change
    assert als.data.tags["concord.comparison"] == runs_of(client)["comparison"][0].info.run_id

    change_comparison(difference=None, p_adjusted=None, verdict="too_few_users")
    log(params_of(Path()))

    assert math.isnan(als_params(client).data.metrics[DIFFERENCE])
    assert math.isnan(als_params(client).data.metrics[P])


def test_an_interrupted_standing_is_completed(
    client: MlflowClient, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = client_interrupted_at("get_run", f"sqlite:///{project}/mlflow.db")
    with monkeypatch.context() as patch:
        patch.setattr("mlflow.MlflowClient", type(interrupted))
        with pytest.raises(KeyboardInterrupt):
            log(params_of(Path()))
    before = als_params(client).data
    log(params_of(Path()))

    assert VERDICT not in before.tags
    assert als_params(client).data.tags[VERDICT] == "better"
    assert len(runs_of(client)["comparison"]) == 1


def test_data_sets_have_a_schema_and_a_profile(logged_twice: Logged) -> None:
    inputs = logged_twice.run("als").inputs
    assert inputs is not None
    schemas, profiles = {}, {}
    for used in inputs.dataset_inputs:
        columns = json.loads(used.dataset.schema or "")["mlflow_colspec"]
        schemas[used.dataset.name] = {each["name"]: each["type"] for each in columns}
        profiles[used.dataset.name] = json.loads(used.dataset.profile or "")

    assert schemas == {
        "truth": {"user": "string", "item": "long", "grade": "double"},
        "lists": {"user": "string", "item": "long", "rank": "long", "score": "double"},
    }
    assert profiles == {
        "truth": {"num_rows": 90, "num_elements": 270, "num_users": 40, "num_items": 30},
        "lists": {"num_rows": 400, "num_elements": 1600, "num_users": 39, "num_items": 25},
    }
