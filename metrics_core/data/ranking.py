"""Rank lists by rank, score or row order, and check ranks, ties and duplicates. Nearly all of it is SQL.

The rows are sorted once; what follows looks at neighbours: ranks are numbered, gaps, ties and
disagreements are seen between a row and the one above it. Every sort names a complete order, so
the result depends neither on threads nor on the order of the rows (but for `ties: input` and
`order: file`, where that order is the point).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.arrow_numpy import as_numpy
from concord.metrics_core.data.list_batches import Count, ListStatistics
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.source import Source
from concord.metrics_core.data.value_checks import ids_text
from concord.metrics_core.errors import (
    AffectedRows,
    InputError,
    Problem,
    problem_with_counts,
    refuse,
)

RANK_REPEATS, ITEM_REPEATS = (1, 1), (3,)  # the rules of `AffectedRows`
LARGEST_FLOAT32 = 3.4028234663852886e38
ROWS = 1 << 20  # a batch
_TIE_BREAK = {
    "item_asc": "item, score DESC",
    "average": "item, score DESC",
    "item_desc": "item DESC, score DESC",
    "item_text_asc": "CAST(item AS VARCHAR), score DESC",
    "item_text_desc": "CAST(item AS VARCHAR) DESC, score DESC",
}
_RANK_RULES = (  # condition, problem, fix
    (
        "rank_above IS NULL AND rank <> 1",
        "the list starts at rank {rank}, not at {base}",
        "start every list at rank {base}, or set {input} to {other} if all lists start there",
    ),
    (
        "rank = rank_above",
        "rank {rank} occurs twice in the list",
        "give each item of a list its own rank, or {other_order}",
    ),
    (
        "rank > rank_above + 1",
        "rank {above} is followed by rank {rank}",
        "number the ranks of a list without gaps, or {other_order}",
    ),
)


@dataclass(frozen=True)
class ListTable:
    """Lists and how to rank them into a table.

    Attributes
    ----------
    source : Source
        The table as it was read.
    rows : str
        Relation with the valid rows: user, item, position, rank and/or score.
    into : str
        Name of the ranked table.
    order : {"rank", "score", "file"}
        What the lists are ordered by.
    """

    connection: DuckDBPyConnection
    source: Source
    rows: str
    into: str
    order: str
    ranking: Ranking
    policies: Policies

    @property
    def has_score(self) -> bool:
        return "score" in self.source.columns

    @property
    def nan_last(self) -> bool:
        """True if NaN is a score below all others."""
        return self.has_score and self.policies.nan_score == "last"

    @property
    def key(self) -> str:
        """SQL of what scores are compared by; a score beyond single precision becomes infinite, as in C."""
        if self.ranking.score_dtype == "float64":
            return "score"
        infinite = "CAST(sign(score) * 'Infinity'::DOUBLE AS FLOAT)"
        return f"CASE WHEN abs(score) > {LARGEST_FLOAT32!r} THEN {infinite} ELSE CAST(score AS FLOAT) END"

    @property
    def neighbours(self) -> str:
        """SQL of each ranked row with rank and score of the rows above and below it in the same list."""
        key = self.key if self.has_score else "NULL"
        if self.nan_last:  # NaN ties with nothing and disagrees with no rank
            key = f"CASE WHEN NOT isnan(score) THEN {key} END"
        return f"""(
            SELECT user, rank, key, n,
                CASE WHEN user = user_above THEN rank_above END AS rank_above,
                CASE WHEN user = user_above THEN key_above END AS key_above,
                CASE WHEN user = user_below THEN key_below END AS key_below
            FROM (
                SELECT user, rank, key, row_number() OVER () AS n,
                    lag(user) OVER () AS user_above, lead(user) OVER () AS user_below,
                    lag(rank) OVER () AS rank_above,
                    lag(key) OVER () AS key_above, lead(key) OVER () AS key_below
                FROM (SELECT user, rank, {key} AS key FROM {self.into})))"""

    def replace_table(self, query: str) -> None:
        """Write the rows of a query to the ranked table."""
        self.connection.execute(f"CREATE OR REPLACE TABLE {self.into} AS {query}")

    def problem(
        self,
        affected: AffectedRows,
        fix: str,
        condition: str,
        values: Mapping[str, Any],
        column: str | None,
    ) -> Problem:
        """Return a problem, located at the first rows of the source that meet a condition."""
        query = f"SELECT position FROM {self.rows} WHERE {condition} ORDER BY position LIMIT 2"
        found = self.connection.execute(query, dict(values)).fetchall()
        rows = " and ".join(self.source.raw.row_name(position) for (position,) in found)
        ids = ids_text(values["user"], values.get("item"))
        place = f", column {column!r}" if column else ""
        return problem_with_counts(f"{self.source.file.name}: {rows}{place}{ids}", fix, affected)


def choose_order(source: Source, order: str | None, ties: str) -> str:
    """Return what the lists are ordered by: rank, score or file; `order` None: ranks if there are any, else scores.

    Raises
    ------
    InputError
        If there are neither ranks nor scores, or not those that `order` names.
    """
    where = f"{source.file.name}: lists"
    if order is None and not {"rank", "score"} & set(source.columns):
        raise refuse(where, "there are neither ranks nor scores", source.file.settings.order)
    order = order or ("rank" if "rank" in source.columns else "score")
    if order != "file" and order not in source.columns:
        raise refuse(where, f"there is no {order} to order them by", "choose another `order`")
    if order == "score" and ties == "given":
        return "rank" if "rank" in source.columns else "file"
    return order


def rank_by_all(tables: Sequence[ListTable], into: str) -> ListStatistics:
    """Rank the same lists by several rankings into one table; return the counts under the first.

    If the results differ, the table has a column `ranking`: the number of the ranking of each row.

    Raises
    ------
    InputError
        As `rank_lists`.
    """
    connection = tables[0].connection
    statistics = [rank_lists(table) for table in tables]
    one_order = len({each.order for each in statistics}) == 1
    if len(tables) == 1 or (
        one_order and not any(each.ties.rows or each.duplicates.rows for each in statistics)
    ):
        connection.execute(f"ALTER TABLE {tables[0].into} RENAME TO {into}")
    else:
        rows = " UNION ALL BY NAME ".join(
            f"SELECT *, {number} AS ranking FROM {table.into}"
            for number, table in enumerate(tables)
        )
        query = f"SELECT * FROM ({rows}) ORDER BY user, ranking, rank"
        connection.execute(f"CREATE OR REPLACE TABLE {into} AS {query}")
    for table in tables:
        connection.execute(f"DROP TABLE IF EXISTS {table.into}")
    return statistics[0]


def rank_lists(lists: ListTable) -> ListStatistics:
    """Write the table `into` (user, item, rank [, score]), sorted by user and rank.

    With `duplicates: first` later copies keep their ranks and their item becomes NULL: a miss.
    With `ties: average` each row also has `tie_first` and `tie_last`, the ranks that its score spans.

    Raises
    ------
    InputError
        If ranks repeat, have gaps or start elsewhere than at `rank_base`; if there are duplicates or
        ties and the policy is `error`.
    """
    _sort(lists)
    disagreements, ties = _score_counts(lists)
    duplicates = _duplicates(lists)
    problems = [*_rank_problems(lists), *_tie_problems(lists, ties)]
    if problems := [*problems, *_duplicate_problems(lists, duplicates)]:
        raise InputError(problems)
    if duplicates.rows:
        _apply_duplicates(lists)
    if lists.order == "score" and lists.ranking.ties == "average":
        _mark_ties(lists)
    return ListStatistics(lists.order, ties, duplicates, disagreements)


def _sort(lists: ListTable) -> None:
    """Write the sorted table; ranks are those of the file, or are numbered within each user."""
    score = ", score" if lists.has_score else ""
    if lists.order == "rank":
        lists.replace_table(f"""
            SELECT user, item, CAST(rank AS BIGINT) + {1 - lists.policies.rank_base} AS rank{score}
            FROM {lists.rows} ORDER BY user, rank""")
        return
    by = "position"
    if lists.order == "score":
        tie_break = _TIE_BREAK.get(lists.ranking.ties, "position")
        by = f"{'isnan(score), ' if lists.nan_last else ''}{lists.key} DESC, {tie_break}"
    rows = f"SELECT user, item{score} FROM {lists.rows} ORDER BY user, {by}"
    lists.replace_table(_numbered(rows, f"user, item, rank{score}"))


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
    counts = only_row(
        lists.connection,
        f"""
        SELECT count(*) FILTER ({disagrees}), count(DISTINCT user) FILTER ({disagrees}),
            count(*) FILTER ({tied}), count(DISTINCT user) FILTER ({tied})
        FROM {lists.neighbours} WHERE {disagrees} OR {tied}""",
    )
    return Count(*counts[:2]), Count(*counts[2:])


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


def _rank_problems(lists: ListTable) -> Iterator[Problem]:
    """Yield the problems of ranks that start wrongly, repeat or leave a gap."""
    if lists.order != "rank":
        return
    totals = ", ".join(f"count(*) FILTER ({wrong})" for wrong, _, _ in _RANK_RULES)
    counts = only_row(lists.connection, f"SELECT {totals} FROM {lists.neighbours}")
    settings, base = lists.source.file.settings, lists.policies.rank_base
    words: dict[str, Any] = {"base": base, "other": 1 - base, "input": settings.input("rank_base")}
    words["other_order"] = settings.other_order(has_score=lists.has_score)
    for number, count in enumerate(counts):
        if not count:
            continue
        wrong, problem, fix = _RANK_RULES[number]
        query = f"""SELECT count(DISTINCT user), arg_min((user, rank, rank_above), n)
                    FROM {lists.neighbours} WHERE {wrong}"""
        users, (user, rank, above) = only_row(lists.connection, query)
        words |= {"rank": rank + base - 1, "above": (above or 0) + base - 1}  # as in the file
        message = problem.format(**words)
        affected = AffectedRows((1, number), (user, rank), rows=None, users=users, message=message)
        where = "user = $user AND rank = $value"
        values = {"user": user, "value": words["rank"]}
        yield lists.problem(affected, fix.format(**words), where, values, "rank")


def _tie_problems(lists: ListTable, ties: Count) -> Iterator[Problem]:
    """Yield the problem of ties, if the policy is `error`."""
    if not (ties.rows and lists.ranking.ties == "error"):
        return
    first = f"SELECT user, key FROM {lists.neighbours} WHERE key = key_above ORDER BY n LIMIT 1"
    user, key = only_row(lists.connection, first)
    message = f"score {key!r} occurs more than once in the list"
    policy = lists.source.file.settings.conventions("ties", "another policy")
    fix = f"make the scores of a list differ, or {policy}"
    affected = AffectedRows((2,), (user,), ties.rows, ties.users, message)
    where = f"user = $user AND {lists.key} = $value"
    yield lists.problem(affected, fix, where, {"user": user, "value": key}, "score")


def _duplicate_problems(lists: ListTable, duplicates: Count) -> Iterator[Problem]:
    """Yield the problem of items that occur twice in a list, if the policy is `error`."""
    if not (duplicates.rows and lists.ranking.duplicates == "error"):
        return
    first = (
        f"SELECT user, item FROM {lists.into} GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
    )
    user, item = only_row(lists.connection, first)
    message = "the item occurs more than once in the list"
    policy = lists.source.file.settings.conventions("duplicates", "keep, first or drop")
    fix = f"list each item once where the table is made, or {policy}"
    affected = AffectedRows(ITEM_REPEATS, (user, item), duplicates.rows, duplicates.users, message)
    values = {"user": user, "item": item}
    yield lists.problem(affected, fix, "user = $user AND item = $item", values, None)


def _apply_duplicates(lists: ListTable) -> None:
    copies = f"""
        (SELECT *, row_number() OVER (PARTITION BY user, item ORDER BY rank) AS copy FROM {lists.into})"""
    score = ", score" if lists.has_score else ""
    if lists.ranking.duplicates == "first":
        lists.replace_table(f"""
            SELECT user, CASE WHEN copy = 1 THEN item END AS item, rank{score}
            FROM {copies} ORDER BY user, rank""")
    elif lists.ranking.duplicates == "drop":
        rows = f"SELECT * EXCLUDE (rank) FROM {copies} WHERE copy = 1 ORDER BY user, rank"
        lists.replace_table(_numbered(rows, f"user, item, rank{score}"))


def _mark_ties(lists: ListTable) -> None:
    equal = "OVER (PARTITION BY user, key)"
    lists.replace_table(f"""
        SELECT * EXCLUDE (key), min(rank) {equal} AS tie_first, max(rank) {equal} AS tie_last
        FROM (SELECT *, {lists.key} AS key FROM {lists.into}) ORDER BY user, rank""")
