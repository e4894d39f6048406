"""Counts that tell whether an evaluation can be trusted, from one model's lists, the truth and the train."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.checking.units import owner_sql
from concord.metrics_core.scoring.fingerprints import users_fingerprint
from concord.metrics_core.scoring.user_columns import FOUND, KNOWN, LISTED, RELEVANT

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
class Lists:
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


def validity(
    connection: DuckDBPyConnection,
    lists: Lists,
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
    known = _KNOWN_ITEMS.format(owner=owner_sql("lists.user") if of_requests else "lists.user")
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
