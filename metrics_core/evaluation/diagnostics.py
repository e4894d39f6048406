"""Counts that show whether an evaluation can be trusted: of lists, users and inverse propensities."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import create_view, only_row, registered_only
from concord.metrics_core.data.units import user_sql
from concord.metrics_core.errors import format_count
from concord.metrics_core.metrics.judged import Floats, Judged, sum_by_user
from concord.metrics_core.stats.exact_sums import exact_parts

KNOWN = "#known"  # is the user in the truth, or named?
LISTED = "#listed"  # length of the list
RELEVANT = "#relevant"  # relevant items
FOUND = "#found"  # those of them in the list


_FINGERPRINT = (
    "SELECT coalesce(bit_xor(md5_number_lower(CAST(user AS VARCHAR))), 0) FROM fingerprinted"
)


def users_fingerprint(users: pl.DataFrame) -> int:
    """Return a number that tells sets of users apart; no order and no type of ids changes it."""
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
      LEFT JOIN train ON train.user = {owner} AND train.item = lists.item LEFT JOIN begins ON begins.item = lists.item
      WHERE rank <= $deepest AND lists.item IS NOT NULL)
GROUP BY rank ORDER BY rank
"""
_TIED = f"""
SELECT k, count(*) FROM (
    SELECT k, user FROM lists JOIN (SELECT unnest($ks) AS k) CROSS JOIN (SELECT unnest([0, 1]) AS below) ON rank = k + below
    {_KNOWN} GROUP BY k, user HAVING count(score) = 2 AND min(score) = max(score))
GROUP BY k
"""
ListKind = tuple[
    int, bool, bool
]  # how long a list is; has its user relevant items; are all of them in it?


@dataclass
class ListCounts:
    """Counts of the lists of known users; those of partitions add up.

    kinds : kind -> number of lists
    users : a fingerprint of their users that does not depend on their order
    """

    kinds: Counter[ListKind] = field(default_factory=Counter)
    users: int = 0

    def add(self, values: pl.DataFrame) -> None:
        """Add the lists of another partition."""
        self.kinds.update(list_kinds(values))
        listed = values.filter(pl.col(KNOWN) & (pl.col(LISTED) > 0))
        self.users ^= users_fingerprint(listed.select("user"))


def list_kinds(values: pl.DataFrame) -> dict[ListKind, int]:
    """Return the number of lists of known users by kind."""
    listed = values.filter(pl.col(KNOWN) & (pl.col(LISTED) > 0))
    some, every = pl.col(RELEVANT) > 0, pl.col(FOUND) == pl.col(RELEVANT)
    kinds = listed.group_by(pl.col(LISTED), some.alias("some"), every.alias("every")).len()
    return {(length, some, every): count for length, some, every, count in kinds.rows()}


@dataclass
class ListSigns:
    """Counts of places and ties in the lists of known users; those of partitions add up.

    Attributes
    ----------
    missing : Counter
        Rank -> places without an item.
    in_train, future : Counter or None
        Rank -> items that the user had in train, and items that first appear in train after the user's last row of
        the ground truth; None without a train, and without times.
    tied : Counter
        k -> users whose scores at k and k + 1 are equal.
    """

    missing: Counter[int] = field(default_factory=Counter)
    in_train: Counter[int] | None = None
    future: Counter[int] | None = None
    tied: Counter[int] = field(default_factory=Counter)

    def add(self, other: "ListSigns") -> None:
        """Add the counts of another partition."""
        self.missing.update(other.missing)
        self.tied.update(other.tied)
        self.in_train = _sum_counts(self.in_train, other.in_train)
        self.future = _sum_counts(self.future, other.future)


def _sum_counts(a: Counter[int] | None, b: Counter[int] | None) -> Counter[int] | None:
    return b if a is None else a if b is None else a + b


