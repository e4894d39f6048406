"""An MLflow database to copy: making its tables takes seconds."""

from pathlib import Path

import pytest

from concord.pipeline.tracking.client import opened
from concord.pipeline.tracking.store import Tracking


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database whose tables exist already."""
    store = tmp_path_factory.mktemp("store") / "mlflow.db"
    with opened(Tracking(f"sqlite:///{store}")) as client:
        client.search_experiments()
    return store
