"""Spark DataFrames, classic and Connect: their columns, and the origins of their rows."""

import logging
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from concord.metrics_core.data.input_table import InputTable, Kind
from concord.metrics_core.data.read_columnar import read_columnar
from concord.metrics_core.data.table_layout import find_layout
from concord.metrics_core.evaluation.spark.bucket import ORIGIN, SEQUENCE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

IN_FILE, IN_PARTITION = 40, 33  # bits of an origin that number the row; Spark sets the second


def is_spark(data: Any) -> bool:
    """True for a Spark DataFrame; does not import pyspark."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")
        for kind in type(data).__mro__
    )


def arrow_schema(frame: "DataFrame") -> pa.Schema:
    """Return the Arrow schema; a type that Arrow lacks becomes binary, which readers refuse."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    fields = []
    for field in frame.schema.fields:
        try:
            kind = to_arrow_type(field.dataType)
        except PySparkException:
            kind = pa.binary()
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


@dataclass(frozen=True)
class SparkTable:
    """A table of a Spark DataFrame.

    Attributes
    ----------
    table : InputTable
        The table with the columns that are read, without rows.
    rows : DataFrame
        Its rows, with `origin`, and `sequence` if several rows may have one origin.
    user : Column
        Id of the user as text, equal in all tables.
    columns : sequence of Column
        The columns that are read.
    kinds : Mapping[str, Kind]
        Kind of each column.
    names : Mapping[int, str]
        Name of each file or partition, by its number.
    shift : int
        Number of bits of an origin below the number of the file or partition.
    n_rows : int
        Number of rows.
    """

    table: InputTable
    rows: "DataFrame"
    user: "Column"
    columns: Sequence["Column"]
    kinds: Mapping[str, Kind]
    names: Mapping[int, str]
    shift: int
    n_rows: int

    def row_name(self, origin: int) -> str:
        """Return the name of a row for messages, such as `part-00731.parquet, row 4`."""
        number, row = origin >> self.shift, origin & ((1 << self.shift) - 1)
        text = f"row {row + 1:,}"
        return text if len(self.names) <= 1 else f"{self.names[number]}, {text}"

    def select(self, bucket: "Column") -> "DataFrame":
        """Return the rows with their bucket, table, origin and columns, for `Plan.evaluate`."""
        from pyspark.sql import functions as sf

        name = self.table.name
        origins = [each for each in (ORIGIN, SEQUENCE) if each in self.rows.columns]
        columns = [each.alias(f"{name}_{number}") for number, each in enumerate(self.columns)]
        side = [] if name == "recs" else [sf.lit(name).alias("side")]
        return self.rows.select(bucket, *origins, *side, *columns)


def spark_table(table: InputTable, frame: "DataFrame", rank_base: int) -> SparkTable:
    """Return a table of the columns of a frame that are read.

    Parameters
    ----------
    table : InputTable
        Table with the frame's columns, without rows.
    frame : DataFrame
        Rows of the table.
    rank_base : int
        First rank.

    Raises
    ------
    InputError
        If columns are missing or have an invalid type.
    """
    raw = read_columnar(table, rank_base)
    table = replace(table, columns={**table.columns, **raw.aliases})
    assert table.rows is not None
    reads = list(dict.fromkeys(find_layout(table, table.rows.schema).read_columns))
    void = {field.name for field in frame.schema.fields if field.dataType.typeName() == "void"}
    ids = {table.original_name(name) for name in ("user", "item")}
    columns = [
        column(name).cast("string" if name in ids else "double") if name in void else column(name)
        for name in reads
    ]
    user = user_text(column(table.original_name("user")), raw.kinds["user"])
    rowless = replace(table, rows=table.rows.select(reads))
    rows, names, shift, n_rows = _with_origins(frame)
    return SparkTable(rowless, rows, user, columns, raw.kinds, names, shift, n_rows)


def user_text(user: "Column", kind: Kind) -> "Column":
    """Return the id of a user as text; equal ids of different types have equal texts."""
    from pyspark.sql import functions as sf

    if kind == "text":
        return sf.regexp_replace(user, r"\A(0|-?[1-9][0-9]{0,14})[.]0\z", "$1")
    return user.try_cast("bigint").cast("string")


def _with_origins(frame: "DataFrame") -> tuple["DataFrame", dict[int, str], int, int]:
    """Return rows with their origin, names of origins, their bits, and the number of rows.

    The origin is file and row if Spark knows them, else partition and row.
    """
    from pyspark.sql import functions as sf

    sequence = sf.monotonically_increasing_id()
    if not _knows_files(frame):
        numbered = _in_few_tasks(frame.withColumn(ORIGIN, sequence))
        where = sf.shiftright(ORIGIN, IN_PARTITION).alias("number")
        partitions: dict[int, int] = dict(numbered.groupBy(where).count().collect())
        names = {number: f"partition {number}" for number in sorted(partitions)}
        return numbered, names, IN_PARTITION, sum(partitions.values())
    paths = {_comparable(each): unquote(urlsplit(each).path) for each in frame.inputFiles()}
    folder = posixpath.commonpath([posixpath.dirname(path) for path in paths.values()])
    inside = {each: posixpath.relpath(path, folder) for each, path in paths.items()}
    ordered = sorted(inside, key=lambda each: inside[each].split("/"))
    names = {number: inside[each] for number, each in enumerate(ordered)}
    row, path = (column("_metadata").getField(name) for name in ("row_index", "file_path"))
    numbered = frame.select("*", row.alias(ORIGIN), sequence.alias(SEQUENCE), path.alias("path"))
    if len(ordered) > 1:
        starts = [(each, number << IN_FILE) for number, each in enumerate(ordered)]
        numbers = frame.sparkSession.createDataFrame(starts, "path string, start bigint")
        comparable = sf.regexp_replace("path", _SLASHES, "$1/")
        joined = numbered.withColumn("path", comparable).join(sf.broadcast(numbers), "path", "left")
        numbered = joined.withColumn(ORIGIN, sf.col("start") + sf.col(ORIGIN)).drop("start")
    return numbered.drop("path"), names, IN_FILE, frame.count()


_SLASHES = "^([^:/]*:)/+"  # one in some of Spark's URIs of a local file, three in others


def _comparable(uri: str) -> str:
    return re.sub(_SLASHES, r"\1/", uri)


def _in_few_tasks(frame: "DataFrame") -> "DataFrame":
    """Return the rows in at most as many partitions as a shuffle has.

    Thousands of empty tasks take minutes. Rows keep their numbers within partitions, which must
    already be columns.
    """
    return frame.coalesce(int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1))


def _knows_files(frame: "DataFrame") -> bool:
    """True if Spark knows the file and the row number of each row, as for parquet."""
    from pyspark.errors import AnalysisException

    if not frame.inputFiles():
        return False
    with _unlogged():
        try:
            kind: Any = frame.select(column("_metadata")).schema[0].dataType
        except AnalysisException:
            return False
    return {"file_path", "row_index"} <= set(kind.names)


@contextmanager
def _unlogged() -> Iterator[None]:
    """Silence Spark's log while a query is tried."""
    logger = logging.getLogger("DataFrameQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def column(name: str) -> "Column":
    """Return a column by its name, which may have any characters."""
    from pyspark.sql import functions as sf

    return sf.col(f"`{name.replace('`', '``')}`")
