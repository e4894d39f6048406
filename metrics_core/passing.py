"""Lists that are evaluated as they are read, half a million rows at a time: their rows are kept nowhere."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.id_types import share_id_types
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.reading.whole_lists import WholeLists, cut
from concord.metrics_core.scoring.partition import Part, Task, judge_partition, score_partition
from concord.metrics_core.scoring.ranges import one_ahead, put_range

_WHOLE = {"lists": "going_by", "all_truth": "judgements", "all_known": "knowns"}


@dataclass
class Passing:
    """What lists gave that went by. The relations `judgements` and `knowns` are there before.

    parts   : of ranges of users
    ids     : the distinct users of the lists, and below them the distinct items
    refused : do the conventions refuse some part? Then there are no parts
    """

    connection: DuckDBPyConnection
    task: Task
    parts: list[Part] = field(default_factory=list)
    ids: pa.Table | None = None
    refused: bool = False

    def keep(self, schema: pa.Schema, rows: Iterable[WholeLists]) -> None:
        """Evaluates the lists of each table, and the users of the truth who stand between them."""
        nothing = pa.Table.from_batches([], schema)
        self.parts, self.refused = [], False
        self.connection.register("going_by", nothing)
        share_id_types(self.connection, _WHOLE)
        own, shared = (self.connection.view(n).select("user").types for n in ("going_by", "lists"))
        ordered = iter(rows) if own == shared else _in_one(rows)  # as text users stand otherwise
        users, items = [], pc.unique(nothing.column("item"))

        def judged() -> Iterator[dict[int, Judged]]:
            nonlocal items
            for lists, low, high in _ranges(one_ahead(ordered)):
                users.append(lists.users)
                here = lists.column("item") if lists.items is None else lists.items
                items = pc.unique(pa.chunked_array([items, here]))
                if not self.refused:
                    yield self._judged(lists.table, low, high)
            if not users:
                yield self._judged(nothing, None, None)

        with closing(one_ahead(judged())) as ahead:  # nobody asks DuckDB anything after an error
            for ranked in ahead:
                self._score(ranked)
        of_each = (
            pa.table({"user": pa.chunked_array(users, schema.field("user").type)}),
            pa.table({"item": items}),
        )
        self.ids = pa.concat_tables(of_each, promote_options="default")

    def _judged(self, rows: pa.Table, low: Any, high: Any) -> dict[int, Judged]:
        self.connection.register("going_by", rows)
        put_range(self.connection, ("truth", "known"), low, high)
        return judge_partition(self.connection, self.task)

    def _score(self, ranked: dict[int, Judged]) -> None:
        if self.refused:
            return
        try:
            self.parts.append(score_partition(ranked, self.task))
        except ValueError:
            self.parts, self.refused = [], True


def _ranges(rows: Iterator[WholeLists]) -> Iterator[tuple[WholeLists, Any, Any]]:
    """Each with the user at which its range begins and the one before which it ends; nobody is between two ranges."""
    low, lists = None, next(rows, None)
    while lists is not None:
        after = next(rows, None)
        high = None if after is None else after.users[0].as_py()
        yield lists, low, high
        low, lists = high, after


def _in_one(rows: Iterable[WholeLists]) -> Iterator[WholeLists]:
    batches = [batch for lists in rows for batch in lists.table.to_batches()]
    return iter([cut(batches)] if batches else [])
