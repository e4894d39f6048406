"""Counts of lists, users and propensities that show whether an evaluation can be trusted."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.data.arrow import as_arrow, as_numpy, positions
from concord.metrics_core.data.list_batches import ListBatch
from concord.metrics_core.data.relations import only_row, registered_only
from concord.metrics_core.data.tables import create_view
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.errors import format_count
from concord.metrics_core.metrics.judged import Floats, Judged, sum_by_user
from concord.metrics_core.stats.floating_point import exact_parts

# Columns of a block's values.
KNOWN = "#known"  # is the user in the ground truth, or requested?
LISTED = "#listed"  # length of the list
RELEVANT = "#relevant"  # number of relevant items
N_HITS = "#found"  # number of relevant items in the list
OWN_ID_DEPTH = 10  # ranks of a list in which the item with the user's own id counts

_FINGERPRINT = (
    "SELECT coalesce(bit_xor(md5_number_lower(CAST(user AS VARCHAR))), 0) FROM fingerprinted"
)


def users_fingerprint(users: pl.DataFrame) -> int:
    """Return a number that identifies a set of users, whatever their order and type."""
    with registered_only() as connection:
        create_view(connection, "fingerprinted", users)
        return int(only_row(connection, _FINGERPRINT)[0])


# Length of a list; does its user have relevant items; are all of them in the list?
ListKind = tuple[int, bool, bool]


@dataclass
class ListCounts:
    """Counts of the lists of known users; counts of blocks can be added.

    Attributes
    ----------
    kinds : Counter
        Number of lists by kind.
    users : int
        Fingerprint of their users, whatever their order.
    """

    kinds: Counter[ListKind] = field(default_factory=Counter)
    users: int = 0

    def add(self, other: "ListCounts") -> None:
        """Add the lists of another block."""
        self.kinds.update(other.kinds)
        self.users ^= other.users


def listed_fingerprint(values: pl.DataFrame) -> int:
    """Return the fingerprint of the known users who have a list."""
    listed = values.filter(pl.col(KNOWN) & (pl.col(LISTED) > 0))
    return users_fingerprint(listed.select("user"))


def list_kinds(values: pl.DataFrame) -> Counter[ListKind]:
    """Return the number of lists of known users by kind."""
    names = (KNOWN, LISTED, RELEVANT, N_HITS)
    known, length, relevant, found = (values[name].to_numpy() for name in names)
    kind = 4 * length + 2 * (relevant > 0) + (found == relevant)
    kinds, counts = np.unique(kind[known & (length > 0)], return_counts=True)
    return Counter(
        {
            (each >> 2, bool(each & 2), bool(each & 1)): count
            for each, count in zip(kinds.tolist(), counts.tolist(), strict=True)
        }
    )


def count_list_issues(
    lists: ListBatch, truth: ListBatch, score_dtype: str, ks: Sequence[int]
) -> dict[str, int]:
    """Return the counts of issues in the lists of users in the ground truth, by name.

    - `missing@k`: ranks up to k without an item
    - `tied@k`: lists whose scores at k and k + 1 are equal
    - `constant@2`: lists of at least two items whose scores are all equal
    - `own_ids@10`: see `count_own_ids`

    Parameters
    ----------
    lists, truth : ListBatch
        Rows of some users; counts of other users can be added.
    score_dtype : str
        The convention by which scores are compared.
    ks : sequence of int
        Cutoffs.
    """
    rank, lengths = lists.numbers("rank"), lists.lengths
    is_known = np.repeat(positions(lists.users, truth.users) >= 0, lengths)
    missing = rank[is_known & as_numpy(lists.column("item").is_null())]
    counts = {f"missing@{k}": (missing <= k).sum() for k in ks}
    if "score" in lists.table.column_names:
        rows = np.flatnonzero(lists.equal_scores(score_dtype) & is_known[1:])  # equal to the next
        counts |= {f"tied@{k}": (rank[rows] == k).sum() for k in ks}
        n_equal = np.bincount(lists.list_of[rows], minlength=len(lengths))
        counts["constant@2"] = ((n_equal == lengths - 1) & (lengths > 1)).sum()
    counts[f"own_ids@{OWN_ID_DEPTH}"] = count_own_ids(lists, truth)
    return {name: int(count) for name, count in counts.items()}


def count_train_items(
    lists: pl.LazyFrame,
    truth: pl.LazyFrame,
    train: pl.LazyFrame,
    ks: Sequence[int],
    *,
    of_requests: bool,
) -> dict[str, int]:
    """Return the counts of items in the lists of users in the ground truth, by name.

    - `in_train@k`: items up to rank k that the user has in train
    - `future@k`: items up to rank k that first occur in train after the user's last row of the
      ground truth; only if there are times

    Parameters
    ----------
    lists, truth, train : LazyFrame
        The tables; of several rankings the first counts.
    ks : sequence of int
        Cutoffs.
    of_requests : bool
        True if lists and ground truth have requests; train has users.
    """
    lists, truth, train = _with_shared_ids(lists, truth, train)
    has_times = _have_times(truth, train)
    last, first = (pl.col("time").max(), pl.col("time").min()) if has_times else (pl.lit(0.0),) * 2
    if "ranking" in lists.collect_schema():
        lists = lists.filter(pl.col("ranking") == 0)
    shown = lists.filter(pl.col("rank") <= max(ks, default=0), pl.col("item").is_not_null())
    user = pl.col("user")
    owned = shown.join(truth.group_by("user").agg(ended=last), on="user").select(
        "rank", "item", "ended", user=users_of_units(user) if of_requests else user
    )
    counts = (
        owned.join(train.select("user", "item", is_held=True), on=["user", "item"], how="left")
        .join(train.group_by("item").agg(began=first), on="item", how="left")
        .group_by("rank")
        .agg(in_train=pl.col("is_held").count(), future=(pl.col("began") > pl.col("ended")).sum())
        .collect(engine="streaming")
    )
    return {
        f"{name}@{k}": int(counts.filter(pl.col("rank") <= k)[name].sum())
        for name in ("in_train", *(["future"] if has_times else []))
        for k in ks
    }


def _with_shared_ids(*tables: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Return the tables with ids as text, unless all tables have one type."""
    schemas = [table.collect_schema() for table in tables]
    mixed = [name for name in ("user", "item") if len({each[name] for each in schemas}) > 1]
    return [table.with_columns(pl.col(mixed).cast(pl.String)) for table in tables]


