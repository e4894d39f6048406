"""Ends of the stage `log`, content that `concord log --again` restores, and broken databases."""

import json
import logging
import shutil
import signal
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from concord.pipeline.commands import log as log_command
from concord.pipeline.mlflow.client import TrackingError
from concord.pipeline.mlflow.log import log_again
from concord.pipeline.mlflow.log import main as log
from tests.pipeline.mlflow.log_project import free_port, params_of, start_log, write_project
from tests.pipeline.mlflow.mlflow_server import BATCH, Fault, FaultyProxy
from tests.pipeline.mlflow.stores import assert_logged_once, points, runs_of, statuses
from tests.project import attempt


def print_status() -> int:
    """Print whether the results are logged; return the exit code."""
    return log_command.run(Namespace(again=False))


def run_content(client: MlflowClient, run: Run) -> tuple[object, ...]:
    """Return everything in a run except its note, to compare two states."""
    folders = [None, "metrics", "concord", "concord/metrics"]
    files = [f.path for folder in folders for f in client.list_artifacts(run.info.run_id, folder)]
    history = {key: points(client, run, key) for key in run.data.metrics}
    assert run.inputs is not None
    inputs = sorted(used.dataset.name for used in run.inputs.dataset_inputs)
    tags = {k: v for k, v in run.data.tags.items() if k != "mlflow.note.content"}
    return (
        run.info.run_id,
        run.info.status,
        run.info.end_time,
        files,
        history,
        inputs,
        run.data.params,
        tags,
    )


def all_run_contents(client: MlflowClient) -> dict[str, list[tuple[object, ...]]]:
    return {
        name: [run_content(client, client.get_run(run.info.run_id)) for run in runs]
        for name, runs in runs_of(client).items()
    }


def test_deleted_artifacts_are_restored_in_the_same_runs(
    project: Path, client: MlflowClient
) -> None:
    log(params_of(project))
    before = all_run_contents(client)
    shutil.rmtree(project / "mlruns")
    log_again()

    assert all_run_contents(client) == before


def test_a_deleted_tag_is_restored_and_an_edited_description_is_kept(
    project: Path, client: MlflowClient
) -> None:
    log(params_of(project))
    (als,) = runs_of(client)["als"]
    client.delete_tag(als.info.run_id, "concord.kind")
    client.set_tag(als.info.run_id, "mlflow.note.content", "edited")
    log_again()

    tags = client.get_run(als.info.run_id).data.tags
    assert (tags["concord.kind"], tags["mlflow.note.content"]) == ("model", "edited")


def test_deleted_content_of_a_training_run_is_restored(project: Path, client: MlflowClient) -> None:
    trained = client.create_run(client.create_experiment("training")).info.run_id
    client.set_terminated(trained)
    write_project(project, training={"als": trained}, attach="metrics")
    log(params_of(project))
    before = run_content(client, client.get_run(trained))
    shutil.rmtree(client.get_run(trained).info.artifact_uri.removeprefix("file://"))
    log_again()

    assert run_content(client, client.get_run(trained)) == before


def test_a_removed_database_is_reported_and_again_creates_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(params_of(project))
    (project / "mlflow.db").unlink()
    capsys.readouterr()
    print_status()
    gone = capsys.readouterr().out
    log_again()
    capsys.readouterr()
    print_status()

    assert gone == (
        "not logged: mlflow.db has been removed; run `concord log --again`, which creates it "
        "again and updates DVC\n"
    )
    assert capsys.readouterr().out.startswith("logged: 2 models")
    assert_logged_once(MlflowClient(tracking_uri=f"sqlite:///{project}/mlflow.db"))


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("experiment", "other", "experiment other, MLflow at sqlite:///mlflow.db"),
        ("uri", "http://127.0.0.1:1", "experiment demo, MLflow at http://127.0.0.1:1"),
    ],
)
def test_another_place_in_params_is_not_the_one_of_the_receipt(
    project: Path, capsys: pytest.CaptureFixture[str], key: str, value: str, named: str
) -> None:
    log(params_of(project))
    write_project(project, **{key: value})  # type: ignore[arg-type]
    capsys.readouterr()

    assert print_status() == 1
    assert capsys.readouterr().out == (
        f"not logged: params.yaml names {named}; the last results went to experiment demo, "
        "MLflow at sqlite:///mlflow.db; run `concord log --again`\n"
    )


