"""Counts of lists, users and propensities that show whether an evaluation can be trusted."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.ranking import score_key
from concord.metrics_core.data.relations import only_row, registered_only
from concord.metrics_core.data.tables import create_view
from concord.metrics_core.data.units import user_sql
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


_KNOWN = "SEMI JOIN (SELECT DISTINCT user FROM truth) AS known USING (user)"
_COUNT_MISSING = "SELECT count(*) FROM lists WHERE item IS NULL"
_MISSES = f"""
SELECT rank, count(*) FROM lists {_KNOWN} WHERE item IS NULL AND rank <= $deepest GROUP BY rank
"""
_KNOWN_ITEMS = """
SELECT rank, count(*) FILTER (held), count(*) FILTER (began > ended)
FROM (SELECT rank, train.user IS NOT NULL AS held, began, ended
      FROM lists JOIN ends USING (user)
      LEFT JOIN train ON train.user = {owner} AND train.item = lists.item
      LEFT JOIN begins ON begins.item = lists.item
      WHERE rank <= $deepest AND lists.item IS NOT NULL)
GROUP BY rank ORDER BY rank
"""
_TIED = f"""
SELECT k, count(*) FROM (
    SELECT k, user FROM (SELECT user, rank, {{key}} AS score FROM lists)
    JOIN (SELECT unnest($ks) AS k) CROSS JOIN (SELECT unnest([0, 1]) AS below) ON rank = k + below
    {_KNOWN} GROUP BY k, user HAVING count(score) = 2 AND min(score) = max(score))
GROUP BY k
"""
_CONSTANT = f"""
SELECT n, count(*) FROM (
    SELECT count(*) AS n FROM (SELECT user, {{key}} AS score FROM lists)
    {_KNOWN} GROUP BY user HAVING count(*) > 1 AND min(score) = max(score))
