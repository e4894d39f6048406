"""A DuckDB connection for one stage: memory bounded, spilling to a folder that goes with it."""

from collections.abc import Iterator
from contextlib import contextmanager

from duckdb import DuckDBPyConnection

from metrics_core.locked import connect
from pipeline.running.leftovers import spill_folder
from pipeline.threads import spilling_to

MEMORY = "1GB"


@contextmanager
def workspace() -> Iterator[DuckDBPyConnection]:
    """A connection that reaches no file and no network: tables come in and go out through Arrow."""
    with spill_folder() as spill:
        config = {"memory_limit": MEMORY, **spilling_to(spill)}
        compressed = (  # a third of the memory, and faster
            "ATTACH ':memory:' AS work (COMPRESS)",
            "USE work",
        )
        with connect(setup=compressed, config=config) as connection:
            yield connection
