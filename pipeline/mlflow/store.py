"""The store of MLflow: its address, made safe to show, to open and to share; and why it refused."""

import fcntl
import os
import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TextIO
from urllib.parse import unquote

from concord.pipeline.params.paths import PARAMS, original_project
from concord.pipeline.running.failures import without_credentials

_STATUS = re.compile(r"failed with error code (\d{3})|too many (\d{3}) error|(\d{3}) (?:Client|Server) Error")  # fmt: skip
_CORRECT = "correct mlflow.tracking_uri in params.yaml"
_LOG_IN = (
    "set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, "
    f"or {_CORRECT}"
)
_LATER = "try later"


class Failure(NamedTuple):
    """A kind of failure; `told`: MLflow's own words add something."""

    reason: str
    fix: str
    told: bool = False


UNREACHABLE = Failure("cannot be reached", f"start the server, or {_CORRECT}", told=True)
SLOW = Failure("did not answer in time", f"{_LATER}, or set MLFLOW_HTTP_REQUEST_TIMEOUT (seconds)")
REFUSED = Failure("refuses", _CORRECT, told=True)
REFUSED_BY_SERVER = Failure("refuses", _LOG_IN, told=True)
STRANGE = Failure(
    "gives an answer that MLflow's client cannot read",
    f"see that a server of MLflow in this version is there, or {_CORRECT}",
    told=True,
)
_DAMAGED = "take a copy of it, put it aside (a new one is made), or bring back an older copy"

_BY_STATUS = {
    401: Failure("asks for a login (401)", _LOG_IN),
    403: Failure("does not allow this login to do it (403)", _LOG_IN),
    404: Failure("does not answer as MLflow does (404)", _LOG_IN),
    429: Failure("turns requests away, it is busy (429)", _LATER),
}
_BY_WORDS = (
    (r"Invalid url", REFUSED),
    (
        r"Failed to convert '.*' for MLFLOW_",
        Failure("was not asked: a setting is invalid", "correct the variable", told=True),
    ),
    (
        r"valid JSON format|Expecting value|ParseError",
        Failure("answers with a page that is not MLflow's, perhaps one to log in", _LOG_IN),
    ),
    (r"timed out|timeout exception", SLOW),
    (
        r"Connection refused|Name or service not known|Failed to resolve|Temporary failure in name",
        UNREACHABLE,
    ),
    (
        r"Connection aborted|Connection reset|Connection broken|closed connection|IncompleteRead",
        Failure("broke off", _LATER),
    ),
    (
        r"database is locked",
        Failure("is in use by another process", "try when the other process has ended"),
    ),
    (
        r"unable to open database|disk I/O error",
        Failure(
            "cannot be opened",
            f"make it a file that this user may write to, no folder and no loop of links, or {_CORRECT}",
            told=True,
        ),
    ),
    (
        r"is malformed|file is not a database",
        Failure("is damaged", _DAMAGED, told=True),
    ),
    (
        r"no such (table|column)|has no column named",
        Failure("lacks tables or columns of MLflow's", _DAMAGED, told=True),
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
            told=True,
        ),
    ),
)


def known_failure(words: str) -> Failure | None:
    """Return the kind of failure that an error of MLflow, its HTTP library or sqlite names; None if unknown."""
    found = _STATUS.search(words)
    if found:
        status = int(next(group for group in found.groups() if group))
        if status in _BY_STATUS:
            return _BY_STATUS[status]
        if status >= 500:  # noqa: PLR2004 - the server's own errors
            return Failure(f"fails inside ({status})", "look into the server's log")
    for pattern, kind in _BY_WORDS:
        if re.search(pattern, words):
            return kind
    return None


_SQLITE = "sqlite:///"
BUSY_FOR = 20  # seconds, for another process to let go of the database

AGAIN = "concord log --again"


