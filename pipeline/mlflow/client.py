"""MLflow's client: an address that is safe to show and open, and errors of one line."""

from __future__ import annotations

import gc
import os
import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from concord.pipeline.params.repository import PARAMS, original_project
from concord.pipeline.running.failures import without_credentials
from concord.pipeline.running.locks import open_locked, remove_locked
from concord.pipeline.running.signals import without_garbage_collection

if TYPE_CHECKING:
    from mlflow import MlflowClient

LOG_AGAIN = "concord log --again"
_CORRECT = f"correct mlflow.tracking_uri in {PARAMS}"
_LOG_IN = (
    "set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, "
    f"or {_CORRECT}"
)


class Failure(NamedTuple):
    """A kind of failure and its fix."""

    reason: str
    fix: str


UNREACHABLE = Failure("cannot be reached", f"start the server, or {_CORRECT}")
SLOW = Failure(
    "did not answer in time", "try again later, or set MLFLOW_HTTP_REQUEST_TIMEOUT (seconds)"
)
BUSY = Failure("is busy or has an internal error", "try again later, or look at the server's log")
DENIED = Failure("denies access", f"get the permission to edit the experiment, {_LOG_IN}")
FAILED = Failure("failed", f"look at the server's log, {_LOG_IN}")
IN_USE = Failure("is in use by another process", "try again when the other process has ended")
UNUSABLE = Failure(
    "cannot be used",
    "make it a database of this version of MLflow that you may write to "
    "(move a damaged one away, and a new one is created; "
    f"`mlflow db upgrade` converts a copy of an older one), or {_CORRECT}",
)
DELETED = Failure(
    "has deleted the experiment",
    "restore it (`mlflow experiments restore --experiment-id …`), "
    f"or name another as mlflow.experiment in {PARAMS}",
)
NOT_FOUND = Failure(
    "does not have the address of a request",
    f"add the server's path prefix (--static-prefix) to mlflow.tracking_uri in {PARAMS}, "
    "or use a server of MLflow 2.14 or newer",
)
ARTIFACTS = Failure(
    "cannot store artifacts",
    "make that store writable from here (s3:// needs `pip install boto3`), or start the server "
    f"with --artifacts-destination, and name a new mlflow.experiment in {PARAMS}",
)
_DENIED_STATUSES = {401, 403}
_NOT_FOUND_STATUS = 404
_BUSY_STATUSES = {429, 500, 502, 503, 504}


def _server_failure(causes: list[BaseException]) -> tuple[Failure, BaseException]:
    """Return the kind of a server's failure, and the error with the message to show."""
    import requests
    from mlflow.exceptions import RestException
    from urllib3.exceptions import ReadTimeoutError

    for kind, failure in (
        (requests.Timeout | ReadTimeoutError, SLOW),
        (requests.exceptions.RetryError, BUSY),
        (requests.ConnectionError, UNREACHABLE),
    ):
        if any(isinstance(cause, kind) for cause in causes):
            return failure, causes[-1]
    for cause in causes:
        if isinstance(cause, requests.HTTPError) and cause.response is not None:
            return _kind_of_status(cause.response.status_code), cause
    status = getattr(causes[0], "get_http_status_code", int)()
    # MLflow gives errors of its own client the status 500 too.
    is_answer = isinstance(causes[0], RestException) or status in _DENIED_STATUSES
    if status == _NOT_FOUND_STATUS and not is_answer:
        return NOT_FOUND, causes[0]
    return _kind_of_status(status) if is_answer else FAILED, causes[0]


def _kind_of_status(status: int) -> Failure:
    if status in _DENIED_STATUSES:
        return DENIED
    return BUSY if status in _BUSY_STATUSES else FAILED


def _causes(error: BaseException) -> list[BaseException]:
    """Return the error, and the errors that led to it."""
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    return causes


_SQLITE = "sqlite:///"
_MAX_DETAILS = 300  # characters
LOCK_TIMEOUT = 20  # seconds, for another process to release the database


