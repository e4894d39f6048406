"""Spark DataFrames, classic and Connect: their rows, the origins of rows, and their ids."""

import logging
import posixpath
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from concord.metrics_core.data.input_table import InputTable, Kind
from concord.metrics_core.data.read_columnar import read_columnar
from concord.metrics_core.data.relations import connect
from concord.metrics_core.data.table_layout import find_layout
from concord.metrics_core.evaluation.spark.bucket import ORIGIN, SEQUENCE
from concord.metrics_core.evaluation.spark.buckets import BucketResults, BucketTable, column
from concord.metrics_core.evaluation.spark.facts import first_user, sum_counts

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
class RowOrigins:
    """Names of the files or partitions of rows.

    Attributes
    ----------
    names : dict of int to str
        Name of each file or partition, by its number.
    rows : int
        Number of rows.
    shift : int
        Number of bits of an origin below the number of the file or partition.
    """

    names: dict[int, str]
    rows: int
    shift: int

    def words(self, origin: int) -> str:
        """Return the name of a row for messages, such as `part-00731.parquet, row 4`."""
        number, row = origin >> self.shift, origin & ((1 << self.shift) - 1)
        words = f"row {row + 1:,}"
        return words if len(self.names) <= 1 else f"{self.names[number]}, {words}"


@dataclass(frozen=True)
class SparkTable(BucketTable):
    """A table of a Spark DataFrame.

    Attributes
    ----------
    table : InputTable
        The table for readers, without rows.
    kinds : dict of str to Kind
        Kind of each column.
    origins : RowOrigins
        Files or partitions of its rows.
    """

    table: InputTable
    kinds: dict[str, Kind]
    origins: RowOrigins

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        assert self.table.rows is not None
        return tuple(self.table.rows.schema.names)

    def is_text(self, column: str) -> bool:
        """True if the ids of a column are text."""
        return self.kinds[column] == "text"


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
    kinds, table = raw.kinds, replace(table, columns={**table.columns, **raw.aliases})
    assert table.rows is not None
    reads = list(dict.fromkeys(find_layout(table, table.rows.schema).read_columns))
    rows, origins = _with_origins(frame)
    void = {field.name for field in frame.schema.fields if field.dataType.typeName() == "void"}
    user = column(table.original_name("user"))
    columns = [
        column(name).cast("string" if name in _ids(table) else "double")
        if name in void
        else column(name)
        for name in reads
    ]
    rowless = replace(table, rows=table.rows.select(reads))
    as_text = user_text(user, kinds["user"])
    return SparkTable(table.name, rows, origins.rows, as_text, columns, rowless, kinds, origins)


def _ids(table: InputTable) -> set[str]:
    return {table.original_name(name) for name in ("user", "item")}


def user_text(user: "Column", kind: Kind) -> "Column":
    """Return the id of a user as text; equal ids of different types have equal texts."""
    from pyspark.sql import functions as sf

    if kind == "text":
        return sf.regexp_replace(user, r"\A(0|-?[1-9][0-9]{0,14})[.]0\z", "$1")
    return user.try_cast("bigint").cast("string")


def _with_origins(frame: "DataFrame") -> tuple["DataFrame", RowOrigins]:
    """Return rows with their origin: file and row if Spark knows them, else partition and row."""
    from pyspark.sql import functions as sf

    sequence = sf.monotonically_increasing_id()
    if not _knows_files(frame):
        numbered = _in_few_tasks(frame.withColumn(ORIGIN, sequence))
        where = sf.shiftright(ORIGIN, IN_PARTITION).alias("number")
        partition_rows = numbered.groupBy(where).count().collect()
        names = {number: f"partition {number}" for number, _ in sorted(partition_rows)}
        rows = sum(count for _, count in partition_rows)
        return numbered, RowOrigins(names, rows, IN_PARTITION)
    path, row = column("_metadata").getField("file_path"), column("_metadata").getField("row_index")
    counts: dict[str, int] = dict(frame.groupBy(path.alias("path")).count().collect())
    paths = {each: unquote(urlsplit(each).path) for each in counts}
    folder = posixpath.commonpath([posixpath.dirname(name) for name in paths.values()] or ["/"])
    inside = {each: posixpath.relpath(name, folder) for each, name in paths.items()}
    ordered = sorted(inside, key=lambda each: inside[each].split("/"))
    names = {number: inside[each] for number, each in enumerate(ordered)}
    origins = RowOrigins(names, sum(counts.values()), IN_FILE)
    numbered = frame.select("*", row.alias(ORIGIN), path.alias("path"), sequence.alias(SEQUENCE))
    if len(ordered) <= 1:
        return numbered.drop("path"), origins
    starts = [(each, number << IN_FILE) for number, each in enumerate(ordered)]
    numbers = frame.sparkSession.createDataFrame(starts, "path string, start bigint")
    joined = numbered.join(sf.broadcast(numbers), "path", "left")
    return joined.withColumn(ORIGIN, sf.col("start") + sf.col(ORIGIN)).drop(
        "start", "path"
    ), origins


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


