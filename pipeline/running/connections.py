"""DuckDB for stages: locked, with the threads and the memory that the environment allows. No result depends on them."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import connect
from concord.metrics_core.errors import refuse
from concord.pipeline.running.outputs import spill_folder

VARIABLE = "CONCORD_THREADS"
MEMORY = "CONCORD_MEMORY"
SPILL = "CONCORD_SPILL"
_SIZE = re.compile(
    r"[1-9]\d{0,8}(\.\d+)? ?[KMG]i?B|[1-9]\d{0,5}(\.\d+)? ?Ti?B", re.ASCII
)  # below 2^63 bytes
_MEMORY = "1GB"  # where the environment says nothing
MOST = 512  # DuckDB starts as many threads as it is told, and a machine that cannot hold them hangs


def thread_settings() -> dict[str, int]:
    """DuckDB's settings for the number of threads that the environment names; empty: all cores.

    Raises
    ------
    InputError : the variable holds no whole number from 1 to 512
    """
    given = os.environ.get(VARIABLE, "")
    if not given:
        return {}
    if not re.fullmatch(r"0*[1-9]\d{0,2}", given, re.ASCII) or int(given) > MOST:
        fix = f"set it to a whole number from 1 to {MOST}, or unset it to use all cores"
        raise refuse(f"environment variable {VARIABLE}", f"is {given!r}", fix)
    return {"threads": int(given)}


def size_limit(variable: str) -> str | None:
    """What the environment allows DuckDB to hold in memory before it spills to disk, or to spill at most.

    Raises
    ------
    InputError : the variable holds no size
    """
    given = os.environ.get(variable, "")
    if given and not _SIZE.fullmatch(given):
        fix = "set it to a size such as 800MB or 4GB, or unset it"
        raise refuse(f"environment variable {variable}", f"is {given!r}", fix)
    return given or None


def spilling_to(folder: str) -> dict[str, str | bool | int | float | list[str]]:
    """DuckDB's settings for threads, memory, and the folder of its temporary files, which take 90 % of a disk at most."""
    most = size_limit(SPILL)
    return {
        **thread_settings(),
        "temp_directory": folder,
        "memory_limit": size_limit(MEMORY) or _MEMORY,
        **({"max_temp_directory_size": most} if most else {}),
    }


@contextmanager
def reading(files: Iterable[Path] = ()) -> Iterator[DuckDBPyConnection]:
    """A connection that reads these files and no other; what it spills goes with the block."""
    with spill_folder() as spill, connect(reads=files, config=spilling_to(spill)) as connection:
        yield connection


@contextmanager
def workspace() -> Iterator[DuckDBPyConnection]:
    """A connection that reaches no file and no network: tables come in and go out through Arrow."""
    with spill_folder() as spill:
        compressed = (  # a third of the memory, and faster
            "ATTACH ':memory:' AS work (COMPRESS)",
            "USE work",
        )
        with connect(setup=compressed, config=spilling_to(spill)) as connection:
            yield connection
