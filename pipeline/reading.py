"""DuckDB for stages that read results: locked to the files that are named, bounded and tidy as the environment says."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from duckdb import DuckDBPyConnection

from metrics_core.locked import connect
from pipeline.running.leftovers import spill_folder
from pipeline.threads import spilling_to


@contextmanager
def reading(files: Iterable[Path] = ()) -> Iterator[DuckDBPyConnection]:
    """A connection that reads these files and no other; what it spills goes with the block."""
    with spill_folder() as spill, connect(reads=files, config=spilling_to(spill)) as connection:
        yield connection
