"""Rank lists by rank, score or row order, and check ranks, ties and duplicates. Nearly all of it is SQL.

The rows are sorted once; what follows looks at neighbours: ranks are numbered, gaps, ties and
disagreements are seen between a row and the one above it. Every sort names a complete order, so
the result depends neither on threads nor on the order of the rows (but for `ties: input` and
`order: file`, where that order is the point).
"""

from collections.abc import Sequence

import numpy as np

from concord.metrics_core.data.list_checks import (
    Count,
    ListStatistics,
    ListTable,
    duplicate_problems,
    neighbours_of,
    rank_problems,
    tie_problems,
)
from concord.metrics_core.data.numbers import as_numpy
from concord.metrics_core.data.row_checks import (
    ID_CHECKS,
    RANK_CHECKS,
    SCORE_CHECKS,
    ListsError,
    only_row,
    row_problems,
)
from concord.metrics_core.errors import Problem, SettingNames

ROWS = 1 << 20  # a batch
_TIE_BREAK = {
    "item_asc": "item, score DESC",
    "average": "item, score DESC",
    "item_desc": "item DESC, score DESC",
    "item_text_asc": "CAST(item AS VARCHAR), score DESC",
    "item_text_desc": "CAST(item AS VARCHAR) DESC, score DESC",
}


def rank_by_all(tables: Sequence[ListTable], into: str) -> ListStatistics:
    """Rank the same lists by several rankings into one table; return the counts under the first.

    If the results differ, the table has a column `ranking`: the number of the ranking of each row.

    Raises
    ------
    ListsError : as `rank_lists`
    """
    connection = tables[0].connection
    found = [rank_lists(table) for table in tables]
    one_order = len({each.order for each in found}) == 1
    undisputed = one_order and not any(each.ties.rows or each.duplicates.rows for each in found)
    if undisputed or len(found) == 1:
        connection.execute(f"ALTER TABLE {tables[0].into} RENAME TO {into}")
    else:
        parts = [
            f"SELECT *, {number} AS ranking FROM {table.into}"
            for number, table in enumerate(tables)
        ]
        every = " UNION ALL BY NAME ".join(parts)
        query = f"SELECT * FROM ({every}) ORDER BY user, ranking, rank"
        connection.execute(f"CREATE OR REPLACE TABLE {into} AS {query}")
    for table in tables:
        connection.execute(f"DROP TABLE IF EXISTS {table.into}")
    return found[0]


def rank_lists(lists: ListTable) -> ListStatistics:
    """Write the table `into` (user, item, rank [, score]), sorted by user and rank.

    With `duplicates: first` later copies keep their ranks and their item becomes NULL: a miss.
    With `ties: average` each row also has `tie_first` and `tie_last`, the ranks that its score spans.

    Raises
    ------
    ListsError : missing ids, ranks or scores, NaN; ranks that repeat, have gaps or start elsewhere than
        at rank_base; duplicates or ties if the policy is `error`
    """
    checks = [
        *ID_CHECKS,
        *(SCORE_CHECKS[: 1 if lists.nan_last else None] if lists.has_score else ()),
        *(RANK_CHECKS if lists.order == "rank" else ()),
    ]
    if problems := row_problems(lists.connection, lists.source, checks, place=lists.place):
        raise ListsError(problems)
    _sort(lists)
    disagreements, tied = _score_counts(lists)
    repeated = _duplicates(lists)
    problems = [
        *rank_problems(lists),
        *tie_problems(lists, tied),
        *duplicate_problems(lists, repeated),
    ]
    if problems:
        raise ListsError(problems)
    if repeated.rows:
        _apply_duplicates(lists)
    if lists.order == "score" and lists.ranking.ties == "average":
        _mark_ties(lists)
    return ListStatistics(lists.order, tied, repeated, disagreements)


def choose_order(
    order: str | None, has_rank: bool, has_score: bool, ties: str, settings: SettingNames
) -> str:
    """Return what the lists are ordered by: rank, score or file; `order` None: ranks if there are any, else scores.

    Raises
    ------
    ListsError : there are neither ranks nor scores, or not those that `order` names
    """
    if order is None and not (has_rank or has_score):
        what = "there are neither ranks nor scores"
        raise ListsError([Problem("lists", what, settings.order)])
    order = order or ("rank" if has_rank else "score")
    if (order == "rank" and not has_rank) or (order == "score" and not has_score):
        raise ListsError(
            [Problem("lists", f"there is no {order} to order them by", "choose another `order`")]
        )
    if order == "score" and ties == "given":
        return "rank" if has_rank else "file"
    return order


