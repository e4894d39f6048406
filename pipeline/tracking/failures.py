"""Why MLflow did not take the results, in words that are the same on every machine, with a fix."""

import re
from typing import NamedTuple

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
