"""The stage `log` with real servers: with and without logins, and behind a faulty proxy."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from mlflow import MlflowClient

from concord.pipeline.mlflow.client import RETRIES, TIMEOUT, TrackingError
from concord.pipeline.mlflow.evaluation_runs import evaluation_runs
from concord.pipeline.mlflow.log import main as log
from concord.pipeline.mlflow.newest import newest_search
from concord.pipeline.running.outputs import logged_view
from tests.pipeline.mlflow.log_project import free_port, params_of, write_project
from tests.pipeline.mlflow.mlflow_server import (
    BATCH,
    LOGIN_PAGE,
    Fault,
    FaultyProxy,
    mlflow_server,
)
from tests.pipeline.mlflow.stores import (
    assert_logged_once,
    runs_of,
)

pytestmark = pytest.mark.whole

WITHIN = 16  # seconds
LOG_IN = "MLFLOW_TRACKING_TOKEN"
LOGIN_FORM = Fault(status=200, body=LOGIN_PAGE, headers=(("Content-Type", "text/html"),))
LOST = Fault(path=BATCH, n_before=1, cut=True, after_processing=True)
FAULTS = {  # the row of docs/reference/robustness.md, the fault, the reason, the fix
    "slow in the middle": (
        9,
        Fault(path="/api/", n_before=8, delay=30),
        "did not answer in time: ",
        "MLFLOW_HTTP_REQUEST_TIMEOUT",
    ),
    "503 in the middle": (
        10,
        Fault(path=BATCH, status=503),
        "is busy or has an internal error: too many 503",
        "the server's log",
    ),
    "artifacts are rejected": (
        11,
        Fault(path="/mlflow-artifacts/", status=403),
        "denies access: 403 Client Error",
        "get the permission to edit the experiment",
    ),
    "login page": (11, LOGIN_FORM, "failed: ", LOG_IN),
    "lost after a batch is stored": (12, LOST, "cannot be reached: ", "start the server"),
}


@pytest.fixture
def project(tmp_path: Path, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with a separate experiment and a password in the address."""
    proxy.set_fault(None)
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MLFLOW_HTTP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_JITTER", "0")
    return write_project(tmp_path, uri=f"http://ann:s3cret@{proxy.address}", experiment=uuid4().hex)


def _case(name: str) -> Any:
    row, _, reason, _ = FAULTS[name]
    return pytest.param(name, marks=pytest.mark.fault(row, f"{name}: `{reason}`"))


@pytest.mark.parametrize("name", [_case(name) for name in FAULTS])
def test_a_fault_ends_the_stage_and_the_next_run_completes_it(
    project: Path, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _, fault, reason, fix = FAULTS[name]
    params = params_of(project)
    proxy.set_fault(fault)
    with monkeypatch.context() as limits:
        if fault.delay:
            limits.setenv(RETRIES, "0")
            limits.setenv(TIMEOUT, "1")
        started = time.monotonic()
        with pytest.raises(TrackingError) as refused:
            log(params)
        took = time.monotonic() - started
    has_results = (project / "results/report/report.html").is_file()
    receipt = (project / "results/mlflow/receipt.json").exists()
    proxy.set_fault(None)
    log(params)

    message = str(refused.value)
    assert message.startswith(f"MLflow at http://{proxy.address} ")
    assert reason in message
    assert fix in message
    assert "`concord log --again`" in message
    assert "s3cret" not in message
    assert "\n" not in message
    assert took < WITHIN
    assert has_results
    assert not receipt
    assert_logged_once(_client(proxy), params.mlflow.experiment)


def _client(proxy: FaultyProxy) -> MlflowClient:
    return MlflowClient(tracking_uri=f"http://{proxy.upstream}")


def test_an_unexpected_answer_is_an_error_of_one_line(project: Path, proxy: FaultyProxy) -> None:
    proxy.set_fault(Fault(path="/runs/create", status=200, body=b'{"run": {}}'))
    with pytest.raises(TrackingError) as refused:
        log(params_of(project))

    assert proxy.n_requests
    assert refused.value.reason == "failed"


@pytest.mark.parametrize("path", ["/experiments/create", "/runs/create"])
def test_a_lost_answer_is_requested_again(project: Path, proxy: FaultyProxy, path: str) -> None:
    params = params_of(project)
    proxy.set_fault(Fault(path=path, n_requests=1, cut=True, after_processing=True))
    log(params)

    assert proxy.n_requests >= 1
    assert_logged_once(_client(proxy), params.mlflow.experiment)


def test_a_missing_path_prefix_is_no_question_of_credentials(
    project: Path, proxy: FaultyProxy
) -> None:
    proxy.set_fault(Fault(status=404, body=b"<!doctype html>", headers=()))
    with pytest.raises(TrackingError) as refused:
        log(params_of(project))

    message = str(refused.value)
    assert "does not have the address of a request: API request to endpoint" in message
    assert "add the server's path prefix (--static-prefix) to mlflow.tracking_uri" in message
    assert LOG_IN not in message


def test_invalid_limit_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TIMEOUT, "10s")
    with pytest.raises(TrackingError, match=f"Failed to convert '10s' for {TIMEOUT}"):
        log(params_of(project))


