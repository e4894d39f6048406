"""One tracking server, and one proxy before it, for all tests of a worker: starting one takes seconds."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.tracking.mlflow_server import FaultyProxy, mlflow_server


@pytest.fixture(scope="session")
def tracking_server(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> Iterator[str]:
    """Host and port of a server on sqlite; each test has an experiment of its own there."""
    folder = tmp_path_factory.mktemp("server")
    shutil.copy(empty_store, folder / "srv.db")
    with mlflow_server(folder) as address:
        yield address


@pytest.fixture(scope="session")
def proxy(tracking_server: str) -> Iterator[FaultyProxy]:
    with FaultyProxy(tracking_server).running() as proxy:
        yield proxy