class TrackingError(ConnectionError):
    """MLflow cannot be reached, or refuses; the results are on disk all the same.

    `reason` says why in words that do not depend on machine or time.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Tracking:
    """The `mlflow.tracking_uri` of params.yaml, or another `file`; `again`: the command that logs what is missing there."""

    uri: str
    again: str = AGAIN
    file: str = str(PARAMS)

    @cached_property
    def shown(self) -> str:
        """The address without user, password, query and fragment; a password may hold any sign but `@`."""
        scheme, mark, rest = self.uri.partition("//")
        if not mark:
            return self.uri
        return f"{scheme}//{re.split('[?#]', rest.rpartition('@')[2])[0]}"

    def hidden(self, text: str) -> str:
        """The text without the address's credentials, whole or in parts."""
        secret = self.uri.partition("//")[2].rpartition("@")[0]
        parts = [self.uri, secret, secret.partition(":")[2], self.uri.partition("?")[2]]
        shown = text.replace(self.uri, self.shown)
        for part in parts[1:]:
            shown = shown.replace(part, "…") if part else shown
        return without_credentials(shown)

    @cached_property
    def database(self) -> Path | None:
        """The file of a local sqlite store. A relative path means the project itself:
        an experiment runs in a temporary copy, whose own database would vanish with it.
        """
        if not self.uri.startswith(_SQLITE):
            return None
        path = original_project() / unquote(self.uri.removeprefix(_SQLITE).partition("?")[0])
        return Path(os.path.realpath(path))  # Path.resolve() fails where links lead in a circle

    @property
    def resolved(self) -> str:
        """The address to open, whatever the working directory."""
        if self.database is None:
            return self.uri
        _, mark, query = self.uri.partition("?")
        return f"{_address(self.database)}{mark}{query}"

    @property
    def artifacts(self) -> str | None:
        """Beside a local database; a server decides for itself."""
        return None if self.database is None else (self.database.parent / "mlruns").as_uri()

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Hold a local database for this process alone; refuse one that MLflow could not open."""
        if self.database is None:
            yield
            return
        with self._locked(self.database):
            self._ask_database(self.database)
            yield

    @contextmanager
    def made_whole(self) -> Iterator[str | None]:
        """The address of a database to be made beside the one that is missing, and renamed when the block ends.

        MLflow makes its tables one by one, and no later MLflow opens a database with some of them.
        """
        if self.database is None or (self.database.exists() and self.database.stat().st_size):
            yield None
            return
        beside = self.database.with_name(f".{self.database.name}.part")
        for left in self.database.parent.glob(f"{beside.name}*"):
            left.unlink()
        yield _address(beside)
        beside.replace(self.database)

    def error(self, error: BaseException, unknown: Failure | None = None) -> TrackingError:
        """Return one line that names the address, what went wrong and what to do.

        `unknown` is the kind of an error whose words are not known.
        """
        kind = known_failure(str(error)) or unknown
        kind = kind or (REFUSED_BY_SERVER if self.is_server else REFUSED)
        words = " ".join(self.hidden(str(error)).partition("[SQL: ")[0].split())
        words = re.sub(r"^\(raised as a result of [^)]*\) ", "", words)  # SQLAlchemy to its caller
        cause = re.search(r"\(Caused by .*?(\[(Errno|SSL)[^'\"()]*)", words)
        words = cause[1] if cause else words  # urllib3 names the whole request first
        told = f": {words[:300]}" if kind.told else ""
        fix = kind.fix.replace(str(PARAMS), self.file)
        advice = f"the results are on disk; {fix}, then `{self.again}`"
        return TrackingError(f"MLflow at {self.shown} {kind.reason}{told} ({advice})", kind.reason)

    @property
    def to_look(self) -> str:
        """Where the runs can be seen: the server, or the command that shows a local database."""
        if self.database is None:
            return self.shown
        makefile = Path("Makefile")
        has_ui = makefile.is_file() and "\nui:" in makefile.read_text(errors="replace")
        if has_ui and self.database == Path("mlflow.db").resolve():
            return "make ui"
        return f"mlflow ui --backend-store-uri {shlex.quote(without_credentials(self.uri))}"

    @property
    def is_server(self) -> bool:
        return self.uri.startswith(("http://", "https://"))

    def _ask_database(self, database: Path) -> None:
        try:
            with closing(sqlite3.connect(database, timeout=BUSY_FOR)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.Error as error:
            raise self.error(error) from None

    @contextmanager
    def _locked(self, database: Path) -> Iterator[None]:
        """Two processes that create the tables at once break them, and both would log the same run.

        The database may lie among the files of a training, so no lock file stays beside it.
        """
        file = database.with_name(f"{database.name}.lock")
        try:
            database.parent.mkdir(parents=True, exist_ok=True)
            lock = _locked_file(file)
        except OSError as error:
            raise self.error(error) from None
        with lock:
            try:
                yield
            finally:
                with suppress(OSError):  # another user's, in a folder that is shared
                    file.unlink()


def _locked_file(file: Path) -> TextIO:
    """Open a file and lock it; who held it before may have removed it while this process waited."""
    while True:
        lock = file.open("a")
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock.fileno()), file.stat()):
                return lock
        lock.close()


def _address(database: Path) -> str:
    """SQLAlchemy unquotes what MLflow has made folders by: signs that must be quoted stay out of it where they can."""
    path = str(database)
    if set(path) & set("%?"):
        path = os.path.relpath(path)
    return f"{_SQLITE}{path.replace('%', '%25').replace('?', '%3F')}"