class TrackingError(ConnectionError):
    """MLflow cannot be reached or refuses a request; the results are on disk all the same.

    `reason` is the same on every machine and at any time.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class ArtifactStoreError(OSError):
    """Artifacts of a run were not stored; the message begins with the address of their store."""


DEFAULT_SERVER = "http://127.0.0.1:5000"  # of `mlflow ui`


@dataclass(frozen=True)
class Tracking:
    """The MLflow store at an address."""

    uri: str

    @cached_property
    def safe_uri(self) -> str:
        """Address without user, password, query and fragment; a password may have all but `@`."""
        scheme, slashes, remainder = self.uri.partition("//")
        if not slashes:
            return self.uri
        return f"{scheme}//{re.split('[?#]', remainder.rpartition('@')[2])[0]}"

    def redact(self, text: str) -> str:
        """Return the text without credentials of the address, whole or in parts."""
        secret = self.uri.partition("//")[2].rpartition("@")[0]
        text = text.replace(self.uri, self.safe_uri)
        for part in (secret, secret.partition(":")[2], self.uri.partition("?")[2]):
            text = text.replace(part, "…") if part else text
        return without_credentials(text)

    @cached_property
    def database(self) -> Path | None:
        """File of a local sqlite store; None for a server.

        A relative path is one of the original project: an experiment runs in a temporary copy,
        and its database would vanish with the copy.
        """
        if not self.uri.startswith(_SQLITE):
            return None
        path = original_project() / unquote(self.uri.removeprefix(_SQLITE).partition("?")[0])
        return Path(os.path.realpath(path))  # Path.resolve() fails for a cycle of links

    @property
    def resolved_uri(self) -> str:
        """Address to open, independent of the working directory."""
        if self.database is None:
            return self.uri
        _, separator, query = self.uri.partition("?")
        return f"{_sqlite_uri(self.database)}{separator}{query}"

    @property
    def artifact_location(self) -> str | None:
        """Folder next to a local database; None for a server, which has its own."""
        return None if self.database is None else (self.database.parent / "mlruns").as_uri()

    @property
    def is_server(self) -> bool:
        """True for an HTTP address."""
        return self.uri.startswith(("http://", "https://"))

    def view_hint(self, path: str) -> str:
        """Return the address of a page of MLflow; for a local database the command that serves it.

        `path` is the page's address relative to that of the server.
        """
        if self.database is None:
            return f"{self.safe_uri.rstrip('/')}{path}" if self.is_server else self.safe_uri
        store = shlex.quote(without_credentials(self.uri))
        return f"mlflow ui --backend-store-uri {store}, then open {DEFAULT_SERVER}{path}"

    def error(self, error: BaseException) -> TrackingError:
        """Return an error of one line: the address, what went wrong and what to do."""
        causes = _causes(error)
        if isinstance(error, ArtifactStoreError):
            causes = causes[1:]
        is_busy = getattr(causes[-1], "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
        failure, cause = IN_USE if is_busy else UNUSABLE, causes[-1]
        if self.is_server:
            failure, cause = _server_failure(causes)
        if isinstance(error, ArtifactStoreError) and failure in {FAILED, UNUSABLE}:
            failure, cause = ARTIFACTS, error
        return self.failed(failure, str(cause) or type(cause).__name__)

    def failed(self, failure: Failure, details: str) -> TrackingError:
        """Return an error with the first line of the details."""
        first_line = next(iter(self.redact(details).strip().splitlines()), "")
        return TrackingError(
            f"MLflow at {self.safe_uri} {failure.reason}: {first_line[:_MAX_DETAILS]} "
            f"(the results are on disk; {failure.fix}, then `{LOG_AGAIN}`)",
            failure.reason,
        )

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock a local database during the block.

        Two processes that create the tables at once damage them, and both would log the same run.
        The lock file is removed: the database may be among the files of a training.

        Raises
        ------
        TrackingError
            If MLflow could not open the database.
        """
        if self.database is None:
            yield
            return
        file = self.database.with_name(f"{self.database.name}.lock")
        try:
            self.database.parent.mkdir(parents=True, exist_ok=True)
            lock = open_locked(file)
        except OSError as error:
            raise self.error(error) from None
        with lock:
            try:
                self._check_database(self.database)
                yield
            finally:
                remove_locked(lock, file)

    def _check_database(self, database: Path) -> None:
        try:
            with closing(sqlite3.connect(database, timeout=LOCK_TIMEOUT)) as connection:
                connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise self.error(error) from None

    def create_database(self) -> None:
        """Create the database under a temporary name if it is missing, then rename it.

        MLflow creates its tables one by one, and cannot open a database with only some of them.
        """
        if self.database is None or (self.database.exists() and self.database.stat().st_size):
            return
        with without_garbage_collection():
            from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
            from sqlalchemy import event
            from sqlalchemy.engine import Engine

        temporary = self.database.with_name(f".{self.database.name}.part")
        for stale in temporary.parent.glob(f"{temporary.name}*"):
            stale.unlink()
        uri = _sqlite_uri(temporary)
        event.listen(Engine, "connect", _write_later)  # hundreds of statements would each wait
        try:
            store = SqlAlchemyStore(uri, self.artifact_location)  # type: ignore[no-untyped-call]
            store.engine.dispose()  # Windows renames no open file
        finally:
            event.remove(Engine, "connect", _write_later)
        with temporary.open("rb+") as file:  # Windows flushes only what can be written
            os.fsync(file.fileno())
        temporary.replace(self.database)


