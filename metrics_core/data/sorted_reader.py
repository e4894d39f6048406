"""Read recommendations or ground truth that are sorted by user, in one pass.

Rows in another order are sorted first. A row that this fast path does not cover (an invalid value,
a duplicate item) raises `NotSortedError`; the table is then read by `read_lists` or `side_data`,
which report problems.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.arrow import as_arrow, as_numpy, ascending_codes
from concord.metrics_core.data.list_batches import (
    Count,
    ListBatch,
    ListStatistics,
    Numbers,
    list_batch,
    whole_lists,
)
from concord.metrics_core.data.parse_values import MAX_EXACT, is_float_id_sql
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.ranking import choose_order
from concord.metrics_core.data.read_source import Source
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.value_checks import id_checks
from concord.metrics_core.data.workers import map_in_order
from concord.metrics_core.errors import InputError

MAX_GRADES = 1 << 12  # distinct grades that are counted
MOST_FILLED = 3  # times the rows, if lists of different lengths are sorted as a matrix


class NotSortedError(Exception):
    """The fast path does not apply to these rows, which may be valid."""


@dataclass
class BatchChecker(ABC):
    """Check batches of rows that are grouped by user; `statistics` has the counts of all.

    Raises
    ------
    NotSortedError
        If a value is invalid, or the rows are in another order.
    """

    connection: DuckDBPyConnection
    source: Source
    statistics: ListStatistics = field(default_factory=ListStatistics)

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Columns of the checked rows."""

    @property
    @abstractmethod
    def row_order(self) -> str:
        """SQL of the order in which rows are checked."""

    @abstractmethod
    def check(self, batch: ListBatch) -> tuple[ListBatch, ListStatistics]:
        """Return the valid rows of a batch in their final order, and their counts."""

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
        if not source.is_text(column) or not len(ids):
            return
        conditions = [check.condition for check in id_checks(source, column) if check.per_value]
        query = f"SELECT bool_or({' OR '.join([*conditions, is_float_id_sql(column)])}) FROM ids"
        with self.connection.cursor() as cursor:  # several batches are checked at once
            cursor.register("ids", pa.table({column: ids}))
            (is_invalid,) = only_row(cursor, query)
        if is_invalid:
            raise NotSortedError


@dataclass
class ListChecker(BatchChecker):
    """Check recommendations; `policies` as in `read_lists`."""

    rankings: Sequence[Ranking] = field(kw_only=True)
    policies: Policies = field(kw_only=True)

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
        (self.order,) = orders
        if self.order == "score" and any(r.ties == "average" for r in self.rankings):
            raise NotSortedError  # the table has columns for ties, even if no list has any

    @property
    def schema(self) -> pa.Schema:
        """user, item, rank [, score]."""
        scores = {"score": pa.float64()} if "score" in self.source.columns else {}
        return pa.schema({**self.id_types, "rank": pa.int64(), **scores})

    @property
    def row_order(self) -> str:
        """By rank, by score with the order of equal scores, or as in the file."""
        by_score = "score DESC, " + ("item" if self._ties == {"item_asc"} else "position")
        return "user, " + {"rank": "rank", "score": by_score, "file": "position"}[self.order]

    @property
    def _ties(self) -> set[str]:
        return {ranking.ties for ranking in self.rankings}

    def check(self, batch: ListBatch) -> tuple[ListBatch, ListStatistics]:
        """Check and count the rows, and number ranks from 1."""
        index = np.arange(len(batch.list_of)) - np.repeat(batch.starts, batch.lengths)
        if self.order == "rank" and np.any(
            batch.numbers("rank") != index + self.policies.rank_base
        ):
            raise NotSortedError
        counts = ListStatistics.of_batch(batch, self.order)
        has_score = "score" in self.source.columns
        if has_score:
            self._check_scores(batch, counts)
        if has_repeated_items(batch):
            raise NotSortedError
        self.check_ids("user", batch.users)
        ranks = {"rank": as_arrow(index + 1)}
        scores = {"score": batch.column("score")} if has_score else {}
        return batch.with_columns("user", "item", **ranks, **scores), counts

    def _check_scores(self, batch: ListBatch, counts: ListStatistics) -> None:
        score = batch.numbers("score")
        if np.isnan(score).any():
            raise NotSortedError
        counts.n_infinite = int(np.isinf(score).sum())
        is_higher = batch.continues_list & (score[1:] > score[:-1])
        if self.order == "rank":
            counts.disagreements = _count_rows(np.flatnonzero(is_higher) + 1, batch)
        elif self.order == "score":
            tied = np.flatnonzero(batch.continues_list & (score[1:] == score[:-1]))
            if is_higher.any() or (len(tied) and not self._are_ties_sorted(batch, tied)):
                raise NotSortedError
            counts.ties = _count_rows(np.union1d(tied, tied + 1), batch)

    def _are_ties_sorted(self, batch: ListBatch, tied: Numbers) -> bool:
        """True if ties are in the order of the convention; `tied` rows tie with the next row."""
        if self._ties == {"input"}:
            return True
        item = batch.column("item")
        above, below = (item.take(as_arrow(rows)) for rows in (tied, tied + 1))
        return self._ties == {"item_asc"} and bool(pc.all(pc.greater(below, above)).as_py())


