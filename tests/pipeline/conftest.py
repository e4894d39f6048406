"""Slow fixtures that tests copy: an MLflow database with its tables, projects with a history."""

from pathlib import Path

import pytest

from concord.pipeline.mlflow.client import Tracking, open_client
from tests.pipeline.dvc.revisions import history_project
from tests.project import made_once


def store_with_tables(folder: Path) -> None:
    with open_client(Tracking(f"sqlite:///{folder}/mlflow.db")) as client:
        client.search_experiments()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a database whose tables exist already."""
    return made_once(tmp_path_factory, worker_id, store_with_tables) / "mlflow.db"


@pytest.fixture(scope="session")
def revisions(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder with `a project` of four commits, and `second/a project` of the first two."""
    return made_once(tmp_path_factory, worker_id, history_project)
