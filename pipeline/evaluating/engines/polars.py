"""Engine `polars`: one partition, in memory."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from concord.metrics_core.scoring.background import NONE, Background
from concord.metrics_core.scoring.in_memory import evaluate_tables
from concord.metrics_core.scoring.partition import Part, Task
from concord.pipeline.running.connections import reading


def partitions(
    lists: Path, truth: Path, task: Task, background: Background = NONE
) -> Iterator[Part]:
    """What all users give at once."""
    rows, judgements = (pl.read_parquet(path, glob=False) for path in (lists, truth))
    with reading() as connection:
        yield evaluate_tables(connection, rows, judgements, task, background)