def _write_later(connection: sqlite3.Connection, _: object) -> None:
    """Leave it to the system when changes reach the disk: the file has a temporary name."""
    connection.execute("PRAGMA synchronous = OFF")


def _sqlite_uri(database: Path) -> str:
    """Return the address of a database; MLflow makes folders of the quoted path: quote little."""
    path = str(database)
    if set(path) & set("%?"):
        path = os.path.relpath(path)
    return f"{_SQLITE}{path.replace('%', '%25').replace('?', '%3F')}"


RETRIES, TIMEOUT = "MLFLOW_HTTP_REQUEST_MAX_RETRIES", "MLFLOW_HTTP_REQUEST_TIMEOUT"
# By default MLflow waits for minutes for a server that is down, or as long as a busy one demands.
# It also sends telemetry, announces its tables, prints tracebacks. User settings take precedence.
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    RETRIES: "1",
    TIMEOUT: "4",  # seconds
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


@contextmanager
def open_client(tracking: Tracking) -> Iterator[MlflowClient]:
    """Yield a client; errors of MLflow inside the block become a TrackingError."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with without_garbage_collection():
        from mlflow import MlflowClient

    gc.freeze()  # garbage collection then skips all of MLflow
    try:
        tracking.create_database()
        yield MlflowClient(tracking_uri=tracking.resolved_uri)
    except (TrackingError, MemoryError):
        raise
    except Exception as error:
        if not (isinstance(error, OSError) or _raised_in_mlflow(error)):
            raise
        raise tracking.error(error) from None
    finally:
        gc.unfreeze()


def _raised_in_mlflow(error: Exception) -> bool:
    """True if the error was raised in MLflow or a library that it calls."""
    modules = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    return any(name.partition(".")[0] == "mlflow" for name in modules)


@contextmanager
def disable_retries(seconds: int | None = None) -> Iterator[None]:
    """Send each request once: if the answer is lost, MLflow may still have executed it.

    Parameters
    ----------
    seconds : int, optional
        Timeout of a request.
    """
    previous = {name: os.environ.get(name) for name in (RETRIES, TIMEOUT)}
    os.environ[RETRIES] = "0"
    if seconds is not None:
        os.environ[TIMEOUT] = str(seconds)
    try:
        yield
    finally:
        for name, value in previous.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def experiment_id(client: MlflowClient, name: str, tracking: Tracking) -> str:
    """Return the id of the experiment with this name; create it if it is missing.

    Raises
    ------
    TrackingError
        If the experiment is deleted.
    """
    from mlflow import MlflowException

    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        try:
            return str(client.create_experiment(name, tracking.artifact_location))
        except MlflowException:  # created by another process, or the answer was lost
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise
    if experiment.lifecycle_stage == "deleted":
        raise tracking.failed(DELETED, f"{name!r} with the id {experiment.experiment_id}")
    return str(experiment.experiment_id)
