"""`concord log --again` restores what somebody deleted in MLflow, and leaves alone what is there."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from concord.pipeline.commands.log import log_again, tell_what_is_logged
from concord.pipeline.tracking.log import log
from tests.pipeline.tracking.log_project import params_of, write_project
from tests.pipeline.tracking.stores import assert_logged_once, points, runs_of


def _delete(project: Path, *tables: str) -> None:
    with closing(sqlite3.connect(project / "mlflow.db")) as connection:
        for table in tables:
            connection.execute(f"DELETE FROM {table}")
        connection.commit()


def _held(client: MlflowClient, run: Run) -> tuple[object, ...]:
    """All that a run holds."""
    folders = [None, "metrics", "concord", "concord/metrics"]
    files = [f.path for folder in folders for f in client.list_artifacts(run.info.run_id, folder)]
    history = {key: points(client, run, key) for key in run.data.metrics}
    assert run.inputs is not None
    inputs = sorted(used.dataset.name for used in run.inputs.dataset_inputs)
    tags = {k: v for k, v in run.data.tags.items() if k != "mlflow.note.content"}
    return run.info.run_id, run.info.status, run.info.end_time, files, history, inputs, run.data.params, tags  # fmt: skip


def _all(client: MlflowClient) -> dict[str, list[tuple[object, ...]]]:
    return {
        name: [_held(client, client.get_run(run.info.run_id)) for run in runs]
        for name, runs in runs_of(client).items()
    }


DAMAGES = {
    "artifacts": ("artifacts",),
    "points": ("metrics",),
    "all numbers": ("metrics", "latest_metrics", "params"),
    "inputs": ("inputs", "input_tags"),
    "everything but tags": ("artifacts", "metrics", "latest_metrics", "params", "inputs"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_was_deleted_is_restored_in_the_same_runs(
    project: Path, client: MlflowClient, name: str
) -> None:
    log(params_of(project))
    before = _all(client)
    for table in DAMAGES[name]:
        if table == "artifacts":
            shutil.rmtree(project / "mlruns")
        else:
            _delete(project, table)
    damaged = _all(client)
    log_again()

    assert damaged != before
    assert _all(client) == before


def test_a_tag_that_was_deleted_is_restored_and_an_edited_description_is_kept(
    project: Path, client: MlflowClient
) -> None:
    log(params_of(project))
    (als,) = runs_of(client)["als"]
    client.delete_tag(als.info.run_id, "concord.kind")
    client.set_tag(als.info.run_id, "mlflow.note.content", "edited")
    log_again()

    tags = client.get_run(als.info.run_id).data.tags
    assert (tags["concord.kind"], tags["mlflow.note.content"]) == ("model", "edited")


def test_what_was_deleted_in_a_training_run_is_restored(
    project: Path, client: MlflowClient
) -> None:
    trained = client.create_run(client.create_experiment("training")).info.run_id
    client.set_terminated(trained)
    write_project(project, training={"als": trained}, attach="metrics")
    log(params_of(project))
    before = _held(client, client.get_run(trained))
    shutil.rmtree(client.get_run(trained).info.artifact_uri.removeprefix("file://"))
    _delete(project, "metrics", "latest_metrics")
    log_again()

    assert _held(client, client.get_run(trained)) == before


def test_without_its_database_it_is_not_called_logged_and_again_makes_it_anew(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(params_of(project))
    (project / "mlflow.db").unlink()
    capsys.readouterr()
    tell_what_is_logged()
    gone = capsys.readouterr().out
    log_again()
    capsys.readouterr()
    tell_what_is_logged()

    assert gone == (
        "not logged: mlflow.db is gone since; run `concord log --again`, which makes it anew and tells DVC\n"
    )
    assert capsys.readouterr().out.startswith("logged: 2 models")
    assert_logged_once(MlflowClient(tracking_uri=f"sqlite:///{project}/mlflow.db"))
