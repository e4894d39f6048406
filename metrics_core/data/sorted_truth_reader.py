"""Judgements that stand user by user, in any order of a user's items: checked as they are read, and sorted within a user.

What `in_order.py` does with lists; what it does not vouch for is left to the table in the same way.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from concord.metrics_core.data.numbers import as_arrow, as_numpy
from concord.metrics_core.data.parse_values import EXACT
from concord.metrics_core.data.sorted_reader import (
    Checks,
    OutOfOrder,
    Passed,
    check_ids,
    id_types,
    refuse_repeated,
)
from concord.metrics_core.data.source import Source
from concord.metrics_core.data.whole_lists import WholeLists

MOST_GRADES = 1 << 12  # different ones that are counted
MOST_KEY = 1 << 63


@dataclass(frozen=True)
class WantedTruth:
    """`place`: does the order count in which the rows of a user are given?"""

    place: bool

    def schema(self, source: Source) -> pa.Schema:
        """User, item, grade [, time, place]."""
        columns = {**id_types(source), "grade": pa.float64()}
        if "time" in source.columns:
            columns["time"] = pa.float64()
        return pa.schema(columns | ({"place": pa.int64()} if self.place else {}))

    def checks(self, connection: DuckDBPyConnection, source: Source, passed: Passed) -> Checks:
        return _Judgements(connection, source, passed, self.place)


@dataclass
class _Judgements:
    connection: DuckDBPyConnection
    source: Source
    passed: Passed
    place: bool

    def __post_init__(self) -> None:
        if self.source.raw.marked:
            raise OutOfOrder

    def checked(self, chunk: WholeLists) -> WholeLists:
        """The rows of a chunk that is sound: of each user by falling grade and item."""
        item, grade = chunk.column("item").dictionary_encode(), self._grades(chunk)
        for column, ids in (("user", chunk.users), ("item", item.dictionary)):
            check_ids(self.connection, self.source, column, ids)
        items, n_items = _ascending_codes(item), len(item.dictionary)
        refuse_repeated(chunk, items, n_items)
        falling = len(grade.dictionary) - 1 - _ascending_codes(grade)
        if len(chunk.users) * len(grade.dictionary) * n_items >= MOST_KEY:
            raise OutOfOrder
        key = (chunk.list_of * len(grade.dictionary) + falling) * n_items + items
        order = None if np.all(key[1:] > key[:-1]) else as_arrow(np.argsort(key))
        self.passed.add(chunk, item.dictionary)
        columns = {"item": chunk.column("item"), "grade": grade.dictionary.take(grade.indices)}
        if "time" in self.source.columns:
            columns["time"] = self._times(chunk)
        if self.place:
            columns["place"] = chunk.column("position")
        if order is not None:
            columns = {name: column.take(order) for name, column in columns.items()}
        table = pa.table({"user": chunk.column("user"), **columns})
        return replace(chunk, table=table, items=item.dictionary)

    def _grades(self, chunk: WholeLists) -> pa.DictionaryArray:
        if "grade" not in self.source.columns:
            return pa.repeat(pa.scalar(1.0), chunk.table.num_rows).dictionary_encode()
        values = chunk.numbers("grade")
        coded = chunk.column("grade").dictionary_encode()
        distinct = as_numpy(coded.dictionary)
        if np.signbit(values).any() or not np.all(distinct <= EXACT):  # NaN neither
            raise OutOfOrder
        counts = np.bincount(as_numpy(coded.indices), minlength=len(distinct))
        self.passed.grades.update(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))
        if len(self.passed.grades) > MOST_GRADES:
            raise OutOfOrder
        return coded

    def _times(self, chunk: WholeLists) -> pa.Array:
        times = chunk.column("time").cast(pa.float64(), safe=False)
        if np.isnan(as_numpy(times)).any():
            raise OutOfOrder
        return times


def _ascending_codes(coded: pa.DictionaryArray) -> NDArray[np.int64]:
    """(rows,) numbers from 0 that order as the values do."""
    by_value = as_numpy(pc.array_sort_indices(coded.dictionary))
    ranks = np.empty(len(by_value), dtype=np.int64)
    ranks[by_value] = np.arange(len(by_value))
    return ranks[as_numpy(coded.indices)]
