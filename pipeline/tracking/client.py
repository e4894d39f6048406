"""MLflow's client, told not to wait for minutes; what it refuses becomes one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.tracking.store import Tracking

if TYPE_CHECKING:
    from mlflow import MlflowClient

# MLflow waits for a dead server for minutes (and as long as a busy one asks for), reports its use home
# and announces its tables, unless told otherwise. Each of these may be set from outside.
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


@contextmanager
def opened(tracking: Tracking) -> Iterator[MlflowClient]:
    """A client; what MLflow refuses inside the block becomes a TrackingError."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient, MlflowException

    try:
        yield MlflowClient(tracking_uri=tracking.resolved)
    except (MlflowException, ImportError, OSError) as error:
        raise tracking.error(error) from None


def in_haste() -> None:
    """From now on, one short try a request: the process is about to end."""
    os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
    os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] = "2"


def experiment_id(client: MlflowClient, name: str, artifacts: str | None) -> str:
    known = client.get_experiment_by_name(name)
    return known.experiment_id if known else client.create_experiment(name, artifacts)
