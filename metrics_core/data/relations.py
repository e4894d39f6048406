"""Tables in DuckDB: locked connections, ids of different types, and tables read alike from parquet or memory."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from duckdb import DuckDBPyConnection


def only_row(
    connection: DuckDBPyConnection, query: str, values: Mapping[str, Any] | None = None
) -> tuple[Any, ...]:
    """Return the only row of a query."""
    (row,) = connection.execute(query, dict(values or {})).fetchall()
    return tuple(row)


_CLOSED: Mapping[str, Any] = {
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_SPILL = "max_temp_directory_size"


def connect(
    *,
    reads: Iterable[Path] = (),
    setup: Iterable[str] = (),
    config: Mapping[str, Any] | None = None,
) -> DuckDBPyConnection:
    """Connect to a database in memory; it can read only the given files.

    Parameters
    ----------
    reads  : the files that queries may read, by exactly these names
    setup  : statements to run before the lock
    config : DuckDB's settings beside those of the lock
    """
    settings = {**(config or {}), **_CLOSED}
    spill = settings.pop(_SPILL, None)
    connection = duckdb.connect(":memory:", config=settings)
    if spill is not None:  # not heeded where it is given before the folder is known
        connection.execute(f"SET {_SPILL} = ?", [spill])
    for statement in setup:
        connection.execute(statement)
    if paths := [str(path) for path in reads]:
        connection.execute("SET allowed_paths = ?", [paths])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


_numbers = count()


@contextmanager
def in_memory() -> Iterator[DuckDBPyConnection]:
    """Connect to a temporary schema in the one database of this process, without access to files.

    Opening a database takes 12 ms, a schema 1 ms.
    """
    with _schema(_database(os.getpid()), "memory", "main") as connection:
        yield connection


@contextmanager
def registered_only() -> Iterator[DuckDBPyConnection]:
    """Open a connection that reads no file; what is registered or temporary is gone with the block.

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
    connection: DuckDBPyConnection, catalog: str, home: str
) -> Iterator[DuckDBPyConnection]:
    schema = f"use_{next(_numbers)}"
    with connection.cursor() as other:
        other.execute(f"CREATE SCHEMA {catalog}.{schema}; USE {catalog}.{schema}")
        try:
            yield other
        finally:
            other.execute(f"USE {catalog}.{home}; DROP SCHEMA {schema} CASCADE")


@contextmanager
def second_cursor(connection: DuckDBPyConnection) -> Iterator[DuckDBPyConnection]:
    """Connect again to the same tables, so that its result may be open while `connection` runs other queries."""
    with connection.cursor() as other:
        other.execute("USE {}.{}".format(*_catalog_and_schema(connection)))
        yield other


def _catalog_and_schema(connection: DuckDBPyConnection) -> tuple[str, str]:
    """Return the catalogue and the schema that a connection uses."""
    ((catalog, schema),) = connection.execute(
        "SELECT current_catalog(), current_schema()"
    ).fetchall()
    return catalog, schema


@cache
def _database(_process: int) -> DuckDBPyConnection:
    """Return the database of a process: its threads do not survive a fork, nor may it be closed there."""
    return connect()


_IDS = ("user", "item")


def share_id_types(connection: DuckDBPyConnection, relations: Mapping[str, str]) -> None:
    """Create {view: relation}; an id column is text in all of them if the types differ."""
    kinds = {
        relation: {
            name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {relation}").fetchall()
        }
        for relation in relations.values()
    }
    columns = _columns_of_one_type(kinds)
    for view, relation in relations.items():
        query = f"SELECT {columns[relation]} FROM {relation}"
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {query}")


def _columns_of_one_type(kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return {relation: SQL of its columns}; kinds : relation -> {column: type}."""
    mixed = [
        name for name in _IDS if len({kind[name] for kind in kinds.values() if name in kind}) > 1
    ]
    columns = {}
    for relation, kind in kinds.items():
        casts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in mixed if name in kind)
        columns[relation] = f"* REPLACE ({casts})" if casts else "*"
    return columns


Table = Path | pl.DataFrame
OpenConnection = Callable[[Iterable[Path]], AbstractContextManager[DuckDBPyConnection]]
# opens a connection that reads these files and no other


def scan(table: Table) -> pl.LazyFrame:
    """Return the table as a lazy frame."""
    return pl.scan_parquet(table, glob=False) if isinstance(table, Path) else table.lazy()


def read_column(table: Table, name: str) -> pl.Series:
    """Return one column; a name such as `^.*$` is not a pattern."""
    if isinstance(table, Path):
        return pl.read_parquet(table, columns=[name], glob=False)[name]
    return table[name]


def read_frame(table: Table) -> pl.DataFrame:
    """Return the whole table."""
    return pl.read_parquet(table, glob=False) if isinstance(table, Path) else table


def schema_of(table: Table) -> Mapping[str, pl.DataType]:
    """Return {column: type}."""
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

    `lists` has a score, null where the table has none, and of several rankings the first.
    """
    schemas = {name: schema_of(table) for name, table in tables.items()}
    columns = _columns_of_one_type(schemas)
    for name, table in tables.items():
        create_view(connection, f"{name}_table", table)
        of_lists = schemas[name] if name == "lists" else {"score": None}
        score = "" if "score" in of_lists else ", NULL::DOUBLE AS score"
        first = " WHERE ranking = 0" if "ranking" in of_lists else ""
        query = f"SELECT {columns[name]}{score} FROM {name}_table{first}"
        connection.execute(f"CREATE TEMP VIEW {name} AS {query}")
