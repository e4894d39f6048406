"""Evaluate one model: from ranked lists and ground truth to users' values and a summary.

Library and pipeline call `evaluate_model`; they differ in the executor and in where values are stored.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from concord.metrics_core.data.id_matching import IdMatchContext, match_ids
from concord.metrics_core.data.relations import (
    OpenConnection,
    Table,
    create_id_views,
    create_view,
    file_paths,
    read_frame,
    scan,
    schema_of,
    share_id_types,
)
from concord.metrics_core.evaluation.accumulator import EvaluationAccumulator, summary_content
from concord.metrics_core.evaluation.diagnostics import count_list_signs
from concord.metrics_core.evaluation.panel import Panel
from concord.metrics_core.evaluation.partition import Part, Task, evaluate_partition
from concord.metrics_core.evaluation.side_data import Background, with_items

Content = dict[str, Any]


@dataclass(frozen=True)
class ModelData:
    """Ranked lists of one model and the data they are evaluated on, as files or frames.

    Attributes
    ----------
    users : path or frame, optional
        The evaluated users; None: those of the ground truth.
    connect : callable
        Opens a DuckDB connection that reads the given files and no others.
    """

    model: str
    lists: Table
    truth: Table
    connect: OpenConnection
    train: Table | None = None
    items: Table | None = None
    users: Table | None = None

    @property
    def background(self) -> Background:
        """Train and catalogue, for metrics beyond accuracy."""
        return Background(self.train, self.items, self.users)


Executor = Callable[[ModelData, Task], Generator[Part]]


class ValueStore(Protocol):
    """Where users' values go, and from where they are read, one column at a time."""

    def write(self, part: Part) -> None:
        """Keep the values of a partition."""

    def close(self) -> None:
        """Finish: all values are written."""

    def table_of(self, column: str) -> Table:
        """Return the table that has `user` and this column."""


def check_ids(data: ModelData, met: IdMatchContext, *, of_requests: bool) -> Content:
    """Return what the ids of the lists have in common with those of ground truth and catalogue; see `fit_of`."""
    tables = {"lists": data.lists, "truth": data.truth}
    if data.items is not None:
        tables["items"] = data.items
    with data.connect(file_paths(tables.values())) as connection:
        create_id_views(connection, tables)
        return match_ids(connection, met, of_requests=of_requests)


def evaluate_model(
    data: ModelData,
    task: Task,
    panels: Mapping[str, Panel],
    execute: Executor,
    store: ValueStore,
    *,
    confidence: float,
    fit: Content,
    inputs: Mapping[str, Content],
) -> Content:
    """Write users' values into `store` and return the summary, as its file has it.

    Parameters
    ----------
    panels : dict
        Primary label -> its definitions under all presets.
    execute : callable
        Yields the values of all users, partition by partition.
    fit : dict
        What `check_ids` returned.
    inputs : dict
        Role -> content id of the table.
    """
    accumulator = EvaluationAccumulator(task)
    with closing(execute(data, task)) as parts:
        for part in parts:
            accumulator.add(part)
            store.write(part)
    store.close()
    return summary_content(
        data.model,
        accumulator,
        accumulator.summaries(store.table_of, confidence),
        panels,
        validity=_validity(data, accumulator),
        fit=fit,
        inputs=inputs,
    )


def _validity(data: ModelData, accumulator: EvaluationAccumulator) -> Content:
    tables = {"lists": data.lists, "truth": data.truth}
    if data.train is not None:
        tables["train"] = data.train
    with data.connect(file_paths(tables.values())) as connection:
        create_id_views(connection, tables)
        return count_list_signs(
            connection,
            accumulator.lists,
            has_train=data.train is not None,
            has_scores="score" in schema_of(data.lists),
            ks=accumulator.task.cutoffs,
            of_requests=accumulator.task.conventions.unit_mean is not None,
        )


def execute_in_memory(data: ModelData, task: Task) -> Generator[Part]:
    """Evaluate all users at once."""
    truth = read_frame(data.truth)
    users = truth if data.users is None else scan(data.users)
    tables = {"ranked": read_frame(data.lists), "judgements": truth}
    tables["knowns"] = users.lazy().select("user").collect()
    with data.connect([]) as connection:
        for name, table in tables.items():
            create_view(connection, name, table)
        share_id_types(connection, {"lists": "ranked", "truth": "judgements", "known": "knowns"})
        task = data.background.shelved(task)
        if task.needs_items:
            task = with_items(connection, task, data.background)
        yield evaluate_partition(connection, task)
