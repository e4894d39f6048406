"""Evaluate one model: from ranked lists and ground truth to values per user and a summary.

Library and pipeline call `evaluate_model` with different executors and stores of the values.
"""

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl

from concord.metrics_core.data.id_matching import (
    FrameIds,
    IdMatchContext,
    match_id_sets,
    match_ids,
)
from concord.metrics_core.data.relations import OpenConnection
from concord.metrics_core.data.tables import (
    Table,
    create_id_views,
    create_view,
    file_paths,
    read_frame,
    scan,
    schema_of,
    share_id_types,
)
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.accumulator import (
    EvaluationAccumulator,
    counts_content,
    panel_content,
    pinned_content,
    program_versions,
    summary_numbers,
)
from concord.metrics_core.evaluation.diagnostics import ListIssues, count_list_issues, validity
from concord.metrics_core.evaluation.panel import Panel
from concord.metrics_core.evaluation.partition import Part, Task, evaluate_partition
from concord.metrics_core.evaluation.side_data import SideData, with_items
from concord.metrics_core.metrics.label import to_result_spelling

Content = dict[str, Any]


@dataclass(frozen=True)
class ModelData:
    """Ranked lists of one model and the data they are evaluated on, as files or frames.

    Attributes
    ----------
    model : str
        Name of the model.
    lists, truth : path or frame
        Recommendations and ground truth.
    connect : callable
        Opens a DuckDB connection that can read only the given files.
    train, items : path or frame, optional
        Side data.
    users : path or frame, optional
        The evaluated users; None for those of the ground truth.
    """

    model: str
    lists: Table
    truth: Table
    connect: OpenConnection
    train: Table | None = None
    items: Table | None = None
    users: Table | None = None

    @property
    def background(self) -> SideData:
        """Side data, for metrics beyond accuracy."""
        return SideData(self.train, self.items, self.users)


Executor = Callable[[ModelData, Task], Generator[Part]]


class ValueSink(Protocol):
    """Receiver of the values per user."""

    def write(self, part: Part) -> None:
        """Write the values of a partition."""

    def close(self) -> None:
        """Finish writing."""


class ValueStore(ValueSink, Protocol):
    """Values per user, read one column at a time."""

    def table_of(self, column: str) -> Table:
        """Return the table with `user` and this column."""


def check_ids(data: ModelData, context: IdMatchContext, *, of_requests: bool) -> Content:
    """Return `match_id_sets` of the recommendations, ground truth and catalogue."""
    lists, truth = data.lists, data.truth
    tables = {"lists": lists, "truth": truth}
    if data.items is not None:
        tables["items"] = data.items
    needs_views = data.items is not None or of_requests or "ranking" in schema_of(lists)
    with data.connect(file_paths(tables.values())) as connection:
        if isinstance(lists, pl.DataFrame) and isinstance(truth, pl.DataFrame) and not needs_views:
            return match_id_sets(FrameIds(connection, lists, truth), context)
        create_id_views(connection, tables)
        return match_ids(connection, context, of_requests=of_requests)


@dataclass(frozen=True)
class ModelEvaluation:
    """Counts of users, lists and ids of an evaluated model.

    Attributes
    ----------
    model : str
        Name of the model.
    accumulator : EvaluationAccumulator
        Counts and sums of all partitions.
    id_match : dict
        Result of `check_ids`.
    validity : dict
        Result of `diagnostics.validity`.
    """

    model: str
    accumulator: EvaluationAccumulator
    id_match: Content
    validity: Content

    def counts(self) -> Content:
        """Return the counts of users, lists and ids."""
        return counts_content(self.accumulator, validity=self.validity, id_match=self.id_match)

    def content(
        self,
        store: ValueStore,
        panels: Mapping[str, Panel],
        *,
        confidence: float,
        inputs: Mapping[str, Mapping[str, Any]],
    ) -> Content:
        """Return the summary, as in its file.

        Parameters
        ----------
        store : ValueStore
            Values per user.
        panels : dict
            Convention panel of each primary label.
        confidence : float
            Confidence of the intervals.
        inputs : dict
            Content ids of the tables, by role.
        """
        labels, definitions = self.accumulator.summaries(store.table_of, confidence)
        counts = self.counts()
        id_match = counts.pop("id_match")
        return {
            **pinned_content(self.model, self.accumulator.task.conventions),
            "metrics": {label: summary_numbers(summary) for label, summary in labels.items()},
            **counts,
            "inputs": inputs,
            "versions": dict(program_versions()),
            "id_match": id_match,
            "panel": {label: panel_content(each, definitions) for label, each in panels.items()},
        }


def evaluate_model(
    data: ModelData, task: Task, execute: Executor, sink: ValueSink, *, id_match: Content
) -> ModelEvaluation:
    """Write the values per user to `sink` and return the counts.

    Parameters
    ----------
    data : ModelData
        Recommendations and the data they are evaluated on.
    task : Task
        What is evaluated.
    execute : callable
        Yields the values of all users, partition by partition.
    sink : ValueSink
        Receives the values.
    id_match : dict
        Result of `check_ids`.

    Raises
    ------
    ValueError
        If the conventions refuse users, or too few relevant items have propensities.
    """
    accumulator = EvaluationAccumulator(task)
    with closing(execute(data, task)) as parts:
        for part in parts:
            accumulator.add(part)
            sink.write(part)
    if task.conventions.propensity is not None:
        accumulator.weighing.refuse_few(task.conventions.propensity)
    sink.close()
    issues = accumulator.issues or _count_issues(data, task)
    counts = validity(accumulator.lists, issues, task.cutoffs)
    return ModelEvaluation(data.model, accumulator, id_match, counts)


def _count_issues(data: ModelData, task: Task) -> ListIssues:
    tables = {"lists": data.lists, "truth": data.truth}
    if data.train is not None:
        tables["train"] = data.train
    with data.connect(file_paths(tables.values())) as connection:
        create_id_views(connection, tables)
        return count_list_issues(
            connection,
            has_train=data.train is not None,
            has_scores="score" in schema_of(data.lists),
            ks=task.cutoffs,
            of_requests=task.conventions.unit_mean is not None,
        )


def execute_in_memory(data: ModelData, task: Task) -> Generator[Part]:
    """Evaluate all users in one partition; an `Executor`."""
    truth = read_frame(data.truth)
    users = truth if data.users is None else scan(data.users)
    tables = {"ranked": read_frame(data.lists), "judgements": truth}
    tables["knowns"] = users.lazy().select("user").collect()
    with data.connect([]) as connection:
        for name, table in tables.items():
            create_view(connection, name, table)
        share_id_types(connection, {"lists": "ranked", "truth": "judgements", "known": "knowns"})
        task = data.background.with_item_columns(task)
        if task.needs_items:
            task = with_items(connection, task, data.background)
        yield evaluate_partition(connection, task)


def evaluated_label(label: str, labels: Collection[str]) -> str:
    """Return the spelling of a label in the results.

    Raises
    ------
    InputError
        If the label was not evaluated.
    """
    known = to_result_spelling(label, labels)
    if known not in labels:
        problem = f"was not evaluated; there are {', '.join(labels)}"
        raise refuse(label, problem, "add it to `metrics`")
    return known
