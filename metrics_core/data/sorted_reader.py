"""Read recommendations or ground truth that are grouped by user in one pass, without a sort.

A row that this fast path does not cover (an invalid value, a wrong order, a duplicate item) raises
`NotSortedError`; the table is then read by `read_lists` or `side_data`, which report problems.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.arrow import as_arrow, as_numpy
from concord.metrics_core.data.list_batches import (
    Count,
    ListBatch,
    ListStatistics,
    Numbers,
    list_batch,
    list_batches,
)
from concord.metrics_core.data.parse_values import MAX_EXACT, is_float_id_sql
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.ranking import choose_order
from concord.metrics_core.data.read_source import Source
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.value_checks import id_checks
from concord.metrics_core.errors import InputError

MAX_ROWS = 1 << 25  # rows in memory, if users are not sorted by id
LISTS_AT_ONCE = 1 << 13  # lists that are collected at a time
MAX_GRADES = 1 << 12  # distinct grades that are counted


class NotSortedError(Exception):
    """The fast path does not apply to these rows, which may be valid."""


class UsersNotSortedError(NotSortedError):
    """The lists are not sorted by user."""


@dataclass
class BatchChecker(ABC):
    """Check batches of rows that are grouped by user, and count them in `statistics`.

    Raises
    ------
    NotSortedError
        If a value is invalid, or the rows are in another order.
    """

    connection: DuckDBPyConnection
    source: Source
    statistics: ListStatistics

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Columns of the checked rows."""

    @abstractmethod
    def check(self, batch: ListBatch) -> ListBatch:
        """Return the valid rows of a batch in their final order."""

    @property
    def id_types(self) -> dict[str, pa.DataType]:
        """Types of user and item."""
        return {
            name: pa.string() if self.source.is_text(name) else pa.int64()
            for name in ("user", "item")
        }

    def check_ids(self, column: str, ids: pa.Array) -> None:
        """Raise if a text id is invalid or would be read without its `.0`."""
        source = self.source
        if not source.is_text(column):
            return
        conditions = [check.condition for check in id_checks(source, column) if check.per_value]
        self.connection.register("ids", pa.table({column: ids}))
        query = f"SELECT bool_or({' OR '.join([*conditions, is_float_id_sql(column)])}) FROM ids"
        (is_invalid,) = only_row(self.connection, query)
        self.connection.unregister("ids")
        if is_invalid:
            raise NotSortedError


@dataclass
class ListChecker(BatchChecker):
    """Check recommendations; `policies` as in `read_lists`."""

    rankings: Sequence[Ranking]
    policies: Policies

    def __post_init__(self) -> None:
        has_score = "score" in self.source.columns
        try:
            orders = {choose_order(self.source, r.ties) for r in self.rankings}
        except InputError:
            raise NotSortedError from None
        single = any(ranking.score_dtype != "float64" for ranking in self.rankings)
        if any(ranking.exclude for ranking in self.rankings):
            raise NotSortedError
        if len(orders) > 1 or (has_score and (single or self.policies.nan_score != "error")):
            raise NotSortedError
        (self.statistics.order,) = orders
        if self.statistics.order == "score" and any(r.ties == "average" for r in self.rankings):
            raise NotSortedError  # the table has columns for ties, even if no list has any

    @property
    def schema(self) -> pa.Schema:
        """user, item, rank [, score]."""
        scores = {"score": pa.float64()} if "score" in self.source.columns else {}
        return pa.schema({**self.id_types, "rank": pa.int64(), **scores})

    def check(self, batch: ListBatch) -> ListBatch:
        """Check the rows, count them in `statistics`, and number ranks from 1."""
        index = np.arange(len(batch.list_of)) - np.repeat(batch.starts, batch.lengths)
        if self.statistics.order == "rank" and np.any(
            batch.numbers("rank") != index + self.policies.rank_base
        ):
            raise NotSortedError
        has_score = "score" in self.source.columns
        if has_score:
            self._check_scores(batch)
        items = batch.column("item").dictionary_encode()
        check_unique_items(batch, as_numpy(items.indices), len(items.dictionary))
        self.check_ids("user", batch.users)
        self.check_ids("item", items.dictionary)
        self.statistics.add(batch, items.dictionary)
        columns = {name: batch.column(name) for name in ("user", "item")}
        columns["rank"] = as_arrow(index + 1)
        if has_score:
            columns["score"] = batch.column("score")
        return replace(batch, table=pa.table(columns), items=items.dictionary)

    def _check_scores(self, batch: ListBatch) -> None:
        score, statistics = batch.numbers("score"), self.statistics
        if np.isnan(score).any():
            raise NotSortedError
        statistics.n_infinite += int(np.isinf(score).sum())
        is_higher = batch.continues_list & (score[1:] > score[:-1])
        if statistics.order == "rank":
            statistics.disagreements += _count_rows(np.flatnonzero(is_higher) + 1, batch)
        elif statistics.order == "score":
            tied = np.flatnonzero(batch.continues_list & (score[1:] == score[:-1]))
            if is_higher.any() or (len(tied) and not self._are_ties_sorted(batch, tied)):
                raise NotSortedError
            statistics.ties += _count_rows(np.union1d(tied, tied + 1), batch)

    def _are_ties_sorted(self, batch: ListBatch, tied: Numbers) -> bool:
        """True if ties are in the order of the convention; `tied` rows tie with the next row."""
        policies = {ranking.ties for ranking in self.rankings}
        if policies == {"input"}:
            return True
        item = batch.column("item")
        above, below = (item.take(as_arrow(rows)) for rows in (tied, tied + 1))
        return policies == {"item_asc"} and bool(pc.all(pc.greater(below, above)).as_py())


