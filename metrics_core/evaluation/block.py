"""Blocks of whole users, which are evaluated at once, and sorted tables that they are cut from."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from concord.metrics_core.data.arrow import as_arrow
from concord.metrics_core.data.list_batches import ListBatch, list_batch
from concord.metrics_core.data.tables import Table


@dataclass(frozen=True)
class Block:
    """All rows of some users; ids of a column have one type in lists, truth and known users.

    Attributes
    ----------
    lists : ListBatch
        user, item, rank [, score, ranking, tie_first, tie_last], by user and rank.
    truth : ListBatch
        user, item, grade [, time, place, propensity, subtopics], by user.
    known : Array or None
        Users who are evaluated whether or not they have a list; None for those of the truth.
    train : Table or None
        user and item of train, with the rows of these users at least; None without a train.
    """

    lists: ListBatch
    truth: ListBatch
    known: pa.Array | None = None
    train: pa.Table | None = None

    @classmethod
    def from_tables(
        cls,
        lists: pa.Table | ListBatch,
        truth: pa.Table,
        known: pa.Table | None = None,
        train: pa.Table | None = None,
    ) -> "Block":
        """Return the block of these tables; ids become text if their types differ."""
        batch = lists if isinstance(lists, ListBatch) else None
        rows = lists.table if isinstance(lists, ListBatch) else lists
        ids = rows.schema.field("user").type
        rows, truth, *others = _with_shared_ids([rows, truth] + ([] if known is None else [known]))
        if rows.schema.field("user").type != ids:  # text has another order
            rows = rows.take(pc.sort_indices(rows, [("user", "ascending"), ("rank", "ascending")]))
        if batch is None or rows is not batch.table:
            batch = list_batch(rows)
        users = pc.unique(others[0].column("user")) if others else None
        return cls(batch, list_batch(truth), users, train)

    def lists_of(self, ranking: int) -> ListBatch:
        """Return the lists of a ranking by its number, if the tables have several."""
        if "ranking" not in self.lists.table.column_names:
            return self.lists
        rows = np.flatnonzero(self.lists.numbers("ranking") == ranking)
        return list_batch(self.lists.table.take(as_arrow(rows)))

    @property
    def known_users(self) -> pa.Array:
        """Users who are evaluated whether or not they have a list."""
        return self.truth.users if self.known is None else self.known


def _with_shared_ids(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Return the tables with ids of one type in each column: integers, or text in all of them."""
    shared = list(tables)
    for name in ("user", "item"):
        kinds = [table.schema.field(name).type for table in tables if name in table.column_names]
        kind = pa.int64() if all(map(pa.types.is_integer, kinds)) else pa.string()
        shared = [_with_type(table, name, kind) for table in shared]
    return shared


def _with_type(table: pa.Table, name: str, kind: pa.DataType) -> pa.Table:
    number = table.schema.get_field_index(name)
    if number < 0 or table.schema.field(number).type == kind:
        return table
    return table.set_column(number, name, table.column(number).cast(kind))


@dataclass(frozen=True)
class SortedRows:
    """A table in memory that is sorted by user."""

    table: pa.Table

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        return self.table.schema

    @cached_property
    def users(self) -> pl.Series:
        """The user of each row."""
        return pl.Series(self.table.column("user"))

    def starts(self, rows: int) -> list[Any]:
        """Return the first users of ranges of about so many rows, but for the first range."""
        users = self.users
        firsts = (
            users.gather(np.arange(rows, len(users), rows)).unique(maintain_order=True).to_list()
        )
        return firsts if not firsts or firsts[0] != users[0] else firsts[1:]

    def between(self, low: Any, high: Any) -> pa.Table:
        """Return the rows with low <= user < high; None is no bound."""
        start = 0 if low is None else self.users.search_sorted(low, side="left")
        end = len(self.table) if high is None else self.users.search_sorted(high, side="left")
        return self.table.slice(start, end - start)


@dataclass(frozen=True)
class SortedFile:
    """A parquet file that is sorted by user; see `SortedRows`.

    It is opened at each call: ranges are read in several threads or processes.
    """

    path: Path
    columns: Sequence[str]

    @cached_property
    def _metadata(self) -> pq.FileMetaData:
        """The file's footer, which grows with the file: it is read once."""
        return pq.read_metadata(self.path)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that are read."""
        fields = self._metadata.schema.to_arrow_schema()
        return pa.schema([fields.field(name) for name in self.columns])

    @cached_property
    def _groups(self) -> "list[RowGroup]":
        """The row groups that have rows."""
        with pq.ParquetFile(self.path, metadata=self._metadata) as file:
            index = file.schema_arrow.get_field_index("user")
            groups = []
            for number in range(file.num_row_groups):
                group = file.metadata.row_group(number)
                known = group.column(index).statistics
                if known is not None and known.has_min_max:
                    groups.append(RowGroup(number, known.min, known.max, group.num_rows))
                elif group.num_rows:  # ids that are too long for statistics
                    users = file.read_row_group(number, ["user"]).column("user")
                    ends = users[0].as_py(), users[-1].as_py()
                    groups.append(RowGroup(number, *ends, group.num_rows))
            return groups

    def starts(self, rows: int) -> list[Any]:
        """See `SortedRows`."""
        starts, n_rows = [], 0
        for group in self._groups:
            if n_rows and n_rows + group.rows > rows:
                starts.append(group.first)
                n_rows = 0
            n_rows += group.rows
        return sorted({*starts} - {self._groups[0].first}) if starts else []

    def between(self, low: Any, high: Any) -> pa.Table:
        """See `SortedRows`."""
        groups = self._groups
        start = 0 if low is None else bisect_left(groups, low, key=lambda each: each.last)
        end = None if high is None else bisect_left(groups, high, key=lambda each: each.first)
        read = [group.number for group in groups[start:end]]
        with pq.ParquetFile(self.path, metadata=self._metadata) as file:
            rows = file.read_row_groups(read, [*self.columns], use_threads=False)
        return SortedRows(rows).between(low, high)


class RowGroup(NamedTuple):
    """Number of a row group, its first and last user, and its number of rows."""

    number: int
    first: Any
    last: Any
    rows: int


def sorted_by_user(table: Table, columns: Sequence[str]) -> SortedRows | SortedFile:
    """Return some columns of a table that is sorted by user."""
    if isinstance(table, Path):
        return SortedFile(table, columns)
    return SortedRows(table.select(columns).to_arrow())
