"""Lists that stand user by user, each in its order: checked as they are read, and passed on without a sort.

One pass over the rows, which `judgements_in_order.py` makes over the truth also. What it does not vouch for (a value that is refused, an order that has to be made, a
repeated item) ends it with `OutOfOrder`: then the lists are read as all others, and what is to be said is said there.
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
from concord.metrics_core.data.list_checks import Count
from concord.metrics_core.data.numbers import as_arrow, as_numpy
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.ranking import decided
from concord.metrics_core.data.row_checks import ListsError, only_row
from concord.metrics_core.data.source import Source, written_by_floats
from concord.metrics_core.data.value_checks import id_checks
from concord.metrics_core.data.whole_lists import Numbers, WholeLists, cut, whole_lists

MOST_KEPT = 1 << 25  # rows in memory, where users stand in another order than by id
LISTS = 1 << 13  # that are put in order at a time
NONE = Count()


class OutOfOrder(Exception):  # noqa: N818  # nothing is wrong: the lists are read in another way
    """These lists are not known to be sound and in order."""


class UsersOutOfOrder(OutOfOrder):
    """Lists are not in the order of their users."""


class Checks(Protocol):
    """Checks whole lists, and counts what it saw."""

    def checked(self, chunk: WholeLists) -> WholeLists:
        """The rows of lists that are sound, in their order."""


class Checking(Protocol):
    """What is wanted of a table: the columns of its rows, and that they are sound and in order."""

    def schema(self, source: Source) -> pa.Schema: ...

    def checks(
        self, connection: DuckDBPyConnection, source: Source, passed: "Passed"
    ) -> Checks: ...


@dataclass(frozen=True)
class Wanted:
    """How lists are to be ordered, and what they may hold."""

    rankings: Sequence[Ranking]
    policies: Policies
    order: str | None

    def schema(self, source: Source) -> pa.Schema:
        """User, item, rank [, score]."""
        scores = {"score": pa.float64()} if "score" in source.columns else {}
        return pa.schema({**id_types(source), "rank": pa.int64(), **scores})

    def checks(self, connection: DuckDBPyConnection, source: Source, passed: "Passed") -> Checks:
        return _Lists(connection, source, self, passed)


@dataclass
class Passed:
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

    def add(self, chunk: WholeLists, distinct: pa.Array) -> None:
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


def in_order(
    connection: DuckDBPyConnection,
    source: Source,
    batches: Iterator[pa.RecordBatch],
    wanted: Checking,
    passed: Passed,
) -> Iterator[WholeLists]:
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
            raise UsersOutOfOrder
        last = chunk.users[-1]
        yield lists.checked(chunk)


def by_user(
    connection: DuckDBPyConnection,
    source: Source,
    batches: Iterator[pa.RecordBatch],
    wanted: Checking,
    passed: Passed,
) -> Iterator[WholeLists]:
    """As `in_order`, of lists that stand in any order of their users; they are put in order in memory."""
    lists = wanted.checks(connection, source, passed)
    tables, users, lengths = [], [], []
    for chunk in _readable(batches, source):
        tables.append(lists.checked(chunk).table)
        users.append(chunk.users)
        lengths.append(chunk.lengths)
        if passed.rows > MOST_KEPT:
            raise OutOfOrder
    rows, whose, each = pa.concat_tables(tables), pa.concat_arrays(users), np.concatenate(lengths)
    by_id = as_numpy(pc.array_sort_indices(whose))
    ordered = whose.take(as_arrow(by_id))
    if not _ascending(ordered, None):
        raise OutOfOrder  # the list of a user goes on elsewhere
    begins = (np.cumsum(each) - each)[by_id]
    for first in range(0, len(by_id), LISTS):
        some = slice(first, first + LISTS)
        yield cut(rows.take(as_arrow(_ranges(begins[some], each[by_id[some]]))).to_batches())


def id_types(source: Source) -> dict[str, pa.DataType]:
    """Of user and item."""
    return {name: pa.string() if source.is_text(name) else pa.int64() for name in ("user", "item")}


def _ranges(begins: Numbers, lengths: Numbers) -> Numbers:
    """begin, begin + 1 … of each range, one behind the other."""
    shifts = begins - (np.cumsum(lengths) - lengths)
    return np.arange(lengths.sum()) + np.repeat(shifts, lengths)


@dataclass
class _Lists:
    """Checks chunks of lists, and counts in `passed` what it saw."""

    connection: DuckDBPyConnection
    source: Source
    wanted: Wanted
    passed: Passed

    def __post_init__(self) -> None:
        if self.source.raw.marked:
            raise OutOfOrder
        columns = self.source.columns
        has_rank, has_score = ("rank" in columns, "score" in columns)
        settings = self.source.file.settings
        try:
            orders = {
                decided(self.wanted.order, has_rank, has_score, ranking.ties, settings)
                for ranking in self.wanted.rankings
            }
        except ListsError:
            raise OutOfOrder from None
        single = any(ranking.score_dtype != "float64" for ranking in self.wanted.rankings)
        if len(orders) > 1 or (has_score and (single or self.wanted.policies.nan_score != "error")):
            raise OutOfOrder
        (self.passed.order,) = orders
        if self.passed.order == "score" and any(r.ties == "average" for r in self.wanted.rankings):
            raise OutOfOrder  # their places are marked, also where no list has ties

    def checked(self, chunk: WholeLists) -> WholeLists:
        """The rows of a chunk that is sound and in order."""
        place = np.arange(len(chunk.list_of)) - np.repeat(chunk.starts, chunk.lengths)
        passed = self.passed
        if passed.order == "rank" and np.any(
            chunk.numbers("rank") != place + self.wanted.policies.rank_base
        ):
            raise OutOfOrder
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

    def _check_scores(self, chunk: WholeLists) -> None:
        score, passed = chunk.numbers("score"), self.passed
        if np.isnan(score).any():
            raise OutOfOrder
        passed.infinite += int(np.isinf(score).sum())
        higher = chunk.above & (score[1:] > score[:-1])
        if passed.order == "rank":
            passed.disagreements = _more(passed.disagreements, np.flatnonzero(higher) + 1, chunk)
        elif passed.order == "score":
            equal = np.flatnonzero(chunk.above & (score[1:] == score[:-1]))
            if higher.any() or (len(equal) and not self._ties_in_order(chunk, equal)):
                raise OutOfOrder
            passed.ties = _more(passed.ties, np.union1d(equal, equal + 1), chunk)

    def _ties_in_order(self, chunk: WholeLists, equal: Numbers) -> bool:
        """Do equal scores stand as the one convention breaks their ties? `equal`: rows whose next one ties with them."""
        policies = {ranking.ties for ranking in self.wanted.rankings}
        if policies == {"input"}:
            return True
        item = chunk.column("item")
        above, below = (item.take(as_arrow(rows)) for rows in (equal, equal + 1))
        return policies == {"item_asc"} and bool(pc.all(pc.greater(below, above)).as_py())

    def _distinct_items(self, chunk: WholeLists) -> pa.Array:
        """The different items of a chunk none of whose lists holds one twice."""
        coded = chunk.column("item").dictionary_encode()
        refuse_repeated(chunk, as_numpy(coded.indices), len(coded.dictionary))
        return coded.dictionary


def refuse_repeated(chunk: WholeLists, codes: NDArray[Any], n_items: int) -> None:
    """Items, by their codes below `n_items`, that stand twice in a list."""
    pairs = chunk.list_of * n_items + codes
    pairs.sort()
    if np.any(pairs[1:] == pairs[:-1]):
        raise OutOfOrder


def check_ids(connection: DuckDBPyConnection, source: Source, column: str, ids: pa.Array) -> None:
    """Texts that are refused, or are not read as they are written."""
    if not source.is_text(column):
        return
    wrong = [check.wrong for check in id_checks(source, column) if check.per_value]
    connection.register("ids", pa.table({column: ids}))
    query = f"SELECT bool_or({' OR '.join([*wrong, written_by_floats(column)])}) FROM ids"
    (found,) = only_row(connection, query)
    connection.unregister("ids")
    if found:
        raise OutOfOrder


def _more(count: Count, rows: Numbers, chunk: WholeLists) -> Count:
    """A count, and with it these rows of a chunk."""
    users = len(np.unique(chunk.list_of[rows])) if len(rows) else 0
    return Count(count.rows + len(rows), count.users + users)


def _readable(batches: Iterator[pa.RecordBatch], source: Source) -> Iterator[WholeLists]:
    """The lists of rows, of which there are some, and whose values can all be read."""
    held = None
    for lists in whole_lists(_without_gaps(batches, source)):
        if held is not None:
            yield held
        held = lists
    if source.raw.problems or held is None:  # known once all rows have gone by
        raise OutOfOrder
    yield held


def _without_gaps(batches: Iterator[pa.RecordBatch], source: Source) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if any(batch.column(f"{name}_wrong").null_count < len(batch) for name in source.unsure):
            raise OutOfOrder
        if any(
            batch.column(name).null_count
            for name in batch.schema.names
            if not name.endswith("_wrong")
        ):
            raise OutOfOrder
        yield batch


def _ascending(users: pa.Array, last: pa.Scalar | None) -> bool:
    if last is not None and not pc.greater(users[0], last).as_py():
        return False
    return bool(pc.all(pc.greater(users[1:], users[:-1]), min_count=0).as_py())
