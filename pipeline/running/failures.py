"""An error as one line with a fix, and its exit code."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from concord.metrics_core.errors import InputError, Problem, missing_extra
from concord.pipeline.running.disk import REFUSED, DiskError, full_disk

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
