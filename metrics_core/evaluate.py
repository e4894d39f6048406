"""`evaluate`: lists and truth in, the mean, the users' values and a summary out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import polars as pl

from metrics_core.catalogue import Label, parse
from metrics_core.conventions import Conventions
from metrics_core.frames import (
    Data,
    known_users,
    lists_frame,
    same_id_types,
    truth_frame,
    users_frame,
)
from metrics_core.partition import Task, evaluate_partition, evaluated, part_names
from metrics_core.ranking import rank_all
from metrics_core.summary import Summary, summarise

CONFIDENCE = 0.95  # of the intervals in `Result.summary`


@dataclass(frozen=True)
class Result:
    """What `evaluate` returns; `result["nDCG@10"]` is the mean."""

    values: pl.DataFrame
    task: Task

    def __getitem__(self, label: str) -> float:
        return self.means[str(parse(label))].mean

    @property
    def per_user(self) -> pl.DataFrame:
        """user, then one Float64 column a label: NaN where undefined, null where the user is left out."""
        return evaluated(self.values, self.task)

    @cached_property
    def means(self) -> dict[str, Summary]:
        """The summary of each label, at full precision."""
        return {
            str(label): summarise_column(self.values, label, self.task.conventions, CONFIDENCE)
            for label in self.task.labels
        }

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
) -> Result:
    """Every metric for every user, under the conventions given.

    Parameters
    ----------
    recs        : `user`, `item` and `rank` (1, 2, 3 …) and/or `score`; or {user: [item, …]}, best first
    truth       : `user`, `item` [, `grade`]; or {user: {item: grade}} or {user: [item, …]}
    metrics     : labels such as "nDCG@10", "RBP(p=0.8)@20"; without @k the whole list counts
    conventions : `metrics_core.preset(name)`, or every knob by value
    users       : who is evaluated; else the users of the truth, and as the policies say those of the lists

    Raises
    ------
    ValueError : what is wrong, where, and what to do; nothing is dropped or filled silently
    """
    labels = [parse(text) for text in metrics]
    lists, judgements = lists_frame(recs), truth_frame(truth)
    known = known_users(truth, judgements) if users is None else users_frame(users)
    task = Task(labels, conventions, only_known=users is not None)
    with duckdb.connect() as connection:
        register(connection, lists, judgements, known, conventions)
        return Result(evaluate_partition(connection, task), task)


def register(
    connection: duckdb.DuckDBPyConnection,
    lists: pl.DataFrame,
    truth: pl.DataFrame,
    known: pl.DataFrame,
    conventions: Conventions,
) -> None:
    """The relations that judging reads, ranked and with ids of one type."""
    lists, truth, known = same_id_types(lists, truth, known)
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


def summarise_column(
    values: pl.DataFrame, label: Label, conventions: Conventions, confidence: float
) -> Summary:
    """The summary of one label of a frame of values; users who are left out do not count."""
    counted = values.filter(pl.col(str(label)).is_not_null())
    parts = tuple(
        counted[name].to_numpy() for name in part_names(str(label)) if name in counted.columns
    )
    column = counted[str(label)].to_numpy()
    return summarise(label, column, conventions, confidence=confidence, parts=parts)
