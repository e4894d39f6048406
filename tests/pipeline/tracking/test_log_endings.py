"""How the `log` stage ends as a process: signals, one line on stderr, receipts where MLflow is not required."""

import json
import signal
import time
from pathlib import Path
from uuid import uuid4

import pytest
from mlflow import MlflowClient

from concord.pipeline.commands.log import log_again, tell_what_is_logged
from concord.pipeline.tracking.log import log
from concord.pipeline.tracking.store import TrackingError
from tests.faults.small import run_stage
from tests.pipeline.tracking.log_project import free_port, params_of, start_log, write_project
from tests.pipeline.tracking.mlflow_server import BATCH, Fault, FaultyProxy
from tests.pipeline.tracking.stores import points, runs_of

pytestmark = pytest.mark.whole


@pytest.fixture
def project(tmp_path: Path, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch) -> Path:
    proxy.breaks(None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    return write_project(tmp_path, uri=f"http://{proxy.address}", experiment=uuid4().hex)


def test_a_signal_while_logging_leaves_killed_runs_that_the_next_time_completes(
    project: Path, proxy: FaultyProxy
) -> None:
    experiment = params_of(project).mlflow.experiment
    client = MlflowClient(tracking_uri=f"http://{proxy.upstream}")
    proxy.breaks(Fault(on=BATCH, passing=1, hold=60))
    stage = start_log(project, MLFLOW_HTTP_REQUEST_TIMEOUT="60")
    assert proxy.holding.wait(60)
    stage.send_signal(signal.SIGTERM)
    _, stderr = stage.communicate(timeout=30)
    stopped = {name: run.info.status for name, (run,) in runs_of(client, experiment).items()}
    proxy.breaks(None)
    log(params_of(project))
    after = runs_of(client, experiment)
    (als,) = after["als"]

    assert stage.returncode == 143
    assert stderr == "log: stopped by SIGTERM; nothing half-written is left\n"
    assert stopped == {"popularity": "FINISHED", "als": "KILLED"}
    assert {name: [run.info.status for run in runs] for name, runs in after.items()} == {
        name: ["FINISHED"] for name in ("comparison", *stopped)
    }
    assert points(client, als, "by_k/ndcg") == [(5, 0.36), (10, 0.40)]


def test_a_failure_is_one_line_on_stderr(project: Path, proxy: FaultyProxy) -> None:
    proxy.breaks(Fault(on="/api/", status=500))
    stage = start_log(project)
    _, stderr = stage.communicate(timeout=60)

    assert stage.returncode == 1
    assert stderr.startswith(f"TrackingError: MLflow at http://{proxy.address} ")
    assert stderr.count("\n") == 1


def test_where_mlflow_is_not_required_its_failure_is_a_warning_and_a_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address = f"127.0.0.1:{free_port()}"
    project = write_project(tmp_path, uri=f"http://ann:s3cret@{address}", required=False)
    started = time.monotonic()
    ended = run_stage("log")
    took = time.monotonic() - started
    receipt = (project / "results/mlflow/receipt.json").read_text()

    assert took < 10
    assert (ended.code, ended.err.count("\n")) == (0, 2)
    assert ended.out.split()[0] == "nDCG@10"  # the leaderboard all the same
    assert ended.err.splitlines()[1].startswith("log: nothing logged; ")
    refused = f"warning: not logged: MLflow at http://{address} cannot be reached: "
    assert ended.err.startswith(refused)
    assert "s3cret" not in ended.err + receipt
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
    project: Path, proxy: FaultyProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = uuid4().hex
    uri = f"http://{proxy.address}"
    params = params_of(write_project(project, uri=uri, experiment=experiment, required=False))
    receipt = project / "results/mlflow/receipt.json"
    log(params)
    as_if_nothing_had_happened = receipt.read_bytes()
    receipt.unlink()
    (project / "results/mlflow/runs.json").unlink()
    tell_what_is_logged()
    proxy.breaks(Fault(on="/api/", status=500))
    log(params)
    tell_what_is_logged()
    with pytest.raises(TrackingError):
        log_again()
    not_logged = json.loads(receipt.read_bytes())
    proxy.breaks(None)
    for _ in range(2):
        log_again()
    tell_what_is_logged()
    told = [line for line in capsys.readouterr().out.splitlines() if "logged: " in line]

    assert not_logged["logged"] is False
    assert receipt.read_bytes() == as_if_nothing_had_happened
    assert told == [
        "not logged: run `dvc repro`, or `concord log --again` if it failed there",
        f"not logged: MLflow at {uri} fails inside (500); run `concord log --again`",
        f"logged: 2 models, experiment {experiment}, MLflow at {uri}",
    ]
    runs = runs_of(MlflowClient(tracking_uri=f"http://{proxy.upstream}"), experiment)
    assert {name: len(found) for name, found in runs.items()} == {
        "comparison": 1,
        "popularity": 1,
        "als": 1,
    }


def test_results_that_were_changed_since_are_not_called_logged(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(params_of(project))
    (project / "results/report/report.md").write_text("# Another report\n")
    tell_what_is_logged()

    assert capsys.readouterr().out.endswith("; run `dvc repro`\n")
