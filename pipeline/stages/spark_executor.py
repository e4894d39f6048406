"""Engine `spark`: workers read ranges of users from the loaded files and score them."""

import os
import pickle
import sys
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from concord.metrics_core.data.tables import Table
from concord.metrics_core.errors import report_missing_extra
from concord.metrics_core.evaluation.evaluate_block import Part, Task
from concord.metrics_core.evaluation.executors import (
    BlockTables,
    Result,
    evaluate_range,
    parts_of,
    with_items_of,
)
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.spark.facts import without_items

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
                result = evaluate_range(tables, task, ranges[number])
                if isinstance(result, Part):
                    result = replace(result, exposures=without_items(result.exposures))
                yield pa.record_batch({"result": [pickle.dumps(result)]})

    rows = _session().range(0, len(ranges), 1, len(ranges)).mapInArrow(score, "result binary")
    rows.persist()  # the iterator would compute one range after the other
    try:
        rows.count()
        yield from parts_of(
            _with_items(pickle.loads(content), task) for (content,) in rows.toLocalIterator()
        )
    finally:
        rows.unpersist()


def _with_items(result: Result, task: Task) -> Result:
    """Return the result of a worker with the items in its exposures."""
    if not isinstance(result, Part) or task.items is None:
        return result
    exposures = {label: replace(e, items=task.items) for label, e in result.exposures.items()}
    return replace(result, exposures=exposures)


def _session() -> "SparkSession":
    """Return the active session, a configured one (spark-submit, SPARK_REMOTE), or a local one."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with report_missing_extra():
        from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()
