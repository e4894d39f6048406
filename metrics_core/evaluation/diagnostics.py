"""Counts that show whether an evaluation can be trusted: of lists, users and inverse propensities."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import create_view, in_memory
from concord.metrics_core.data.row_checks import only_row
from concord.metrics_core.data.units import user_sql
from concord.metrics_core.errors import in_words
from concord.metrics_core.metrics.judged import Floats, Judged, per_user
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
    with in_memory() as connection:
        create_view(connection, "fingerprinted", users)
        return int(only_row(connection, _FINGERPRINT)[0])


_KNOWN = "SEMI JOIN (SELECT DISTINCT user FROM truth) AS known USING (user)"
_LACKING = "SELECT count(*) FROM lists WHERE item IS NULL"
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
Kind = tuple[
    int, bool, bool
]  # how long a list is; has its user relevant items; are all of them in it?


@dataclass
class ListCounts:
    """What `evaluate_partition` tells of the lists of known users, of all partitions that were added.

    kinds : how many there are of a kind
    users : a fingerprint of their users, which no order changes
    """

    kinds: Counter[Kind] = field(default_factory=Counter)
    users: int = 0

    def add(self, values: pl.DataFrame) -> None:
        """Count those of another partition in."""
        listed = values.filter(pl.col(KNOWN) & (pl.col(LISTED) > 0))
        self.kinds.update(_kinds(listed))
        self.users ^= users_fingerprint(listed.select("user"))


def _kinds(listed: pl.DataFrame) -> dict[Kind, int]:
    some, every = pl.col(RELEVANT) > 0, pl.col(FOUND) == pl.col(RELEVANT)
    kinds = listed.group_by(pl.col(LISTED), some.alias("some"), every.alias("every")).len()
    return {(length, some, every): count for length, some, every, count in kinds.rows()}


def count_list_signs(
    connection: DuckDBPyConnection,
    lists: ListCounts,
    *,
    has_train: bool,
    has_scores: bool,
    ks: Sequence[int],
    of_requests: bool = False,
) -> dict[str, Any]:
    """What the views `lists`, `truth` and, if there is one, `train` tell of one model, over the users whom the truth knows.

    users       : a fingerprint of the users who have a list
    full_lists  : users with a list; of them those whose list is as long as the longest, with relevant items,
                  and with all of these in the list: sampled candidates look like that
    by_cutoff   : k -> `shown` places; of them `in_train`, items that the user had in the train, and `future`, items
                  that first appear in the train after the user's last row of the truth (null without times);
                  `tied`: users whose scores at k and k + 1 are equal

    of_requests : are lists and truth those of requests, of which users are counted above, and whose users the train knows?
    """
    deepest = {"deepest": max(ks, default=0)}
    lacking = only_row(connection, _LACKING)[0]  # told by the file
    misses = dict(connection.execute(_MISSES, deepest).fetchall()) if lacking else {}
    timed = has_train and _times(connection)
    known = _KNOWN_ITEMS.format(owner=user_sql("lists.user") if of_requests else "lists.user")
    ranks = connection.execute(known, deepest).fetchall() if has_train else []
    tied = dict(connection.execute(_TIED, {"ks": list(ks)}).fetchall()) if has_scores and ks else {}
    return {
        "users": f"{lists.users:016x}",
        "full_lists": _full(lists.kinds),
        "by_cutoff": {
            str(k): {
                "shown": _shown(lists.kinds, k) - sum(n for rank, n in misses.items() if rank <= k),
                "in_train": _up_to(k, ranks, 1) if has_train else None,
                "future": _up_to(k, ranks, 2) if timed else None,
                "tied": tied.get(k, 0),
            }
            for k in ks
        },
    }


def _full(lists: Mapping[Kind, int]) -> dict[str, int | None]:
    longest = max((length for length, _, _ in lists), default=None)
    return {
        "users": sum(lists.values()),
        "longest": sum(count for (length, _, _), count in lists.items() if length == longest),
        "length": longest,
        "with_relevant": sum(count for (_, some, _), count in lists.items() if some),
        "holding_all": sum(count for (_, some, every), count in lists.items() if some and every),
    }


def _shown(lists: Mapping[Kind, int], k: int) -> int:
    return sum(min(length, k) * count for (length, _, _), count in lists.items())


def _times(connection: DuckDBPyConnection) -> bool:
    """Views `begins` (of items) and `ends` (of users); are there times?"""
    timed = all("time" in connection.view(name).columns for name in ("truth", "train"))
    last, first = ("max(time)", "min(time)") if timed else ("NULL::DOUBLE", "NULL::DOUBLE")
    connection.execute(f"CREATE VIEW ends AS SELECT user, {last} AS ended FROM truth GROUP BY user")
    connection.execute(
        f"CREATE VIEW begins AS SELECT item, {first} AS began FROM train GROUP BY item"
    )
    return timed


def _up_to(k: int, ranks: Sequence[tuple[int, ...]], column: int) -> int:
    return sum(row[column] for row in ranks if row[0] <= k)


# Columns of a partition's values: of a user's relevant rows the sum of their weights, that of the squares, the
# largest, and how many count as the clip.
COLUMNS = ("#weight", "#weight_squared", "#weight_largest", "#weight_clipped")


def weight_columns(lists: Judged, clip: float) -> dict[str, Floats]:
    """The columns of the users of `lists`, which hold the relevant rows only."""
    assert lists.weights is not None
    weight = lists.weights[1]
    largest = np.zeros(lists.n_users)
    np.maximum.at(largest, lists.truth_user, weight)

    def added(values: Floats) -> Floats:
        return per_user(lists.truth_user, values, lists.n_users)

    clipped = np.where(weight >= 1.0 / clip, 1.0, 0.0)
    found = (added(weight), added(weight * weight), largest, added(clipped))
    return dict(zip(COLUMNS, found, strict=True))


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
        """Count the users of a partition in."""
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
        """(sum of the weights)^2 / sum of their squares: so many rows of equal weight would vary as much (Kish 1965)."""
        squares = math.fsum(self.squares)
        return math.fsum(self.weights) ** 2 / squares if squares else 0.0

    @property
    def content(self) -> dict[str, Any]:
        """As the summary of an evaluation has it; `largest` is the share of the heaviest row in all weights.

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
        """Refuse an evaluation that rests on too few rows.

        Raises
        ------
        ValueError : the effective number of rows lies below the convention's `fewest`
        """
        if self.effective < propensity["fewest"]:
            rows = in_words(self.rows, "relevant row")
            msg = (
                f"propensity: {rows} with these weights are worth {self.effective:.1f} of equal weight, and `fewest` asks "
                f"for {propensity['fewest']:g}; raise `clip`, lower the exponent, or give more data"
            )
            raise ValueError(msg)
