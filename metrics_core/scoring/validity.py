"""Counts that tell whether an evaluation can be trusted, from one model's lists, the truth and the train."""

from collections.abc import Sequence
from typing import Any

from duckdb import DuckDBPyConnection

_FULL_LISTS = """
SELECT count(*), count(*) FILTER (n = longest), max(n), count(*) FILTER (wanted > 0),
       count(*) FILTER (wanted > 0 AND found = wanted)
FROM (SELECT *, max(n) OVER () AS longest FROM (
    SELECT user, count(*) AS n, count(grade) FILTER (grade >= $threshold) AS found, any_value(wanted) AS wanted
    FROM lists LEFT JOIN truth USING (user, item)
    JOIN (SELECT user, count(*) FILTER (grade >= $threshold) AS wanted FROM truth GROUP BY user) USING (user)
    GROUP BY user))
"""
_USERS = """
SELECT coalesce(bit_xor(md5_number_lower(CAST(user AS VARCHAR))), 0)
FROM (SELECT DISTINCT user FROM lists SEMI JOIN truth USING (user))
"""
_KNOWN_ITEMS = """
SELECT rank, count(*), count(*) FILTER (held), count(*) FILTER (began > ended)
FROM (SELECT rank, train.user IS NOT NULL AS held, began, ended
      FROM lists JOIN ends USING (user) LEFT JOIN train USING (user, item) LEFT JOIN begins USING (item)
      WHERE rank <= $deepest AND lists.item IS NOT NULL)
GROUP BY rank ORDER BY rank
"""
_TIED = """
SELECT count(*) FROM (SELECT user FROM lists SEMI JOIN truth USING (user)
                      WHERE rank IN ($k, $k + 1) GROUP BY user HAVING count(score) = 2 AND min(score) = max(score))
"""


def validity(
    connection: DuckDBPyConnection, *, has_train: bool, ks: Sequence[int], threshold: float | None
) -> dict[str, Any]:
    """What the views `lists`, `truth` and, if there is one, `train` tell of one model, over the users whom the truth knows.

    users       : a fingerprint of the users who have a list
    full_lists  : users with a list; of them those whose list is as long as the longest, with relevant items,
                  and with all of these in the list: sampled candidates look like that
    by_cutoff   : k -> `shown` places; of them `in_train`, items that the user had in the train, and `future`, items
                  that first appear in the train after the user's last row of the truth (null without times);
                  `tied`: users whose scores at k and k + 1 are equal
    """
    timed = _times(connection, has_train=has_train)
    least = {"threshold": float("-inf") if threshold is None else threshold}
    names = ("users", "longest", "length", "with_relevant", "holding_all")
    found = connection.execute(_FULL_LISTS, least).fetchall()[0]
    deepest = max(ks, default=0)
    ranks = connection.execute(_KNOWN_ITEMS, {"deepest": deepest}).fetchall()
    (users,) = connection.execute(_USERS).fetchall()[0]
    return {
        "users": f"{users:016x}",
        "full_lists": dict(zip(names, found, strict=True)),
        "by_cutoff": {
            str(k): {
                "shown": _up_to(k, ranks, 1),
                "in_train": _up_to(k, ranks, 2) if has_train else None,
                "future": _up_to(k, ranks, 3) if timed else None,
                "tied": _tied(connection, k),
            }
            for k in ks
        },
    }


def _times(connection: DuckDBPyConnection, *, has_train: bool) -> bool:
    """Views `begins` (of items) and `ends` (of users), and a train in any case; are there times?"""
    if not has_train:
        connection.execute("CREATE VIEW train AS SELECT user, item FROM lists WHERE FALSE")
    timed = all("time" in connection.view(name).columns for name in ("truth", "train"))
    last, first = ("max(time)", "min(time)") if timed else ("NULL::DOUBLE", "NULL::DOUBLE")
    connection.execute(f"CREATE VIEW ends AS SELECT user, {last} AS ended FROM truth GROUP BY user")
    connection.execute(
        f"CREATE VIEW begins AS SELECT item, {first} AS began FROM train GROUP BY item"
    )
    return timed


def _up_to(k: int, ranks: Sequence[tuple[int, ...]], column: int) -> int:
    return sum(row[column] for row in ranks if row[0] <= k)


def _tied(connection: DuckDBPyConnection, k: int) -> int:
    (count,) = connection.execute(_TIED, {"k": k}).fetchall()[0]
    return int(count)
