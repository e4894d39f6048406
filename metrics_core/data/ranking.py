"""Rank lists by rank, score or row order, and check ranks, ties and duplicates, in SQL.

The rows are sorted once; later steps compare each row with the row above. Every sort has a complete
order, so that the result depends neither on threads nor on the order of the rows (except for
`ties: input` and `order: file`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.arrow import as_numpy
from concord.metrics_core.data.list_batches import Count, ListStatistics
from concord.metrics_core.data.policies import Policies, excluded_sql
from concord.metrics_core.data.read_source import Source
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.value_checks import ids_text
from concord.metrics_core.errors import (
    AffectedRows,
    Problem,
    SettingNames,
    problem_with_counts,
    raise_problems,
    refuse,
)

DUPLICATE_RANK, DUPLICATE_ITEM = (1, 1), (3,)  # rules of `AffectedRows`
MAX_FLOAT32 = 3.4028234663852886e38
BATCH_ROWS = 1 << 20
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


def _order_fix(settings: SettingNames) -> str:
    if by_file := settings.name("order", value="file"):
        return f"set {by_file} if the rows are in rank order"
    column = settings.of_table("columns", "score")
    return (
        f"add a column 'rank' (1 is best) or 'score' (the highest is best), or name yours: {column}"
    )


def _other_order_fix(settings: SettingNames, *, has_score: bool) -> str:
    by_score, by_file = (settings.name("order", value=each) for each in ("score", "file"))
    if by_file:
        return f"set {by_score} or {by_file}" if has_score else f"set {by_file}"
    scores = ", or leave out the ranks, so that scores decide" if has_score else ""
    return f"give each user one list{scores}"


@dataclass(frozen=True)
class ListTable:
    """Recommendations, and how to rank them into a table.

    Attributes
    ----------
    source : Source
        The table as it was read.
    rows : str
        Relation with the valid rows: user, item, position, rank and/or score.
    output : str
        Name of the ranked table.
    order : {"rank", "score", "file"}
        What the lists are ordered by.
    """

    connection: DuckDBPyConnection
    source: Source
    rows: str
    output: str
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
        """SQL of the key by which scores are compared.

        In single precision a score beyond its range becomes infinite, as in C.
        """
        if self.ranking.score_dtype == "float64":
            return "score"
        infinite = "CAST(sign(score) * 'Infinity'::DOUBLE AS FLOAT)"
        is_beyond = f"abs(score) > {MAX_FLOAT32!r}"
        return f"CASE WHEN {is_beyond} THEN {infinite} ELSE CAST(score AS FLOAT) END"

    @property
    def neighbours(self) -> str:
        """SQL of each ranked row with rank and key of its neighbours in the same list."""
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
                FROM (SELECT user, rank, {key} AS key FROM {self.output})))"""

    def replace_table(self, query: str) -> None:
        """Write the rows of a query to the ranked table."""
        self.connection.execute(f"CREATE OR REPLACE TABLE {self.output} AS {query}")

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
        positions = self.connection.execute(query, dict(values)).fetchall()
        rows = " and ".join(self.source.raw.row_name(position) for (position,) in positions)
        ids = ids_text(values["user"], values.get("item"))
        column_text = f", column {column!r}" if column else ""
        location = f"{self.source.file.name}: {rows}{column_text}{ids}"
        return problem_with_counts(location, fix, affected)


def choose_order(source: Source, ties: str) -> str:
    """Return what the lists are ordered by: rank, score or file; see `InputTable.order`.

    Raises
    ------
    InputError
        If there are neither ranks nor scores, the column that `order` names is missing, or
        `file` would ignore the scores of JSON by query.
    """
    location, order = f"{source.file.name}: lists", source.file.order
    if order is None and not {"rank", "score"} & set(source.columns):
        raise refuse(
            location, "there are neither ranks nor scores", _order_fix(source.file.settings)
        )
    order = order or ("rank" if "rank" in source.columns else "score")
    if order != "file" and order not in source.columns:
        raise refuse(location, f"there is no {order} to order them by", "choose another `order`")
    if order == "file" and source.file.format == "json" and "score" in source.columns:
        problem = "are in file order, which ignores the scores of JSON by query"
        raise refuse(location, problem, "leave out `order: file`")
    if order == "score" and ties == "given":
        return "rank" if "rank" in source.columns else "file"
    return order


def rank_by_all(tables: Sequence[ListTable], output: str) -> ListStatistics:
    """Rank the same lists by several rankings into one table; return the counts under the first.

    If the results differ, the table has a column `ranking` with the number of the ranking.

    Raises
    ------
    InputError
        As `rank_lists`.
    """
    connection = tables[0].connection
    statistics = [rank_lists(table) for table in tables]
    has_one_order = len({counts.order for counts in statistics}) == 1
    has_choices = any(counts.ties.rows or counts.duplicates.rows for counts in statistics)
    has_choices |= tables[0].nan_last  # NaN is no tie, but has an order
    if len(tables) == 1 or (has_one_order and not has_choices):
        connection.execute(f"ALTER TABLE {tables[0].output} RENAME TO {output}")
    else:
        rows = " UNION ALL BY NAME ".join(
            f"SELECT *, {number} AS ranking FROM {table.output}"
            for number, table in enumerate(tables)
        )
        query = f"SELECT * FROM ({rows}) ORDER BY user, ranking, rank"
        connection.execute(f"CREATE OR REPLACE TABLE {output} AS {query}")
    for table in tables:
        connection.execute(f"DROP TABLE IF EXISTS {table.output}")
    return statistics[0]


