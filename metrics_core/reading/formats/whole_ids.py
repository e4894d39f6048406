"""Whole numbers that a float wrote as ids: `1.0` is 1. Each id is read alone, so that all tables read it alike."""

from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.checking.row_checks import only_row

# As a float writes them; one of more digits may be another number than was meant.
_WHOLE = "(0|-?[1-9][0-9]{0,14})[.]0"


def settle_whole_ids(
    connection: DuckDBPyConnection, columns: Sequence[str], unsure: Sequence[str]
) -> list[str]:
    """Strip `.0` from whole numbers in columns of text of the table `source`; says where."""
    given = {
        name: f"coalesce({name}, {name}_wrong)" if name in unsure else name for name in columns
    }
    if not given:
        return []
    counts = ", ".join(
        f"count(*) FILTER (WHERE {written_by_floats(text)})" for text in given.values()
    )
    found = only_row(connection, f"SELECT {counts} FROM source")
    return [
        _settled(connection, name, given[name], rows, unsure=name in unsure)
        for name, rows in zip(given, found, strict=True)
        if rows
    ]


def written_by_floats(given: str) -> str:
    """Is a text a whole number as a float writes it? In SQL."""
    return f"(ends_with({given}, '.0') AND regexp_full_match({given}, '{_WHOLE}'))"


def _settled(
    connection: DuckDBPyConnection, column: str, given: str, rows: int, *, unsure: bool
) -> str:
    query = f"SELECT arg_min({given}, position) FROM source WHERE {written_by_floats(given)}"
    (first,) = only_row(connection, query)
    forget = f", {column}_wrong = NULL" if unsure else ""
    change = f"UPDATE source SET {column} = {given}[:-3]{forget} WHERE {written_by_floats(given)}"
    connection.execute(change)
    return f"{in_words(rows, 'row')}: {column} {first!r} and the like are read as {first[:-2]!r} and the like"
