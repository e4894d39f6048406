"""Tables that are files or frames: what they hold, and views of them in DuckDB.

Connections are in `relations.py`, which does not import polars.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

Table = Path | pl.DataFrame
_ID_COLUMNS = ("user", "item")


def share_id_types(connection: DuckDBPyConnection, relations: Mapping[str, str]) -> None:
    """Create {view: relation}; an id column is text in all of them if the types differ."""
    schemas = {}
    for view, relation in relations.items():
        rows = connection.execute(f"DESCRIBE FROM {relation}").fetchall()
        schemas[view] = {name: kind for name, kind, *_ in rows}
    mixed = [
        name
        for name in _ID_COLUMNS
        if len({schema[name] for schema in schemas.values() if name in schema}) > 1
    ]
    for view, schema in schemas.items():
        casts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in mixed if name in schema)
        columns = f"* REPLACE ({casts})" if casts else "*"
        query = f"SELECT {columns} FROM {relations[view]}"
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {query}")


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


_SMALL = 4_000_000  # bytes of a file


def read_if_small(table: Table) -> Table:
    """Return a small file as a frame: each read of a column or connection takes milliseconds."""
    is_small = isinstance(table, Path) and table.is_file() and table.stat().st_size <= _SMALL
    return read_frame(table) if is_small else table


def schema_of(table: Table) -> Mapping[str, pl.DataType]:
    """Return {column: type}."""
    return scan(table).collect_schema()


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

    The view `lists` has the rows of the first ranking.
    """
    relations = {}
    for name, table in tables.items():
        create_view(connection, f"{name}_table", table)
        condition = " WHERE ranking = 0" if "ranking" in schema_of(table) else ""
        relations[name] = f"{name}_table{condition}"
    share_id_types(connection, relations)
