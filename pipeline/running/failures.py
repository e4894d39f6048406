"""Errors as one line with a fix and an exit code, without credentials."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from concord.metrics_core.errors import InputError, Problem, missing_extra_error, refuse
from concord.pipeline.params.repository import rerun_command

# A password may contain `/`, which SQLAlchemy accepts; digits after the colon are a port.
_USER = re.compile(r"//(?:[^/\s'\"<>]*|[^/@\s'\"<>]*:(?!\d+/)[^\s'\"<>]*)@")
_QUERY = re.compile(r"(//[^\s'\"<>?#]*)[?#][^\s'\"<>]*")


def without_credentials(text: str) -> str:
    """Return the text without `user:password@`, `?query` and `#fragment` in every address."""
    return _QUERY.sub(r"\1", _USER.sub("//", text))


DISK_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EFBIG: "the limit of file sizes (ulimit -f) is reached",
}
PERMISSION_ERRORS = {errno.EACCES, errno.EPERM, errno.EROFS}
_PROBE_BYTES = 4096  # that must fit before work begins


class DiskError(OSError):
    """A file cannot be written; no half-written file is left."""


@contextmanager
def explain_disk_errors(path: Path, temporary: Path) -> Iterator[None]:
    """Raise DiskError that names `path` if its temporary file cannot be written."""
    try:
        yield
    except Exception as error:  # polars and DuckDB have their own error types
        number = disk_error_number(error)
        if number is not None:
            raise DiskError(_disk_full_message(path, temporary, DISK_ERRORS[number])) from None
        if isinstance(error, OSError) and error.errno in PERMISSION_ERRORS:
            message = (
                f"{path}: cannot be written: {os.strerror(error.errno)}; fix: make it writable for "
                f"the user who runs `{rerun_command()}`, or name another folder under `results:` "
                "in params.yaml"
            )
            raise DiskError(message) from None
        raise


def disk_error_number(error: BaseException) -> int | None:
    """Return the error number of a full disk, quota or file size limit; None for other errors."""
    for number in DISK_ERRORS:
        if getattr(error, "errno", None) == number or os.strerror(number) in str(error):
            return number
    return None


def refuse_unwritable(folder: Path) -> None:
    """Raise DiskError before any work if a folder cannot be written."""
    probe = folder / f".writable.{os.getpid()}.part"
    with explain_disk_errors(folder, probe):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            probe.write_bytes(bytes(_PROBE_BYTES))
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)


def _disk_full_message(path: Path, temporary: Path, reason: str) -> str:
    written = temporary.stat().st_size if temporary.is_file() else 0
    absolute = path.absolute()
    folder = next(parent for parent in (absolute, *absolute.parents) if parent.is_dir())
    free = format_bytes(shutil.disk_usage(folder).free)
    return (
        f"{path}: {reason}: {free} are free, {format_bytes(written)} were written and more is "
        f"needed; nothing half-written is left; fix: free space there, then `{rerun_command()}`"
    )


def format_bytes(count: float) -> str:
    """Return a number of bytes as text, such as '1.5 kB'."""
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
def report_damaged_results(search: Callable[[Exception], list[Problem]]) -> Iterator[None]:
    """Replace an unexpected error by an InputError if results are damaged.

    `search` is called only after an error: reading all results takes longer than a comparison.
    """
    try:
        yield
    except Exception as error:
        if not _is_expected(error) and (problems := search(error)):
            raise InputError(problems) from error
        raise


def _is_expected(error: Exception) -> bool:
    """True if the error is about input, the machine or a server, independent of results."""
    expected = (InputError, DiskError, ConnectionError, ImportError, MemoryError)
    return (
        isinstance(error, expected)
        or type(error).__name__ == "OutOfMemoryException"
        or disk_error_number(error) is not None
        or getattr(error, "errno", None) in PERMISSION_ERRORS
    )


def exit_code(error: BaseException) -> int:
    """Return 2 for invalid input or params, 1 for any other error."""
    return 2 if isinstance(_with_known_fix(error), InputError) else 1


def error_message(error: BaseException) -> str:
    """Return an error and its fix on one line."""
    error = _with_known_fix(error)
    message = " ".join(f"{type(error).__name__}: {error}".split())
    name = type(error).__name__
    if isinstance(error, InputError | DiskError):
        return str(error)
    if name == "OutOfMemoryException" and "max_temp_directory_size" in message:
        return _spill_message(message)
    if isinstance(error, MemoryError) or name == "OutOfMemoryException":
        return f"out of memory: {_first_sentence(message)}; fix: {_LESS_MEMORY}"
    if disk_error_number(error) is not None:
        return _spill_message(message) if name == "IOException" else f"{message}; fix: free space"
    if isinstance(error, OSError):
        fix = f"; fix: give the user who runs `{rerun_command()}` the right to it"
        return message + (fix if error.errno in PERMISSION_ERRORS else "")
    return f"{message} (this is a bug in Concord: please report what `{DEBUG}` prints)"


def _with_known_fix(error: BaseException) -> BaseException:
    """Return the error with a fix for a path that no disk accepts, or a failed import."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        fix = "name a shorter path"
        return refuse(f"{str(error.filename)[:60]}…", "is too long for the path of a file", fix)
    return (isinstance(error, ImportError) and missing_extra_error(error)) or error


def _spill_message(message: str) -> str:
    limit = os.environ.get("CONCORD_MEMORY", "")
    memory = f"raise CONCORD_MEMORY (it is {limit})" if limit else "set CONCORD_MEMORY, such as 4GB"
    folder, maximum = tempfile.gettempdir(), os.environ.get("CONCORD_SPILL", "")
    if maximum and "max_temp_directory_size" in message:
        return (
            f"{folder}: DuckDB's temporary files would take more than CONCORD_SPILL allows "
            f"({maximum}): {_first_sentence(message)}; fix: raise it, or {memory}"
        )
    return (
        f"{folder}: the disk is full with DuckDB's temporary files (max_temp_directory_size): "
        f"{_first_sentence(message)}; fix: free space there, set TMPDIR to a larger disk, or "
        f"{memory}"
    )


def _first_sentence(message: str) -> str:
    return message.partition("This limit")[0].partition("Possible solutions")[0].strip().rstrip(".")
