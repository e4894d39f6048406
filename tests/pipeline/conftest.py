"""An MLflow database to copy: making its tables takes seconds."""

from pathlib import Path

import pytest

from concord.pipeline.tracking.client import opened
from concord.pipeline.tracking.store import Tracking
from tests.project import made_once


def store_with_tables(folder: Path) -> None:
    with opened(Tracking(f"sqlite:///{folder}/mlflow.db")) as client:
        client.search_experiments()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a database whose tables exist already."""
    return made_once(tmp_path_factory, worker_id, store_with_tables) / "mlflow.db"
