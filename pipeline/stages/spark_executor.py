"""Engine `spark`: workers read ranges of users from the loaded files and score them."""

import os
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc

from concord.metrics_core.data.tables import Table
from concord.metrics_core.errors import report_missing_extra
from concord.metrics_core.evaluation.evaluate_block import Part
from concord.metrics_core.evaluation.executors import (
    BlockTables,
    Result,
    evaluate_range,
    parts_of,
    with_items_of,
)
from concord.metrics_core.evaluation.failures import Failure
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.spark.facts import exposures_with
from concord.metrics_core.evaluation.spark.transport import as_json, from_json
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.ranked_lists import Items

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def execute_on_spark(
    lists: Table, data: EvaluationData, task: Task, rows_per_block: int
) -> Generator[Part]:
    """Yield the values of ranges of users, in the order of users; an `Executor` of files."""
    task = with_items_of(lists, data, task)
    tables = BlockTables.of(lists, data, task)
    ranges = tables.ranges(rows_per_block)

    def score(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield _sent(evaluate_range(tables, task, ranges[number]))

    rows = _session().range(0, len(ranges), 1, len(ranges)).mapInArrow(score, _SENT)
    rows.persist()  # the iterator would compute one range after the other
    try:
        rows.count()
        yield from parts_of(
            _received(text, users, task.items) for text, users in rows.toLocalIterator()
        )
    finally:
        rows.unpersist()


_SENT = "result string, users binary"


def _sent(result: Result) -> pa.RecordBatch:
    """Return the result of a range: why its users are not scored, or counts and users' values."""
    if not isinstance(result, Part):
        return pa.record_batch({"result": [as_json(result)], "users": pa.nulls(1, pa.binary())})
    counts = result.counts, result.lists, exposures_with(result.exposures, None)
    values = pa.BufferOutputStream()
    with pa.ipc.new_stream(values, result.values.to_arrow().schema) as stream:
        stream.write_table(result.values.to_arrow())
    return pa.record_batch({"result": [as_json(counts)], "users": [values.getvalue().to_pybytes()]})


def _received(text: str, users: bytes | None, items: Items | None) -> Result:
    result: Any = from_json(text)
    if users is None:
        failure: Failure = result
        return failure
    counts, lists, exposures = result
    values = pl.DataFrame(pa.ipc.open_stream(users).read_all())
    return Part(values, exposures_with(exposures, items), counts, lists)


def _session() -> "SparkSession":
    """Return the active session, a configured one (spark-submit, SPARK_REMOTE), or a local one."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with report_missing_extra():
        from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()
