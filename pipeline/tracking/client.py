"""MLflow's client, told not to wait for minutes; what it refuses becomes one line."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.tracking.store import Tracking

if TYPE_CHECKING:
    from mlflow import MlflowClient

_RETRIES, _TIMEOUT = "MLFLOW_HTTP_REQUEST_MAX_RETRIES", "MLFLOW_HTTP_REQUEST_TIMEOUT"

# MLflow waits for a dead server for minutes (and as long as a busy one asks for), reports its use home
# and announces its tables, unless told otherwise. Each of these may be set from outside.
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    _RETRIES: "1",
    _TIMEOUT: "4",  # seconds
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


@contextmanager
def opened(tracking: Tracking) -> Iterator[MlflowClient]:
    """A client; what MLflow refuses inside the block becomes a TrackingError."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # it would tell of every second try
    from mlflow import MlflowClient, MlflowException

    try:
        yield MlflowClient(tracking_uri=tracking.resolved)
    except (MlflowException, ImportError, OSError) as error:
        raise tracking.error(error) from None


def in_haste() -> None:
    """From now on, one short try a request: the process is about to end."""
    os.environ[_RETRIES] = "0"
    os.environ[_TIMEOUT] = "1"


@contextmanager
def single_try() -> Iterator[None]:
    """For a request that must not be repeated blindly: MLflow may have done it, and the answer was lost."""
    before = os.environ.get(_RETRIES)
    os.environ[_RETRIES] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_RETRIES]
        else:
            os.environ[_RETRIES] = before


def experiment_id(client: MlflowClient, name: str, artifacts: str | None) -> str:
    """Of the experiment with this name, which is made if need be."""
    from mlflow import MlflowException

    known = client.get_experiment_by_name(name)
    if known:
        return str(known.experiment_id)
    try:
        return str(client.create_experiment(name, artifacts))
    except MlflowException:  # perhaps it was made all the same, or by somebody else
        made = client.get_experiment_by_name(name)
        if made is None:
            raise
        return str(made.experiment_id)
