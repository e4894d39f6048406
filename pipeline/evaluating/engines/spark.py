"""Engine `spark`: buckets of users, each in a worker of whatever cluster the environment names."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.checking.extras import extra_named
from concord.metrics_core.checking.locked import connect
from concord.metrics_core.checking.settings import Arguments
from concord.metrics_core.reading.columns.input_table import InputTable, Kind
from concord.metrics_core.reading.rules.policies import Policies
from concord.metrics_core.scoring.background import NONE, Background, with_items
from concord.metrics_core.scoring.partition import Part, Task
from concord.metrics_core.spark.bucket import Plan
from concord.metrics_core.spark.buckets import ROWS, bucket_count, evaluate_buckets, in_order
from concord.metrics_core.spark.frames import IN_PARTITION, ORIGIN, Places, Side
from concord.metrics_core.spark.items import exposures_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USERS = 131_072  # whose values the driver holds at a time


def partitions(
    lists: Path,
    truth: Path,
    task: Task,
    rows_per_partition: int,
    background: Background = NONE,
) -> Iterator[Part]:
    """What ranges of users give, in the order of the users."""
    session = _session()
    files: dict[str, Any] = {"recs": lists, "truth": truth}
    numbers = None
    if task.needs_items:
        task, numbers = _numbered(lists, task, background)
        files |= {"train": background.train} if background.train is not None else {}
    sides = [_side(session, name, path) for name, path in files.items()]
    as_text = any(side.is_text("user") for side in sides if side.name != "train")
    tables = {side.name: side.table for side in sides}
    plan = Plan(tables, Policies(), task, True, as_text, numbers=numbers, loaded=True)
    rows = sum(side.places.rows for side in sides)
    buckets = bucket_count(rows, min(ROWS, rows_per_partition))
    found = evaluate_buckets(plan, sides, buckets)
    exposures = None
    for values in in_order(found, USERS):
        if exposures is None:
            exposures = exposures_of(found)
            yield Part(values, exposures)
        else:
            yield Part(values, {})
    found.rows.unpersist()


def _session() -> "SparkSession":
    """The session that is there, or that spark-submit, SPARK_REMOTE or spark-defaults describe, or one of this machine."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with extra_named():
        from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()


def _numbered(lists: Path, task: Task, background: Background) -> tuple[Task, pa.Table]:
    """The task with all items numbered, and the numbers."""
    with connect(reads=[lists]) as connection:
        connection.read_parquet(str(lists)).create_view("lists")
        task = with_items(connection, task, background)
        numbers = connection.sql("SELECT item, item_number FROM item_numbers").to_arrow_table()
    return task, numbers


def _side(session: "SparkSession", name: str, path: Path) -> Side:
    from pyspark.sql import functions as sf

    schema, rows = pq.read_schema(path), pq.read_metadata(path).num_rows
    held = pa.Table.from_batches([], schema)
    table = InputTable(name, "held", ("user",), (), {}, Arguments(name), held=held)
    kind: Kind = "integer" if pa.types.is_integer(schema.field("user").type) else "text"
    frame = session.read.parquet(path.resolve().as_uri())
    placed = frame.withColumn(ORIGIN, sf.monotonically_increasing_id())
    places = Places({}, rows, IN_PARTITION)
    return Side(table, tuple(schema.names), {"user": kind}, placed, places)
