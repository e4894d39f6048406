"""Engine `spark`: evaluate buckets of users on a Spark cluster."""

import os
import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.data.tables import Table
from concord.metrics_core.data.units import ESCAPE_PATTERN, USER_PATTERN
from concord.metrics_core.errors import report_missing_extra
from concord.metrics_core.evaluation.executors import with_items_of
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.partition import Part, Task
from concord.metrics_core.evaluation.spark.bucket import ORIGIN, Plan
from concord.metrics_core.evaluation.spark.buckets import (
    ROWS,
    BucketTable,
    bucket_count,
    column,
    evaluate_buckets,
    exposures_of,
    in_order,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_USERS = 131_072  # whose values the driver holds at a time


def execute_on_spark(
    lists: Table, data: EvaluationData, task: Task, rows_per_partition: int
) -> Generator[Part]:
    """Yield the values of ranges of users, in the order of users; all inputs are files."""
    task = with_items_of(lists, data, task)
    session = _session()
    inputs: dict[str, Any] = {"recs": lists, "truth": data.truth}
    if task.needs_items and data.train is not None:
        inputs["train"] = data.train
    inputs |= {"users": data.users} if data.users is not None else {}
    of_requests = task.conventions.unit_mean is not None
    tables = [
        _bucket_table(session, name, path, of_requests=of_requests and name != "train")
        for name, path in inputs.items()
    ]
    schemas = {name: pq.read_schema(path) for name, path in inputs.items()}
    users = [schema.field("user").type for name, schema in schemas.items() if name != "train"]
    as_text = not all(map(pa.types.is_integer, users))
    columns = {name: _columns_to_read(name, path) for name, path in inputs.items()}
    plan = Plan(columns, task, scores=True, as_text=as_text)
    rows = sum(table.n_rows for table in tables)
    buckets = bucket_count(rows, min(ROWS, rows_per_partition))
    evaluation = evaluate_buckets(plan, tables, buckets)
    try:
        for number, values in enumerate(in_order(evaluation, MAX_USERS)):
            yield Part(values, {} if number else exposures_of(evaluation))
    finally:
        evaluation.rows.unpersist()


def _session() -> "SparkSession":
    """Return the active session, a configured one (spark-submit, SPARK_REMOTE), or a local one."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with report_missing_extra():
        from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()


def _columns_to_read(name: str, path: Path) -> tuple[str, ...]:
    return ("user",) if name == "users" else tuple(pq.read_schema(path).names)


def _bucket_table(
    session: "SparkSession", name: str, path: Path, *, of_requests: bool
) -> BucketTable:
    """Return a table in buckets of users; requests are in the bucket of their user."""
    from pyspark.sql import functions as sf

    # Spark reads a path as a pattern, and does not decode URIs
    escaped = re.sub(r"[\[\]{}*?\\]", r"\\\g<0>", path.resolve().as_posix())
    frame = session.read.parquet(f"file://{escaped}")
    frame = frame.withColumn(ORIGIN, sf.monotonically_increasing_id())
    columns = [column(column_name) for column_name in _columns_to_read(name, path)]
    rows = pq.read_metadata(path).num_rows
    user = sf.col("user").cast("string")
    if of_requests:
        user = sf.regexp_replace(sf.regexp_extract(user, USER_PATTERN, 1), ESCAPE_PATTERN, "$1")
    return BucketTable(name, frame, rows, user, columns)