GROUP BY n
"""
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


@dataclass
class ListIssues:
    """Counts of issues in the lists of known users; counts of blocks can be added.

    Attributes
    ----------
    missing : Counter
        Number of missing items, by rank.
    in_train : Counter or None
        Number of items that the user has in train, by rank; None without a train.
    future : Counter or None
        Number of items that first occur in train after the user's last row of the ground truth, by
        rank; None without times.
    tied : Counter
        Number of users whose scores at k and k + 1 are equal, by k, also for 1.
    constant : Counter
        Number of users whose scores are all equal, by the length of their list (at least 2).
    """

    missing: Counter[int] = field(default_factory=Counter)
    in_train: Counter[int] | None = None
    future: Counter[int] | None = None
    tied: Counter[int] = field(default_factory=Counter)
    constant: Counter[int] = field(default_factory=Counter)

    def add(self, other: "ListIssues") -> None:
        """Add the counts of another block."""
        self.missing.update(other.missing)
        self.tied.update(other.tied)
        self.constant.update(other.constant)
        self.in_train = _sum_counts(self.in_train, other.in_train)
        self.future = _sum_counts(self.future, other.future)


def _sum_counts(a: Counter[int] | None, b: Counter[int] | None) -> Counter[int] | None:
    return b if a is None else a if b is None else a + b


def count_list_issues(
    connection: DuckDBPyConnection,
    *,
    has_train: bool,
    score_dtype: str | None,
    ks: Sequence[int],
    of_requests: bool = False,
    has_all_items: bool = False,
) -> ListIssues:
    """Return the issues of the lists of users in the ground truth.

    Parameters
    ----------
    connection : DuckDBPyConnection
        With the views `lists`, `truth` and, if `has_train`, `train`.
    has_train : bool
        True if there is a train.
    score_dtype : str or None
        The convention by which scores are compared; None if lists have none.
    ks : sequence of int
        Cutoffs.
    of_requests : bool
        True if lists and ground truth have requests; train has users.
    has_all_items : bool
        True if no list has a rank without an item.
    """
    deepest = {"deepest": max(ks, default=0)}
    issues = ListIssues()
    if not has_all_items and only_row(connection, _COUNT_MISSING)[0]:
        issues.missing.update(dict(connection.execute(_MISSES, deepest).fetchall()))
    if has_train:
        has_times = _create_time_views(connection)
        owner = user_sql("lists.user") if of_requests else "lists.user"
        ranks = connection.execute(_KNOWN_ITEMS.format(owner=owner), deepest).fetchall()
        issues.in_train = Counter({rank: count for rank, count, _ in ranks})
        issues.future = Counter({rank: late for rank, _, late in ranks}) if has_times else None
    if score_dtype is not None:
        key = score_key(score_dtype)
        ties = connection.execute(_TIED.format(key=key), {"ks": [*{1, *ks}]}).fetchall()
        issues.tied.update(dict(ties))
        if issues.tied[1]:
            issues.constant.update(dict(connection.execute(_CONSTANT.format(key=key)).fetchall()))
    return issues


def count_own_ids(lists: pl.LazyFrame, truth: pl.LazyFrame) -> int:
    """Return the number of users of the truth who list the item with their own id unjudged.

    Only the first ranks of a list count, see `OWN_ID_DEPTH`.
    """
    user = pl.col("user").cast(pl.String)
    own = is_own_id(lists)
    users = lists.filter(pl.col("rank") <= OWN_ID_DEPTH, own).select(user).unique().collect()
    if users.is_empty():
        return 0
    rows = truth.select("user", "item").filter(user.is_in(users["user"].implode())).collect()
    return int(rows.group_by("user").agg(judged=is_own_id(rows).any())["judged"].not_().sum())


def is_own_id(rows: pl.DataFrame | pl.LazyFrame) -> pl.Expr:
    """True where user and item have the same id, as numbers or as text."""
    user, item = pl.col("user"), pl.col("item")
    schema = rows.collect_schema()
    if schema["user"] != schema["item"]:
        user, item = user.cast(pl.String), item.cast(pl.String)
    return user == item


def validity(
    lists: ListCounts, issues: ListIssues, counts: Mapping[str, int], ks: Sequence[int]
) -> dict[str, Any]:
    """Return the counts of one model that show whether its evaluation can be trusted.

    Returns
    -------
    dict
        users: fingerprint of the users who have a list.
        full_lists: number of users with a list; of these, users with the longest length, with
        relevant items, and with all relevant items in the list, as with sampled candidates; if
        there are any, those of at least two items with `constant` scores, and all `of_several`.
        perfect_tops: number of users by their kind in `perfect_tops`.
        by_cutoff: by k, the number `shown` of recommendations, of these relevant (`hits`),
        `in_train` and `future`; `tied` as in `ListIssues`.
    """
    return {
        "users": f"{lists.users:016x}",
        "full_lists": _full_list_counts(lists.kinds) | _constant_counts(lists.kinds, issues),
        "perfect_tops": [counts[f"tops@{kind}"] for kind in range(4)],
        "by_cutoff": {
            str(k): {
                "shown": _count_listed(lists.kinds, k) - _up_to(k, issues.missing),
                "hits": counts[f"hits@{k}"],
                "in_train": None if issues.in_train is None else _up_to(k, issues.in_train),
                "future": None if issues.future is None else _up_to(k, issues.future),
                "tied": issues.tied[k],
            }
            for k in ks
        },
    }


def _full_list_counts(lists: Mapping[ListKind, int]) -> dict[str, int | None]:
    longest = max((length for length, _, _ in lists), default=None)
    return {
        "users": sum(lists.values()),
        "longest": sum(count for (length, _, _), count in lists.items() if length == longest),
        "length": longest,
        "with_relevant": sum(n for (_, has_relevant, _), n in lists.items() if has_relevant),
        "holding_all": sum(n for (_, *kind), n in lists.items() if all(kind)),
    }


def _constant_counts(lists: Mapping[ListKind, int], issues: ListIssues) -> dict[str, int]:
    constant = issues.constant.total()
    several = sum(count for (length, _, _), count in lists.items() if length > 1)
    return {"constant": constant, "of_several": several} if constant else {}


def _count_listed(lists: Mapping[ListKind, int], k: int) -> int:
    return sum(min(length, k) * count for (length, _, _), count in lists.items())


def _create_time_views(connection: DuckDBPyConnection) -> bool:
    """Create the views `begins` (of items) and `ends` (of users); True if there are times."""
    has_times = all("time" in connection.view(name).columns for name in ("truth", "train"))
    last, first = ("max(time)", "min(time)") if has_times else ("NULL::DOUBLE", "NULL::DOUBLE")
    connection.execute(
        f"CREATE TEMP VIEW ends AS SELECT user, {last} AS ended FROM truth GROUP BY user"
    )
    connection.execute(
        f"CREATE TEMP VIEW begins AS SELECT item, {first} AS began FROM train GROUP BY item"
    )
    return has_times


def _up_to(k: int, counts: Counter[int]) -> int:
    return sum(count for rank, count in counts.items() if rank <= k)


_OWNED_TRUTH = "CREATE VIEW owned_truth AS SELECT *, {owner} AS owner FROM truth"
_IN_TRAIN = """
SELECT count(*), count(DISTINCT owner) FROM owned_truth AS truth
SEMI JOIN train ON truth.owner = CAST(train.user AS VARCHAR)
               AND CAST(truth.item AS VARCHAR) = CAST(train.item AS VARCHAR)
