"""Lists that are evaluated as they are read, half a million rows at a time: their rows are kept nowhere."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.id_types import share_id_types
from concord.metrics_core.reading.whole_lists import WholeLists, cut
from concord.metrics_core.scoring.partition import Part, Task, evaluate_partition
from concord.metrics_core.scoring.ranges import in_range, one_ahead

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
        users, items = [], pc.unique(nothing.column("item"))
        self.parts, self.refused = [], False
        self.connection.register("going_by", nothing)
        share_id_types(self.connection, _WHOLE)
        own, shared = (self.connection.view(n).select("user").types for n in ("going_by", "lists"))
        ordered = iter(rows) if own == shared else _in_one(rows)  # as text users stand otherwise
        for lists, low, high in _ranges(one_ahead(ordered)):
            users.append(lists.users)
            here = lists.column("item") if lists.items is None else lists.items
            items = pc.unique(pa.chunked_array([items, here]))
            self._evaluate(lists.table, low, high)
        if not users:
            self._evaluate(nothing, None, None)
        of_each = (
            pa.table({"user": pa.chunked_array(users, schema.field("user").type)}),
            pa.table({"item": items}),
        )
        self.ids = pa.concat_tables(of_each, promote_options="default")

    def _evaluate(self, rows: pa.Table, low: Any, high: Any) -> None:
        if self.refused:
            return
        connection = self.connection
        connection.register("going_by", rows)
        for name in ("truth", "known"):
            here = connection.view(f"all_{name}")
            if low is not None or high is not None:  # a join with a table is planned by its size
                connection.execute(f"DROP TABLE IF EXISTS {name}_here")
                in_range(here, low, high).create(f"{name}_here")
                here = connection.table(f"{name}_here")
            here.create_view(name)
        try:
            self.parts.append(evaluate_partition(connection, self.task))
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
