"""Spark DataFrames, classic and Connect: their rows and positions as Arrow sees them, and their ids."""

import logging
import posixpath
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from concord.metrics_core.data.columnar import find_layout, read_columnar
from concord.metrics_core.data.input_table import InputTable, Kind
from concord.metrics_core.data.relations import connect
from concord.metrics_core.evaluation.spark.bucket import ORIGIN, SEQUENCE, added, lowest
from concord.metrics_core.evaluation.spark.buckets import BucketResults, BucketTable, column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

IN_FILE, IN_PARTITION = 40, 33  # bits of an origin that number the row; Spark sets the second


def is_spark(data: Any) -> bool:
    """Is it a Spark DataFrame? Told without importing pyspark."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")
        for kind in type(data).__mro__
    )


def arrow_schema(frame: "DataFrame") -> pa.Schema:
    """The columns as Arrow has them; one of a type that Arrow lacks is refused where it is asked for, as bytes are."""
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
    """Where rows came from: files or partitions by number, and how many rows each has.

    shift : bits of an origin below this number
    """

    names: dict[int, str]
    rows: int
    shift: int

    def words(self, origin: int) -> str:
        """`part-00731.parquet, row 4`, as messages name a row."""
        number, row = origin >> self.shift, origin & ((1 << self.shift) - 1)
        words = f"row {row + 1:,}"
        return words if len(self.names) <= 1 else f"{self.names[number]}, {words}"


@dataclass(frozen=True)
class SparkTable(BucketTable):
    """A table as it was given.

    table  : as readers take it, without rows; `reads`: its columns that are read
    kinds  : of our columns
    places : where its rows came from
    """

    table: InputTable
    kinds: dict[str, Kind]
    places: RowOrigins

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the columns that are read."""
        assert self.table.held is not None
        return tuple(self.table.held.schema.names)

    def is_text(self, column: str) -> bool:
        """Are the ids of a column text?"""
        return self.kinds[column] == "text"


def given(table: InputTable, frame: "DataFrame", rank_base: int) -> SparkTable:
    """A frame and what is read of it.

    table : of the frame's columns, without a row

    Raises
    ------
    InputError : columns are missing, or of a type that cannot be read
    """
    assert table.held is not None
    kinds = read_columnar(table, rank_base).kinds
    reads = list(dict.fromkeys(find_layout(table, table.held.schema).reads))
    rows, places = _located(frame)
    void = {field.name for field in frame.schema.fields if field.dataType.typeName() == "void"}
    user = column(table.theirs("user"))
    columns = [
        column(name).cast("string" if name in _ids(table) else "double")
        if name in void
        else column(name)
        for name in reads
    ]
    held = replace(table, held=table.held.select(reads))
    as_text = user_text(user, kinds["user"])
    return SparkTable(table.name, rows, places.rows, as_text, columns, held, kinds, places)


def _ids(table: InputTable) -> set[str]:
    return {table.theirs(name) for name in ("user", "item")}


def user_text(user: "Column", kind: Kind) -> "Column":
    """The id of a user as text, alike for all types in which readers take it for the same."""
    from pyspark.sql import functions as sf

    if kind == "text":
        return sf.regexp_replace(user, r"\A(0|-?[1-9][0-9]{0,14})[.]0\z", "$1")
    return user.try_cast("bigint").cast("string")


def _located(frame: "DataFrame") -> tuple["DataFrame", RowOrigins]:
    """Every row with its origin: file and row where Spark knows them, else partition and row."""
    from pyspark.sql import functions as sf

    sequence = sf.monotonically_increasing_id()
    if not _knows_files(frame):
        stand = _in_few_tasks(frame.withColumn(ORIGIN, sequence))
        where = sf.shiftright(ORIGIN, IN_PARTITION).alias("number")
        found = stand.groupBy(where).count().collect()
        names = {number: f"partition {number}" for number, _ in sorted(found)}
        rows = sum(count for _, count in found)
        return stand, RowOrigins(names, rows, IN_PARTITION)
    path, row = column("_metadata").getField("file_path"), column("_metadata").getField("row_index")
    counts: dict[str, int] = dict(frame.groupBy(path.alias("path")).count().collect())
    named = {each: unquote(urlsplit(each).path) for each in counts}
    folder = posixpath.commonpath([posixpath.dirname(name) for name in named.values()] or ["/"])
    inside = {each: posixpath.relpath(name, folder) for each, name in named.items()}
    ordered = sorted(inside, key=lambda each: inside[each].split("/"))
    names = {number: inside[each] for number, each in enumerate(ordered)}
    places = RowOrigins(names, sum(counts.values()), IN_FILE)
    stand = frame.select("*", row.alias(ORIGIN), path.alias("path"), sequence.alias(SEQUENCE))
    if len(ordered) <= 1:
        return stand.drop("path"), places
    starts = [(each, number << IN_FILE) for number, each in enumerate(ordered)]
    numbers = frame.sparkSession.createDataFrame(starts, "path string, start bigint")
    joined = stand.join(sf.broadcast(numbers), "path", "left")
    return joined.withColumn(ORIGIN, sf.col("start") + sf.col(ORIGIN)).drop("start", "path"), places


