"""How the `log` stage ends: signals, one line on stderr, receipts where MLflow is not required."""

import json
import shutil
import signal
from pathlib import Path
from uuid import uuid4

import pytest
from mlflow import MlflowClient

from concord.pipeline.commands.log import log_again, tell_what_is_logged
from concord.pipeline.tracking.log import log
from concord.pipeline.tracking.store import TrackingError
from tests.pipeline.tracking.log_project import free_port, params_of, start_log, write_project
from tests.pipeline.tracking.mlflow_server import BATCH, Fault, FaultyProxy
from tests.pipeline.tracking.stores import assert_logged_once, statuses
from tests.project import attempt


@pytest.mark.whole
def test_a_signal_while_logging_leaves_killed_runs_that_the_next_time_completes(
    tmp_path: Path, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    experiment = uuid4().hex
    proxy.breaks(None)
    project = write_project(tmp_path, uri=f"http://{proxy.address}", experiment=experiment)
    client = MlflowClient(tracking_uri=f"http://{proxy.upstream}")
    proxy.breaks(Fault(on=BATCH, passing=1, hold=60))
    stage = start_log(project, MLFLOW_HTTP_REQUEST_TIMEOUT="60")
    assert proxy.holding.wait(60)
    stage.send_signal(signal.SIGTERM)
    _, stderr = stage.communicate(timeout=30)
    stopped = statuses(client, experiment)
    proxy.breaks(None)
    log(params_of(project))

    assert stage.returncode == 143
    assert stderr == "log: stopped by SIGTERM; nothing half-written is left\n"
    assert stopped == {"popularity": ["FINISHED"], "als": ["KILLED"]}
    assert_logged_once(client, experiment)


def test_where_mlflow_is_not_required_its_failure_is_a_warning_and_a_receipt(
    tmp_path: Path,
) -> None:
    address = f"127.0.0.1:{free_port()}"
    project = write_project(tmp_path, uri=f"http://ann:s3cret@{address}", required=False)
    done = attempt(project, "concord", "stage", "log")
    receipt = (project / "results/mlflow/receipt.json").read_text()

    assert (done.returncode, done.stderr.count("\n")) == (0, 2)
    assert done.stdout.split()[0] == "nDCG@10"  # the leaderboard all the same
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


def test_again_logs_what_was_not_logged_once(
    project: Path, client: MlflowClient, empty_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params, database = params_of(write_project(project, required=False)), project / "mlflow.db"
    receipt = project / "results/mlflow/receipt.json"
    tell_what_is_logged()
    database.write_text("rows, columns and other things that are no database\n")
    log(params)
    tell_what_is_logged()
    with pytest.raises(TrackingError):
        log_again()
    not_logged = json.loads(receipt.read_bytes())
    shutil.copy(empty_store, database)
    for _ in range(2):
        log_again()
    tell_what_is_logged()
    (project / "results/report/report.md").write_text("# Another report\n")
    tell_what_is_logged()
    lines = [line for line in capsys.readouterr().out.splitlines() if "logged: " in line]

    assert not_logged["logged"] is False
    assert lines == [
        "not logged: run `dvc repro`, or `concord log --again` if it failed there",
        f"not logged: MLflow at sqlite:///mlflow.db {not_logged['reason']}; run `concord log --again`",
        "logged: 2 models, experiment demo, MLflow at sqlite:///mlflow.db",
        "not logged: the results here are not those that were logged last; run `dvc repro`",
    ]
    assert_logged_once(client)
