"""MLflow's client: an address that is safe to show and open, and errors of one line."""

from __future__ import annotations

import fcntl
import gc
import os
import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, NamedTuple, TextIO
from urllib.parse import unquote

from concord.pipeline.params.repository import PARAMS, original_project
from concord.pipeline.running.failures import without_credentials
from concord.pipeline.running.signals import without_garbage_collection

if TYPE_CHECKING:
    from mlflow import MlflowClient

_STATUS = re.compile(
    r"failed with error code (\d{3})|too many (\d{3}) error|(\d{3}) (?:Client|Server) Error"
)
_CORRECT = "correct mlflow.tracking_uri in params.yaml"
_LOG_IN = (
    "set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, "
    f"or {_CORRECT}"
)
_LATER = "try again later"


class Failure(NamedTuple):
    """A kind of failure; `has_details` if MLflow's own message adds information."""

    reason: str
    fix: str
    has_details: bool = False


UNREACHABLE = Failure("cannot be reached", f"start the server, or {_CORRECT}", has_details=True)
SLOW = Failure("did not answer in time", f"{_LATER}, or set MLFLOW_HTTP_REQUEST_TIMEOUT (seconds)")
REFUSED = Failure("refuses", _CORRECT, has_details=True)
REFUSED_BY_SERVER = Failure("refuses", _LOG_IN, has_details=True)
UNREADABLE = Failure(
    "sends an answer that MLflow's client cannot read",
    f"check that a server of this version of MLflow runs there, or {_CORRECT}",
    has_details=True,
)
_DAMAGED = "keep a copy, then move it away (a new one is created) or restore an older copy"

_BY_STATUS = {
    401: Failure("asks for a login (401)", _LOG_IN),
    403: Failure("does not allow this login to do it (403)", _LOG_IN),
    404: Failure("does not answer as MLflow does (404)", _LOG_IN),
    429: Failure("is busy and rejects requests (429)", _LATER),
}
_BY_MESSAGE = (
    (r"Invalid url", REFUSED),
    (
        r"Failed to convert '.*' for MLFLOW_",
        Failure("was not called: a setting is invalid", "correct the variable", has_details=True),
    ),
    (
        r"valid JSON format|Expecting value|ParseError",
        Failure("answers with a page that is not MLflow's, perhaps a login page", _LOG_IN),
    ),
    (r"timed out|timeout exception", SLOW),
    (
        r"Connection refused|Name or service not known|Failed to resolve|Temporary failure in name",
        UNREACHABLE,
    ),
    (
        r"Connection aborted|Connection reset|Connection broken|closed connection|IncompleteRead",
        Failure("closed the connection", _LATER),
    ),
    (
        r"database is locked",
        Failure("is in use by another process", "try again when the other process has ended"),
    ),
    (
        r"unable to open database|disk I/O error",
        Failure(
            "cannot be opened",
            "make it a file that this user may write to (not a folder or a cycle of links), "
            f"or {_CORRECT}",
            has_details=True,
        ),
    ),
    (
        r"is malformed|file is not a database",
        Failure("is damaged", _DAMAGED, has_details=True),
    ),
    (
        r"no such (table|column)|has no column named",
        Failure("lacks tables or columns of MLflow", _DAMAGED, has_details=True),
    ),
    (
        r"out-of-date database schema \(found version \w+",
        Failure(
            "has the tables of another version of MLflow",
            "install the version that wrote it; or, if that is older, copy the database and run "
            f"`mlflow db upgrade` on it; or {_CORRECT}",
        ),
    ),
    (
        r"[Ee]xperiment .*(is deleted|'active' state)",
        Failure(
            "has deleted the experiment",
            "restore it (`mlflow experiments restore --experiment-id …`), "
            "or name another as mlflow.experiment in params.yaml",
            has_details=True,
        ),
    ),
)


def classify_failure(message: str) -> Failure | None:
    """Return the kind of an error of MLflow, its HTTP library or sqlite; None if unknown."""
    if match := _STATUS.search(message):
        status = int(next(filter(None, match.groups())))
        if status in _BY_STATUS:
            return _BY_STATUS[status]
        if status >= 500:  # noqa: PLR2004 - the server's own errors
            return Failure(f"has an internal error ({status})", "look at the server's log")
    return next((kind for pattern, kind in _BY_MESSAGE if re.search(pattern, message)), None)


