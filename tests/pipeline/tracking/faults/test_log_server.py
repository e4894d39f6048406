"""The `log` stage against real tracking servers: without and with logins."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from mlflow import MlflowClient

from concord.pipeline.tracking.client import experiment_id
from concord.pipeline.tracking.content.comparison_content import contents
from concord.pipeline.tracking.log import log
from concord.pipeline.tracking.runs import Place, Runs
from concord.pipeline.tracking.store import TrackingError
from tests.pipeline.tracking.log_project import params_of, write_project
from tests.pipeline.tracking.mlflow_server import mlflow_server
from tests.pipeline.tracking.stores import (
    assert_logged_once,
    client_interrupted_at,
    points,
    runs_of,
)

pytestmark = pytest.mark.whole

PASSWORD = "a pass: word/@1"
LOGIN = {"MLFLOW_TRACKING_USERNAME": "admin", "MLFLOW_TRACKING_PASSWORD": PASSWORD}
AUTH = """
[mlflow]
default_permission = READ
database_uri = sqlite:///auth.db
admin_username = admin
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
auth_cache_ttl_seconds = 60
"""  # the cache spares half a second a request


@dataclass(frozen=True)
class Server:
    address: str
    login: dict[str, str]


@pytest.fixture(
    scope="module",
    params=["sqlite", pytest.param("basic-auth", marks=pytest.mark.nightly)],
)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:  # fmt: skip
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
def project(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in server.login.items():
        monkeypatch.setenv(name, value)
    return write_project(tmp_path, uri=server.address, experiment=uuid4().hex)


def test_a_server_takes_the_same_runs_once_and_completes_what_was_interrupted(
    server: Server, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params = params_of(project)
    experiment = params.mlflow.experiment
    interrupted = client_interrupted_at("log_inputs", server.address)
    runs, als = Runs(interrupted, {}), contents(params).models[1]
    with pytest.raises(KeyboardInterrupt):
        runs.finished(runs.begun(als, Place(experiment_id(interrupted, experiment, None))), als)
    for _ in range(2):
        log(params)
    client = MlflowClient(tracking_uri=server.address)
    (run,) = runs_of(client, experiment)["als"]

    assert capsys.readouterr().out.endswith(f"to look: {server.address}\n")
    assert_logged_once(client, experiment)
    assert run.info.artifact_uri.startswith("mlflow-artifacts:")


def test_a_training_run_on_a_server_keeps_its_end(server: Server, project: Path) -> None:
    client = MlflowClient(tracking_uri=server.address)
    trained = client.create_run(client.create_experiment(uuid4().hex)).info.run_id
    client.set_terminated(trained, end_time=1_900_000_000_000)
    write_project(
        project,
        uri=server.address,
        experiment=uuid4().hex,
        training={"als": trained},
        attach="metrics",
    )
    log(params_of(project))
    run = client.get_run(trained)

    assert (run.info.status, run.info.end_time) == ("FINISHED", 1_900_000_000_000)
    assert points(client, run, "by_k/ndcg") == [(5, 0.36), (10, 0.40)]
    assert [f.path for f in client.list_artifacts(trained, "concord/metrics")] == [
        "concord/metrics/als.json"
    ]


def test_without_the_right_login_it_is_told_what_to_set(
    server: Server, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not server.login:
        log(params_of(project))  # a login that nobody asks for does no harm
        return
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "another")
    with pytest.raises(TrackingError) as wrong:
        log(params_of(project))
    for name in server.login:
        monkeypatch.delenv(name)
    with pytest.raises(TrackingError) as missing:
        log(params_of(project))

    for refused in (wrong, missing):
        assert str(refused.value) == (
            f"MLflow at {server.address} asks for a login (401) (the results are on disk; set "
            "MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, "
            "or correct mlflow.tracking_uri in params.yaml, then `concord log --again`)"
        )
