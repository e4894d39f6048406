"""Whole numbers that a float wrote as ids: where all are whole numbers, `1.0` is 1."""

import re
from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from metrics_core.row_checks import in_words, only_row

_WHOLE = "-?[0-9]+|-?[0-9]{1,15}[.]0"  # a float of more digits may be another number than was meant


def settle_whole_ids(
    connection: DuckDBPyConnection, columns: Sequence[str], unsure: Sequence[str]
) -> list[str]:
    """Strip `.0` in columns of text of the table `source` that hold whole numbers alone; says where."""
    given = {
        name: f"coalesce({name}, {name}_wrong)" if name in unsure else name for name in columns
    }
    given = {name: text for name, text in given.items() if _may_be_whole(connection, text)}
    if not given:
        return []
    counts = ", ".join(f"count(*) FILTER (WHERE {_written(text)})" for text in given.values())
    found = only_row(connection, f"SELECT {counts} FROM source")
    return [
        _settled(connection, name, given[name], rows, unsure=name in unsure)
        for name, rows in zip(given, found, strict=True)
        if rows and _all_whole(connection, given[name])
    ]


def _may_be_whole(connection: DuckDBPyConnection, given: str) -> bool:
    """Is the first id a whole number? If it is none, nothing has to be counted."""
    first = connection.execute(f"SELECT {given} FROM source WHERE rowid = 0").fetchone()
    return first is not None and (first[0] is None or bool(re.fullmatch(_WHOLE, first[0])))


def _written(given: str) -> str:
    return f"ends_with({given}, '.0')"


def _all_whole(connection: DuckDBPyConnection, given: str) -> bool:
    distinct = f"SELECT DISTINCT {given} AS id FROM source WHERE {given} IS NOT NULL"
    query = f"SELECT bool_and(regexp_full_match(id, '{_WHOLE}')) FROM ({distinct})"
    return bool(only_row(connection, query)[0])


def _settled(
    connection: DuckDBPyConnection, column: str, given: str, rows: int, *, unsure: bool
) -> str:
    query = f"SELECT arg_min({given}, position) FROM source WHERE {_written(given)}"
    (first,) = only_row(connection, query)
    forget = f", {column}_wrong = NULL" if unsure else ""
    change = f"UPDATE source SET {column} = {given}[:-3]{forget} WHERE {_written(given)}"
    connection.execute(change)
    return f"{in_words(rows, 'row')}: {column} {first!r} and the like are read as {first[:-2]!r} and the like"