def count_list_signs(
    connection: DuckDBPyConnection,
    *,
    has_train: bool,
    has_scores: bool,
    ks: Sequence[int],
    of_requests: bool = False,
    has_all_items: bool = False,
) -> ListSigns:
    """Return the counts of the views `lists`, `truth` and, if there is one, `train`, over the users of the ground truth.

    has_all_items : True if each place of a list is known to have an item
    of_requests : True if lists and ground truth are those of requests; the train has their users
    """
    deepest = {"deepest": max(ks, default=0)}
    signs = ListSigns()
    if not has_all_items and only_row(connection, _COUNT_MISSING)[0]:
        signs.missing.update(dict(connection.execute(_MISSES, deepest).fetchall()))
    if has_train:
        timed = _times(connection)
        owner = user_sql("lists.user") if of_requests else "lists.user"
        ranks = connection.execute(_KNOWN_ITEMS.format(owner=owner), deepest).fetchall()
        signs.in_train = Counter({rank: count for rank, count, _ in ranks})
        signs.future = Counter({rank: late for rank, _, late in ranks}) if timed else None
    if has_scores and ks:
        signs.tied.update(dict(connection.execute(_TIED, {"ks": list(ks)}).fetchall()))
    return signs


def validity(lists: ListCounts, signs: ListSigns, ks: Sequence[int]) -> dict[str, Any]:
    """Return the counts of one model that show whether its evaluation can be trusted.

    users       : a fingerprint of the users who have a list
    full_lists  : users with a list; of them those whose list is as long as the longest, with relevant items,
                  and with all of these in the list: sampled candidates look like that
    by_cutoff   : k -> `shown` places; of them `in_train` and `future`; `tied`: see `ListSigns`
    """
    return {
        "users": f"{lists.users:016x}",
        "full_lists": _full(lists.kinds),
        "by_cutoff": {
            str(k): {
                "shown": _count_listed(lists.kinds, k) - _up_to(k, signs.missing),
                "in_train": None if signs.in_train is None else _up_to(k, signs.in_train),
                "future": None if signs.future is None else _up_to(k, signs.future),
                "tied": signs.tied[k],
            }
            for k in ks
        },
    }


def _full(lists: Mapping[ListKind, int]) -> dict[str, int | None]:
    longest = max((length for length, _, _ in lists), default=None)
    return {
        "users": sum(lists.values()),
        "longest": sum(count for (length, _, _), count in lists.items() if length == longest),
        "length": longest,
        "with_relevant": sum(count for (_, some, _), count in lists.items() if some),
        "holding_all": sum(count for (_, some, every), count in lists.items() if some and every),
    }


def _count_listed(lists: Mapping[ListKind, int], k: int) -> int:
    return sum(min(length, k) * count for (length, _, _), count in lists.items())


def _times(connection: DuckDBPyConnection) -> bool:
    """Create the views `begins` (of items) and `ends` (of users); return True if there are times."""
    timed = all("time" in connection.view(name).columns for name in ("truth", "train"))
    last, first = ("max(time)", "min(time)") if timed else ("NULL::DOUBLE", "NULL::DOUBLE")
    connection.execute(
        f"CREATE TEMP VIEW ends AS SELECT user, {last} AS ended FROM truth GROUP BY user"
    )
    connection.execute(
        f"CREATE TEMP VIEW begins AS SELECT item, {first} AS began FROM train GROUP BY item"
    )
    return timed


def _up_to(k: int, counts: Counter[int]) -> int:
    return sum(count for rank, count in counts.items() if rank <= k)


_OWNED_TRUTH = "CREATE VIEW owned_truth AS SELECT *, {owner} AS owner FROM truth"
_IN_TRAIN = """
SELECT count(*), count(DISTINCT owner) FROM owned_truth AS truth
SEMI JOIN train ON truth.owner = CAST(train.user AS VARCHAR)
               AND CAST(truth.item AS VARCHAR) = CAST(train.item AS VARCHAR)
"""
_SHARED = """
SELECT count(*) FROM (SELECT owner FROM owned_truth AS truth SEMI JOIN train ON truth.owner = CAST(train.user AS VARCHAR) LIMIT 1)
"""
_BEFORE_TRAIN = """
SELECT count(*) FROM (SELECT owner AS user, min(time) AS began FROM owned_truth GROUP BY ALL)
JOIN (SELECT CAST(user AS VARCHAR) AS user, max(last) AS ended FROM train GROUP BY ALL) USING (user)
WHERE began < ended
"""
_BORN_AFTER = """
SELECT count(*), count(DISTINCT owner), count(DISTINCT CAST(item AS VARCHAR)) FROM owned_truth AS truth
JOIN (SELECT CAST({column} AS VARCHAR) AS id, min(time) AS born FROM train GROUP BY ALL) AS first
ON CAST({owned} AS VARCHAR) = first.id WHERE truth.time < born
"""
_OWNED = {"item": "truth.item", "user": "truth.owner"}