def _in_few_tasks(frame: "DataFrame") -> "DataFrame":
    """The rows in at most as many partitions as a shuffle has: a task for each of thousands that are empty takes minutes.

    Rows keep the numbers that they have by partition, which must be columns already.
    """
    return frame.coalesce(int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1))


def _knows_files(frame: "DataFrame") -> bool:
    """Does Spark tell the file and the row of each row? Of parquet it does."""
    from pyspark.errors import AnalysisException

    if not frame.inputFiles():
        return False
    with _unlogged():
        try:
            told: Any = frame.select(column("_metadata")).schema[0].dataType
        except AnalysisException:
            return False
    return {"file_path", "row_index"} <= set(told.names)


@contextmanager
def _unlogged() -> Iterator[None]:
    """What Spark logs of a query that is only tried is no news."""
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
    """See `checking.id_match.Ids`. text : are the ids of this column text?"""

    evaluated: BucketResults
    text: dict[str, bool]

    def kind(self, column: str) -> str:
        """See `Ids`."""
        return "VARCHAR" if self.text[column] else "BIGINT"

    def counted(self, column: str) -> tuple[int, int]:
        """See `Ids`."""
        if column == "user":
            counts = added(self.evaluated.facts)
            return counts["users_listed"], counts["users_met"]
        found = self._sides("item").selectExpr(
            "count_if(listed) AS listed", "count_if(listed AND known) AS known"
        )
        ((listed, known),) = found.collect()
        return listed, known

    def lowest(self, _: str) -> tuple[Any, Any]:
        """See `Ids`; asked of users alone."""
        return lowest(self.evaluated.facts, 0), lowest(self.evaluated.facts, 1)

    def alike(self, column: str, spelling: str) -> tuple[int, Any]:
        """See `Ids`; whole numbers have one spelling."""
        if not self.text[column]:
            return 0, None
        apart = self._sides(column).where("listed <> known")
        query = f"SELECT id, listed, {spelling.format(x='id')} AS form FROM ids"

        def spelled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with closing(connect(config={"threads": 1})) as connection:
                for batch in batches:
                    connection.register("ids", pa.Table.from_batches([batch]))
                    yield from connection.sql(query).to_arrow_table().to_batches()

        formed = apart.select("id", "listed").mapInArrow(
            spelled, "id string, listed boolean, form string"
        )
        twins = (
            formed.groupBy("form")
            .agg(*map(_expr, _TWINS))
            .where("here IS NOT NULL AND there IS NOT NULL")
        )
        ((number, pair),) = twins.selectExpr("sum(n)", "min(struct(here, there))").collect()
        return number or 0, None if pair is None else tuple(pair)

    def unknown(self) -> tuple[Any, ...]:
        """See `Ids`."""
        facts = self.evaluated.facts
        counts = added(facts)
        items = self.evaluated.ids.where("of = 'item unknown'").count()
        firsts = [tuple(each.unknown) for each in facts if each.unknown is not None]
        first = min(firsts, default=None)
        return counts["unknown_rows"], counts["unknown_users"], items, first

    def _sides(self, column: str) -> Any:
        """id, listed, known: where each id stands; of users those who stand in one of both."""
        told = self.evaluated.told.where(f"of IN ('{column} listed', '{column} known')")
        sides = [f"bool_or(of = '{column} {side}') AS {side}" for side in ("listed", "known")]
        return told.groupBy("id").agg(*map(_expr, sides))


def _expr(text: str) -> Any:
    from pyspark.sql import functions as sf

    return sf.expr(text)
