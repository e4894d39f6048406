"""Evaluate sorted lists while they are read, range by range of users."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.list_batches import ListBatch, list_batch
from concord.metrics_core.data.relations import registered_only
from concord.metrics_core.data.tables import Table
from concord.metrics_core.evaluation.diagnostics import (
    OWN_ID_DEPTH,
    ListIssues,
    count_list_issues,
    is_own_id,
    list_kinds,
)
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.partition import (
    Part,
    PartCounts,
    Task,
    count_users,
    judge_partition,
    prefetch,
    score_partition,
)
from concord.metrics_core.metrics.judged import Judged


@dataclass
class StreamingEvaluator:
    """Evaluator of sorted lists while they are read, without keeping them.

    Attributes
    ----------
    task : Task
        What is evaluated.
    truth : DataFrame
        user, item, grade, sorted by user.
    users : DataFrame or None
        The evaluated users, sorted; None for those of the ground truth.
    parts : list of Part
        Results, one for each range of users.
    ids : DataFrame
        The distinct users of the lists, then the distinct items, then the rows (with `rank`) whose
        user and item have the same id.
    is_refused : bool
        True if the conventions refuse users of some range; then there are no parts. The message
        needs all users, so that the lists must be read again.
    text_ids : list of str
        Id columns that are compared as text, because their types differ.
    """

    task: Task
    truth: pl.DataFrame
    users: pl.DataFrame | None
    parts: list[Part] = field(default_factory=list)
    ids: pl.DataFrame = field(default_factory=pl.DataFrame)
    is_refused: bool = False
    text_ids: Sequence[str] = ()

    def keep(self, schema: pa.Schema, rows: Iterable[ListBatch]) -> None:
        """Evaluate the lists of each table, and the users of the ground truth between them."""
        self.parts, self.is_refused = [], False
        own_ids = [_own_ids(pa.Table.from_batches([], schema))]
        self.text_ids = self._mixed_ids(schema)
        # Users have another order as text than as integers.
        batches = _merged(rows) if "user" in self.text_ids else iter(rows)
        users: list[pa.Array] = []
        items = pc.unique(pa.chunked_array([], schema.field("item").type))

        def judged(
            connection: DuckDBPyConnection,
        ) -> Iterator[tuple[dict[int, Judged], ListIssues]]:
            nonlocal items
            for batch, low, high in _ranges(prefetch(batches)):
                users.append(batch.users)
                own_ids.append(_own_ids(batch.table))
                batch_items = batch.column("item") if batch.items is None else batch.items
                items = pc.unique(pa.chunked_array([items, batch_items]))
                if not self.is_refused:
                    yield self._judge(connection, batch.table, low, high)
            if not users:
                yield self._judge(connection, pa.Table.from_batches([], schema), None, None)

        with (
            registered_only() as connection,
            closing(prefetch(judged(connection))) as ahead,  # stops queries after an error
        ):
            for ranked, issues in ahead:
                self._score(ranked, issues)
        columns = (
            pl.DataFrame({"user": pa.chunked_array(users, schema.field("user").type)}),
            pl.DataFrame({"item": items}),
            *own_ids,
        )
        self.ids = pl.concat(columns, how="diagonal")

    def _mixed_ids(self, schema: pa.Schema) -> list[str]:
        """Return the id columns that are text in one table and integers in another."""
        frames = [self.truth] if self.users is None else [self.truth, self.users]
        kinds = {
            name: {frame.schema[name].is_integer() for frame in frames if name in frame.columns}
            | {pa.types.is_integer(schema.field(name).type)}
            for name in ("user", "item")
        }
        return [name for name, kind in kinds.items() if len(kind) > 1]

    def execute(self, _lists: Table, _data: EvaluationData, _task: Task) -> Generator[Part]:
        """Yield the values that were computed while the lists were read; an `Executor`."""
        yield from self.parts

    def _judge(
        self, connection: DuckDBPyConnection, lists: pa.Table, low: Any, high: Any
    ) -> tuple[dict[int, Judged], ListIssues]:
        truth = _between(self.truth, low, high)
        known = truth.select("user") if self.users is None else _between(self.users, low, high)
        tables = {"lists": lists, "truth": truth.to_arrow(), "known": known.to_arrow()}
        for name, table in tables.items():
            connection.register(name, _with_text_ids(table, self.text_ids))
        issues = count_list_issues(
            connection,
            has_train=False,
            score_dtype=self.task.conventions.score_dtype
            if "score" in lists.schema.names
            else None,
            ks=self.task.cutoffs,
            has_all_items=not lists.column("item").null_count,
        )
        return judge_partition(connection, self.task), issues

    def _score(self, ranked: dict[int, Judged], issues: ListIssues) -> None:
        if self.is_refused:
            return
        try:
            part = score_partition(ranked, self.task)
        except ValueError:
            self.parts, self.is_refused = [], True
            return
        # Without a fingerprint of the users, which only comparisons read.
        counts = PartCounts(count_users(part.values, self.task), list_kinds(part.values))
        self.parts.append(replace(part, issues=issues, counts=counts))


def _own_ids(lists: pa.Table) -> pl.DataFrame:
    """Return the first rows of the lists whose user and item have the same id."""
    rows = pl.DataFrame(lists.select(["user", "item", "rank"]))
    return rows.filter(pl.col("rank") <= OWN_ID_DEPTH).filter(is_own_id(rows))


def _with_text_ids(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    for name in set(columns) & set(table.column_names):
        text = table.column(name).cast(pa.string())
        table = table.set_column(table.column_names.index(name), name, text)
    return table


def _between(frame: pl.DataFrame, low: Any, high: Any) -> pl.DataFrame:
    """Return the rows with low <= user < high; None is no bound."""
    start = 0 if low is None else frame["user"].search_sorted(low)
    end = len(frame) if high is None else frame["user"].search_sorted(high)
    return frame[start:end]


def _ranges(rows: Iterator[ListBatch]) -> Iterator[tuple[ListBatch, Any, Any]]:
    """Yield each batch with the bounds of its range of users; None is no bound."""
    low, lists = None, next(rows, None)
    while lists is not None:
        after = next(rows, None)
        high = None if after is None else after.users[0].as_py()
        yield lists, low, high
        low, lists = high, after


def _merged(rows: Iterable[ListBatch]) -> Iterator[ListBatch]:
    batches = [batch for lists in rows for batch in lists.table.to_batches()]
    return iter([list_batch(batches)] if batches else [])
