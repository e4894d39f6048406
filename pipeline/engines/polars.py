"""Engine `polars`: one partition, in memory."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from metrics_core.frames import same_id_types
from metrics_core.locked import connect
from metrics_core.partition import Part, Task, evaluate_partition
from pipeline.engines.background import NONE, Background, with_items
from pipeline.running.leftovers import spill_folder
from pipeline.threads import spilling_to


def partitions(
    lists: Path, truth: Path, task: Task, background: Background = NONE
) -> Iterator[Part]:
    """What all users give at once."""
    listed, judged = same_id_types(
        pl.read_parquet(lists, glob=False), pl.read_parquet(truth, glob=False)
    )
    with spill_folder() as spill, connect(config=spilling_to(spill)) as connection:
        connection.register("lists", listed.to_arrow())
        connection.register("truth", judged.to_arrow())
        connection.register("known", judged.select("user").to_arrow())
        if task.needs_items:
            task = with_items(connection, task, background)
        yield evaluate_partition(connection, task)
