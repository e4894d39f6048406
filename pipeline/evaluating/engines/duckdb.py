"""Engine `duckdb`: ranges of users, each read from parquet into a table, so memory is bounded by the range."""

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import Table, connect, files, share_id_types, view
from concord.metrics_core.evaluation.evaluate_model import ModelData
from concord.metrics_core.evaluation.partition import (
    Part,
    Task,
    judge_partition,
    one_ahead,
    put_range,
    score_partition,
)
from concord.metrics_core.evaluation.side_data import with_items
from concord.metrics_core.metrics.judged import Judged
from concord.pipeline.running.connections import spilling_to
from concord.pipeline.running.temporary_files import spill_folder

_KNOWN = "CREATE OR REPLACE TEMP VIEW known AS SELECT user FROM truth"


def execute_by_ranges(data: ModelData, task: Task, rows_per_partition: int) -> Generator[Part]:
    """Yield the values of one range of users after the other, in the order of the users."""
    # Every query that matters names its order; without the order of the files DuckDB is faster.
    task = data.background.shelved(task)
    tables = {"lists": data.lists, "truth": data.truth}
    if data.users is not None:
        tables["known"] = data.users
    with (
        spill_folder() as spill,
        connect(
            reads=files(tables.values()),
            config=spilling_to(spill) | {"preserve_insertion_order": False},
        ) as connection,
    ):
        for name, table in tables.items():
            view(connection, f"{name}_file", table)
        share_id_types(connection, {f"all_{name}": f"{name}_file" for name in tables})
        if task.needs_items:
            put_range(connection, ["lists"], None, None)
            task = with_items(connection, task, data.background)
        cuts = _cuts(connection, data.lists, rows_per_partition)

        def judged() -> Iterator[dict[int, Judged]]:
            for low, high in zip([None, *cuts], [*cuts, None], strict=True):
                put_range(connection, [*tables], low, high)
                if data.users is None:
                    connection.execute(_KNOWN)
                yield judge_partition(connection, task)

        if task.needs_items:  # whole lists of a range are read while it is scored
            yield from (score_partition(ranked, task, connection) for ranked in judged())
        else:
            with closing(one_ahead(judged())) as ahead:  # no query goes on after a refusal
                yield from (score_partition(ranked, task) for ranked in ahead)


def _cuts(connection: DuckDBPyConnection, lists: Table, rows_per_partition: int) -> list[Any]:
    """First users of the second, third … range: the file is sorted by user, its row groups say where they begin."""
    query = """
        SELECT row_group_num_rows, min(user) FROM (
            SELECT row_group_id, row_group_num_rows, stats_min_value AS user
            FROM parquet_metadata(?) WHERE path_in_schema = 'user')
        GROUP BY row_group_id, row_group_num_rows ORDER BY row_group_id
    """
    integer = str(connection.view("all_lists").select("user").types[0]) == "BIGINT"
    cuts, rows = [], 0
    for in_group, first in connection.execute(query, [str(lists)]).fetchall():
        if rows + in_group > rows_per_partition and rows:
            cuts.append(int(first) if integer else first)
            rows = 0
        rows += in_group
    return sorted(set(cuts))
