"""Train and catalogue as the load stages left them, beside the lists of an engine."""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from metrics_core.scoring.background import catalogue_of, refuse_missing
from metrics_core.scoring.listing import number_items
from metrics_core.scoring.partition import Task


@dataclass(frozen=True)
class Background:
    """The files; None: there is none."""

    train: Path | None = None
    items: Path | None = None


NONE = Background()


def with_items(connection: DuckDBPyConnection, task: Task, background: Background) -> Task:
    """The task with all items of `lists`, train and catalogue numbered; registers `train` and `items`."""
    catalogue = None if background.items is None else catalogue_of(_read(background.items))
    refuse_missing(task, has_train=background.train is not None, catalogue=catalogue)
    nobody = pl.DataFrame(schema={"user": pl.String, "item": pl.String})
    train = nobody if background.train is None else _read(background.train)
    items = nobody.select("item") if catalogue is None else catalogue.items
    connection.register("train", train.to_arrow())
    connection.register("items", items.to_arrow())
    features = None if catalogue is None else catalogue.features
    return replace(task, items=number_items(connection, features))


def _read(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path, glob=False)
