"""Engine `polars`: one partition, in memory."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from metrics_core.checking.id_types import share_id_types
from metrics_core.checking.locked import connect
from metrics_core.scoring.partition import Part, Task, evaluate_partition
from pipeline.evaluating.engines.background import NONE, Background, with_items
from pipeline.running.connections import spilling_to
from pipeline.running.leftovers import spill_folder


def partitions(
    lists: Path, truth: Path, task: Task, background: Background = NONE
) -> Iterator[Part]:
    """What all users give at once."""
    with spill_folder() as spill, connect(config=spilling_to(spill)) as connection:
        for name, path in {"ranked": lists, "judgements": truth}.items():
            connection.register(name, pl.read_parquet(path, glob=False).to_arrow())
        views = {"lists": "ranked", "truth": "judgements", "known": "judgements"}
        share_id_types(connection, views)
        if task.needs_items:
            task = with_items(connection, task, background)
        yield evaluate_partition(connection, task)
