"""Judged and unjudged items in the lists of several models, one query at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from concord.metrics_core.metrics.judged import Floats, Ints

_IDS = ("user", "item")


@dataclass(frozen=True)
class QueryLists:
    """The lists of all models for one query; models are numbered 0 … n_models - 1.

    Attributes
    ----------
    user : str
        Id of the query.
    items : list of str
        Ids of the unjudged items that a list holds, ascending.
    ranks : (n_models, n_items) array of int
        Rank of each unjudged item in each list; 0 if the list does not hold it.
    hit_model, hit_rank, hit_grade : (n_hits,) arrays
        Model, rank and grade of each judged item of a list.
    lengths : (n_models,) array of int
        Length of each list.
    grades : (n_judged,) array
        Grades of the ground truth.
    """

    user: str
    items: Sequence[str]
    ranks: Ints
    hit_model: Ints
    hit_rank: Ints
    hit_grade: Floats
    lengths: Ints
    grades: Floats

    def relevant_at(self, k: int | None, threshold: float) -> "QueryLists":
        """Return the lists cut at k, with the relevant hits and grades only."""
        ranks = self.ranks if k is None else np.where(self.ranks <= k, self.ranks, 0)
        listed = np.flatnonzero(ranks.any(axis=0))
        hit = self.hit_grade >= threshold
        if k is not None:
            hit &= self.hit_rank <= k
        return replace(
            self,
            items=[self.items[position] for position in listed.tolist()],
            ranks=ranks[:, listed],
            hit_model=self.hit_model[hit],
            hit_rank=self.hit_rank[hit],
            hit_grade=self.hit_grade[hit],
            grades=self.grades[self.grades >= threshold],
        )


def read_queries(
    lists: Mapping[str, pl.DataFrame], truth: pl.DataFrame, users: pl.Series
) -> list[QueryLists]:
    """Return the lists of each query, ascending.

    Parameters
    ----------
    lists : dict
        Model -> user, item and rank; a copy has no item, as it can only be a miss.
    truth : DataFrame
        user, item and grade; an item with a negative grade is unjudged.
    users : Series
        Ids of the queries of the ground truth, as text.
    """
    ids = [pl.col(name).cast(pl.String) for name in _IDS]
    queries = users.unique().sort().to_frame("user").with_row_index("number")
    truth = truth.select(*ids, pl.col("grade").cast(pl.Float64)).join(queries, on="user")
    truth = truth.filter(pl.col("grade") >= 0)
    rows = [
        frame.select(*ids, pl.col("rank").cast(pl.Int64), model=pl.lit(number, pl.Int64))
        for number, frame in enumerate(lists.values())
    ]
    listed = pl.concat(rows).join(queries, on="user")
    lengths = np.zeros((len(queries), len(lists)), dtype=np.int64)
    np.add.at(lengths, (listed["number"].to_numpy(), listed["model"].to_numpy()), 1)
    judged = truth.select(*_IDS, "grade")
    listed = listed.drop_nulls("item").join(judged, on=_IDS, how="left")
    listed = listed.sort("number", "item", "model")
    tables = (
        listed.filter(pl.col("grade").is_not_null()),
        listed.filter(pl.col("grade").is_null()),
        truth.sort("number"),
    )
    split = [_split(table, len(queries)) for table in tables]
    return [
        _query(user, *parts, lengths=lengths[number])
        for number, (user, *parts) in enumerate(zip(queries["user"], *split, strict=True))
    ]


def _split(rows: pl.DataFrame, n_users: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of each query; they are sorted by its number."""
    ends = np.searchsorted(rows["number"].to_numpy(), np.arange(n_users), side="right")
    for start, end in pairwise([0, *ends.tolist()]):
        yield rows[start:end]


def _query(
    user: str, hits: pl.DataFrame, unjudged: pl.DataFrame, truth: pl.DataFrame, *, lengths: Ints
) -> QueryLists:
    items, positions = np.unique(unjudged["item"].to_numpy(), return_inverse=True)
    ranks = np.zeros((len(lengths), len(items)), dtype=np.int64)
    ranks[unjudged["model"].to_numpy(), positions] = unjudged["rank"].to_numpy()
    model, rank, grade = (hits[name].to_numpy() for name in ("model", "rank", "grade"))
    grades = truth["grade"].to_numpy()
    return QueryLists(user, items.tolist(), ranks, model, rank, grade, lengths, grades)
