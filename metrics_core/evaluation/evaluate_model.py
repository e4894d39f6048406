"""Evaluate one model: from ranked lists and ground truth to users' values and a summary.

Library and pipeline call `evaluate_model`; they differ in the executor and in where values are stored.
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
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.accumulator import (
    EvaluationAccumulator,
    counts_content,
    panel_content,
    pinned_content,
    program_versions,
    summary_numbers,
)
from concord.metrics_core.evaluation.diagnostics import ListSigns, count_list_signs, validity
from concord.metrics_core.evaluation.panel import Panel
from concord.metrics_core.evaluation.partition import Part, Task, evaluate_partition
from concord.metrics_core.evaluation.side_data import Background, with_items
from concord.metrics_core.metrics.label import canonical_label

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


class ValueSink(Protocol):
    """Where users' values go."""

    def write(self, part: Part) -> None:
        """Keep the values of a partition."""

    def close(self) -> None:
        """Finish: all values are written."""


class ValueStore(ValueSink, Protocol):
    """From where users' values are read, one column at a time."""

    def table_of(self, column: str) -> Table:
        """Return the table that has `user` and this column."""


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
    """One evaluated model, but for its values: counts of users, lists and ids.

    Attributes
    ----------
    fit : dict
        What ids of lists, ground truth and catalogue have in common; see `check_ids`.
    validity : dict
        Counts of lists; see `validity`.
    """

    model: str
    accumulator: EvaluationAccumulator
    fit: Content
    validity: Content

    def counts(self) -> Content:
        """Return the counts of users, lists and ids."""
        return counts_content(self.accumulator, validity=self.validity, fit=self.fit)

    def content(
        self,
        store: ValueStore,
        panels: Mapping[str, Panel],
        *,
        confidence: float,
        inputs: Mapping[str, Mapping[str, Any]],
    ) -> Content:
        """Return the summary, as its file has it.

        Parameters
        ----------
        store : ValueStore
            Where the values are.
        panels : dict
            Primary label -> its definitions under all presets.
        inputs : dict
            Role -> content id of the table.
        """
        labels, definitions = self.accumulator.summaries(store.table_of, confidence)
        counts = self.counts()
        fit = counts.pop("fit")
        return {
            **pinned_content(self.model, self.accumulator.task.conventions),
            "metrics": {label: summary_numbers(summary) for label, summary in labels.items()},
            **counts,
            "inputs": inputs,
            "versions": dict(program_versions()),
            "fit": fit,
            "panel": {label: panel_content(each, definitions) for label, each in panels.items()},
        }


def evaluate_model(
    data: ModelData, task: Task, execute: Executor, sink: ValueSink, *, fit: Content
) -> ModelEvaluation:
    """Write users' values into `sink` and count.

    Parameters
    ----------
    execute : callable
        Yields the values of all users, partition by partition.
    fit : dict
        What `check_ids` returned.

    Raises
    ------
    ValueError
        The conventions refuse users, or relevant items with propensities are too few.
    """
    accumulator = EvaluationAccumulator(task)
    with closing(execute(data, task)) as parts:
        for part in parts:
            accumulator.add(part)
            sink.write(part)
    if task.conventions.propensity is not None:
        accumulator.weighing.refuse_few(task.conventions.propensity)
    sink.close()
    signs = accumulator.signs or _count_signs(data, task)
    counts = validity(accumulator.lists, signs, task.cutoffs)
    return ModelEvaluation(data.model, accumulator, fit, counts)


def _count_signs(data: ModelData, task: Task) -> ListSigns:
    tables = {"lists": data.lists, "truth": data.truth}
    if data.train is not None:
        tables["train"] = data.train
    with data.connect(file_paths(tables.values())) as connection:
        create_id_views(connection, tables)
        return count_list_signs(
            connection,
            has_train=data.train is not None,
            has_scores="score" in schema_of(data.lists),
            ks=task.cutoffs,
            of_requests=task.conventions.unit_mean is not None,
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
        task = data.background.with_item_columns(task)
        if task.needs_items:
            task = with_items(connection, task, data.background)
        yield evaluate_partition(connection, task)


def evaluated_label(label: str, labels: Collection[str]) -> str:
    """Return a label as it was evaluated.

    Raises
    ------
    InputError
        It was not.
    """
    known = canonical_label(label)
    if known not in labels:
        problem = f"was not evaluated; there are {', '.join(labels)}"
        raise refuse(label, problem, "add it to `metrics`")
    return known