@pytest.mark.fault(8, "one line within seconds")
def test_a_server_that_is_down_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"127.0.0.1:{free_port()}"
    params = params_of(write_project(project, uri=f"http://ann:s3cret@{address}"))
    with pytest.raises(TrackingError) as refused:
        log(params)

    assert str(refused.value) == (
        f"MLflow at http://{address} cannot be reached: [Errno 111] Connection refused "
        "(the results are on disk; start the server, or correct mlflow.tracking_uri in "
        "params.yaml, then `concord log --again`)"
    )
    assert refused.value.reason == "cannot be reached"


PASSWORD = "a pass: word/@1"
LOGIN = {"MLFLOW_TRACKING_USERNAME": "admin", "MLFLOW_TRACKING_PASSWORD": PASSWORD}
AUTH = """
[mlflow]
default_permission = READ
database_uri = sqlite:///auth.db
admin_username = admin
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
auth_cache_ttl_seconds = 60
"""  # the cache saves half a second per request


@dataclass(frozen=True)
class Server:
    address: str
    login: dict[str, str]


@pytest.fixture(
    scope="module",
    params=["sqlite", pytest.param("basic-auth", marks=pytest.mark.nightly)],
)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    if request.param == "sqlite":
        yield Server(f"http://{request.getfixturevalue('tracking_server')}", {})
    else:
        (folder / "auth.ini").write_text(AUTH)
        secrets = {
            "MLFLOW_FLASK_SERVER_SECRET_KEY": "for tests",
            "MLFLOW_AUTH_ADMIN_PASSWORD": PASSWORD,
            "MLFLOW_AUTH_CONFIG_PATH": "auth.ini",
        }
        with mlflow_server(folder, "--app-name", "basic-auth", **secrets) as address:
            yield Server(f"http://{address}", LOGIN)


@pytest.fixture
def server_project(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in server.login.items():
        monkeypatch.setenv(name, value)
    return write_project(tmp_path, uri=server.address, experiment=uuid4().hex)


def test_server_gets_runs_once(
    server: Server, server_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params = params_of(server_project)
    experiment = params.mlflow.experiment
    for _ in range(2):
        log(params)
    client = MlflowClient(tracking_uri=server.address)
    (run,) = runs_of(client, experiment)["als"]

    view = f"/#/experiments/{run.info.experiment_id}/runs?viewStateShareKey=concord"
    tags = client.get_experiment(run.info.experiment_id).tags
    assert logged_view(params.results) == f"{server.address}{view}"
    assert tags["mlflow.sharedViewState.concord"] == evaluation_runs(params).view
    assert_logged_once(client, experiment)
    newest = client.search_runs([run.info.experiment_id], newest_search(experiment))
    assert {each.info.run_name for each in newest} == {"comparison", "popularity", "als"}
    assert run.info.artifact_uri.startswith("mlflow-artifacts:")


def test_wrong_login_names_the_variables_to_set(
    server: Server, server_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not server.login:
        log(params_of(server_project))  # a login that is not needed
        return
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "another")
    with pytest.raises(TrackingError) as wrong:
        log(params_of(server_project))
    for name in server.login:
        monkeypatch.delenv(name)
    with pytest.raises(TrackingError) as missing:
        log(params_of(server_project))

    for refused in (wrong, missing):
        assert refused.value.reason == "denies access"
        assert "MLFLOW_TRACKING_USERNAME" in str(refused.value)
