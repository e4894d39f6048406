"""Engine `polars`: one partition, in memory."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from metrics_core.frames import same_id_types
from metrics_core.locked import connect
from metrics_core.partition import Part, Task, evaluate_partition
from pipeline.engines.background import NONE, Background, with_items
from pipeline.threads import thread_settings


def partitions(
    lists: Path, truth: Path, task: Task, background: Background = NONE
) -> Iterator[Part]:
    """What all users give at once."""
    listed, judged = same_id_types(
        pl.read_parquet(lists, glob=False), pl.read_parquet(truth, glob=False)
    )
    with connect(config=thread_settings()) as connection:
        connection.register("lists", listed.to_arrow())
        connection.register("truth", judged.to_arrow())
        connection.register("known", judged.select("user").to_arrow())
        if task.needs_items:
            task = with_items(connection, task, background)
        yield evaluate_partition(connection, task)
