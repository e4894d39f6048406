"""Batches of rows that never split the list of a user."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from concord.metrics_core.data.numbers import as_arrow, as_numpy

ROWS = 1 << 19  # of a table, and the rest of its last list
Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class ListBatch:
    """Rows of complete lists.

    users  : whose they are, in the order of the rows
    starts : the rows at which they begin
    above  : of each row but the first, is it of the same list?
    items  : the distinct items, where they are known
    """

    table: pa.Table
    users: pa.Array
    starts: Numbers
    above: Flags
    items: pa.Array | None = None

    @property
    def lengths(self) -> Numbers:
        return np.diff(np.append(self.starts, self.table.num_rows))

    @property
    def list_of(self) -> Numbers:
        """Index of the list of each row."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    def column(self, name: str) -> pa.Array:
        return self.table.column(name).chunk(0)

    def numbers(self, name: str) -> NDArray[Any]:
        return as_numpy(self.column(name))

    def upto(self, row: int) -> "ListBatch":
        """Return the lists before the last, which begins at `row`."""
        above = self.above[: row - 1]
        return ListBatch(self.table.slice(0, row), self.users[:-1], self.starts[:-1], above)


def list_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[ListBatch]:
    """Yield all rows in batches of ROWS rows and a little more; the last one is shorter."""
    held: list[pa.RecordBatch] = []
    rows, most = 0, ROWS
    for batch in batches:
        held.append(batch)
        rows += len(batch)
        if rows >= most:
            lists = list_batch(held)
            whole = int(lists.starts[-1])
            if whole:
                yield lists.upto(whole)
            held = lists.table.slice(whole).to_batches()
            rows -= whole
            most = max(ROWS, 2 * rows)  # a list longer than that is put together seldom
    if rows:
        yield list_batch(held)


def list_batch(batches: Sequence[pa.RecordBatch]) -> ListBatch:
    """Return the lists of at least one row."""
    table = pa.Table.from_batches(batches).combine_chunks()
    user = table.column("user").chunk(0)
    above = as_numpy(pc.equal(user[1:], user[:-1]))
    starts = np.append(0, np.flatnonzero(~above) + 1)
    return ListBatch(table, user.take(as_arrow(starts)), starts, above)
