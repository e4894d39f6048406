"""What the rows of a table say of it, where they are read in seconds; nothing is refused here."""

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from concord.metrics_core.data.text_files import DELIMITERS
from concord.pipeline.project.peek import Peeked, parts_of

_SCANNED = 1 << 30  # bytes; of larger files nothing is counted
_TIMES = 1_000  # rows whose times are looked at


def longest_list(table: Peeked, unit: Sequence[str]) -> int | None:
    """Rows of the list that has most, where these columns say to which list a row belongs; None where that is not seen at once."""
    most = pl.struct(unit).value_counts().struct[1].max()
    many = None if table.lists else _row(table, most)
    return int(many[0]) if many and many[0] else None


def value_range(table: Peeked, column: str) -> tuple[float, float] | None:
    """The smallest and the largest number of a column; None where that is not seen at once."""
    if column in table.lists:
        return None
    value = pl.col(column).cast(pl.Float64, strict=False)
    finite = value.filter(value.is_finite())
    found = _row(table, finite.min().alias("low"), finite.max().alias("high"))
    return (found[0], found[1]) if found and found[0] is not None else None


def stands_twice(table: Peeked, columns: Sequence[str]) -> bool:
    """Do two rows hold the same in these columns?"""
    found = _row(table, pl.len(), pl.struct(columns).n_unique().alias("different"))
    return found is not None and not table.lists and found[1] < found[0]


def holds_times(table: Peeked, column: str) -> bool:
    """Are its values timestamps or numbers, or texts that are read as such, and is none missing?

    False where that is not seen at once.
    """
    frame, missing = _scanned(table), _row(table, pl.col(column).null_count())
    if frame is None or missing is None or missing[0]:
        return False
    head = frame.select(column).head(_TIMES).collect()[column]
    if head.dtype != pl.String:
        return head.dtype.is_numeric() or head.dtype in (pl.Date, pl.Datetime)
    return table.form in DELIMITERS and all(map(_is_time, head))


def _is_time(text: str) -> bool:
    for read in (float, datetime.fromisoformat):
        try:
            read(text)
        except ValueError:
            continue
        return "_" not in text
    return False


def _row(table: Peeked, *asked: pl.Expr) -> tuple[float, ...] | None:
    frame = _scanned(table)
    try:
        return frame.select(*asked).collect().row(0) if frame is not None else None
    except pl.exceptions.PolarsError:  # rows that cannot be read are told by `concord validate`
        return None


def _scanned(table: Peeked) -> pl.LazyFrame | None:
    path = table.path
    parts = parts_of(path)
    if sum(part.stat().st_size for part in parts) > _SCANNED:
        return None
    if table.form == "parquet":
        return pl.scan_parquet(parts, glob=False, hive_partitioning=False)
    if table.form in DELIMITERS and path.suffix != ".gz":
        return pl.scan_csv(path, separator=DELIMITERS[table.form], infer_schema=False, glob=False)
    return None