def rank_lists(lists: ListTable) -> ListStatistics:
    """Write the ranked table (user, item, rank [, score]), sorted by user and rank.

    With `duplicates: first` later copies keep their ranks, and their item becomes NULL: a miss.
    With `ties: average` each row also has `tie_first` and `tie_last`, the ranks of its ties.

    Raises
    ------
    InputError
        If ranks are duplicate, have gaps or do not start at `rank_base`; if there are duplicate
        items or ties and the policy is `error`.
    """
    _sort(lists)
    disagreements, ties = _count_disagreements_and_ties(lists)
    duplicates = _count_duplicates(lists)
    raise_problems(
        [
            *_rank_problems(lists),
            *_tie_problems(lists, ties),
            *_duplicate_problems(lists, duplicates),
        ]
    )
    if duplicates.rows:
        _apply_duplicates(lists)
    excluded = _exclude(lists, lists.ranking.exclude) if lists.ranking.exclude else Count()
    if lists.order == "score" and lists.ranking.ties == "average":
        _mark_ties(lists)
    return ListStatistics(lists.order, ties, duplicates, disagreements, excluded)


def _sort(lists: ListTable) -> None:
    """Write the sorted table; ranks are those of the file, or the order within each user."""
    score = ", score" if lists.has_score else ""
    if lists.order == "rank":
        lists.replace_table(f"""
            SELECT user, item, CAST(rank AS BIGINT) + {1 - lists.policies.rank_base} AS rank{score}
            FROM {lists.rows} ORDER BY user, rank""")
        return
    order = "position"
    if lists.order == "score":
        tie_break = _TIE_BREAK.get(lists.ranking.ties, "position")
        order = f"{'isnan(score), ' if lists.nan_last else ''}{lists.key} DESC, {tie_break}"
    rows = f"SELECT user, item{score} FROM {lists.rows} ORDER BY user, {order}"
    lists.replace_table(_add_ranks(rows, f"user, item, rank{score}"))


def _add_ranks(rows: str, columns: str) -> str:
    """Return SQL of rows sorted by user, with `rank` 1, 2, 3 … within each user.

    The windows stream over the sorted rows, without the second sort of `PARTITION BY user`.
    """
    return f"""
        SELECT {columns} FROM (
            SELECT *, n - max(CASE WHEN user IS DISTINCT FROM above THEN n - 1 END)
                OVER (ROWS UNBOUNDED PRECEDING) AS rank
            FROM (SELECT *, row_number() OVER () AS n, lag(user) OVER () AS above FROM ({rows})))"""


def _count_disagreements_and_ties(lists: ListTable) -> tuple[Count, Count]:
    """Return disagreements of rank and score, and ties; 0 if they do not apply."""
    disagrees = "key > key_above" if lists.order == "rank" and lists.has_score else "false"
    is_tied = "(key = key_above OR key = key_below)" if lists.order == "score" else "false"
    counts = only_row(
        lists.connection,
        f"""
        SELECT count(*) FILTER ({disagrees}), count(DISTINCT user) FILTER ({disagrees}),
            count(*) FILTER ({is_tied}), count(DISTINCT user) FILTER ({is_tied})
        FROM {lists.neighbours} WHERE {disagrees} OR {is_tied}""",
    )
    return Count(*counts[:2]), Count(*counts[2:])


def _count_duplicates(lists: ListTable) -> Count:
    if not _may_have_duplicates(lists):
        return Count()
    query = f"""
        SELECT coalesce(sum(copies - 1), 0)::BIGINT, count(DISTINCT user)
        FROM (SELECT user, count(*) AS copies
              FROM {lists.output} GROUP BY user, item HAVING copies > 1)"""
    return Count(*only_row(lists.connection, query))


def _may_have_duplicates(lists: ListTable) -> bool:
    """True if a list may contain an item twice.

    Hashes are compared: grouping by text takes four times as long.
    """
    query = f"SELECT hash(user) AS user, hash(user, item) AS pair FROM {lists.output}"
    users = pairs = np.empty(0, dtype=np.uint64)  # of the list that continues in the next batch
    for batch in lists.connection.sql(query).to_arrow_reader(BATCH_ROWS):
        users = np.concatenate([users, as_numpy(batch.column("user"))])
        pairs = np.concatenate([pairs, as_numpy(batch.column("pair"))])
        ordered = np.sort(pairs)
        if np.any(ordered[1:] == ordered[:-1]):
            return True
        last = users == users[-1]
        users, pairs = users[last], pairs[last]
    return False


