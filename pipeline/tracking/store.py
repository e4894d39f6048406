"""Where MLflow keeps its runs: the address in params.yaml, made safe to show, to open and to share."""

import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from ssl import SSLCertVerificationError
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

_SQLITE = "sqlite:///"
ANSWER_WITHIN = 5  # seconds, for a server to say that it is there
BUSY_FOR = 20  # seconds, for another process to let go of the database

_MEND = "mend mlflow.tracking_uri in params.yaml"
_START = f"start the server, or {_MEND}"
_LOG_IN = (
    f"{_MEND}, or set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and"
    " MLFLOW_TRACKING_PASSWORD"
)


class TrackingError(ConnectionError):
    """MLflow cannot be reached, or refuses; the results are on disk all the same."""


@dataclass(frozen=True)
class Tracking:
    """The `mlflow.tracking_uri` of params.yaml."""

    uri: str

    @cached_property
    def shown(self) -> str:
        """The address without user, password and query."""
        return without_credentials(self.uri).partition("?")[0]

    @cached_property
    def database(self) -> Path | None:
        """The file of a local sqlite store. A relative path means the root of the DVC project:
        an experiment runs in a temporary copy, whose own database would vanish with it.
        """
        if not self.uri.startswith(_SQLITE):
            return None
        root = Path(os.environ.get("DVC_ROOT") or Path.cwd())
        return (root / self.uri.removeprefix(_SQLITE).partition("?")[0]).resolve()

    @property
    def resolved(self) -> str:
        """The address to open, whatever the working directory."""
        if self.database is None:
            return self.uri
        _, mark, query = self.uri.partition("?")
        return f"{_SQLITE}{self.database}{mark}{query}"

    @property
    def artifacts(self) -> str | None:
        """Beside a local database; a server decides for itself."""
        return None if self.database is None else (self.database.parent / "mlruns").as_uri()

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Refuses what cannot work before MLflow tries it for minutes; a local database is ours alone."""
        if self.database is None:
            self._ask_server()
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
        yield f"{_SQLITE}{beside}"
        beside.replace(self.database)

    def error(self, reason: BaseException) -> TrackingError:
        """One line that names the address, what MLflow said and what to do."""
        return self._in_one_line(reason, _LOG_IN if self._is_server else _MEND)

    def _in_one_line(self, reason: object, fix: str) -> TrackingError:
        words = " ".join(without_credentials(str(reason).replace(self.uri, self.shown)).split())
        advice = f"the results are on disk; {fix}, then `dvc repro`"
        return TrackingError(f"MLflow at {self.shown}: {words[:300]} ({advice})")

    @property
    def _is_server(self) -> bool:
        return self.uri.startswith(("http://", "https://"))

    def _ask_server(self) -> None:
        """Any answer will do; certificates and passwords are for MLflow's own client to judge."""
        if not self._is_server:
            return
        try:
            with urlopen(f"{self.shown.rstrip('/')}/health", timeout=ANSWER_WITHIN):
                pass
        except (HTTPError, HTTPException):
            return
        except OSError as error:
            reason = error.reason if isinstance(error, URLError) else error
            if not isinstance(reason, SSLCertVerificationError):
                raise self._in_one_line(reason, _START) from None

    def _ask_database(self, database: Path) -> None:
        try:
            with closing(sqlite3.connect(database, timeout=BUSY_FOR)) as connection:
                connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise self.error(error) from None

    @contextmanager
    def _locked(self, database: Path) -> Iterator[None]:
        """Two processes that create the tables at once break them, and both would log the same run."""
        try:
            database.parent.mkdir(parents=True, exist_ok=True)
            lock = database.with_name(f"{database.name}.lock").open("w", encoding="utf-8")
        except OSError as error:
            raise self.error(error) from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def without_credentials(text: str) -> str:
    """The text with `user:password@` taken out of every address."""
    return re.sub(r"//[^/\s]*@", "//", text)