def _have_times(*tables: pl.LazyFrame) -> bool:
    return all("time" in table.collect_schema() for table in tables)


def count_own_ids(lists: ListBatch, truth: ListBatch) -> int:
    """Return the number of users of the truth who list the item with their own id unjudged.

    Only the first ranks of a list count, see `OWN_ID_DEPTH`.
    """
    first = as_arrow(np.flatnonzero(lists.numbers("rank") <= OWN_ID_DEPTH))
    rows = pl.DataFrame(lists.table.select(["user", "item"]).take(first))
    users = rows.filter(_is_own_id(rows))["user"].unique()
    if users.is_empty():
        return 0
    judged = pl.DataFrame(truth.table.select(["user", "item"]))
    judged = judged.filter(pl.col("user").is_in(users.implode()))
    return int(judged.group_by("user").agg(is_own=_is_own_id(judged).any())["is_own"].not_().sum())


def _is_own_id(rows: pl.DataFrame) -> pl.Expr:
    """True where user and item have the same id, as numbers or as text."""
    user, item = pl.col("user"), pl.col("item")
    if rows.schema["user"] != rows.schema["item"]:
        user, item = user.cast(pl.String), item.cast(pl.String)
    return user == item


def validity(lists: ListCounts, counts: Counter[str], ks: Sequence[int]) -> dict[str, Any]:
    """Return the counts of one model that show whether its evaluation can be trusted.

    `counts` are those of `count_users`, `count_list_issues` and `count_train_items`.

    Returns
    -------
    dict
        users: fingerprint of the users who have a list.
        full_lists: number of users with a list; of these, users with the longest length, with
        relevant items, and with all relevant items in the list, as with sampled candidates; if
        there are any, those of at least two items with `constant` scores, and all `of_several`.
        perfect_tops: number of users by their kind in `perfect_tops`.
        own_ids: number of users who list the item with their own id, see `count_own_ids`.
        by_cutoff: by k, the number `shown` of recommendations, of these relevant (`hits`),
        `in_train` and `future` (None without a train, or times); number of `tied` lists.
    """
    return {
        "users": f"{lists.users:016x}",
        "full_lists": _full_list_counts(lists.kinds, counts["constant@2"]),
        "perfect_tops": [counts[f"tops@{kind}"] for kind in range(4)],
        "own_ids": counts[f"own_ids@{OWN_ID_DEPTH}"],
        "by_cutoff": {
            str(k): {
                "shown": _count_listed(lists.kinds, k) - counts[f"missing@{k}"],
                "hits": counts[f"hits@{k}"],
                "in_train": counts.get(f"in_train@{k}"),
                "future": counts.get(f"future@{k}"),
                "tied": counts[f"tied@{k}"],
            }
            for k in ks
        },
    }


