"""Ranges of users: partitions that follow each other in the order of the ids."""

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from duckdb import DuckDBPyConnection

Some = TypeVar("Some")


def put_range(connection: DuckDBPyConnection, names: Iterable[str], low: Any, high: Any) -> None:
    """View `name`: the rows of `all_name` of the users from `low` on and before `high`; None: there is no such bound.

    A range is a table: a join is planned by its size, and a file is opened once for all that is asked of it.
    """
    bounds = {"user >= $low": low, "user < $high": high}
    within = {bound: user for bound, user in bounds.items() if user is not None}
    named = {bound.rpartition("$")[2]: user for bound, user in within.items()}
    for name in names:
        here = f"all_{name}"
        if within:
            query = f"SELECT * FROM {here} WHERE {' AND '.join(within)}"
            here = f"{name}_here"
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {here} AS {query}", named)
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM {here}")


def one_ahead(parts: Iterator[Some]) -> Generator[Some]:
    """The next is made while one is used. Closed, it waits for the one that is being made, and closes `parts`."""
    try:
        with ThreadPoolExecutor(1) as beside:
            coming = beside.submit(next, parts, None)
            while (part := coming.result()) is not None:
                coming = beside.submit(next, parts, None)
                yield part
    finally:
        if isinstance(parts, Generator):
            parts.close()