"""
_SHARED = """
SELECT count(*) FROM (
    SELECT owner FROM owned_truth AS truth
    SEMI JOIN train ON truth.owner = CAST(train.user AS VARCHAR) LIMIT 1)
"""
_ITEM_SHARE = """
SELECT coalesce(avg((item IN (SELECT CAST(item AS VARCHAR) FROM train))::INT), 0)
FROM (SELECT DISTINCT CAST(item AS VARCHAR) AS item FROM truth)
"""
_BEFORE_TRAIN = """
SELECT count(*) FROM (SELECT owner AS user, min(time) AS began FROM owned_truth GROUP BY ALL)
JOIN (SELECT CAST(user AS VARCHAR) AS user, max(last) AS ended FROM train GROUP BY ALL) USING (user)
WHERE began < ended
"""
_BORN_AFTER = """
SELECT count(*), count(DISTINCT owner), count(DISTINCT CAST(item AS VARCHAR))
FROM owned_truth AS truth
JOIN (SELECT CAST({column} AS VARCHAR) AS id, min(time) AS born FROM train GROUP BY ALL) AS first
ON CAST({owned} AS VARCHAR) = first.id WHERE truth.time < born
"""
_OWNED = {"item": "truth.item", "user": "truth.owner"}
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


def count_train_overlap(connection: DuckDBPyConnection, *, of_requests: bool) -> TrainOverlap:
    """Return the overlap of the views `truth` and `train`."""
    owner = user_sql("user") if of_requests else "CAST(user AS VARCHAR)"
    connection.execute(_OWNED_TRUTH.format(owner=owner))
    rows, users = only_row(connection, _IN_TRAIN)
    (truth_rows,) = only_row(connection, "SELECT count(*) FROM truth")
    (train_rows,) = only_row(connection, "SELECT count(*) FROM train")
    (shared,) = only_row(connection, _SHARED)
    shares_items = bool(shared) or only_row(connection, _ITEM_SHARE)[0] >= SHARED_ITEMS
    overlap = TrainOverlap(rows, users, truth_rows, train_rows, bool(shared), shares_items)
    if not all("time" in connection.view(name).columns for name in ("train", "truth")):
        return overlap
    (before,) = only_row(connection, _BEFORE_TRAIN)
    born: dict[str, tuple[int, int, int]] = {}
    for kind, owned in _OWNED.items():
        late, n_users, n_items = only_row(connection, _BORN_AFTER.format(column=kind, owned=owned))
        born[kind] = (late, n_users, n_items)
    return replace(overlap, users_before_train=before, born_after=born)


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