def _full_list_counts(lists: Mapping[ListKind, int], n_constant: int) -> dict[str, int | None]:
    longest = max((length for length, _, _ in lists), default=None)
    several = sum(count for (length, _, _), count in lists.items() if length > 1)
    return {
        "users": sum(lists.values()),
        "longest": sum(count for (length, _, _), count in lists.items() if length == longest),
        "length": longest,
        "with_relevant": sum(n for (_, has_relevant, _), n in lists.items() if has_relevant),
        "holding_all": sum(n for (_, *kind), n in lists.items() if all(kind)),
        **({"constant": n_constant, "of_several": several} if n_constant else {}),
    }


def _count_listed(lists: Mapping[ListKind, int], k: int) -> int:
    return sum(min(length, k) * count for (length, _, _), count in lists.items())


# Minimum share of the ground truth's items that train must contain to count as the same catalogue.
SHARED_ITEMS = 0.5


@dataclass(frozen=True)
class TrainOverlap:
    """Rows of the ground truth that are also in train, or are earlier.

    Attributes
    ----------
    rows, users : int
        Number of rows whose user has the item in train, and of their users.
    truth_rows, train_rows : int
        Number of rows of the ground truth, and of train.
    shares_users : bool
        True if train has any user of the ground truth.
    shares_items : bool
        True if train has at least half of the items of the ground truth; True if it shares users.
    users_before_train : int
        Number of users with a row before their last row in train.
    born_after : dict
        Numbers of rows, users and items of rows before the `item`, or the `user`, first occurs in
        train.
    """

    rows: int
    users: int
    truth_rows: int
    train_rows: int
    shares_users: bool
    shares_items: bool = True
    users_before_train: int = 0
    born_after: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)

    def __add__(self, other: "TrainOverlap") -> "TrainOverlap":
        """Return the overlap of two blocks of users; their items and times are ignored."""
        return TrainOverlap(
            self.rows + other.rows,
            self.users + other.users,
            self.truth_rows + other.truth_rows,
            self.train_rows + other.train_rows,
            self.shares_users or other.shares_users,
        )


def count_train_overlap(
    truth: pl.LazyFrame, train: pl.LazyFrame, *, of_requests: bool
) -> TrainOverlap:
    """Return the overlap of ground truth and train."""
    if of_requests:
        truth = truth.with_columns(users_of_units(pl.col("user")))
    truth, train = _with_shared_ids(truth, train)
    users, items = pl.col("user").n_unique(), pl.col("item").n_unique()
    pairs = truth.join(train, on=["user", "item"], how="semi")
    n_rows, n_users = _only_row(pairs, pl.len(), users)
    truth_rows, n_items = _only_row(truth, pl.len(), items)
    (train_rows,) = _only_row(train, pl.len())
    shares_users = bool(_only_row(truth.join(train, on="user", how="semi"), pl.len())[0])
    (n_shared,) = _only_row(truth.join(train, on="item", how="semi"), items)
    shares_items = shares_users or n_shared >= SHARED_ITEMS * max(n_items, 1)
    overlap = TrainOverlap(n_rows, n_users, truth_rows, train_rows, shares_users, shares_items)
    if not _have_times(truth, train):
        return overlap
    began = truth.group_by("user").agg(pl.col("time").min())
    ended = train.group_by("user").agg(pl.col("last").max())
    is_before = began.join(ended, on="user").filter(pl.col("time") < pl.col("last"))
    born: dict[str, tuple[int, int, int]] = {}
    for kind in ("item", "user"):
        first = train.group_by(kind).agg(born=pl.col("time").min())
        late = truth.join(first, on=kind).filter(pl.col("time") < pl.col("born"))
        rows, late_users, late_items = _only_row(late, pl.len(), users, items)
        born[kind] = (rows, late_users, late_items)
    (before,) = _only_row(is_before, pl.len())
    return replace(overlap, users_before_train=before, born_after=born)


