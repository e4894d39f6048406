"""Files that somebody names: what is no regular file is refused before it is opened."""

from pathlib import Path
from typing import IO, Any

from concord.metrics_core.checking.problems import refuse

_WHAT = (
    "is neither a file nor a folder: a pipe, a socket or a device has no content to come back to"
)


def open_file(path: Path, fix: str, *, encoding: str | None = None) -> IO[Any]:
    """Open a file to read its bytes, or its text with line ends as they are.

    Raises
    ------
    InputError : it is a pipe, a socket or a device; `fix` says what to do
    """
    refuse_special(path, fix)
    return path.open("rb") if encoding is None else path.open(encoding=encoding, newline="")


def refuse_special(path: Path, fix: str) -> None:
    """Refuse a pipe, a socket or a device: opening it may wait and reading it may go on for ever."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise refuse(str(path), _WHAT, fix)
