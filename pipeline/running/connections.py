"""Locked DuckDB connections.

Threads and memory come from the environment; no result depends on them.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import connect, in_memory
from concord.metrics_core.data.workers import THREADS_VARIABLE
from concord.metrics_core.errors import refuse
from concord.pipeline.running.outputs import spill_folder

MEMORY_VARIABLE = "CONCORD_MEMORY"
SPILL_VARIABLE = "CONCORD_SPILL"
_SIZE = re.compile(
    r"[1-9]\d{0,8}(\.\d+)? ?[KMG]i?B|[1-9]\d{0,5}(\.\d+)? ?Ti?B", re.ASCII
)  # below 2^63 bytes
_THREADS = re.compile(r"0*[1-9]\d{0,2}", re.ASCII)
_DEFAULT_MEMORY = "1GB"
MAX_THREADS = 512  # DuckDB hangs if the machine cannot run more


def size_limit(variable: str) -> str | None:
    """Return the size limit in an environment variable; None if it is not set.

    Raises
    ------
    InputError
        If the variable is not a size.
    """
    value = os.environ.get(variable, "")
    if value and not _SIZE.fullmatch(value):
        fix = "set it to a size such as 800MB or 4GB, or unset it"
        raise refuse(f"environment variable {variable}", f"is {value!r}", fix)
    return value or None


def duckdb_settings(folder: str) -> dict[str, str | bool | int | float | list[str]]:
    """Return DuckDB's settings for threads, memory, and temporary files in the folder.

    Raises
    ------
    InputError
        If CONCORD_THREADS is not a whole number from 1 to 512, or a limit is not a size.
    """
    maximum = size_limit(SPILL_VARIABLE)
    threads = os.environ.get(THREADS_VARIABLE) or None  # all cores
    if threads and not (_THREADS.fullmatch(threads) and int(threads) <= MAX_THREADS):
        fix = f"set it to a whole number from 1 to {MAX_THREADS}, or unset it to use all cores"
        raise refuse(f"environment variable {THREADS_VARIABLE}", f"is {threads!r}", fix)
    return {
        **({"threads": int(threads)} if threads else {}),
        "temp_directory": folder,
        "memory_limit": size_limit(MEMORY_VARIABLE) or _DEFAULT_MEMORY,
        **({"max_temp_directory_size": maximum} if maximum else {}),
    }


def read_only_connection(files: Iterable[Path] = ()) -> AbstractContextManager[DuckDBPyConnection]:
    """Connect to a database that can read only these files; its temporary files are removed.

    Without files, the tables are frames: they share the database of this process.
    """
    return _connect_to_files(files) if files else in_memory()


@contextmanager
def _connect_to_files(files: Iterable[Path]) -> Iterator[DuckDBPyConnection]:
    with spill_folder() as spill, connect(reads=files, config=duckdb_settings(spill)) as connection:
        yield connection


@contextmanager
def isolated_connection() -> Iterator[DuckDBPyConnection]:
    """Yield a connection without access to files and network; tables are passed through Arrow."""
    with spill_folder() as spill:
        compressed = (  # a third of the memory, and faster
            "ATTACH ':memory:' AS work (COMPRESS)",
            "USE work",
        )
        with connect(setup=compressed, config=duckdb_settings(spill)) as connection:
            yield connection