def _only_row(table: pl.LazyFrame, *values: pl.Expr) -> tuple[Any, ...]:
    named = [value.alias(str(number)) for number, value in enumerate(values)]
    return table.select(named).collect(engine="streaming").row(0)


# Columns of a block's values: of the weights of a user's relevant rows the sum, the sum of
# squares and the largest; and the number of clipped weights.
COLUMNS = ("#weight", "#weight_squared", "#weight_largest", "#weight_clipped")


def weight_columns(lists: Judged, clip: float) -> dict[str, Floats]:
    """Return the columns of the weights of each user's relevant rows, by name."""
    assert lists.weights is not None
    weight = lists.weights[1]
    largest = np.zeros(lists.n_users)
    np.maximum.at(largest, lists.truth_user, weight)

    def total(values: Floats) -> Floats:
        return sum_by_user(lists.truth_user, values, lists.n_users)

    clipped = np.where(weight >= 1.0 / clip, 1.0, 0.0)
    columns = (total(weight), total(weight * weight), largest, total(clipped))
    return dict(zip(COLUMNS, columns, strict=True))


@dataclass
class PropensityCounts:
    """Weights of all relevant rows; blocks add up to the same bits.

    Attributes
    ----------
    rows, clipped : int
        Number of relevant rows, and of those with a clipped weight.
    heaviest : float
        Largest weight.
    weights, squares : list of float
        Numbers that add up to the exact sums of the weights and of their squares.
    unobserved : int
        Number of users with a list and no relevant row.
    only_in_lists : int
        Fingerprint of the users with a list who are not in the ground truth.
    """

    rows: int = 0
    clipped: int = 0
    heaviest: float = 0.0
    weights: list[float] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    unobserved: int = 0
    only_in_lists: int = 0

    def add(self, values: pl.DataFrame) -> None:
        """Add the users of a block."""
        weight, squared, largest, clipped = (values[name].to_numpy() for name in COLUMNS)
        self.rows += int(values[RELEVANT].sum())
        listed = values.filter(pl.col(LISTED) > 0)
        self.unobserved += listed.filter(pl.col(RELEVANT) == 0).height
        self.only_in_lists ^= users_fingerprint(listed.filter(~pl.col(KNOWN)).select("user"))
        self.clipped += int(clipped.sum())
        self.heaviest = max(self.heaviest, float(largest.max(initial=0.0)))
        self.weights += exact_parts(weight)
        self.squares += exact_parts(squared)

    @property
    def effective(self) -> float:
        """Effective sample size (sum of weights)^2 / (sum of squared weights) (Kish 1965)."""
        squares = math.fsum(self.squares)
        return math.fsum(self.weights) ** 2 / squares if squares else 0.0

    @property
    def content(self) -> dict[str, Any]:
        """Entries of a model's summary; `largest` is the share of the largest weight in all."""
        total = math.fsum(self.weights)
        return {
            "rows": self.rows,
            "effective": self.effective,
            "largest": self.heaviest / total if total else None,
            "clipped": self.clipped,
            "unobserved": self.unobserved,
            "only_in_lists": f"{self.only_in_lists:016x}",
        }

    def refuse_few(self, propensity: Mapping[str, Any]) -> None:
        """Check the effective sample size.

        Raises
        ------
        ValueError
            If it is below `fewest` of the convention.
        """
        if self.effective < propensity["fewest"]:
            rows = format_count(self.rows, "relevant row")
            msg = (
                f"propensity: the effective sample size of {rows} is {self.effective:.1f}, and "
                f"`fewest` requires {propensity['fewest']:g}; raise `clip`, lower the exponent, or "
                "give more data"
            )
            raise ValueError(msg)
