"""Train and catalogue as the load stages left them, beside the lists of an engine."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from metrics_core.background import catalogue_of, refuse_missing, train_frame
from metrics_core.listing import number_items
from metrics_core.partition import Task


@dataclass(frozen=True)
class Background:
    """The files; None: there is none."""

    train: Path | None = None
    items: Path | None = None


NONE = Background()


def with_items(
    connection: DuckDBPyConnection,
    task: Task,
    background: Background,
    *,
    as_text: Mapping[str, bool],
) -> Task:
    """The task with all items of `lists`, train and catalogue numbered; registers `train` and `items`."""
    catalogue = None if background.items is None else catalogue_of(background.items)
    refuse_missing(task, has_train=background.train is not None, catalogue=catalogue)
    types = dict(
        connection.execute("SELECT column_name, column_type FROM (DESCRIBE lists)").fetchall()
    )
    empty = pl.DataFrame(schema={"user": pl.String, "item": pl.String})
    train = empty if background.train is None else train_frame(background.train)
    items = empty.select("item") if catalogue is None else catalogue.items
    features = None if catalogue is None else catalogue.features
    texts = {name for name in ("user", "item") if as_text[name] or types[name] == "VARCHAR"}
    for name, frame in (("train", train), ("items", items)):
        cast = [pl.col(c).cast(pl.String if c in texts else pl.Int64) for c in frame.columns]
        connection.register(name, frame.select(cast).to_arrow())
    if features is not None and "item" in texts:
        features = {str(item): values for item, values in features.items()}
    return replace(task, items=number_items(connection, features))
