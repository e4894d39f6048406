"""`evaluate`: lists and truth in, the mean, the users' values and a summary out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import duckdb
import polars as pl

from metrics_core.background import catalogue_of, refuse_missing, train_frame
from metrics_core.catalogue import Label, idle_overrides, parse
from metrics_core.conventions import ConventionError, Conventions
from metrics_core.exposure import Exposure
from metrics_core.frames import (
    Data,
    known_users,
    lists_frame,
    same_id_types,
    truth_frame,
    users_frame,
)
from metrics_core.listing import number_items
from metrics_core.locked import connect
from metrics_core.panel import Definition
from metrics_core.partition import Task, evaluate_partition, evaluated, part_names
from metrics_core.ranking import rank_all
from metrics_core.summary import Summary, summarise, summarise_catalogue

CONFIDENCE = 0.95  # of the intervals in `Result.summary`


@dataclass(frozen=True)
class Result:
    """What `evaluate` returns; `result["nDCG@10"]` is the mean."""

    values: pl.DataFrame
    task: Task
    exposures: Mapping[str, Exposure]

    def __getitem__(self, label: str) -> float:
        return self.means[str(parse(label))].mean

    @property
    def per_user(self) -> pl.DataFrame:
        """user, then one Float64 column a label: NaN where undefined, null where the user is left out."""
        return evaluated(self.values, self.task)

    @cached_property
    def means(self) -> dict[str, Summary]:
        """The summary of each label, at full precision."""
        return {str(label): self._summary(label) for label in self.task.labels}

    def _summary(self, label: Label) -> Summary:
        if label.metric.of_catalogue:
            return summarise_catalogue(label, self.exposures[str(label)], self.task.conventions)
        return summarise_column(
            self.values, str(label), label, self.task.conventions, confidence=CONFIDENCE
        )

    @property
    def summary(self) -> pl.DataFrame:
        """metric, mean, ci_low, ci_high (95 %, t), n_users, n_undefined; one row a label."""
        return pl.DataFrame([{"metric": label, **vars(row)} for label, row in self.means.items()])


def evaluate(
    recs: Data,
    truth: Data,
    *,
    metrics: Sequence[str],
    conventions: Conventions,
    users: Iterable[Any] | None = None,
    train: Data | None = None,
    items: Data | None = None,
) -> Result:
    """Every metric for every user, under the conventions given.

    Parameters
    ----------
    recs        : `user`, `item` and `rank` (1, 2, 3 …) and/or `score`; or {user: [item, …]}, best first
    truth       : `user`, `item` [, `grade`]; or {user: {item: grade}} or {user: [item, …]}
    metrics     : labels such as "nDCG@10", "RBP(p=0.8)@20"; without @k the whole list counts
    conventions : `metrics_core.preset(name)`, or every knob by value
    users       : who is evaluated; else the users of the truth, and as the policies say those of the lists
    train       : `user`, `item`: what the models learned from; or {user: [item, …]}
    items       : the catalogue: `item` [, `categories`: list of text, or `vector`: list of numbers];
                  or {item: [category, …]} or {item: [number, …]}

    Raises
    ------
    ValueError : what is wrong, where, and what to do; nothing is dropped or filled silently
    """
    if idle := idle_overrides(conventions):
        raise ConventionError(idle)
    labels = [parse(text) for text in metrics]
    lists, judgements = lists_frame(recs), truth_frame(truth)
    known = known_users(truth, judgements) if users is None else users_frame(users)
    task = Task(labels, conventions, only_known=users is not None)
    catalogue = None if items is None else catalogue_of(items)
    refuse_missing(task, has_train=train is not None, catalogue=catalogue)
    with connect() as connection:
        had = None if train is None else train_frame(train)
        ids = None if catalogue is None else catalogue.items
        register(connection, lists, judgements, known, conventions, train=had, items=ids)
        if task.needs_items:
            features = None if catalogue is None else catalogue.features
            task = replace(task, items=number_items(connection, features))
        part = evaluate_partition(connection, task)
    return Result(part.values, task, part.exposures)


def register(
    connection: duckdb.DuckDBPyConnection,
    lists: pl.DataFrame,
    truth: pl.DataFrame,
    known: pl.DataFrame,
    conventions: Conventions,
    *,
    train: pl.DataFrame | None = None,
    items: pl.DataFrame | None = None,
) -> None:
    """The relations that judging reads, with ids of one type; lists are ranked by their ids as they came."""
    had = lists.select("user", "item").clear() if train is None else train
    ids = lists.select("item").clear() if items is None else items
    alike, truth, known = same_id_types(lists, truth, known)
    connection.register("train", had.to_arrow())
    connection.register("items", ids.to_arrow())
    connection.register("given", lists.with_row_index("position").to_arrow())
    connection.register("truth", truth.with_row_index("place").to_arrow())
    connection.register("known", known.to_arrow())
    rank_all(
        connection,
        "given",
        conventions.rankings,
        has_rank="rank" in lists.columns,
        has_score="score" in lists.columns,
        into="lists",
    )
    for column in ("user", "item"):
        if alike.schema[column] != lists.schema[column]:
            connection.execute(f"ALTER TABLE lists ALTER {column} TYPE VARCHAR")


def summarise_column(
    values: pl.DataFrame,
    name: str,
    label: Label,
    conventions: Conventions,
    *,
    confidence: float,
) -> Summary:
    """The summary of one column of a frame of values; users who are left out do not count."""
    counted = values.filter(pl.col(name).is_not_null())
    parts = tuple(counted[part].to_numpy() for part in part_names(name) if part in counted.columns)
    column = counted[name].to_numpy()
    return summarise(label, column, conventions, confidence=confidence, parts=parts)


def mean_of(frames: Sequence[pl.DataFrame], definition: Definition) -> float:
    """The mean of a definition over the values of all partitions."""
    columns = [name for name in frames[0].columns if name.startswith(f"#{definition.column}#")]
    values = pl.concat([frame.select(definition.column, *columns) for frame in frames])
    how = (definition.label, definition.conventions)
    return summarise_column(values, definition.column, *how, confidence=CONFIDENCE).mean
