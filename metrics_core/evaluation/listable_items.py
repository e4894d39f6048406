"""Items that lists could hold, by popularity, and the ground truth of blocks of users among them.

A block has a fixed number of rows, so that no result depends on an engine or its partitions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.data_conventions import ExcludedPairs
from concord.metrics_core.data.tables import Table, scan, schema_of
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.metrics.judged import (
    Bools,
    Floats,
    Ints,
    Judged,
    differs_from_previous,
)

ROWS_PER_BLOCK = 1 << 22
NO_ROWS: Ints = np.array([], dtype=np.int64)
SAMPLE = 10_000  # first users, whose ground truth decides whether lists repeat items of train
REPEATS = 0.1  # share of the ground truth in train from which lists repeat items of train


@dataclass(frozen=True)
class TruthBlock:
    """Ground truth of some users, by user and best grade first.

    Attributes
    ----------
    users : Series
        Ids of the users.
    n_items, n_popular : (n_users,) int64
        Number of items that a list could hold, and of those that are in train; 0 if unknown.
    user, grade : (n_rows,) arrays
        User number and grade.
    listable : (n_rows,) bool
        True if a list could hold the item.
    popular_rank : (n_rows,) int64
        Rank in the user's list of the most popular items; 0 if the list does not hold it.
    place : (n_rows,) int64, optional
        Position in the ground truth's original order; None if no convention reads it.
    """

    users: pl.Series
    n_items: Ints
    n_popular: Ints
    user: Ints
    grade: Floats
    listable: Bools
    popular_rank: Ints
    place: Ints | None = None

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.users)

    def select(self, users: Bools) -> "TruthBlock":
        """Return the selected users."""
        rows, number = users[self.user], np.cumsum(users) - 1
        return TruthBlock(
            users=self.users.filter(pl.Series(users)),
            n_items=self.n_items[users],
            n_popular=self.n_popular[users],
            user=number[self.user[rows]],
            grade=self.grade[rows],
            listable=self.listable[rows],
            popular_rank=self.popular_rank[rows],
            place=None if self.place is None else self.place[rows],
        )

    def judge(self, rows: Ints, rank: Ints, n_listed: Ints, tied: Ints | None = None) -> Judged:
        """Return lists that hold some rows at these ranks; rows by user and rank."""
        return Judged(
            users=self.users.to_numpy(),
            known=np.ones(self.n_users, dtype=bool),
            n_listed=n_listed,
            hit_user=self.user[rows],
            hit_rank=rank,
            hit_grade=self.grade[rows],
            hit_first=np.ones(len(rows), dtype=bool),
            truth_user=self.user,
            truth_grade=self.grade,
            hit_tied=tied,
            truth_position=self.place,
        )


@dataclass
class ListableItems:
    """Items that lists could hold: those of the catalogue, else of train and ground truth.

    Attributes
    ----------
    data : EvaluationData
        Ground truth and side data.
    conventions : Conventions
        The pinned conventions.
    holds_unknown : bool
        True if lists may hold items that the catalogue lacks.
    repeats : bool or None
        True if lists of popular items repeat items of train, as the ground truth does; None until
        the first block is read.
    """

    data: EvaluationData
    conventions: Conventions
    holds_unknown: bool
    repeats: bool | None = None

    @property
    def is_known(self) -> bool:
        """True if there is a catalogue or train."""
        return self.data.items is not None or self.data.train is not None

    @cached_property
    def table(self) -> pl.DataFrame:
        """Columns item and position, 1 for the item with most users in train; null without any."""
        data = self.data
        tables = [table for table in (data.items, data.train) if table is not None][:1]
        if data.items is None or self.holds_unknown:
            tables.append(data.truth)
        items = pl.concat([self._ids(table, "item") for table in tables]).unique()
        n_users = pl.lit(0)
        if data.train is not None:
            counts = self._ids(data.train, "item").group_by("item").agg(n_users=pl.len())
            items, n_users = items.join(counts, on="item", how="left"), pl.col("n_users")
        text = pl.col("item").cast(pl.String)
        by_popularity = items.sort(n_users, text, descending=[True, False], nulls_last=True)
        position = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
        return by_popularity.select("item", position=pl.when(n_users > 0).then(position)).collect()

    @cached_property
    def n_popular(self) -> int:
        """Number of items that are in train."""
        return self.table["position"].count()

    def blocks(self) -> Iterator[TruthBlock]:
        """Yield all users of the ground truth in blocks."""
        for frame in self._frames():
            yield self._block(frame)
        if self.data.named_users is not None:
            named, truth = (self._ids(t, "user") for t in (self.data.named_users, self.data.truth))
            others = named.join(truth, on="user", how="anti", maintain_order="left").collect()
            yield self._block(self._rows.head(0).collect(), others["user"])

    @property
    def _rows(self) -> pl.LazyFrame:
        others = [name for name in ("grade", "place") if name in schema_of(self.data.truth)]
        ids = (pl.col(name).cast(self._types[name]) for name in ("user", "item"))
        return scan(self.data.truth).select(*ids, *others)

    def _frames(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of the ground truth, all rows of a user in one frame."""
        total = self._rows.select(pl.len()).collect().item()
        start, size = 0, ROWS_PER_BLOCK
        while start < total:
            frame = self._rows.slice(start, size).collect()
            if start + size < total:  # the last user may continue
                frame = frame.filter(pl.col("user") != frame["user"][-1])
                if frame.is_empty():
                    size *= 2
                    continue
            yield frame
            start, size = start + frame.height, ROWS_PER_BLOCK

    def _block(self, frame: pl.DataFrame, users: pl.Series | None = None) -> TruthBlock:
        users = frame["user"].unique(maintain_order=True) if users is None else users
        table = self.table.with_columns(listable=pl.lit(value=True))
        rows = frame.with_columns(number=pl.col("user").rle_id().cast(pl.Int64))
        rows = rows.join(table, on="item", how="left", maintain_order="left").with_columns(
            pl.col("position").fill_null(0), pl.col("listable").fill_null(value=not self.is_known)
        )
        # The input's order of rows has no effect.
        order = [each for each in ("number", "grade", "place", "listable") if each in rows.columns]
        rows = rows.sort(order, descending=[each == "grade" for each in order], maintain_order=True)
        number, position = rows["number"].to_numpy(), rows["position"].to_numpy()
        owners = self._owners(users)
        excluded = self._of_users(owners, self._excluded(owners))
        n_excluded = np.bincount(excluded["number"].to_numpy(), minlength=len(users))
        rank, n_taken = self._popular_ranks(owners, number, position, excluded)
        return TruthBlock(
            users=users,
            n_items=self.table.height - n_excluded if self.is_known else 0 * n_excluded,
            n_popular=self.n_popular - n_taken,
            user=number,
            grade=rows["grade"].to_numpy(),
            listable=rows["listable"].to_numpy(),
            popular_rank=rank,
            place=rows["place"].to_numpy() if "place" in order else None,
        )

    def _popular_ranks(
        self, owners: pl.Series, number: Ints, position: Ints, excluded: pl.DataFrame
    ) -> tuple[Ints, Ints]:
        """Return position less the user's taken items above it, 0 if the item is not listed.

        Also return (n_users,) the number of taken items: the user's own in train, unless lists
        repeat them, and excluded ones.
        """
        radix = self.n_popular + 1
        rows, taken = number * radix + position, _keys(excluded, radix)
        if self.data.train is not None:
            own = _keys(self._of_users(owners, self._train), radix)
            if self.repeats is None:
                sample = rows[number < SAMPLE]
                is_repeated = np.isin(sample, own[own < SAMPLE * radix])
                self.repeats = bool(is_repeated.sum() > REPEATS * len(sample))
            taken = taken if self.repeats else np.concatenate([taken, own])
        taken = np.sort(taken)
        taken = taken[differs_from_previous(taken)]
        n_above = np.searchsorted(taken, rows)
        is_taken = np.append(taken, -1)[n_above] == rows
        rank = position - (n_above - np.searchsorted(taken, number * radix))
        n_taken = np.bincount(taken // radix, minlength=len(owners))
        return np.where((position > 0) & ~is_taken, rank, 0), n_taken

    def _of_users(self, owners: pl.Series, pairs: pl.LazyFrame) -> pl.DataFrame:
        """Return number of the user and position of each pair (user, item) of a listable item."""
        numbered = pl.DataFrame({"user": owners, "number": np.arange(len(owners))}).lazy()
        located = pairs.join(numbered, on="user").join(self.table.lazy(), on="item")
        return located.select("number", "position").collect()

    def _owners(self, users: pl.Series) -> pl.Series:
        """Return the user of each user or request."""
        return users if self.conventions.unit_mean is None else users_of_units(users)

    @property
    def _train(self) -> pl.LazyFrame:
        assert self.data.train is not None
        return scan(self.data.train).select(
            pl.col("user").cast(pl.String if self.conventions.unit_mean else self._types["user"]),
            pl.col("item").cast(self._types["item"]),
        )

    def _excluded(self, owners: pl.Series) -> pl.LazyFrame:
        """Return user and item of the pairs that `exclude` takes; ids are compared as text."""
        exclude, text = self.conventions.exclude, owners.cast(pl.String)
        pairs = pl.DataFrame({"user": text, "item": text})
        if exclude is None:
            pairs = pairs.clear()
        if isinstance(exclude, ExcludedPairs):
            pairs = pl.DataFrame(exclude.pairs).rename(lambda name: name.removeprefix("excluded_"))
        items = self.table.lazy().select("item", text=pl.col("item").cast(pl.String))
        users = pl.DataFrame({"user": owners, "owner": text}).lazy().unique()
        pairs_of_block = pairs.lazy().unique().rename({"user": "owner", "item": "text"})
        return pairs_of_block.join(items, on="text").join(users, on="owner").select("user", "item")

    def _ids(self, table: Table, name: str) -> pl.LazyFrame:
        return scan(table).select(pl.col(name).cast(self._types[name]))

    @cached_property
    def _types(self) -> dict[str, Any]:
        """Type of user and item: text, unless all tables have one type."""
        data = self.data
        tables = [data.truth, data.train, data.items, data.named_users]
        kinds = {
            name: {schema_of(t)[name] for t in tables if t is not None and name in schema_of(t)}
            for name in ("user", "item")
        }
        return {name: each.pop() if len(each) == 1 else pl.String for name, each in kinds.items()}


def _keys(pairs: pl.DataFrame, radix: int) -> Ints:
    """Return number of the user and position as one integer, of items in train."""
    known = pairs.drop_nulls("position")
    return known["number"].to_numpy() * radix + known["position"].to_numpy()
