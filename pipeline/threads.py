"""How many threads DuckDB may use. No result depends on it, so it is no parameter but the machine's affair."""

import os

from pipeline.checks import refuse

VARIABLE = "CONCORD_THREADS"


def thread_settings() -> dict[str, int]:
    """DuckDB's settings for the number of threads that the environment names; empty: all cores.

    Raises
    ------
    InputError : the variable holds no whole number above 0
    """
    given = os.environ.get(VARIABLE, "")
    if not given:
        return {}
    if not (given.isdecimal() and int(given) > 0):
        fix = "set it to a whole number above 0, or unset it to use all cores"
        raise refuse(f"environment variable {VARIABLE}", f"is {given!r}", fix)
    return {"threads": int(given)}
