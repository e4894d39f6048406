"""Tables in DuckDB: locked connections, and tables that are files or frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import duckdb
from duckdb import DuckDBPyConnection

if TYPE_CHECKING:
    import polars as pl


def only_row(
    connection: DuckDBPyConnection, query: str, values: Mapping[str, Any] | None = None
) -> tuple[Any, ...]:
    """Return the only row of a query."""
    (row,) = connection.execute(query, dict(values or {})).fetchall()
    return tuple(row)


_LOCKED_SETTINGS: Mapping[str, Any] = {
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_MAX_SPILL = "max_temp_directory_size"


def connect(
    *,
    reads: Iterable[Path] = (),
    setup: Iterable[str] = (),
    config: Mapping[str, Any] | None = None,
) -> DuckDBPyConnection:
    """Connect to a database in memory that can read only some files.

    Parameters
    ----------
    reads : iterable of Path
        Files that queries may read, by exactly these names.
    setup : iterable of str
        Statements to run before the connection is locked.
    config : mapping, optional
        Other settings of DuckDB.
    """
    settings = {**(config or {}), **_LOCKED_SETTINGS}
    max_spill = settings.pop(_MAX_SPILL, None)
    connection = duckdb.connect(":memory:", config=settings)
    if max_spill is not None:  # DuckDB ignores it until the temporary folder is known
        connection.execute(f"SET {_MAX_SPILL} = ?", [max_spill])
    for statement in setup:
        connection.execute(statement)
    if paths := [str(path) for path in reads]:
        connection.execute("SET allowed_paths = ?", [paths])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


_schema_numbers = count()


@contextmanager
def in_memory() -> Iterator[DuckDBPyConnection]:
    """Connect to a temporary schema in the one database of this process, without access to files.

    Opening a database takes 12 ms, a schema 1 ms.
    """
    with _schema(_database(os.getpid()), "memory", "main") as connection:
        yield connection


@contextmanager
def registered_only() -> Iterator[DuckDBPyConnection]:
    """Open a connection without files; registered and temporary tables end with the block.

    A table or view that is not temporary would stay: `in_memory` has a schema for these.
    """
    with _database(os.getpid()).cursor() as connection:
        yield connection


@contextmanager
def separate_schema(connection: DuckDBPyConnection) -> Iterator[DuckDBPyConnection]:
    """Connect again to the same database, with a temporary schema."""
    with _schema(connection, *_catalog_and_schema(connection)) as other:
        yield other


@contextmanager
def _schema(
    connection: DuckDBPyConnection, catalog: str, parent: str
) -> Iterator[DuckDBPyConnection]:
    schema = f"use_{next(_schema_numbers)}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {catalog}.{schema}; USE {catalog}.{schema}")
        try:
            yield cursor
        finally:
            cursor.execute(f"USE {catalog}.{parent}; DROP SCHEMA {schema} CASCADE")


@contextmanager
def second_cursor(connection: DuckDBPyConnection) -> Iterator[DuckDBPyConnection]:
    """Connect again to the same tables: its result stays open while `connection` runs queries."""
    with connection.cursor() as cursor:
        cursor.execute("USE {}.{}".format(*_catalog_and_schema(connection)))
        yield cursor


def _catalog_and_schema(connection: DuckDBPyConnection) -> tuple[str, str]:
    """Return the catalog and the schema that a connection uses."""
    catalog, schema = only_row(connection, "SELECT current_catalog(), current_schema()")
    return catalog, schema


@cache
def _database(_process: int) -> DuckDBPyConnection:
    """Return the database of a process: after a fork it can be neither used nor closed."""
    return connect()


_ID_COLUMNS = ("user", "item")


def share_id_types(connection: DuckDBPyConnection, relations: Mapping[str, str]) -> None:
    """Create {view: relation}; an id column is text in all of them if the types differ."""
    schemas = {}
    for relation in relations.values():
        rows = connection.execute(f"DESCRIBE {relation}").fetchall()
        schemas[relation] = {name: kind for name, kind, *_ in rows}
    columns = _columns_with_shared_id_types(schemas)
    for view, relation in relations.items():
        query = f"SELECT {columns[relation]} FROM {relation}"
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {query}")


def _columns_with_shared_id_types(schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return {relation: SQL of its columns} from {relation: {column: type}}."""
    mixed = [
        name
        for name in _ID_COLUMNS
        if len({schema[name] for schema in schemas.values() if name in schema}) > 1
    ]
    columns = {}
    for relation, schema in schemas.items():
        casts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in mixed if name in schema)
        columns[relation] = f"* REPLACE ({casts})" if casts else "*"
    return columns


Table = Union[Path, "pl.DataFrame"]
# Opens a connection that can read only these files.
OpenConnection = Callable[[Iterable[Path]], AbstractContextManager[DuckDBPyConnection]]


def scan(table: Table) -> pl.LazyFrame:
    """Return the table as a lazy frame."""
    import polars as pl  # takes 0.1 s, and the stages that load lists do not need it

    return pl.scan_parquet(table, glob=False) if isinstance(table, Path) else table.lazy()


def read_column(table: Table, name: str) -> pl.Series:
    """Return one column; a name such as `^.*$` is not a pattern."""
    import polars as pl

    if isinstance(table, Path):
        return pl.read_parquet(table, columns=[name], glob=False)[name]
    return table[name]


def read_frame(table: Table) -> pl.DataFrame:
    """Return the whole table."""
    import polars as pl

    return pl.read_parquet(table, glob=False) if isinstance(table, Path) else table


def schema_of(table: Table) -> Mapping[str, pl.DataType]:
    """Return {column: type}."""
    import polars as pl

    return pl.read_parquet_schema(table) if isinstance(table, Path) else table.schema


def file_paths(tables: Iterable[Table]) -> list[Path]:
    """Return the tables that are files."""
    return [table for table in tables if isinstance(table, Path)]


def create_view(connection: DuckDBPyConnection, name: str, table: Table) -> None:
    """Create a view of the table in the connection."""
    if isinstance(table, Path):
        connection.read_parquet(str(table)).create_view(name)
    else:
        connection.register(name, table.to_arrow())


def create_id_views(connection: DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
    """Create a view of each table; ids are text in all of them if their types differ.

    The view `lists` has a score, which may be null, and the rows of the first ranking.
    """
    schemas = {name: schema_of(table) for name, table in tables.items()}
    columns = _columns_with_shared_id_types(schemas)
    for name, table in tables.items():
        create_view(connection, f"{name}_table", table)
        selected, condition = columns[name], ""
        if name == "lists":
            selected += "" if "score" in schemas[name] else ", NULL::DOUBLE AS score"
            condition = " WHERE ranking = 0" if "ranking" in schemas[name] else ""
        query = f"SELECT {selected} FROM {name}_table{condition}"
        connection.execute(f"CREATE TEMP VIEW {name} AS {query}")
