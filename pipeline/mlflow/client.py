"""MLflow's client with short time limits; its errors become one line."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import TYPE_CHECKING

from concord.pipeline.mlflow.store import STRANGE, Tracking
from concord.pipeline.running.signals import without_garbage_collection

if TYPE_CHECKING:
    from mlflow import MlflowClient

RETRIES, TIMEOUT = "MLFLOW_HTTP_REQUEST_MAX_RETRIES", "MLFLOW_HTTP_REQUEST_TIMEOUT"
# By default MLflow waits for a dead server for minutes (and as long as a busy one demands), reports its use home,
# announces its tables and prints the traceback of what it raises. A user's own settings take precedence.
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    RETRIES: "1",
    TIMEOUT: "4",  # seconds
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


@contextmanager
def opened(tracking: Tracking) -> Iterator[MlflowClient]:
    """A client; errors of MLflow inside the block become a TrackingError."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with without_garbage_collection():
        from mlflow import MlflowClient, MlflowException

    gc.freeze()  # not to search all of MLflow for garbage, again and again
    try:
        with tracking.made_whole() as made:
            if made:
                with without_garbage_collection():
                    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

                SqlAlchemyStore(made, tracking.artifacts)  # type: ignore[no-untyped-call]
        yield MlflowClient(tracking_uri=tracking.resolved)
    except (MlflowException, ImportError, OSError) as error:
        raise tracking.error(error) from None
    except Exception as error:
        if isinstance(error, MemoryError) or not _raised_in_mlflow(error):
            raise
        raise tracking.error(error, STRANGE if tracking.is_server else None) from None
    finally:
        gc.unfreeze()


def _raised_in_mlflow(error: Exception) -> bool:
    """True if MLflow failed, over what a server answers or a database holds. It raises what its libraries raise."""
    modules = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    return any(name.partition(".")[0] == "mlflow" for name in modules)


@contextmanager
def single_try(seconds: int | None = None) -> Iterator[None]:
    """For requests that must not be repeated blindly, or not be waited for: MLflow may have done
    what was asked, though the answer is lost.
    """
    before = {name: os.environ.get(name) for name in (RETRIES, TIMEOUT)}
    os.environ[RETRIES] = "0"
    if seconds is not None:
        os.environ[TIMEOUT] = str(seconds)
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
        if known.lifecycle_stage == "deleted":
            raise MlflowException(
                f"experiment {name!r} with the id {known.experiment_id} is deleted"
            )
        return str(known.experiment_id)
    try:
        return str(client.create_experiment(name, artifacts))
    except MlflowException:  # perhaps it was made all the same, or by somebody else
        made = client.get_experiment_by_name(name)
        if made is None:
            raise
        return str(made.experiment_id)
