"""A DuckDB connection for one stage: memory bounded, spilling to a folder that goes with it."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from pipeline.running.leftovers import spill_folder
from pipeline.threads import spilling_to

MEMORY = "1GB"


@contextmanager
def workspace() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that reaches no file and no network: tables come in and go out through Arrow."""
    with spill_folder() as spill:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            **spilling_to(spill),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        with duckdb.connect(":memory:", config=config) as connection:
            connection.execute(
                "ATTACH ':memory:' AS work (COMPRESS)"
            )  # a third of the memory, and faster
            connection.execute("USE work")
            connection.execute("SET enable_external_access = false")
            yield connection
