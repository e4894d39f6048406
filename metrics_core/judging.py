"""Judging: ranked lists + truth -> Judged, in three ordered fetches from DuckDB.

The relations are `lists` (user, item, rank), `truth` (user, item, grade) and `known` (user): whom the truth
knows, with or without rows. All sorting is explicit, so threads and row order leave no trace.
"""

from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection

from metrics_core.judged import Judged

# A user number follows the order of the ids; the lists are counted once and joined once.
_USERS = """
CREATE OR REPLACE TEMP TABLE judged_users AS
SELECT user, CAST(row_number() OVER (ORDER BY user) - 1 AS BIGINT) AS number,
       bool_or(known) AS known, CAST(sum(n_listed) AS BIGINT) AS n_listed
FROM (SELECT user, TRUE AS known, 0 AS n_listed FROM known GROUP BY user
      UNION ALL
      SELECT user, FALSE AS known, count(*) AS n_listed FROM lists GROUP BY user)
GROUP BY user
{restricted}
"""
_TRUTH = """
SELECT number, grade FROM truth JOIN judged_users USING (user) ORDER BY number, grade DESC
"""
_HITS = """
SELECT number, rank, grade, {first} AS first
FROM (SELECT user, item, rank, grade FROM lists JOIN truth USING (user, item)) JOIN judged_users USING (user)
ORDER BY number, rank
"""
_FIRST_COPY = "row_number() OVER (PARTITION BY number, item ORDER BY rank) = 1"


def judge(connection: DuckDBPyConnection, *, only_known: bool, copies: bool) -> Judged:
    """Judged lists of the users of `known` and `lists`; with `only_known` of those in `known`.

    `copies` says that a list may hold an item more than once.
    """
    connection.execute(_USERS.format(restricted="HAVING bool_or(known)" if only_known else ""))
    users = _fetch(connection, "SELECT user, known, n_listed FROM judged_users ORDER BY number")
    truth = _fetch(connection, _TRUTH)
    hits = _fetch(connection, _HITS.format(first=_FIRST_COPY if copies else "TRUE"))
    connection.execute("DROP TABLE judged_users")
    return Judged(
        users=users["user"],
        known=users["known"],
        n_listed=users["n_listed"],
        hit_user=hits["number"],
        hit_rank=hits["rank"],
        hit_grade=hits["grade"],
        hit_first=hits["first"],
        truth_user=truth["number"],
        truth_grade=truth["grade"],
    )


def _fetch(connection: DuckDBPyConnection, query: str) -> dict[str, np.ndarray[Any, Any]]:
    columns: dict[str, Any] = connection.execute(query).fetchnumpy()
    return columns
