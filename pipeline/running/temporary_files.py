"""Names of temporary files, and their removal after a run that was killed."""

import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PART = re.compile(r"\..+\.(\d{1,9})\.part")
_SPILL = f"concord-duckdb-{socket.gethostname()}-"  # hosts may share a folder, but no process ids


def part_of(path: Path) -> Path:
    """Return the temporary file beside `path` that this process writes first."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def remove_stale_parts(folder: Path) -> None:
    """Remove half-written files of processes that no longer run."""
    for part in folder.glob(".*.part"):
        name = _PART.fullmatch(part.name)
        if name and not _is_running(int(name[1])):
            _remove(part)


@contextmanager
def spill_folder() -> Iterator[str]:
    """A folder for DuckDB's temporary files; those of processes that no longer run are removed."""
    for stale in Path(tempfile.gettempdir()).glob(f"{_SPILL}*"):
        process = stale.name.removeprefix(_SPILL).partition("-")[0]
        if process.isdecimal() and not _is_running(int(process)):
            _remove(stale)
    folder = Path(tempfile.mkdtemp(prefix=f"{_SPILL}{os.getpid()}-"))
    try:
        yield str(folder)
    finally:
        _remove(folder)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return not _is_zombie(process)


def _is_zombie(process: int) -> bool:
    """True if the process has ended and nobody has asked for its exit code, as in a container without an init process."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    except OSError:  # it has ended, or the system has no /proc
        return False
    return state.split()[0] in {"Z", "X"}


def _remove(path: Path) -> None:
    """Best effort: a file that somebody else owns stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
