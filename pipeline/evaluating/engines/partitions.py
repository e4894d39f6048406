"""The engine that params.yaml names, on the results of the load stages."""

from collections.abc import Iterator
from pathlib import Path

from concord.metrics_core.scoring.background import Background
from concord.metrics_core.scoring.partition import Part, Task
from concord.pipeline.evaluating.engines import duckdb as duckdb_engine
from concord.pipeline.evaluating.engines import polars as polars_engine
from concord.pipeline.params.model import Params


def partitions(params: Params, model: str, task: Task) -> Iterator[Part]:
    """What the users of one model give, partition by partition."""
    lists = Path(params.results.lists) / f"{model}.parquet"
    data = Path(params.results.data)
    train, items = (
        data / f"{name}.parquet" if name in params.background else None
        for name in ("train", "items")
    )
    users = data / "users.parquet" if task.only_known else None
    background = Background(train, items, users)
    truth = params.truth_of(model)
    if params.evaluation.engine == "polars":
        return polars_engine.partitions(lists, truth, task, background)
    rows = params.evaluation.rows_per_partition
    if params.evaluation.engine == "spark":
        from concord.pipeline.evaluating.engines import spark as spark_engine

        return spark_engine.partitions(lists, truth, task, rows, background)
    return duckdb_engine.partitions(lists, truth, task, rows, background)
