"""Properties of the rows of a table: lengths of lists, ranges of values, duplicates and times."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import polars as pl

from concord.metrics_core.data.formats import DELIMITERS
from concord.pipeline.init.tables import TableFile, parts_of

_MAX_BYTES = 1 << 30  # of a table whose rows are read
_HEAD_ROWS = 1_000  # rows whose times are parsed, or whose users are counted


def longest_list(file: TableFile, unit: Sequence[str]) -> int | None:
    """Return the length of the longest list of a unit; None if the rows are not read."""
    longest = pl.struct(unit).value_counts().struct[1].max()
    row = _select_row(file, longest)
    return int(row[0]) if row and row[0] else None


def value_range(file: TableFile, column: str) -> tuple[float, float] | None:
    """Return the smallest and the largest number of a column; None if the rows are not read."""
    value = pl.col(column).cast(pl.Float64, strict=False)
    finite = value.filter(value.is_finite())
    row = _select_row(file, finite.min().alias("low"), finite.max().alias("high"))
    return (row[0], row[1]) if row and row[0] is not None else None


def has_duplicates(file: TableFile, columns: Sequence[str], *, users: str = "") -> bool:
    """True if two rows are equal in these columns.

    Of a large table only the rows of the first users may be read: `users` is their column.
    """
    row = _select_row(file, pl.len(), pl.struct(columns).n_unique().alias("n"), users=users)
    return row is not None and row[1] < row[0]


def has_times(file: TableFile, column: str) -> bool:
    """True if all values are timestamps, numbers, or texts that can be parsed as such."""
    frame, missing = _scan(file), _select_row(file, pl.col(column).null_count())
    if frame is None or missing is None or missing[0]:
        return False
    head = frame.select(column).head(_HEAD_ROWS).collect()[column]
    if head.dtype != pl.String:
        return head.dtype.is_numeric() or head.dtype in (pl.Date, pl.Datetime)
    return file.format in DELIMITERS and all(map(_is_time, head))


def _is_time(text: str) -> bool:
    for parse in (float, datetime.fromisoformat):
        try:
            parse(text)
        except ValueError:
            continue
        return "_" not in text
    return False


def _select_row(file: TableFile, *expressions: pl.Expr, users: str = "") -> tuple[Any, ...] | None:
    """Return a row of values; only of the first users, if `users` is their column."""
    frame = _scan(file)
    if frame is not None and users:
        frame = frame.join(frame.select(users).head(_HEAD_ROWS).unique(), on=users, how="semi")
    try:
        return frame.select(*expressions).collect().row(0) if frame is not None else None
    except (pl.exceptions.PolarsError, OSError):  # `concord validate` reports unreadable rows
        return None


def _scan(file: TableFile) -> pl.LazyFrame | None:
    """Return the rows that are read, one per item; None if that would take long."""
    path, structs = file.path, file.struct_column
    if not path.exists() or (file.list_columns and not structs):
        return None
    parts = parts_of(path)
    if sum(part.stat().st_size for part in parts) > _MAX_BYTES:
        return None
    if file.format == "parquet":
        frame = pl.scan_parquet(parts, glob=False, hive_partitioning=False)
    elif file.format == "arrow":
        frame = pl.scan_ipc(path, glob=False)
    elif file.format == "jsonl":
        frame = pl.scan_ndjson(path, infer_schema_length=None)
    elif file.format in DELIMITERS:
        delimiter = DELIMITERS[file.format]
        frame = pl.scan_csv(path, separator=delimiter, infer_schema=False, glob=False)
    else:
        return None
    frame = frame.explode(structs, empty_as_null=False).unnest(structs) if structs else frame
    return frame.filter(*(pl.col(name) == value for name, value in file.where.items()))