@dataclass
class TruthChecker(BatchChecker):
    """Check ground truth and sort the rows of each user; `with_place` adds positions of rows."""

    with_place: bool

    @property
    def schema(self) -> pa.Schema:
        """user, item, grade [, time, place]."""
        columns = {**self.id_types, "grade": pa.float64()}
        if "time" in self.source.columns:
            columns["time"] = pa.float64()
        return pa.schema(columns | ({"place": pa.int64()} if self.with_place else {}))

    def check(self, batch: ListBatch) -> ListBatch:
        """Return the rows, of each user by descending grade and item."""
        item, grade = batch.column("item").dictionary_encode(), self._grades(batch)
        self.check_ids("user", batch.users)
        self.check_ids("item", item.dictionary)
        items, n_items = _ascending_codes(item), len(item.dictionary)
        check_unique_items(batch, items, n_items)
        descending = len(grade.dictionary) - 1 - _ascending_codes(grade)
        key = (batch.list_of * len(grade.dictionary) + descending) * n_items + items
        order = None if np.all(key[1:] > key[:-1]) else as_arrow(np.argsort(key))
        self.statistics.add(batch, item.dictionary)
        columns = {"item": batch.column("item"), "grade": grade.dictionary.take(grade.indices)}
        if "time" in self.source.columns:
            columns["time"] = self._times(batch)
        if self.with_place:
            columns["place"] = batch.column("position")
        if order is not None:
            columns = {name: column.take(order) for name, column in columns.items()}
        table = pa.table({"user": batch.column("user"), **columns})
        return replace(batch, table=table, items=item.dictionary)

    def _grades(self, batch: ListBatch) -> pa.DictionaryArray:
        statistics = self.statistics
        if "grade" not in self.source.columns:
            statistics.grades[1.0] += batch.table.num_rows
            ones = as_arrow(np.ones(batch.table.num_rows))
            return ones.cast(pa.float64()).dictionary_encode()
        grade = batch.column("grade").dictionary_encode()
        distinct = as_numpy(grade.dictionary)
        # The comparison is also false for NaN.
        if np.signbit(batch.numbers("grade")).any() or not np.all(distinct <= MAX_EXACT):
            raise NotSortedError
        counts = np.bincount(as_numpy(grade.indices), minlength=len(distinct))
        statistics.grades.update(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))
        if len(statistics.grades) > MAX_GRADES:
            raise NotSortedError
        return grade

    def _times(self, batch: ListBatch) -> pa.Array:
        times = batch.column("time").cast(pa.float64(), safe=False)
        if np.isnan(as_numpy(times)).any():
            raise NotSortedError
        return times


