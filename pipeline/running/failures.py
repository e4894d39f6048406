"""Errors as one line with a fix and an exit code: full disks, and addresses without credentials."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from concord.metrics_core.errors import InputError, Problem, missing_extra

# A password may hold `/` (SQLAlchemy takes it as it is); digits after the colon are a port.
_USER = re.compile(r"//(?:[^/\s'\"<>]*|[^/@\s'\"<>]*:(?!\d+/)[^\s'\"<>]*)@")
_QUERY = re.compile(r"(//[^\s'\"<>?#]*)[?#][^\s'\"<>]*")


def without_credentials(text: str) -> str:
    """The text with `user:password@`, `?query` and `#fragment` taken out of every address."""
    return _QUERY.sub(r"\1", _USER.sub("//", text))


FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EFBIG: "the limit of file sizes (ulimit -f) is reached",
}
REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_BLOCK = 4096  # bytes that must fit before work begins


class DiskError(OSError):
    """One clear line; nothing half-written is left."""


@contextmanager
def explain_disk_errors(path: Path, part: Path) -> Iterator[None]:
    """Turn what the disk refuses while `part` is written into a line that names `path`."""
    try:
        yield
    except DiskError:
        raise
    except Exception as error:  # polars and DuckDB have errors of their own for it
        number = full_disk(error)
        if number is not None:
            raise DiskError(_full(path, part, FULL[number])) from None
        if isinstance(error, OSError) and error.errno in REFUSED:
            raise DiskError(_refused(path, error)) from None
        raise


def full_disk(error: BaseException) -> int | None:
    """Return the error number of a full disk, a used-up quota or a limit of file sizes; None for other errors."""
    for number in FULL:
        if getattr(error, "errno", None) == number or os.strerror(number) in str(error):
            return number
    return None


def refuse_unwritable(folder: Path) -> None:
    """Refuse a folder before any work is done whose results could not be written to it."""
    probe = folder / f".writable.{os.getpid()}.part"
    with explain_disk_errors(folder, probe):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            probe.write_bytes(bytes(_BLOCK))
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)


def _full(path: Path, part: Path, reason: str) -> str:
    written = part.stat().st_size if part.is_file() else 0
    whole = path.absolute()
    folder = next(each for each in (whole, *whole.parents) if each.is_dir())
    free = in_bytes(shutil.disk_usage(folder).free)
    return (
        f"{path}: {reason}: {free} are free, {in_bytes(written)} were written and more is needed;"
        " nothing half-written is left; fix: free space there, then `dvc repro`"
    )


def _refused(path: Path, error: OSError) -> str:
    reason = os.strerror(error.errno or 0)
    return f"{path}: cannot be written: {reason}; fix: make it writable for the user who runs `dvc repro`, or name another folder under `results:` in params.yaml"


def in_bytes(count: float) -> str:
    """1,536 -> '1.5 kB'."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:  # noqa: PLR2004
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


DEBUG = "--debug"
_LESS_MEMORY = (
    "close other programs, or lower evaluation.rows_per_partition in params.yaml (engine: duckdb)"
)


@contextmanager
def damaged_results_named(search: Callable[[Exception], list[Problem]]) -> Iterator[None]:
    """Turn an error that nobody expects into an InputError if results are damaged.

    `search` is called after the error alone: to read all results twice would cost more than a comparison.
    """
    try:
        yield
    except Exception as error:
        if not _is_expected(error) and (problems := search(error)):
            raise InputError(problems) from error
        raise


def _is_expected(error: Exception) -> bool:
    """True if the error is about input, the machine or a server, whatever the results are."""
    expected = (InputError, DiskError, ConnectionError, ImportError, MemoryError)
    of_machine = type(error).__name__ == "OutOfMemoryException" or full_disk(error) is not None
    return isinstance(error, expected) or of_machine or getattr(error, "errno", None) in REFUSED


def exit_code(error: BaseException) -> int:
    """2: input or params refused; 1: anything else."""
    return 2 if isinstance(_named(error), InputError) else 1


def in_words(error: BaseException) -> str:
    """The error in one line, and what to do about it."""
    error = _named(error)
    message = " ".join(f"{type(error).__name__}: {error}".split())
    known = type(error).__name__
    if isinstance(error, InputError | DiskError):
        return str(error)
    if known == "OutOfMemoryException" and "max_temp_directory_size" in message:
        return _spill_full(message)
    if isinstance(error, MemoryError) or known == "OutOfMemoryException":
        return f"out of memory: {_first_sentence(message)}; fix: {_LESS_MEMORY}"
    if full_disk(error) is not None:
        return _spill_full(message) if known == "IOException" else f"{message}; fix: free space"
    if isinstance(error, OSError):
        fix = "; fix: give the user who runs `dvc repro` the right to it"
        return message + (fix if error.errno in REFUSED else "")
    return f"{message} (this is a bug in Concord: please report what `{DEBUG}` prints)"


def _named(error: BaseException) -> BaseException:
    """With the name of the extra, where one is not installed."""
    return (isinstance(error, ImportError) and missing_extra(error)) or error


def _spill_full(message: str) -> str:
    limit = os.environ.get("CONCORD_MEMORY", "")
    more = f"raise CONCORD_MEMORY (it is {limit})" if limit else "set CONCORD_MEMORY, such as 4GB"
    folder, most = tempfile.gettempdir(), os.environ.get("CONCORD_SPILL", "")
    if most and "max_temp_directory_size" in message:
        return (
            f"{folder}: DuckDB's temporary files would take more than CONCORD_SPILL allows ({most}):"
            f" {_first_sentence(message)}; fix: raise it, or {more}"
        )
    return (
        f"{folder}: the disk is full with DuckDB's temporary files (max_temp_directory_size):"
        f" {_first_sentence(message)}; fix: free space there, set TMPDIR to a larger disk, or {more}"
    )


def _first_sentence(message: str) -> str:
    return message.partition("This limit")[0].partition("Possible solutions")[0].strip().rstrip(".")
