"""Tables of rows that never split the list of a user, and statistics of their rows."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from concord.metrics_core.data.arrow import as_arrow, as_numpy, codes, decode, one_array, positions

MIN_ROWS = 3 << 17  # of each table but the last
Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class ListBatch:
    """Rows of complete lists.

    Attributes
    ----------
    users : pa.Array
        The user of each list.
    starts : array of int
        Index of the first row of each list.
    continues_list : array of bool
        For each row but the first, True if the row above belongs to the same list.
    known_items : pa.DictionaryArray, optional
        `items`, if they are known.
    """

    table: pa.Table
    users: pa.Array
    starts: Numbers
    continues_list: Flags
    known_items: pa.DictionaryArray | None = None

    @cached_property
    def items(self) -> pa.DictionaryArray:
        """The item of each row, as an index in the distinct items."""
        if self.known_items is not None:
            return self.known_items
        items = one_array(self.table.column("item"))
        if not pa.types.is_dictionary(items.type):
            return items.dictionary_encode()
        code, n_items = codes(items), len(items.dictionary)
        occurs = np.bincount(code, minlength=n_items) > 0  # others are in rows around these
        number = np.cumsum(occurs) - 1
        distinct = items.dictionary.take(as_arrow(np.flatnonzero(occurs)))
        indices = as_arrow(number[code]).cast(pa.int32())
        return pa.DictionaryArray.from_arrays(indices, distinct)

    @property
    def lengths(self) -> Numbers:
        return np.diff(np.append(self.starts, self.table.num_rows))

    @property
    def list_of(self) -> Numbers:
        """Index of the list of each row."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    def column(self, name: str) -> pa.Array:
        return decode(one_array(self.table.column(name)))

    def numbers(self, name: str) -> NDArray[Any]:
        return as_numpy(self.column(name))

    def equal_scores(self, score_dtype: str) -> Flags:
        """Return for each row but the first whether its score is that of the row above.

        Rows of different lists are not equal.
        """
        score = self.numbers("score")
        if score_dtype != "float64":
            with np.errstate(over="ignore"):  # becomes infinite, as in C
                score = score.astype(np.float32)
        above, below = score[:-1], score[1:]
        return self.continues_list & ((above == below) | (np.isnan(above) & np.isnan(below)))

    def with_columns(self, *kept: str, **others: pa.Array) -> "ListBatch":
        """Return the same lists with some of the columns and others."""
        columns = {name: self.column(name) for name in kept} | others
        return replace(self, table=pa.table(columns), known_items=self.items)

    def take(self, rows: Numbers) -> "ListBatch":
        """Return the same lists with the rows of each in another order."""
        order = as_arrow(rows)
        return replace(self, table=self.table.take(order), known_items=self.items.take(order))


def whole_lists(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield all rows in tables of whole lists, of at least MIN_ROWS rows but for the last."""
    pending: list[pa.RecordBatch] = []
    n_rows, min_rows = 0, MIN_ROWS
    for batch in batches:
        pending.append(batch)
        n_rows += len(batch)
        if n_rows >= min_rows:
            table = pa.Table.from_batches(pending)
            last_start = _start_of_last(table.column("user"))
            if last_start:
                yield table.slice(0, last_start)
            pending = table.slice(last_start).to_batches()
            n_rows -= last_start
            min_rows = max(MIN_ROWS, 2 * n_rows)  # so that a longer list is seldom copied
    if n_rows:
        yield pa.Table.from_batches(pending)


def _start_of_last(users: pa.ChunkedArray) -> int:
    """Return the index of the first row of the last user."""
    start, last = len(users), decode(users.chunks[-1][-1:])
    for chunk in reversed(users.chunks):
        if pa.types.is_dictionary(chunk.type):
            is_other = codes(chunk) != positions(last, chunk.dictionary)
        else:
            is_other = positions(chunk, last) < 0
        others = np.flatnonzero(is_other)
        start -= len(chunk)
        if len(others):
            return start + int(others[-1]) + 1
    return start


def list_batch(table: pa.Table) -> ListBatch:
    """Return the lists of a table whose rows are grouped by user."""
    table = table.combine_chunks()
    user = one_array(table.column("user"))
    key = user.indices if pa.types.is_dictionary(user.type) else user
    continues_list = as_numpy(pc.equal(key[1:], key[:-1]))
    starts = np.append(0, np.flatnonzero(~continues_list) + 1)[: len(user)]
    return ListBatch(table, decode(user.take(as_arrow(starts))), starts, continues_list)


@dataclass(frozen=True)
class Count:
    """Number of rows, and of their users."""

    rows: int = 0
    users: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.rows + other.rows, self.users + other.users)


@dataclass
class ListStatistics:
    """Counts of the rows of a table.

    Attributes
    ----------
    order : str
        What the lists are ordered by: rank, score or file.
    ties : Count
        Rows with the score of a neighbour; counted if the lists are ordered by score.
    duplicates : Count
        Rows that repeat an item of the same list; later copies only.
    excluded : Count
        Rows that the convention `exclude` removed.
    disagreements : Count
        Rows with a higher score than the row above; counted if the lists are ordered by rank.
    lengths : Counter of int
        Number of lists of each length.
    n_infinite : int
        Infinite scores.
    grades : Counter of float
        Number of rows of each grade.
    """

    order: str = ""
    ties: Count = Count()
    duplicates: Count = Count()
    disagreements: Count = Count()
    excluded: Count = Count()
    rows: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    n_items: int = 0
    n_infinite: int = 0
    grades: Counter[float] = field(default_factory=Counter)
    items: pa.Array | None = None

    @classmethod
    def of_batch(cls, batch: ListBatch, order: str = "") -> "ListStatistics":
        """Count the lists of a batch and its distinct items."""
        counts = map(np.ndarray.tolist, np.unique(batch.lengths, return_counts=True))
        lengths = Counter(dict(zip(*counts, strict=True)))
        items = batch.items.dictionary
        return cls(order, rows=batch.table.num_rows, lengths=lengths, items=items)

    def add(self, other: "ListStatistics") -> pa.Array:
        """Add the counts of another batch of the table; return the items that are new."""
        self.order = other.order
        self.ties += other.ties
        self.disagreements += other.disagreements
        self.rows += other.rows
        self.lengths.update(other.lengths)
        self.n_infinite += other.n_infinite
        self.grades.update(other.grades)
        items = [each for each in (self.items, other.items) if each is not None]
        self.items = pc.unique(pa.chunked_array(items))
        n_known, self.n_items = self.n_items, len(self.items)
        return self.items[n_known:]  # in the order in which they occur

    @property
    def n_users(self) -> int:
        """Number of lists."""
        return self.lengths.total()


def length_summary(lengths: Mapping[int, int]) -> tuple[int, float, int]:
    """Return minimum, median and maximum length, 0 without any; `lengths`: length -> count."""
    if not lengths:
        return 0, 0, 0
    values = sorted(lengths)
    ends = list(accumulate(lengths[value] for value in values))
    low, high = (values[bisect_right(ends, n)] for n in ((ends[-1] - 1) // 2, ends[-1] // 2))
    return values[0], (low + high) / 2, values[-1]