def read_sorted(checker: BatchChecker, batches: Iterator[pa.RecordBatch]) -> Iterator[ListBatch]:
    """Yield checked rows that are sorted by user; the statistics are complete after the last one.

    Parameters
    ----------
    batches : iterator of pa.RecordBatch
        Columns of the source, and `<column>_invalid` for parsed columns.

    Raises
    ------
    UsersNotSortedError
        If users are not in ascending order.
    NotSortedError
        If the fast path does not apply for another reason.
    """
    last = None
    for batch in _readable(batches, checker.source):
        if not _is_ascending(batch.users, last):
            raise UsersNotSortedError
        last = batch.users[-1]
        yield checker.check(batch)


def read_grouped(checker: BatchChecker, batches: Iterator[pa.RecordBatch]) -> Iterator[ListBatch]:
    """Return the same as `read_sorted`, for users in any order; they are sorted in memory."""
    tables, users, lengths = [], [], []
    for batch in _readable(batches, checker.source):
        tables.append(checker.check(batch).table)
        users.append(batch.users)
        lengths.append(batch.lengths)
        if checker.statistics.rows > MAX_ROWS:
            raise NotSortedError
    rows, list_users = pa.concat_tables(tables), pa.concat_arrays(users)
    n_rows = np.concatenate(lengths)
    by_id = as_numpy(pc.array_sort_indices(list_users))
    if not _is_ascending(list_users.take(as_arrow(by_id)), None):
        raise NotSortedError  # the list of a user continues elsewhere
    starts = (np.cumsum(n_rows) - n_rows)[by_id]
    for first in range(0, len(by_id), LISTS_AT_ONCE):
        chunk = slice(first, first + LISTS_AT_ONCE)
        row_indices = as_arrow(_ranges(starts[chunk], n_rows[by_id[chunk]]))
        yield list_batch(rows.take(row_indices).to_batches())


def check_unique_items(batch: ListBatch, codes: NDArray[Any], n_items: int) -> None:
    """Raise if an item occurs twice in a list; `codes` are the items as numbers below `n_items`."""
    pairs = batch.list_of * n_items + codes
    pairs.sort()
    if np.any(pairs[1:] == pairs[:-1]):
        raise NotSortedError


def _ranges(starts: Numbers, lengths: Numbers) -> Numbers:
    """Concatenate start, start + 1 … of each range."""
    shifts = starts - (np.cumsum(lengths) - lengths)
    return np.arange(lengths.sum()) + np.repeat(shifts, lengths)


def _count_rows(rows: Numbers, batch: ListBatch) -> Count:
    return Count(len(rows), len(np.unique(batch.list_of[rows])))


def _readable(batches: Iterator[pa.RecordBatch], source: Source) -> Iterator[ListBatch]:
    """Yield the lists; raise if there are no rows or a value cannot be read."""
    previous = None
    for batch in list_batches(_check_nulls(batches, source)):
        if previous is not None:
            yield previous
        previous = batch
    if source.raw.problems or previous is None:  # problems are complete after the last row
        raise NotSortedError
    yield previous


def _check_nulls(batches: Iterator[pa.RecordBatch], source: Source) -> Iterator[pa.RecordBatch]:
    """Yield the batches; raise if a value is missing or invalid."""
    invalid_columns = {f"{name}_invalid" for name in source.parsed}
    for batch in batches:
        for name in batch.schema.names:
            if batch.column(name).null_count != (len(batch) if name in invalid_columns else 0):
                raise NotSortedError
        yield batch


def _is_ascending(users: pa.Array, last: pa.Scalar | None) -> bool:
    if last is not None and not pc.greater(users[0], last).as_py():
        return False
    return bool(pc.all(pc.greater(users[1:], users[:-1]), min_count=0).as_py())


def _ascending_codes(values: pa.DictionaryArray) -> NDArray[np.int64]:
    """Return the codes (from 0) of encoded values, in the order of the values; shape (rows,)."""
    by_value = as_numpy(pc.array_sort_indices(values.dictionary))
    codes = np.empty(len(by_value), dtype=np.int64)
    codes[by_value] = np.arange(len(by_value))
    return codes[as_numpy(values.indices)]