@dataclass(frozen=True)
class TrainOverlap:
    """Rows of the ground truth that train has too, or that come before it.

    Attributes
    ----------
    rows, users : int
        Rows whose user has the item in train, and their users.
    truth_rows : int
        All rows of the ground truth.
    shares_users : bool
        True if train has any user of the ground truth.
    users_before_train : int
        Users with a row before their last one in train.
    born_after : dict
        `item` or `user` -> rows before the item, or the user, first appears in train; their users and items.
    """

    rows: int
    users: int
    truth_rows: int
    shares_users: bool
    users_before_train: int = 0
    born_after: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)

    def __add__(self, other: "TrainOverlap") -> "TrainOverlap":
        """Return the overlap of both partitions of users, without times."""
        return TrainOverlap(
            self.rows + other.rows,
            self.users + other.users,
            self.truth_rows + other.truth_rows,
            self.shares_users or other.shares_users,
        )


def count_train_overlap(connection: DuckDBPyConnection, *, of_requests: bool) -> TrainOverlap:
    """Return the overlap of the views `truth` and `train`."""
    owner = user_sql("user") if of_requests else "CAST(user AS VARCHAR)"
    connection.execute(_OWNED_TRUTH.format(owner=owner))
    rows, users = only_row(connection, _IN_TRAIN)
    (truth_rows,) = only_row(connection, "SELECT count(*) FROM truth")
    (shared,) = only_row(connection, _SHARED)
    if not all("time" in connection.view(name).columns for name in ("train", "truth")):
        return TrainOverlap(rows, users, truth_rows, bool(shared))
    (before,) = only_row(connection, _BEFORE_TRAIN)
    born: dict[str, tuple[int, int, int]] = {}
    for kind, owned in _OWNED.items():
        late, n_users, n_items = only_row(connection, _BORN_AFTER.format(column=kind, owned=owned))
        born[kind] = (late, n_users, n_items)
    return TrainOverlap(rows, users, truth_rows, bool(shared), before, born)


# Columns of a partition's values: of a user's relevant rows the sum of their weights, that of the squares, the
# largest, and how many count as the clip.
COLUMNS = ("#weight", "#weight_squared", "#weight_largest", "#weight_clipped")


def weight_columns(lists: Judged, clip: float) -> dict[str, Floats]:
    """Return the columns of the weights of each user's relevant rows."""
    assert lists.weights is not None
    weight = lists.weights[1]
    largest = np.zeros(lists.n_users)
    np.maximum.at(largest, lists.truth_user, weight)

    def added(values: Floats) -> Floats:
        return sum_by_user(lists.truth_user, values, lists.n_users)

    clipped = np.where(weight >= 1.0 / clip, 1.0, 0.0)
    columns = (added(weight), added(weight * weight), largest, added(clipped))
    return dict(zip(COLUMNS, columns, strict=True))


@dataclass
class WeightCounts:
    """The weights of all relevant rows; partitions add up to the same bits."""

    rows: int = 0
    clipped: int = 0
    heaviest: float = 0.0
    weights: list[float] = field(default_factory=list)  # numbers that add up to the exact sum
    squares: list[float] = field(default_factory=list)
    unobserved: int = 0  # users with a list, of whom no relevant row was observed
    only_in_lists: int = 0  # a fingerprint of the users with a list whom the truth does not know

    def add(self, values: pl.DataFrame) -> None:
        """Add the users of a partition."""
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
        """The effective sample size (sum of weights)^2 / (sum of squared weights) (Kish 1965)."""
        squares = math.fsum(self.squares)
        return math.fsum(self.weights) ** 2 / squares if squares else 0.0

    @property
    def content(self) -> dict[str, Any]:
        """The entries of a model's summary; `largest` is the share of the heaviest row in all weights.

        unobserved : users with a list and no relevant row; `only_in_lists`: a fingerprint of those with no row at all
        """
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
        """Raise if the effective sample size is too small.

        Raises
        ------
        ValueError
            It is below `fewest` of the convention.
        """
        if self.effective < propensity["fewest"]:
            rows = format_count(self.rows, "relevant row")
            msg = (
                f"propensity: {rows} with these weights are worth {self.effective:.1f} of equal weight, and `fewest` asks "
                f"for {propensity['fewest']:g}; raise `clip`, lower the exponent, or give more data"
            )
            raise ValueError(msg)
