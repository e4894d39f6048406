"""Engine `spark`: workers read ranges of users from the loaded files and score them."""

import os
import pickle
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import connect
from concord.metrics_core.data.tables import Table, create_view, file_paths, share_id_types
from concord.metrics_core.data.units import user_sql
from concord.metrics_core.errors import report_missing_extra
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.partition import Part, Task, create_range_views
from concord.metrics_core.evaluation.side_data import with_items
from concord.metrics_core.evaluation.spark.blocks import raise_failures, restore_items, score_block
from concord.pipeline.stages.evaluate import range_starts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_ROWS = 1 << 20  # of the lists of a range


def execute_on_spark(
    lists: Table, data: EvaluationData, task: Task, rows_per_partition: int
) -> Generator[Part]:
    """Yield the values of ranges of users, in the order of users; all inputs are files."""
    task, numbers = data.with_item_columns(task), None
    tables = {"lists": lists, "truth": data.truth}
    tables |= {} if data.users is None else {"known": data.users}
    with data.connect(file_paths(tables.values())) as connection:
        _create_views(connection, tables)
        starts = range_starts(connection, lists, min(MAX_ROWS, rows_per_partition))
        if task.needs_items:
            create_range_views(connection, ["lists"], None, None)
            task = with_items(connection, task, data)
            numbers = connection.sql("SELECT item, item_number FROM item_numbers").to_arrow_table()
            tables |= {} if data.train is None else {"train": data.train}
    ranges = [*zip([None, *starts], [*starts, None], strict=True)]
    score = _RangeScorer(tables, task, numbers, ranges)
    session = _session()
    rows = session.range(0, len(ranges), 1, len(ranges)).mapInArrow(
        score, "failure binary, part binary"
    )
    rows.persist()  # the iterator would compute one range after the other
    try:
        failures = rows.where("failure IS NOT NULL").select("failure").collect()
        raise_failures(pickle.loads(content) for (content,) in failures)
        for (content,) in rows.select("part").toLocalIterator():
            yield restore_items(pickle.loads(content), task)
    finally:
        rows.unpersist()


@dataclass(frozen=True)
class _RangeScorer:
    """Scores in a worker the ranges whose numbers it gets."""

    tables: Mapping[str, Table]
    task: Task
    numbers: pa.Table | None
    ranges: Sequence[tuple[Any, Any]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                result = score_block(self._read(*self.ranges[number]), self.task, self.numbers)
                content, nothing = (
                    pa.array([pickle.dumps(result)], pa.binary()),
                    pa.nulls(1, pa.binary()),
                )
                columns = [nothing, content] if isinstance(result, Part) else [content, nothing]
                yield pa.record_batch(columns, names=["failure", "part"])

    def _read(self, low: Any, high: Any) -> dict[str, pa.Table]:
        """Return the rows of a range of users, and those that they have in train."""
        of_requests = self.task.conventions.unit_mean is not None
        owner = user_sql("user") if of_requests else "CAST(user AS VARCHAR)"
        files = file_paths(self.tables.values())
        with closing(connect(reads=files, config={"threads": 1})) as connection:
            names = _create_views(connection, self.tables)
            create_range_views(connection, names, low, high)
            queries = dict.fromkeys(names, "FROM {}")
            if "train" in self.tables:
                users = f"SELECT {owner} FROM lists"
                queries["train"] = f"FROM {{}}_file WHERE CAST(user AS VARCHAR) IN ({users})"
            return {
                name: connection.sql(query.format(name)).to_arrow_table()
                for name, query in queries.items()
            }


def _create_views(connection: DuckDBPyConnection, tables: Mapping[str, Table]) -> list[str]:
    """Create views of the files, ids with shared types in `all_…`; return the names of these."""
    for name, table in tables.items():
        create_view(connection, f"{name}_file", table)
    names = [name for name in tables if name != "train"]
    share_id_types(connection, {f"all_{name}": f"{name}_file" for name in names})
    return names


def _session() -> "SparkSession":
    """Return the active session, a configured one (spark-submit, SPARK_REMOTE), or a local one."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with report_missing_extra():
        from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate()
