"""Evaluate sorted lists while they are read, range by range of users."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.list_batches import ListBatch, list_batch
from concord.metrics_core.data.relations import in_memory, share_id_types
from concord.metrics_core.evaluation.diagnostics import ListSigns, count_list_signs
from concord.metrics_core.evaluation.evaluate_model import ModelData
from concord.metrics_core.evaluation.partition import (
    Part,
    Task,
    judge_partition,
    one_ahead,
    score_partition,
)
from concord.metrics_core.metrics.judged import Judged

_NAMES = {"lists": "ranked", "truth": "judgements", "known": "knowns"}


@dataclass
class StreamingEvaluator:
    """Evaluates whole lists as they are read, without keeping them.

    Attributes
    ----------
    truth : DataFrame
        user, item, grade, sorted by user.
    users : DataFrame or None
        The evaluated users, sorted; None: those of the ground truth.
    parts : list of Part
        Values, one for each range of users.
    ids : DataFrame
        The distinct users of the lists, then the distinct items.
    is_refused : bool
        True if the conventions refuse users of some range; then there are no parts. The message needs all users, so
        the lists have to be read again.
    """

    task: Task
    truth: pl.DataFrame
    users: pl.DataFrame | None
    parts: list[Part] = field(default_factory=list)
    ids: pl.DataFrame = field(default_factory=pl.DataFrame)
    is_refused: bool = False

    def keep(self, schema: pa.Schema, rows: Iterable[ListBatch]) -> None:
        """Evaluate the lists of each table, and the users of the ground truth between them."""
        nothing = pa.Table.from_batches([], schema)
        self.parts, self.is_refused = [], False
        frames = [self.truth] if self.users is None else [self.truth, self.users]
        is_integer = pa.types.is_integer(schema.field("user").type)
        is_sliced = all(frame.schema["user"].is_integer() == is_integer for frame in frames)
        ordered = iter(rows) if is_sliced else _in_one(rows)  # as text users have another order
        users, items = [], pc.unique(nothing.column("item"))

        def judged(connection: DuckDBPyConnection) -> Iterator[tuple[dict[int, Judged], ListSigns]]:
            nonlocal items
            for lists, low, high in _ranges(one_ahead(ordered)):
                users.append(lists.users)
                listed = lists.column("item") if lists.items is None else lists.items
                items = pc.unique(pa.chunked_array([items, listed]))
                if not self.is_refused:
                    yield self._judge(connection, lists.table, low, high)
            if not users:
                yield self._judge(connection, nothing, None, None)

        with in_memory() as connection:
            self._register(connection, nothing, None, None)
            share_id_types(
                connection, _NAMES if self.users is not None else dict([*_NAMES.items()][:2])
            )
            if self.users is None:
                connection.execute("CREATE TEMP VIEW known AS SELECT DISTINCT user FROM truth")
            with closing(one_ahead(judged(connection))) as ahead:  # no query goes on after an error
                for ranked, signs in ahead:
                    self._score(ranked, signs)
        columns = (
            pa.table({"user": pa.chunked_array(users, schema.field("user").type)}),
            pa.table({"item": items}),
        )
        self.ids = pl.DataFrame(pa.concat_tables(columns, promote_options="default"))

    def execute(self, _data: ModelData, _task: Task) -> Generator[Part]:
        """Yield the values that were computed while the lists were read; an `Executor`."""
        yield from self.parts

    def _register(
        self, connection: DuckDBPyConnection, lists: pa.Table, low: Any, high: Any
    ) -> None:
        connection.register("ranked", lists)
        connection.register("judgements", _between(self.truth, low, high).to_arrow())
        if self.users is not None:
            connection.register("knowns", _between(self.users, low, high).to_arrow())

    def _judge(
        self, connection: DuckDBPyConnection, lists: pa.Table, low: Any, high: Any
    ) -> tuple[dict[int, Judged], ListSigns]:
        self._register(connection, lists, low, high)
        signs = count_list_signs(
            connection,
            has_train=False,
            has_scores="score" in lists.schema.names,
            ks=self.task.cutoffs,
        )
        return judge_partition(connection, self.task), signs

    def _score(self, ranked: dict[int, Judged], signs: ListSigns) -> None:
        if self.is_refused:
            return
        try:
            self.parts.append(replace(score_partition(ranked, self.task), signs=signs))
        except ValueError:
            self.parts, self.is_refused = [], True


def _between(frame: pl.DataFrame, low: Any, high: Any) -> pl.DataFrame:
    """Return the rows of the users from `low` on and before `high`; None is no bound."""
    start = 0 if low is None else frame["user"].search_sorted(low)
    end = len(frame) if high is None else frame["user"].search_sorted(high)
    return frame[start:end]


def _ranges(rows: Iterator[ListBatch]) -> Iterator[tuple[ListBatch, Any, Any]]:
    """Each with the user at which its range begins and the one before which it ends; nobody is between two ranges."""
    low, lists = None, next(rows, None)
    while lists is not None:
        after = next(rows, None)
        high = None if after is None else after.users[0].as_py()
        yield lists, low, high
        low, lists = high, after


def _in_one(rows: Iterable[ListBatch]) -> Iterator[ListBatch]:
    batches = [batch for lists in rows for batch in lists.table.to_batches()]
    return iter([list_batch(batches)] if batches else [])