def _sort(lists: ListTable) -> None:
    """Write the sorted table; ranks are those of the file, or are numbered within each user."""
    score = ", score" if lists.has_score else ""
    if lists.order == "rank":
        query = f"""
            SELECT user, item, CAST(rank AS BIGINT) + {1 - lists.rank_base} AS rank{score}
            FROM {lists.source} ORDER BY user, rank"""
    else:
        rows = f"SELECT user, item{score} FROM {lists.source} ORDER BY user, {_within_user(lists)}"
        query = _numbered(rows, f"user, item, rank{score}")
    lists.connection.execute(f"CREATE OR REPLACE TABLE {lists.into} AS {query}")


def _within_user(lists: ListTable) -> str:
    if lists.order == "file":
        return "position"
    first = "isnan(score), " if lists.nan_last else ""
    return f"{first}{lists.key} DESC, {_TIE_BREAK.get(lists.ranking.ties, 'position')}"


def _numbered(rows: str, columns: str) -> str:
    """Return SQL of rows sorted by user, with `rank` 1, 2, 3 … within each user.

    The windows stream over the sorted rows: no second sort, as `PARTITION BY user` would take.
    """
    return f"""
        SELECT {columns} FROM (
            SELECT *, n - max(CASE WHEN user IS DISTINCT FROM above THEN n - 1 END)
                OVER (ROWS UNBOUNDED PRECEDING) AS rank
            FROM (SELECT *, row_number() OVER () AS n, lag(user) OVER () AS above FROM ({rows})))"""


def _score_counts(lists: ListTable) -> tuple[Count, Count]:
    """Return disagreements of rank and score, and ties; 0 if they do not apply."""
    disagrees = "key > key_above" if lists.order == "rank" and lists.has_score else "false"
    tied = "(key = key_above OR key = key_below)" if lists.order == "score" else "false"
    query = f"""
        SELECT count(*) FILTER ({disagrees}), count(DISTINCT user) FILTER ({disagrees}),
            count(*) FILTER ({tied}), count(DISTINCT user) FILTER ({tied})
        FROM {neighbours_of(lists)} WHERE {disagrees} OR {tied}"""
    found = only_row(lists.connection, query)
    return Count(*found[:2]), Count(*found[2:])


def _duplicates(lists: ListTable) -> Count:
    if not _may_repeat(lists):
        return Count()
    query = f"""
        SELECT coalesce(sum(copies - 1), 0)::BIGINT, count(DISTINCT user)
        FROM (SELECT user, count(*) AS copies FROM {lists.into} GROUP BY user, item HAVING copies > 1)"""
    return Count(*only_row(lists.connection, query))


def _may_repeat(lists: ListTable) -> bool:
    """True if a list may hold an item twice. Hashes are compared: grouping by text takes four times as long."""
    query = f"SELECT hash(user) AS user, hash(user, item) AS pair FROM {lists.into}"
    users = pairs = np.empty(0, dtype=np.uint64)  # of the list that goes on in the next batch
    for batch in lists.connection.sql(query).to_arrow_reader(ROWS):
        users = np.concatenate([users, as_numpy(batch.column("user"))])
        pairs = np.concatenate([pairs, as_numpy(batch.column("pair"))])
        ordered = np.sort(pairs)
        if np.any(ordered[1:] == ordered[:-1]):
            return True
        last = users == users[-1]
        users, pairs = users[last], pairs[last]
    return False


def _apply_duplicates(lists: ListTable) -> None:
    copies = f"""
        (SELECT *, row_number() OVER (PARTITION BY user, item ORDER BY rank) AS copy FROM {lists.into})"""
    score = ", score" if lists.has_score else ""
    if lists.ranking.duplicates == "first":
        query = f"""
            SELECT user, CASE WHEN copy = 1 THEN item END AS item, rank{score}
            FROM {copies} ORDER BY user, rank"""
    elif lists.ranking.duplicates == "drop":
        kept = f"SELECT * EXCLUDE (rank) FROM {copies} WHERE copy = 1 ORDER BY user, rank"
        query = _numbered(kept, f"user, item, rank{score}")
    else:
        return
    lists.connection.execute(f"CREATE OR REPLACE TABLE {lists.into} AS {query}")


def _mark_ties(lists: ListTable) -> None:
    equal = "OVER (PARTITION BY user, key)"
    query = f"""
        SELECT * EXCLUDE (key), min(rank) {equal} AS tie_first, max(rank) {equal} AS tie_last
        FROM (SELECT *, {lists.key} AS key FROM {lists.into}) ORDER BY user, rank"""
    lists.connection.execute(f"CREATE OR REPLACE TABLE {lists.into} AS {query}")