@pytest.mark.parametrize("lost", ["als", "comparison"])
def test_a_deleted_run_is_not_logged_until_again_logs_it(
    project: Path, client: MlflowClient, capsys: pytest.CaptureFixture[str], lost: str
) -> None:
    log(params_of(project))
    (run,) = runs_of(client)[lost]
    client.delete_run(run.info.run_id)
    capsys.readouterr()

    assert print_status() == 1
    runs = {"als": "the runs of als", "comparison": "the run of the comparison"}
    assert capsys.readouterr().out == (
        f"not logged: MLflow at sqlite:///mlflow.db has lost {runs[lost]}; run `concord log "
        "--again`\n"
    )
    log_again()
    assert print_status() == 0


def test_a_deleted_experiment_is_not_logged_until_it_is_restored(
    project: Path, client: MlflowClient, capsys: pytest.CaptureFixture[str]
) -> None:
    log(params_of(project))
    experiment = client.get_experiment_by_name("demo")
    assert experiment is not None
    client.delete_experiment(experiment.experiment_id)
    capsys.readouterr()

    assert print_status() == 1
    out = capsys.readouterr().out
    assert "has deleted the experiment 'demo'; restore it (`mlflow experiments restore" in out
    client.restore_experiment(experiment.experiment_id)
    assert print_status() == 0


def test_a_server_that_is_down_is_no_proof_of_logged_results(
    project: Path, client: MlflowClient
) -> None:
    log(params_of(project))
    address = f"http://127.0.0.1:{free_port()}"
    receipt = project / "results/mlflow/receipt.json"
    receipt.write_text(receipt.read_text().replace("sqlite:///mlflow.db", address))
    write_project(project, uri=address)

    with pytest.raises(TrackingError, match="cannot be reached"):
        print_status()


