"""Read recommendations or ground truth that are grouped by user in one pass, without a sort.

A row that this fast path does not cover (an invalid value, a wrong order, a repeated item) raises `NotSortedError`;
the table is then read by `load_lists` or `side_data`, which report what is wrong.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.list_batches import ListBatch, Numbers, list_batch, list_batches
from concord.metrics_core.data.list_checks import Count
from concord.metrics_core.data.numbers import as_arrow, as_numpy
from concord.metrics_core.data.parse_values import EXACT
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.ranking import choose_order
from concord.metrics_core.data.row_checks import ListsError, only_row
from concord.metrics_core.data.source import Source, is_float_id_sql
from concord.metrics_core.data.value_checks import id_checks

MAX_ROWS = 1 << 25  # rows in memory, where users stand in another order than by id
LISTS = 1 << 13  # that are put in order at a time
NONE = Count()


class NotSortedError(Exception):  # nothing is wrong: the lists are read in another way
    """These lists are not known to be sound and in order."""


class UsersNotSortedError(NotSortedError):
    """Lists are not in the order of their users."""


class BatchChecker(Protocol):
    """Checks whole lists, and counts what it saw."""

    def checked(self, chunk: ListBatch) -> ListBatch:
        """The rows of lists that are sound, in their order."""


class ReadRules(Protocol):
    """What is wanted of a table: the columns of its rows, and that they are sound and in order."""

    def schema(self, source: Source) -> pa.Schema: ...

    def checks(
        self, connection: DuckDBPyConnection, source: Source, passed: "ListStatistics"
    ) -> BatchChecker: ...


@dataclass(frozen=True)
class ListRules:
    """How lists are to be ordered, and what they may hold."""

    rankings: Sequence[Ranking]
    policies: Policies
    order: str | None

    def schema(self, source: Source) -> pa.Schema:
        """User, item, rank [, score]."""
        scores = {"score": pa.float64()} if "score" in source.columns else {}
        return pa.schema({**id_types(source), "rank": pa.int64(), **scores})

    def checks(
        self, connection: DuckDBPyConnection, source: Source, passed: "ListStatistics"
    ) -> BatchChecker:
        return _ListChecker(connection, source, self, passed)


@dataclass
class ListStatistics:
    """What was seen of lists that have gone by."""

    order: str = ""
    rows: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    items: list[pa.Array] = field(default_factory=list)
    ties: Count = NONE
    duplicates: Count = NONE
    disagreements: Count = NONE
    infinite: int = 0
    grades: Counter[float] = field(default_factory=Counter)

    def add(self, chunk: ListBatch, distinct: pa.Array) -> None:
        """The lists of a chunk, with these different items."""
        self.rows += chunk.table.num_rows
        counted = map(np.ndarray.tolist, np.unique(chunk.lengths, return_counts=True))
        self.lengths.update(dict(zip(*counted, strict=True)))
        self.items = [pc.unique(pa.chunked_array([*self.items, distinct]))]

    @property
    def users(self) -> int:
        return self.lengths.total()

    @property
    def length(self) -> tuple[int, float, int]:
        """Of the lists: min, median, max."""
        each = sorted(self.lengths)
        ends = np.cumsum([self.lengths[length] for length in each])
        low, high = (
            each[np.searchsorted(ends, n, side="right")]
            for n in ((self.users - 1) // 2, self.users // 2)
        )
        return each[0], (low + high) / 2, each[-1]

    @property
    def n_items(self) -> int:
        return len(pc.unique(pa.chunked_array(self.items))) if self.items else 0


def read_sorted(
    connection: DuckDBPyConnection,
    source: Source,
    batches: Iterator[pa.RecordBatch],
    wanted: ReadRules,
    passed: ListStatistics,
) -> Iterator[ListBatch]:
    """The rows user, item, rank [, score], by user and rank.

    batches : columns of the source, and `<column>_wrong` where it is unsure
    passed  : complete when the last row has gone by

    Raises
    ------
    UsersOutOfOrder : a list stands behind that of a later user
    OutOfOrder : anything else
    """
    lists = wanted.checks(connection, source, passed)
    last = None
    for chunk in _readable(batches, source):
        if not _ascending(chunk.users, last):
            raise UsersNotSortedError
        last = chunk.users[-1]
        yield lists.checked(chunk)


def read_grouped(
    connection: DuckDBPyConnection,
    source: Source,
    batches: Iterator[pa.RecordBatch],
    wanted: ReadRules,
    passed: ListStatistics,
) -> Iterator[ListBatch]:
    """As `in_order`, of lists that stand in any order of their users; they are put in order in memory."""
    lists = wanted.checks(connection, source, passed)
    tables, users, lengths = [], [], []
    for chunk in _readable(batches, source):
        tables.append(lists.checked(chunk).table)
        users.append(chunk.users)
        lengths.append(chunk.lengths)
        if passed.rows > MAX_ROWS:
            raise NotSortedError
    rows, whose, each = pa.concat_tables(tables), pa.concat_arrays(users), np.concatenate(lengths)
    by_id = as_numpy(pc.array_sort_indices(whose))
    ordered = whose.take(as_arrow(by_id))
    if not _ascending(ordered, None):
        raise NotSortedError  # the list of a user goes on elsewhere
    begins = (np.cumsum(each) - each)[by_id]
    for first in range(0, len(by_id), LISTS):
        some = slice(first, first + LISTS)
        yield list_batch(rows.take(as_arrow(_ranges(begins[some], each[by_id[some]]))).to_batches())


def id_types(source: Source) -> dict[str, pa.DataType]:
    """Of user and item."""
    return {name: pa.string() if source.is_text(name) else pa.int64() for name in ("user", "item")}


def _ranges(begins: Numbers, lengths: Numbers) -> Numbers:
    """begin, begin + 1 … of each range, one behind the other."""
    shifts = begins - (np.cumsum(lengths) - lengths)
    return np.arange(lengths.sum()) + np.repeat(shifts, lengths)


@dataclass
class _ListChecker:
    """Checks chunks of lists, and counts in `passed` what it saw."""

    connection: DuckDBPyConnection
    source: Source
    wanted: ListRules
    passed: ListStatistics

    def __post_init__(self) -> None:
        if self.source.raw.marked:
            raise NotSortedError
        columns = self.source.columns
        has_rank, has_score = ("rank" in columns, "score" in columns)
        settings = self.source.file.settings
        try:
            orders = {
                choose_order(self.wanted.order, has_rank, has_score, ranking.ties, settings)
                for ranking in self.wanted.rankings
            }
        except ListsError:
            raise NotSortedError from None
        single = any(ranking.score_dtype != "float64" for ranking in self.wanted.rankings)
        if len(orders) > 1 or (has_score and (single or self.wanted.policies.nan_score != "error")):
            raise NotSortedError
        (self.passed.order,) = orders
        if self.passed.order == "score" and any(r.ties == "average" for r in self.wanted.rankings):
            raise NotSortedError  # their places are marked, also where no list has ties

    def checked(self, chunk: ListBatch) -> ListBatch:
        """The rows of a chunk that is sound and in order."""
        place = np.arange(len(chunk.list_of)) - np.repeat(chunk.starts, chunk.lengths)
        passed = self.passed
        if passed.order == "rank" and np.any(
            chunk.numbers("rank") != place + self.wanted.policies.rank_base
        ):
            raise NotSortedError
        if "score" in self.source.columns:
            self._check_scores(chunk)
        distinct = self._distinct_items(chunk)
        for column, ids in (("user", chunk.users), ("item", distinct)):
            check_ids(self.connection, self.source, column, ids)
        passed.add(chunk, distinct)
        columns = {name: chunk.column(name) for name in ("user", "item")} | {
            "rank": as_arrow(place + 1)
        }
        if "score" in self.source.columns:
            columns["score"] = chunk.column("score")
        return replace(chunk, table=pa.table(columns), items=distinct)

    def _check_scores(self, chunk: ListBatch) -> None:
        score, passed = chunk.numbers("score"), self.passed
        if np.isnan(score).any():
            raise NotSortedError
        passed.infinite += int(np.isinf(score).sum())
        higher = chunk.above & (score[1:] > score[:-1])
        if passed.order == "rank":
            passed.disagreements = _more(passed.disagreements, np.flatnonzero(higher) + 1, chunk)
        elif passed.order == "score":
            equal = np.flatnonzero(chunk.above & (score[1:] == score[:-1]))
            if higher.any() or (len(equal) and not self._ties_in_order(chunk, equal)):
                raise NotSortedError
            passed.ties = _more(passed.ties, np.union1d(equal, equal + 1), chunk)

    def _ties_in_order(self, chunk: ListBatch, equal: Numbers) -> bool:
        """Do equal scores stand as the one convention breaks their ties? `equal`: rows whose next one ties with them."""
        policies = {ranking.ties for ranking in self.wanted.rankings}
        if policies == {"input"}:
            return True
        item = chunk.column("item")
        above, below = (item.take(as_arrow(rows)) for rows in (equal, equal + 1))
        return policies == {"item_asc"} and bool(pc.all(pc.greater(below, above)).as_py())

    def _distinct_items(self, chunk: ListBatch) -> pa.Array:
        """The different items of a chunk none of whose lists holds one twice."""
        coded = chunk.column("item").dictionary_encode()
        check_unique_items(chunk, as_numpy(coded.indices), len(coded.dictionary))
        return coded.dictionary


def check_unique_items(chunk: ListBatch, codes: NDArray[Any], n_items: int) -> None:
    """Items, by their codes below `n_items`, that stand twice in a list."""
    pairs = chunk.list_of * n_items + codes
    pairs.sort()
    if np.any(pairs[1:] == pairs[:-1]):
        raise NotSortedError


def check_ids(connection: DuckDBPyConnection, source: Source, column: str, ids: pa.Array) -> None:
    """Texts that are refused, or are not read as they are written."""
    if not source.is_text(column):
        return
    wrong = [check.wrong for check in id_checks(source, column) if check.per_value]
    connection.register("ids", pa.table({column: ids}))
    query = f"SELECT bool_or({' OR '.join([*wrong, is_float_id_sql(column)])}) FROM ids"
    (found,) = only_row(connection, query)
    connection.unregister("ids")
    if found:
        raise NotSortedError


def _more(count: Count, rows: Numbers, chunk: ListBatch) -> Count:
    """A count, and with it these rows of a chunk."""
    users = len(np.unique(chunk.list_of[rows])) if len(rows) else 0
    return Count(count.rows + len(rows), count.users + users)


def _readable(batches: Iterator[pa.RecordBatch], source: Source) -> Iterator[ListBatch]:
    """The lists of rows, of which there are some, and whose values can all be read."""
    held = None
    for lists in list_batches(_without_gaps(batches, source)):
        if held is not None:
            yield held
        held = lists
    if source.raw.problems or held is None:  # known once all rows have gone by
        raise NotSortedError
    yield held


def _without_gaps(batches: Iterator[pa.RecordBatch], source: Source) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if any(batch.column(f"{name}_wrong").null_count < len(batch) for name in source.unsure):
            raise NotSortedError
        if any(
            batch.column(name).null_count
            for name in batch.schema.names
            if not name.endswith("_wrong")
        ):
            raise NotSortedError
        yield batch


def _ascending(users: pa.Array, last: pa.Scalar | None) -> bool:
    if last is not None and not pc.greater(users[0], last).as_py():
        return False
    return bool(pc.all(pc.greater(users[1:], users[:-1]), min_count=0).as_py())


MAX_GRADES = 1 << 12  # different ones that are counted
MAX_KEY = 1 << 63


@dataclass(frozen=True)
class TruthRules:
    """`place`: does the order count in which the rows of a user are given?"""

    place: bool

    def schema(self, source: Source) -> pa.Schema:
        """User, item, grade [, time, place]."""
        columns = {**id_types(source), "grade": pa.float64()}
        if "time" in source.columns:
            columns["time"] = pa.float64()
        return pa.schema(columns | ({"place": pa.int64()} if self.place else {}))

    def checks(
        self, connection: DuckDBPyConnection, source: Source, passed: ListStatistics
    ) -> BatchChecker:
        return _TruthChecker(connection, source, passed, self.place)


@dataclass
class _TruthChecker:
    connection: DuckDBPyConnection
    source: Source
    passed: ListStatistics
    place: bool

    def __post_init__(self) -> None:
        if self.source.raw.marked:
            raise NotSortedError

    def checked(self, chunk: ListBatch) -> ListBatch:
        """The rows of a chunk that is sound: of each user by falling grade and item."""
        item, grade = chunk.column("item").dictionary_encode(), self._grades(chunk)
        for column, ids in (("user", chunk.users), ("item", item.dictionary)):
            check_ids(self.connection, self.source, column, ids)
        items, n_items = _ascending_codes(item), len(item.dictionary)
        check_unique_items(chunk, items, n_items)
        falling = len(grade.dictionary) - 1 - _ascending_codes(grade)
        if len(chunk.users) * len(grade.dictionary) * n_items >= MAX_KEY:
            raise NotSortedError
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

    def _grades(self, chunk: ListBatch) -> pa.DictionaryArray:
        if "grade" not in self.source.columns:
            return pa.repeat(pa.scalar(1.0), chunk.table.num_rows).dictionary_encode()
        values = chunk.numbers("grade")
        coded = chunk.column("grade").dictionary_encode()
        distinct = as_numpy(coded.dictionary)
        if np.signbit(values).any() or not np.all(distinct <= EXACT):  # NaN neither
            raise NotSortedError
        counts = np.bincount(as_numpy(coded.indices), minlength=len(distinct))
        self.passed.grades.update(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))
        if len(self.passed.grades) > MAX_GRADES:
            raise NotSortedError
        return coded

    def _times(self, chunk: ListBatch) -> pa.Array:
        times = chunk.column("time").cast(pa.float64(), safe=False)
        if np.isnan(as_numpy(times)).any():
            raise NotSortedError
        return times


def _ascending_codes(coded: pa.DictionaryArray) -> NDArray[np.int64]:
    """(rows,) numbers from 0 that order as the values do."""
    by_value = as_numpy(pc.array_sort_indices(coded.dictionary))
    ranks = np.empty(len(by_value), dtype=np.int64)
    ranks[by_value] = np.arange(len(by_value))
    return ranks[as_numpy(coded.indices)]