def _rank_problems(lists: ListTable) -> Iterator[Problem]:
    """Yield the problems of ranks with a wrong start, a duplicate or a gap."""
    if lists.order != "rank":
        return
    totals = ", ".join(f"count(*) FILTER ({condition})" for condition, _, _ in _RANK_RULES)
    counts = only_row(lists.connection, f"SELECT {totals} FROM {lists.neighbours}")
    settings, base = lists.source.file.settings, lists.policies.rank_base
    for number, (condition, message, fix) in enumerate(_RANK_RULES):
        if not counts[number]:
            continue
        query = f"""SELECT count(DISTINCT user), arg_min((user, rank, rank_above), n)
                    FROM {lists.neighbours} WHERE {condition}"""
        users, (user, rank, above) = only_row(lists.connection, query)
        file_rank, file_above = rank + base - 1, (above or 0) + base - 1
        message = message.format(rank=file_rank, above=file_above, base=base)
        fix = fix.format(
            base=base,
            other=1 - base,
            input=settings.name("input", "rank_base"),
            other_order=_other_order_fix(settings, has_score=lists.has_score),
        )
        affected = AffectedRows((1, number), (user, rank), rows=None, users=users, message=message)
        is_first = "user = $user AND rank = $rank"
        yield lists.problem(affected, fix, is_first, {"user": user, "rank": file_rank}, "rank")


def _tie_problems(lists: ListTable, ties: Count) -> Iterator[Problem]:
    """Yield the problem of ties, if the policy is `error`."""
    if not (ties.rows and lists.ranking.ties == "error"):
        return
    query = f"SELECT user, key FROM {lists.neighbours} WHERE key = key_above ORDER BY n LIMIT 1"
    user, key = only_row(lists.connection, query)
    message = f"score {key!r} occurs more than once in the list"
    policy = lists.source.file.settings.convention_fix("ties", "another policy")
    fix = f"make the scores of a list differ, or {policy}"
    affected = AffectedRows((2,), (user,), ties.rows, ties.users, message)
    is_first = f"user = $user AND {lists.key} = $key"
    yield lists.problem(affected, fix, is_first, {"user": user, "key": key}, "score")


def _duplicate_problems(lists: ListTable, duplicates: Count) -> Iterator[Problem]:
    """Yield the problem of duplicate items, if the policy is `error`."""
    if not (duplicates.rows and lists.ranking.duplicates == "error"):
        return
    query = f"""SELECT user, item FROM {lists.output}
                GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"""
    user, item = only_row(lists.connection, query)
    message = "the item occurs more than once in the list"
    options = "drop or first, as for chunks of one document, or keep"
    policy = lists.source.file.settings.convention_fix("duplicates", options)
    fix = f"list each item once where the table is made, or {policy}"
    if str(item) == "-1":
        fix = "remove the padding, -1, where the table is made"
    affected = AffectedRows(
        DUPLICATE_ITEM, (user, item), duplicates.rows, duplicates.users, message
    )
    values = {"user": user, "item": item}
    yield lists.problem(affected, fix, "user = $user AND item = $item", values, None)


def _apply_duplicates(lists: ListTable) -> None:
    copies = f"""(
        SELECT *, row_number() OVER (PARTITION BY user, item ORDER BY rank) AS copy
        FROM {lists.output})"""
    score = ", score" if lists.has_score else ""
    if lists.ranking.duplicates == "first":
        lists.replace_table(f"""
            SELECT user, CASE WHEN copy = 1 THEN item END AS item, rank{score}
            FROM {copies} ORDER BY user, rank""")
    elif lists.ranking.duplicates == "drop":
        rows = f"SELECT * EXCLUDE (rank) FROM {copies} WHERE copy = 1 ORDER BY user, rank"
        lists.replace_table(_add_ranks(rows, f"user, item, rank{score}"))


def _exclude(lists: ListTable, exclude: str) -> Count:
    """Remove the items that do not count for their user, close the ranks, and count them."""
    is_excluded = excluded_sql(lists.connection, lists.source, exclude)
    query = f"SELECT count(*), count(DISTINCT user) FROM {lists.output} WHERE {is_excluded}"
    excluded = Count(*only_row(lists.connection, query))
    if excluded.rows:
        score = ", score" if lists.has_score else ""
        rows = f"""SELECT * EXCLUDE (rank) FROM {lists.output}
                   WHERE NOT coalesce({is_excluded}, FALSE) ORDER BY user, rank"""
        lists.replace_table(_add_ranks(rows, f"user, item, rank{score}"))
    return excluded


def _mark_ties(lists: ListTable) -> None:
    equal = "OVER (PARTITION BY user, key)"
    lists.replace_table(f"""
        SELECT * EXCLUDE (key), min(rank) {equal} AS tie_first, max(rank) {equal} AS tie_last
        FROM (SELECT *, {lists.key} AS key FROM {lists.output}) ORDER BY user, rank""")
