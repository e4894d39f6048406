"""Tables for people: a spreadsheet runs what begins like a formula, so such text gets an apostrophe in front."""

import polars as pl

_BEGINS = r"^[=+\-@\t\r]"


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """The table as it goes into a CSV; numbers stay numbers. Parquet keeps every text as it is."""
    texts = [
        pl.when(column.str.contains(_BEGINS))
        .then("'" + column)
        .otherwise(column)
        .alias(column.name)
        for column in table
        if column.dtype == pl.String
    ]
    return table.with_columns(texts)
