"""Whole numbers that a float wrote as ids: where all are whole numbers, `1.0` is 1."""

from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from metrics_core.row_checks import in_words, only_row

_WHOLE = "-?[0-9]+|-?[0-9]{1,15}[.]0"  # a float of more digits may be another number than was meant


def settle_whole_ids(
    connection: DuckDBPyConnection, columns: Sequence[str], unsure: Sequence[str]
) -> list[str]:
    """Strip `.0` in columns of text of the table `source` that hold whole numbers alone; says where."""
    return [
        note
        for column in columns
        if (note := _settled(connection, column, unsure=column in unsure))
    ]


def _settled(connection: DuckDBPyConnection, column: str, *, unsure: bool) -> str:
    given = f"coalesce({column}, {column}_wrong)" if unsure else column
    written = f"ends_with({given}, '.0')"
    (rows,) = only_row(connection, f"SELECT count(*) FILTER (WHERE {written}) FROM source")
    if not rows:
        return ""
    distinct = f"SELECT DISTINCT {given} AS id FROM source WHERE {given} IS NOT NULL"
    whole = f"SELECT bool_and(regexp_full_match(id, '{_WHOLE}')) FROM ({distinct})"
    if not only_row(connection, whole)[0]:
        return ""
    forget = f", {column}_wrong = NULL" if unsure else ""
    (first,) = only_row(
        connection, f"SELECT arg_min({given}, position) FROM source WHERE {written}"
    )
    connection.execute(f"UPDATE source SET {column} = {given}[:-3]{forget} WHERE {written}")
    return f"{in_words(rows, 'row')}: {column} {first!r} and the like are read as {first[:-2]!r} and the like"
