"""How many threads and how much memory DuckDB may use. No result depends on it, so it is no parameter but the machine's affair."""

import os
import re

from metrics_core.problems import refuse

VARIABLE = "CONCORD_THREADS"
MEMORY = "CONCORD_MEMORY"
_SIZE = re.compile(
    r"[1-9]\d{0,8}(\.\d+)? ?[KMG]i?B|[1-9]\d{0,5}(\.\d+)? ?Ti?B", re.ASCII
)  # below 2^63 bytes
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


def memory_limit() -> str | None:
    """What the environment allows DuckDB before it spills to disk.

    Raises
    ------
    InputError : the variable holds no size
    """
    given = os.environ.get(MEMORY, "")
    if given and not _SIZE.fullmatch(given):
        fix = "set it to a size such as 800MB or 4GB, or unset it"
        raise refuse(f"environment variable {MEMORY}", f"is {given!r}", fix)
    return given or None


def spilling_to(folder: str) -> dict[str, str | bool | int | float | list[str]]:
    """DuckDB's settings for threads, memory and the folder of its temporary files."""
    limit = memory_limit()
    return {
        **thread_settings(),
        "temp_directory": folder,
        **({"memory_limit": limit} if limit else {}),
    }
