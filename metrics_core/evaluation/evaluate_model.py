"""Evaluate one model: from ranked lists and ground truth to values per user and a summary.

Library and pipeline call `evaluate_model` with different executors and stores of the values.
"""

from collections.abc import Collection
from contextlib import closing
from typing import Any, Protocol

import polars as pl

from concord.metrics_core.data.id_matching import (
    FrameIds,
    IdMatchContext,
    match_id_sets,
    match_ids,
)
from concord.metrics_core.data.tables import (
    Table,
    create_id_views,
    file_paths,
    scan,
    schema_of,
)
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.accumulator import EvaluationAccumulator
from concord.metrics_core.evaluation.diagnostics import count_train_items
from concord.metrics_core.evaluation.evaluate_block import Part
from concord.metrics_core.evaluation.executors import Executor
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.label import to_result_spelling

Content = dict[str, Any]


class ValueSink(Protocol):
    """Receiver of the values per user."""

    def write(self, part: Part) -> None:
        """Write the values of a block."""

    def close(self) -> None:
        """Finish writing."""


def check_ids(
    lists: Table, data: EvaluationData, context: IdMatchContext, *, of_requests: bool
) -> Content:
    """Return `match_id_sets` of the recommendations, ground truth and catalogue."""
    truth = data.truth
    tables = {"lists": lists, "truth": truth}
    if data.items is not None:
        tables["items"] = data.items
    needs_views = data.items is not None or of_requests or "ranking" in schema_of(lists)
    with data.connect(file_paths(tables.values())) as connection:
        if isinstance(lists, pl.DataFrame) and isinstance(truth, pl.DataFrame) and not needs_views:
            return match_id_sets(FrameIds(connection, lists, truth), context)
        create_id_views(connection, tables)
        return match_ids(connection, context, of_requests=of_requests)


def evaluate_model(
    lists: Table, data: EvaluationData, task: Task, execute: Executor, sink: ValueSink
) -> EvaluationAccumulator:
    """Write the values per user to `sink` and return the counts and sums of all blocks.

    Parameters
    ----------
    lists : path or frame
        Ranked lists of the model.
    data : EvaluationData
        The ground truth, side data and users that they are evaluated on.
    task : Task
        What is evaluated.
    execute : callable
        Yields the values of all users, block by block.
    sink : ValueSink
        Receives the values.

    Raises
    ------
    ValueError
        If the conventions refuse users, or too few relevant items have propensities.
    """
    accumulator = EvaluationAccumulator(task)
    with closing(execute(lists, data, task)) as parts:
        for part in parts:
            accumulator.add(part)
            sink.write(part)
    if task.conventions.propensity is not None:
        accumulator.weighing.refuse_few(task.conventions.propensity)
    sink.close()
    if data.train is not None:
        listed, truth, train = map(scan, (lists, data.truth, data.train))
        of_requests = task.conventions.unit_mean is not None
        counts = count_train_items(listed, truth, train, task.cutoffs, of_requests=of_requests)
        accumulator.counts.update(counts)
    return accumulator


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