@dataclass
class TruthChecker(BatchChecker):
    """Check ground truth and sort the rows of each user; `with_place` adds positions of rows."""

    with_place: bool = field(kw_only=True)

    @property
    def schema(self) -> pa.Schema:
        """user, item, grade [, time, place]."""
        columns = {**self.id_types, "grade": pa.float64()}
        if "time" in self.source.columns:
            columns["time"] = pa.float64()
        return pa.schema(columns | ({"place": pa.int64()} if self.with_place else {}))

    @property
    def row_order(self) -> str:
        """By user, then as in the file."""
        return "user, position"

    def check(self, batch: ListBatch) -> tuple[ListBatch, ListStatistics]:
        """Check and count the rows; sort those of each user by descending grade and item."""
        counts, grade = ListStatistics.of_batch(batch), self._grades(batch)
        self.check_ids("user", batch.users)
        if has_repeated_items(batch):
            raise NotSortedError
        n_grades, n_items = len(grade.dictionary), len(batch.items.dictionary)
        n_rows = np.bincount(as_numpy(grade.indices), minlength=n_grades)
        grades = as_numpy(grade.dictionary).tolist()
        counts.grades.update(dict(zip(grades, n_rows.tolist(), strict=True)))
        descending = n_grades - 1 - ascending_codes(grade)
        key = (batch.list_of * n_grades + descending) * n_items + ascending_codes(batch.items)
        columns = {"grade": grade.dictionary.take(grade.indices)}
        if "time" in self.source.columns:
            columns["time"] = self._times(batch)
        if self.with_place:
            columns["place"] = batch.column("position")
        rows = batch.with_columns("user", "item", **columns)
        return rows if np.all(key[1:] > key[:-1]) else rows.take(np.argsort(key)), counts

    def _grades(self, batch: ListBatch) -> pa.DictionaryArray:
        if "grade" not in self.source.columns:
            ones = as_arrow(np.ones(batch.table.num_rows))
            return ones.cast(pa.float64()).dictionary_encode()
        grade = batch.column("grade").dictionary_encode()
        # The comparison is also false for NaN.
        too_high = not np.all(as_numpy(grade.dictionary) <= MAX_EXACT)
        if too_high or np.signbit(batch.numbers("grade")).any():
            raise NotSortedError
        return grade

    def _times(self, batch: ListBatch) -> pa.Array:
        times = batch.column("time").cast(pa.float64(), safe=False)
        if np.isnan(as_numpy(times)).any():
            raise NotSortedError
        return times


def read_sorted(checker: BatchChecker, batches: Iterator[pa.RecordBatch]) -> Iterator[ListBatch]:
    """Yield checked rows that are sorted by user; the statistics are complete after the last one.

    Tables of whole lists are checked on all cores.

    Parameters
    ----------
    batches : iterator of pa.RecordBatch
        Columns of the source, and `<column>_invalid` for parsed columns.

    Raises
    ------
    NotSortedError
        If users are not in ascending order, or the fast path does not apply for another reason.
    """
    last, statistics, tables = None, checker.statistics, _readable(batches, checker)
    for batch, counts in map_in_order(lambda table: checker.check(list_batch(table)), tables):
        checker.check_ids("item", statistics.add(counts))
        if len(statistics.grades) > MAX_GRADES or not _is_ascending(batch.users, last):
            raise NotSortedError
        last = batch.users[-1]
        yield batch


def has_repeated_items(batch: ListBatch) -> bool:
    """True if an item occurs twice in a list."""
    codes, longest = as_numpy(batch.items.indices), int(batch.lengths.max())
    n_lists = len(batch.starts)
    if n_lists * longest == len(codes):
        rows = codes.reshape(n_lists, longest)
    elif n_lists * longest <= MOST_FILLED * len(codes):
        rows = np.tile(-1 - np.arange(longest, dtype=codes.dtype), (n_lists, 1))  # no item's code
        index = np.arange(len(codes)) - np.repeat(batch.starts, batch.lengths)
        rows[batch.list_of, index] = codes
    else:
        rows = (batch.list_of * len(batch.items.dictionary) + codes)[np.newaxis]
    ordered = np.sort(rows, axis=1)  # lists one by one: several times as fast as all rows at once
    return bool(np.any(ordered[:, 1:] == ordered[:, :-1]))


def _count_rows(rows: Numbers, batch: ListBatch) -> Count:
    return Count(len(rows), len(np.unique(batch.list_of[rows])))


def _readable(batches: Iterator[pa.RecordBatch], checker: BatchChecker) -> Iterator[pa.Table]:
    """Yield the lists; raise if there are no rows or a value cannot be read."""
    previous, source = None, checker.source
    columns = [*source.columns, *(["position"] if "place" in checker.schema.names else [])]
    for table in whole_lists(_check_nulls(batches, source, columns)):
        if previous is not None:
            yield previous
        previous = table
    if source.raw.problems or previous is None:  # problems are complete after the last row
        raise NotSortedError
    yield previous


def _check_nulls(
    batches: Iterator[pa.RecordBatch], source: Source, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of the batches; raise if a value is missing or invalid."""
    invalid_columns = {f"{name}_invalid" for name in source.parsed}
    for batch in batches:
        for name in batch.schema.names:
            if batch.column(name).null_count != (len(batch) if name in invalid_columns else 0):
                raise NotSortedError
        yield batch.select(columns)


def _is_ascending(users: pa.Array, last: pa.Scalar | None) -> bool:
    if last is not None and not pc.greater(users[0], last).as_py():
        return False
    return bool(pc.all(pc.greater(users[1:], users[:-1]), min_count=0).as_py())