_TWINS = (
    "min(CASE WHEN listed THEN id END) AS here",
    "min(CASE WHEN NOT listed THEN id END) AS there",
    "count_if(listed) AS n",
)


@dataclass(frozen=True)
class SparkIds:
    """Ids in the results of buckets; see `IdSource`. text : column -> True if its ids are text."""

    evaluated: BucketResults
    text: dict[str, bool]

    def is_text(self, column: str) -> bool:
        """See `IdSource`."""
        return self.text[column]

    def count(self, column: str) -> tuple[int, int]:
        """See `IdSource`."""
        if column == "user":
            counts = sum_counts(self.evaluated.facts)
            return counts["users_listed"], counts["users_met"]
        sides = self._sides("item").selectExpr(
            "count_if(listed) AS listed", "count_if(listed AND known) AS known"
        )
        ((listed, known),) = sides.collect()
        return listed, known

    def first_ids(self, column: str) -> tuple[Any, Any]:
        """See `IdSource`."""
        if column == "item":
            value = "id" if self.text["item"] else "CAST(id AS BIGINT)"
            sides = [f"min(CASE WHEN {side} THEN {value} END)" for side in ("listed", "known")]
            ((listed, known),) = self._sides("item").selectExpr(*sides).collect()
            return listed, known
        return first_user(self.evaluated.facts, 0), first_user(self.evaluated.facts, 1)

    def similar_ids(self, column: str, form: str) -> tuple[int, Any]:
        """See `IdSource`; whole numbers have one spelling."""
        if not self.text[column]:
            return 0, None
        unmatched = self._sides(column).where("listed <> known")
        query = f"SELECT id, listed, {form.format(x='id')} AS form FROM ids"

        def spelled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with closing(connect(config={"threads": 1})) as connection:
                for batch in batches:
                    connection.register("ids", pa.Table.from_batches([batch]))
                    yield from connection.sql(query).to_arrow_table().to_batches()

        formed = unmatched.select("id", "listed").mapInArrow(
            spelled, "id string, listed boolean, form string"
        )
        twins = (
            formed.groupBy("form")
            .agg(*map(_expr, _TWINS))
            .where("here IS NOT NULL AND there IS NOT NULL")
        )
        ((number, pair),) = twins.selectExpr("sum(n)", "min(struct(here, there))").collect()
        return number or 0, None if pair is None else tuple(pair)

    def unknown_items(self) -> tuple[Any, ...]:
        """See `IdSource`."""
        facts = self.evaluated.facts
        counts = sum_counts(facts)
        items = self.evaluated.ids.where("kind = 'item unknown'").count()
        firsts = [tuple(each.unknown) for each in facts if each.unknown is not None]
        first = min(firsts, default=None)
        return counts["unknown_rows"], counts["unknown_users"], items, first

    def _sides(self, column: str) -> Any:
        """Return id, listed, known of each id; for users only those that occur in one of both."""
        rows = self.evaluated.counted_ids.where(f"kind IN ('{column} listed', '{column} known')")
        sides = [f"bool_or(kind = '{column} {side}') AS {side}" for side in ("listed", "known")]
        return rows.groupBy("id").agg(*map(_expr, sides))


def _expr(text: str) -> Any:
    from pyspark.sql import functions as sf

    return sf.expr(text)
