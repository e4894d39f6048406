"""MLflow's client, told not to wait for minutes; what it refuses becomes one line."""

from __future__ import annotations

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
    from mlflow import MlflowClient, MlflowException

    try:
        with tracking.made_whole() as made:
            if made:
                from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

                SqlAlchemyStore(made, tracking.artifacts)
        yield MlflowClient(tracking_uri=tracking.resolved)
    except (MlflowException, ImportError, OSError) as error:
        raise tracking.error(error) from None


@contextmanager
def single_try(seconds: int | None = None) -> Iterator[None]:
    """For requests that must not be repeated blindly, or not be waited for: MLflow may have done
    what was asked, though the answer is lost.
    """
    before = {name: os.environ.get(name) for name in (_RETRIES, _TIMEOUT)}
    os.environ[_RETRIES] = "0"
    if seconds is not None:
        os.environ[_TIMEOUT] = str(seconds)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


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
