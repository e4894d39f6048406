"""The `log` stage against real sqlite stores."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from concord.pipeline.running.outputs import write_json
from concord.pipeline.tracking.client import experiment_id, opened
from concord.pipeline.tracking.content.comparison_content import contents
from concord.pipeline.tracking.log import log
from concord.pipeline.tracking.runs import Place, Runs
from concord.pipeline.tracking.store import Tracking
from tests.pipeline.tracking.log_project import MEANS, params_of
from tests.pipeline.tracking.stores import (
    Logged,
    assert_logged_once,
    client_interrupted_at,
    runs_of,
)


def _inputs(run: Run) -> list[tuple[str, str]]:
    assert run.inputs is not None
    return [(used.dataset.name, used.dataset.digest) for used in run.inputs.dataset_inputs]


def test_a_run_holds_metrics_curves_params_inputs_and_files(logged_twice: Logged) -> None:
    client, run = logged_twice.client, logged_twice.run("als")

    assert_logged_once(client)
    assert run.data.params["ks"] == "5, 10"
    assert [tag for tag in run.data.tags if tag.startswith("convention.")] == []
    assert _inputs(run) == [("truth", "a" * 32), ("lists", "b" * 32)]
    stored = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert stored == {"metrics", "conventions.yaml"}


def test_logging_twice_leaves_one_run_a_model_named_beside_the_receipt(
    logged_twice: Logged,
) -> None:
    als, (first, second) = logged_twice.run("als"), logged_twice.outputs
    noted = json.loads((logged_twice.folder / "results/mlflow/runs.json").read_text())

    assert f"als: logged as run {als.info.run_id}\n" in first
    assert f"als: already there, run {als.info.run_id}\n" in second
    assert second.endswith("to look: mlflow ui --backend-store-uri sqlite:///mlflow.db\n")
    assert noted["runs"]["als"] == als.info.run_id
    assert noted["comparison"] == als.data.tags["concord.comparison"]


def test_a_changed_metric_makes_a_second_run_and_going_back_makes_none(
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


@pytest.mark.fault(12, "a run that was interrupted or killed half-way is found again and completed")
@pytest.mark.parametrize("step", ["log_batch", "log_inputs", "log_artifact", "set_terminated"])
def test_an_interrupted_run_is_completed_with_one_point_a_step(
    project: Path, client: MlflowClient, step: str
) -> None:
    interrupted = client_interrupted_at(step, f"sqlite:///{project}/mlflow.db")
    place = Place(experiment_id(interrupted, "demo", (project / "mlruns").as_uri()))
    als = contents(params_of(project)).models[1]
    runs = Runs(interrupted, {})
    with pytest.raises(KeyboardInterrupt):
        runs.finished(runs.begun(als, place), als)
    (begun,) = runs_of(client)["als"]
    log(params_of(project))

    (completed,) = runs_of(client)["als"]
    assert begun.info.status == "RUNNING"
    assert completed.info.run_id == begun.info.run_id
    assert_logged_once(client)
    assert len(_inputs(completed)) == 2


@pytest.mark.fault(12, "a store whose making was killed half-way is made again")
def test_a_store_that_was_killed_half_made_is_made_again(project: Path) -> None:
    (project / "mlflow.db").unlink()
    with closing(sqlite3.connect(project / ".mlflow.db.part")) as half_made:
        half_made.execute("CREATE TABLE experiments (experiment_id INTEGER)")
    log(params_of(project))

    assert_logged_once(MlflowClient(tracking_uri=f"sqlite:///{project}/mlflow.db"))
    assert [path.name for path in project.glob(".mlflow.db*")] == []


@pytest.mark.fault(6, "those who create one store at once take turns")
def test_three_who_create_the_store_at_once_share_one_experiment(tmp_path: Path) -> None:
    tracking = Tracking(f"sqlite:///{tmp_path}/mlflow.db")

    def create(_: int) -> str:
        with tracking.ready(), opened(tracking) as client:
            return experiment_id(client, "demo", tracking.artifacts)

    with ThreadPoolExecutor(3) as threads:
        ids = list(threads.map(create, range(3)))

    assert len(set(ids)) == 1
    assert [path.name for path in tmp_path.glob(".mlflow.db*")] == []


def test_the_receipt_is_the_same_wherever_and_whenever_it_is_written(
    project: Path, logged_twice: Logged
) -> None:
    log(params_of(project))
    receipt = (project / "results/mlflow/receipt.json").read_bytes()

    assert receipt == (logged_twice.folder / "results/mlflow/receipt.json").read_bytes()
    assert json.loads(receipt) == {
        "tracking_uri": "sqlite:///mlflow.db",
        "experiment": "demo",
        "logged": True,
        "comparison": contents(params_of(project)).comparison.fingerprint,
        "fingerprints": contents(params_of(project)).fingerprints,
    }
