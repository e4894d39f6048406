"""Tables that were checked and sorted, in a parquet file or in memory: read alike."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.id_types import share_id_types

Table = Path | pl.DataFrame
Connecting = Callable[[Iterable[Path]], AbstractContextManager[DuckDBPyConnection]]
# opens a connection that reads these files and no other


def scan(table: Table) -> pl.LazyFrame:
    """The table, of which only what is asked for is read."""
    return pl.scan_parquet(table, glob=False) if isinstance(table, Path) else table.lazy()


def column(table: Table, name: str) -> pl.Series:
    """One column; a name such as `^.*$` is no pattern."""
    if isinstance(table, Path):
        return pl.read_parquet(table, columns=[name], glob=False)[name]
    return table[name]


def whole(table: Table) -> pl.DataFrame:
    """All of it."""
    return pl.read_parquet(table, glob=False) if isinstance(table, Path) else table


def schema(table: Table) -> Mapping[str, pl.DataType]:
    """Column -> type."""
    return pl.read_parquet_schema(table) if isinstance(table, Path) else table.schema


def files(tables: Iterable[Table]) -> list[Path]:
    """Those that are files."""
    return [table for table in tables if isinstance(table, Path)]


def view(connection: DuckDBPyConnection, name: str, table: Table) -> None:
    """Make the table a view of the connection."""
    if isinstance(table, Path):
        connection.read_parquet(str(table)).create_view(name)
    else:
        connection.register(name, table.to_arrow())


def id_views(connection: DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
    """A view a table; ids are text in all of them where the tables' types differ.

    `lists` has a score, null where the table has none, and of several rankings the first.
    """
    for name, table in tables.items():
        view(connection, f"{name}_table", table)
        chosen = "*"
        if name == "lists" and "score" not in schema(table):
            chosen = "*, NULL::DOUBLE AS score"
        first = " WHERE ranking = 0" if name == "lists" and "ranking" in schema(table) else ""
        query = f"SELECT {chosen} FROM {name}_table{first}"
        connection.execute(f"CREATE VIEW {name}_file AS {query}")
    share_id_types(connection, {name: f"{name}_file" for name in tables})