@pytest.mark.whole
def test_next_run_completes_the_runs_that_a_signal_ended(
    tmp_path: Path, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    experiment = uuid4().hex
    proxy.set_fault(None)
    project = write_project(tmp_path, uri=f"http://{proxy.address}", experiment=experiment)
    client = MlflowClient(tracking_uri=f"http://{proxy.upstream}")
    proxy.set_fault(Fault(path=BATCH, n_before=1, delay=60))
    stage = start_log(project, MLFLOW_HTTP_REQUEST_TIMEOUT="60")
    assert proxy.holding.wait(60)
    stage.send_signal(signal.SIGTERM)
    _, stderr = stage.communicate(timeout=30)
    stopped = statuses(client, experiment)
    proxy.set_fault(None)
    log(params_of(project))

    assert stage.returncode == 143
    assert stderr == "log: stopped by SIGTERM; nothing half-written is left\n"
    assert stopped == {"popularity": ["FINISHED"], "als": ["KILLED"]}
    assert_logged_once(client, experiment)


def test_failure_of_optional_mlflow_is_a_warning_and_a_receipt(
    tmp_path: Path,
) -> None:
    address = f"127.0.0.1:{free_port()}"
    project = write_project(tmp_path, uri=f"http://ann:s3cret@{address}", required=False)
    done = attempt(project, "concord", "stage", "log")
    receipt = (project / "results/mlflow/receipt.json").read_text()

    assert (done.returncode, done.stderr.count("\n")) == (0, 2)
    assert "\nals  " in done.stdout  # the leaderboard all the same
    warning, last = done.stderr.splitlines()
    assert warning.startswith(
        f"warning: not logged: MLflow at http://{address} cannot be reached: "
    )
    assert last.startswith("log: nothing logged; ")
    assert "s3cret" not in done.stderr + receipt
    assert json.loads(receipt) == {
        "tracking_uri": f"http://{address}",
        "experiment": "demo",
        "logged": False,
        "reason": "cannot be reached",
        "fix": "run `concord log --again`",
        "comparison": json.loads(receipt)["comparison"],
        "fingerprints": json.loads(receipt)["fingerprints"],
    }


def test_again_logs_missing_results_once(
    project: Path, client: MlflowClient, empty_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params, database = params_of(write_project(project, required=False)), project / "mlflow.db"
    receipt = project / "results/mlflow/receipt.json"
    print_status()
    receipt.parent.mkdir(exist_ok=True)
    receipt.write_text("{}")
    print_status()
    database.write_text("rows, columns and other things that are no database\n")
    log(params)
    print_status()
    with pytest.raises(TrackingError):
        log_again()
    not_logged = json.loads(receipt.read_bytes())
    shutil.copy(empty_store, database)
    for _ in range(2):
        log_again()
    print_status()
    (project / "results/report/report.md").write_text("# Another report\n")
    print_status()
    output = capsys.readouterr().out.splitlines()
    lines = [line for line in output if "logged: " in line or "to find" in line]

    assert not_logged["logged"] is False
    assert lines == [
        *["not logged: run `concord run`, or `concord log --again` if it failed there"] * 2,
        f"not logged: MLflow at sqlite:///mlflow.db {not_logged['reason']}; run `concord log "
        "--again`",
        "logged: 3 new runs; all others are complete",
        "logged: 0 new runs; all others are complete",
        "logged: 2 models, experiment demo, MLflow at sqlite:///mlflow.db",
        "to find this comparison and its models: tags.`concord.newest` = 'demo'",
        "not logged: the results here differ from those that were logged; run `concord run`",
    ]
    assert_logged_once(client)


def _execute(database: Path, statement: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(statement)
        connection.commit()


def _make_folder(database: Path) -> None:
    database.unlink()
    database.mkdir()


def _write_text(database: Path) -> None:
    database.write_text("rows, columns and other things that are no database\n")


def _drop_runs(database: Path) -> None:
    _execute(database, "DROP TABLE runs")


def _change_version(database: Path) -> None:
    _execute(database, "UPDATE alembic_version SET version_num = 'ffffffffffff'")


CASES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a folder": (_make_folder, "unable to open database file"),
    "text": (_write_text, "file is not a database"),
    "no table of runs": (_drop_runs, "no such column: runs."),
    "a newer version": (_change_version, "Detected out-of-date database schema"),
}


@pytest.mark.parametrize("name", CASES)
def test_error_of_a_broken_database_has_a_fix(project: Path, name: str) -> None:
    damage, details = CASES[name]
    damage(project / "mlflow.db")
    with pytest.raises(TrackingError) as refused:
        log(params_of(project))

    message = str(refused.value)
    assert message.startswith(f"MLflow at sqlite:///mlflow.db cannot be used: {details}")
    assert "move a damaged one away" in message
    assert "`mlflow db upgrade`" in message
    assert "SELECT" not in message
    assert "\n" not in message


def test_error_of_a_deleted_experiment_names_the_key(project: Path, client: MlflowClient) -> None:
    log(params_of(project))
    experiment = client.get_experiment_by_name("demo")
    assert experiment is not None
    client.delete_experiment(experiment.experiment_id)
    with pytest.raises(TrackingError) as refused:
        log(params_of(project))

    message = str(refused.value)
    assert "has deleted the experiment: 'demo' with the id 1 (" in message
    assert "or name another as mlflow.experiment in params.yaml" in message
    assert "mlflow.tracking_uri" not in message


@pytest.mark.parametrize(
    ("location", "reason"),
    [("s3://bucket/runs", "import of boto3"), ("file:///proc/runs", "[Errno 2] No such file")],
)
def test_artifacts_that_their_store_does_not_take_are_named_with_it(
    project: Path, client: MlflowClient, monkeypatch: pytest.MonkeyPatch, location: str, reason: str
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    client.create_experiment("demo", location)
    with pytest.raises(TrackingError) as refused:
        log(params_of(project))

    message = str(refused.value)
    assert message.startswith(f"MLflow at sqlite:///mlflow.db cannot store artifacts: {location}/")
    assert f"/artifacts: {reason}" in message
    assert "`pip install boto3`" in message
    assert "MLFLOW_TRACKING_TOKEN" not in message


def test_variables_that_name_another_place_are_ignored_with_a_note(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logging.getLogger("concord"), "propagate", True)
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://ann:s3cret@elsewhere")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "demo")
    log(params_of(project))

    assert caplog.messages[0] == (
        "note: MLFLOW_TRACKING_URI of the environment is ignored: "
        "mlflow: in params.yaml names the place"
    )
    assert_logged_once(MlflowClient(tracking_uri=f"sqlite:///{project}/mlflow.db"))
