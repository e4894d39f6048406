"""Engine `duckdb`: ranges of users, read straight from parquet, so memory is bounded by the range."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from duckdb import ColumnExpression, DuckDBPyConnection, DuckDBPyRelation

from concord.metrics_core.checking.locked import connect
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.scoring.background import NONE, Background, with_items
from concord.metrics_core.scoring.partition import Part, Task, judge_partition, score_partition
from concord.metrics_core.scoring.ranges import in_range, one_ahead
from concord.pipeline.running.connections import spilling_to
from concord.pipeline.running.leftovers import spill_folder


def partitions(
    lists: Path,
    truth: Path,
    task: Task,
    rows_per_partition: int,
    background: Background = NONE,
) -> Iterator[Part]:
    """What one range of users gives after the other, in the order of the users."""
    # Every query that matters names its order; without the order of the files DuckDB is faster.
    files = [lists, truth]
    with (
        spill_folder() as spill,
        connect(
            reads=files, config=spilling_to(spill) | {"preserve_insertion_order": False}
        ) as connection,
    ):
        all_lists, all_truth = _read(connection, lists), _read(connection, truth)
        casts = _shared_types(all_lists, all_truth)
        if task.needs_items:
            _between(all_lists, casts, None, None).create_view("lists", replace=True)
            task = with_items(connection, task, background)
        cuts = _cuts(connection, lists, rows_per_partition, as_text=casts["user"])

        def judged() -> Iterator[dict[int, Judged]]:
            for low, high in zip([None, *cuts], [*cuts, None], strict=True):
                _between(all_lists, casts, low, high).create_view("lists", replace=True)
                _between(all_truth, casts, low, high).create_view("truth", replace=True)
                connection.sql("SELECT user FROM truth").create_view("known", replace=True)
                yield judge_partition(connection, task)

        if task.needs_items:  # whole lists of a range are read while it is scored
            yield from (score_partition(ranked, task, connection) for ranked in judged())
        else:
            yield from (score_partition(ranked, task) for ranked in one_ahead(judged()))


def _read(connection: DuckDBPyConnection, path: Path) -> DuckDBPyRelation:
    return connection.read_parquet(str(path))


def _shared_types(lists: DuckDBPyRelation, truth: DuckDBPyRelation) -> dict[str, bool]:
    """Which id columns must be compared by their text, because the files' types differ."""
    types = [dict(zip(each.columns, map(str, each.types), strict=True)) for each in (lists, truth)]
    return {name: types[0][name] != types[1][name] for name in ("user", "item")}


def _between(
    rows: DuckDBPyRelation, casts: dict[str, bool], low: Any, high: Any
) -> DuckDBPyRelation:
    columns = [
        ColumnExpression(name).cast("VARCHAR").alias(name)
        if casts.get(name)
        else ColumnExpression(name)
        for name in rows.columns
    ]
    return in_range(rows.select(*columns), low, high)


def _cuts(
    connection: DuckDBPyConnection, lists: Path, rows_per_partition: int, *, as_text: bool
) -> list[Any]:
    """First users of the second, third … range: the file is sorted by user, its row groups say where they begin."""
    query = """
        SELECT row_group_num_rows, min(user) FROM (
            SELECT row_group_id, row_group_num_rows, stats_min_value AS user
            FROM parquet_metadata(?) WHERE path_in_schema = 'user')
        GROUP BY row_group_id, row_group_num_rows ORDER BY row_group_id
    """
    integer = str(connection.read_parquet(str(lists)).select("user").types[0]) == "BIGINT"
    cuts, rows = [], 0
    for in_group, first in connection.execute(query, [str(lists)]).fetchall():
        if rows + in_group > rows_per_partition and rows:
            cuts.append(int(first) if integer and not as_text else first)
            rows = 0
        rows += in_group
    return sorted(set(cuts))
