"""Engine `duckdb`: ranges of users, each read from parquet into a table, so memory is bounded by the range."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.id_types import share_id_types
from concord.metrics_core.checking.locked import connect
from concord.metrics_core.checking.relations import view
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.scoring.background import NONE, Background, with_items
from concord.metrics_core.scoring.partition import Part, Task, judge_partition, score_partition
from concord.metrics_core.scoring.ranges import one_ahead, put_range
from concord.pipeline.running.connections import spilling_to
from concord.pipeline.running.temporary_files import spill_folder

_KNOWN = "CREATE OR REPLACE TEMP VIEW known AS SELECT user FROM truth"


def partitions(
    lists: Path,
    truth: Path,
    task: Task,
    rows_per_partition: int,
    background: Background = NONE,
) -> Iterator[Part]:
    """What one range of users gives after the other, in the order of the users."""
    # Every query that matters names its order; without the order of the files DuckDB is faster.
    task = background.shelved(task)
    files = [lists, truth, *([background.users] if isinstance(background.users, Path) else [])]
    with (
        spill_folder() as spill,
        connect(
            reads=files, config=spilling_to(spill) | {"preserve_insertion_order": False}
        ) as connection,
    ):
        view(connection, "lists_file", lists)
        view(connection, "truth_file", truth)
        views = {"all_lists": "lists_file", "all_truth": "truth_file"}
        if background.users is not None:
            view(connection, "users_file", background.users)
            views["all_known"] = "users_file"
        share_id_types(connection, views)
        names = [name.removeprefix("all_") for name in views]
        if task.needs_items:
            put_range(connection, ["lists"], None, None)
            task = with_items(connection, task, background)
        cuts = _cuts(connection, lists, rows_per_partition)

        def judged() -> Iterator[dict[int, Judged]]:
            for low, high in zip([None, *cuts], [*cuts, None], strict=True):
                put_range(connection, names, low, high)
                if background.users is None:
                    connection.execute(_KNOWN)
                yield judge_partition(connection, task)

        if task.needs_items:  # whole lists of a range are read while it is scored
            yield from (score_partition(ranked, task, connection) for ranked in judged())
        else:
            with closing(one_ahead(judged())) as ahead:  # no query goes on after a refusal
                yield from (score_partition(ranked, task) for ranked in ahead)


def _cuts(connection: DuckDBPyConnection, lists: Path, rows_per_partition: int) -> list[Any]:
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