_SQLITE = "sqlite:///"
LOCK_TIMEOUT = 20  # seconds, for another process to release the database
LOG_AGAIN = "concord log --again"


class TrackingError(ConnectionError):
    """MLflow cannot be reached or refuses a request; the results are on disk all the same.

    `reason` is the same on every machine and at any time.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Tracking:
    """The MLflow store that params.yaml or another file names.

    Attributes
    ----------
    uri : str
        Address of the store.
    retry_command : str
        Command that logs missing results.
    file : str
        File that names the address.
    """

    uri: str
    retry_command: str = LOG_AGAIN
    file: str = str(PARAMS)

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
        return f"{self._ui_command}, then open {path}"

    @property
    def _ui_command(self) -> str:
        makefile = Path("Makefile")
        has_ui = makefile.is_file() and "\nui:" in makefile.read_text(errors="replace")
        if has_ui and self.database == Path("mlflow.db").resolve():
            return "make ui"
        return f"mlflow ui --backend-store-uri {shlex.quote(without_credentials(self.uri))}"

    def error(self, error: BaseException, default: Failure | None = None) -> TrackingError:
        """Return an error of one line: the address, what went wrong and what to do.

        `default` is the kind of an error whose message is unknown.
        """
        kind = classify_failure(str(error)) or default
        kind = kind or (REFUSED_BY_SERVER if self.is_server else REFUSED)
        message = " ".join(self.redact(str(error)).partition("[SQL: ")[0].split())
        message = re.sub(r"^\(raised as a result of [^)]*\) ", "", message)  # SQLAlchemy
        cause = re.search(r"\(Caused by .*?(\[(Errno|SSL)[^'\"()]*)", message)
        message = cause[1] if cause else message  # urllib3 starts with the whole request
        details = f": {message[:300]}" if kind.has_details else ""
        fix = f"{kind.fix.replace(str(PARAMS), self.file)}, then `{self.retry_command}`"
        return TrackingError(
            f"MLflow at {self.safe_uri} {kind.reason}{details} (the results are on disk; {fix})",
            kind.reason,
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
            lock = _open_locked(file)
        except OSError as error:
            raise self.error(error) from None
        with lock:
            try:
                self._check_database(self.database)
                yield
            finally:
                with suppress(OSError):  # in a shared folder, the file may be another user's
                    file.unlink()

    def _check_database(self, database: Path) -> None:
        try:
            with closing(sqlite3.connect(database, timeout=LOCK_TIMEOUT)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("SELECT count(*) FROM sqlite_master")
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

        temporary = self.database.with_name(f".{self.database.name}.part")
        for stale in temporary.parent.glob(f"{temporary.name}*"):
            stale.unlink()
        uri = _sqlite_uri(temporary)
        SqlAlchemyStore(uri, self.artifact_location)  # type: ignore[no-untyped-call]
        temporary.replace(self.database)


def _open_locked(file: Path) -> TextIO:
    """Open and lock a file; try again if its last owner removed it meanwhile."""
    while True:
        lock = file.open("a")
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock.fileno()), file.stat()):
                return lock
        lock.close()


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
        from mlflow import MlflowClient, MlflowException

    gc.freeze()  # garbage collection then skips all of MLflow
    try:
        tracking.create_database()
        yield MlflowClient(tracking_uri=tracking.resolved_uri)
    except (MlflowException, ImportError, OSError) as error:
        raise tracking.error(error) from None
    except Exception as error:
        if isinstance(error, MemoryError) or not _raised_in_mlflow(error):
            raise
        raise tracking.error(error, UNREADABLE if tracking.is_server else None) from None
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


def experiment_id(client: MlflowClient, name: str, artifact_location: str | None) -> str:
    """Return the id of the experiment with this name; create it if it is missing."""
    from mlflow import MlflowException

    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        try:
            return str(client.create_experiment(name, artifact_location))
        except MlflowException:  # created by another process, or the answer was lost
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise
    if experiment.lifecycle_stage == "deleted":
        raise MlflowException(
            f"experiment {name!r} with the id {experiment.experiment_id} is deleted"
        )
    return str(experiment.experiment_id)
