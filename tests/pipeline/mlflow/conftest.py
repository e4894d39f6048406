"""One tracking server with a proxy for all tests of a worker: starting one takes seconds."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow import MlflowClient

from concord.pipeline.mlflow.log import main as log
from tests.pipeline.mlflow.log_project import params_of, write_project
from tests.pipeline.mlflow.mlflow_server import FaultyProxy, mlflow_server
from tests.pipeline.mlflow.stores import Logged


@pytest.fixture
def project(tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An evaluated project that is not logged yet, in a folder with an unusual name."""
    folder = write_project(tmp_path / "demo été #1")
    shutil.copy(empty_store, folder / "mlflow.db")
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def client(project: Path) -> MlflowClient:
    """Return a client of the store of `project`."""
    return MlflowClient(tracking_uri=f"sqlite:///{project}/mlflow.db")


@pytest.fixture(scope="session")
def tracking_server(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> Iterator[str]:
    """Yield host and port of a server with sqlite; each test has a separate experiment."""
    folder = tmp_path_factory.mktemp("server")
    shutil.copy(empty_store, folder / "srv.db")
    with mlflow_server(folder) as address:
        yield address


@pytest.fixture(scope="session")
def proxy(tracking_server: str) -> Iterator[FaultyProxy]:
    with FaultyProxy(tracking_server).running() as proxy:
        yield proxy


@pytest.fixture(scope="session")
def logged_twice(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> Logged:
    """Log the same results twice into a sqlite store, which tests only read."""
    folder = write_project(tmp_path_factory.mktemp("logged") / "demo été #1")
    shutil.copy(empty_store, folder / "mlflow.db")
    outputs = []
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DVC_ROOT", raising=False)
        patch.chdir(folder)
        for _ in range(2):
            outputs.append(log(params_of(folder)))
    client = MlflowClient(tracking_uri=f"sqlite:///{folder}/mlflow.db")
    return Logged(folder, client, tuple(outputs))
