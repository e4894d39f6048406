"""Join ranked lists with the ground truth, in three ordered queries of DuckDB.

The relations are `lists` (user, item, rank [, ranking] [, tie_first, tie_last]), `truth` (user,
item, grade [, place, subtopics]) and `known` (user): the users of the ground truth, with or without
rows.
All queries are ordered, so that threads and the order of rows do not change the result.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.ranking import score_key
from concord.metrics_core.errors import format_count
from concord.metrics_core.metrics.judged import Floats, Ints, Judged, SubtopicRows

# User numbers follow the order of the ids. Lists are counted once, and joined once with few rows.
_USERS = """
CREATE OR REPLACE TEMP TABLE judged_users AS
SELECT user, CAST(row_number() OVER (ORDER BY user) - 1 AS BIGINT) AS number,
       bool_or(known) AS known, CAST(sum(n_listed) AS BIGINT) AS n_listed
FROM (SELECT user, TRUE AS known, 0 AS n_listed FROM known GROUP BY user
      UNION ALL
      SELECT user, FALSE AS known, count(*) AS n_listed FROM {lists} GROUP BY user)
GROUP BY user
{restricted}
"""
_TRUTH = """
SELECT number, grade{place}{numbers} FROM truth JOIN judged_users USING (user){item_columns}
ORDER BY number, grade DESC{order}
"""
_HITS = """
SELECT number, rank, grade, {first} AS first{tied}{numbers}
FROM {lists} AS listed JOIN (
    SELECT user, truth.item, number, grade{numbers}
    FROM truth JOIN judged_users USING (user){item_columns}
) USING (user, item)
ORDER BY number, rank
"""
# First and last rank of the items with the score of each hit.
_EQUAL = """
WITH hits AS (
    SELECT number, user, rank, {key} AS key
    FROM {lists} AS listed JOIN truth USING (user, item) JOIN judged_users USING (user))
SELECT number, rank, first, last FROM hits JOIN (
    SELECT user, key, min(rank) AS first, max(rank) AS last
    FROM (SELECT user, rank, {key} AS key FROM {lists}) SEMI JOIN hits USING (user, key)
    GROUP BY user, key) USING (user, key)
ORDER BY number, rank
"""
# Numbers of subtopics follow the order of their names within a user.
_SUBTOPICS = """
CREATE OR REPLACE TEMP TABLE judged_subtopics AS
SELECT number, user, item, one.name, one.grade,
       dense_rank() OVER (PARTITION BY number ORDER BY one.name) - 1 AS subtopic
FROM (SELECT number, user, item, unnest(subtopics) AS one FROM truth JOIN judged_users USING (user))
"""
_SUBTOPICS_OF_ROWS = """
SELECT row, subtopic, name, judged_subtopics.grade
FROM (SELECT user, truth.item, row_number() OVER (ORDER BY {order}) - 1 AS row
      FROM {rows} JOIN judged_users USING (user))
JOIN judged_subtopics USING (user, item)
ORDER BY number, CAST(item AS VARCHAR), row, name
"""
_TRUTH_ORDER = "number, truth.grade DESC"
_BY_ITEM = ", CAST(truth.item AS VARCHAR)"
_JOIN_ITEM_COLUMNS = " LEFT JOIN item_columns ON CAST(truth.item AS VARCHAR) = item_columns.item"
PROPENSITY = "propensity"  # of an item, or of a row of the truth
_FIRST_COPY = "row_number() OVER (PARTITION BY number, item ORDER BY rank) = 1"


def join_truth(
    connection: DuckDBPyConnection,
    *,
    only_known: bool,
    ranking: Ranking,
    number: int = 0,
    item_columns: pa.Table | None = None,
    propensity: Mapping[str, Any] | None = None,
    subtopics_for: str = "",
    finds_equal: bool = False,
) -> Judged:
    """Return the recommendations joined with the ground truth.

    Parameters
    ----------
    connection : DuckDBPyConnection
        With the relations `lists`, `truth` and `known`.
    only_known : bool
        True for the users of `known` only; else also those of `lists`.
    ranking : Ranking
        How the lists were ranked.
    number : int
        Index of the ranking, if `lists` has several.
    item_columns : Table, optional
        item (text), and the numeric columns that metrics read.
    propensity : dict, optional
        The convention. Propensities are in `item_columns` or in the ground truth.
    subtopics_for : str
        A label that reads subtopics; empty if none does.
    finds_equal : bool
        True to find the ranks of equal scores, of lists that are ordered by score.

    Raises
    ------
    ValueError
        If `item_columns` has no number for an item of the ground truth, or the ground truth has no
        subtopics and a label reads them.
    """
    list_columns, truth_columns = (connection.view(name).columns for name in ("lists", "truth"))
    lists = (
        f"(SELECT * FROM lists WHERE ranking = {number})" if "ranking" in list_columns else "lists"
    )
    averaged = ranking.ties == "average" and "tie_first" in list_columns
    tied = ", tie_first, tie_last" if averaged else ""
    place_column = ", place" if "place" in truth_columns else ""
    first = _FIRST_COPY if ranking.duplicates == "keep" else "TRUE"
    restricted = "HAVING bool_or(known)" if only_known else ""
    names = [] if item_columns is None else item_columns.column_names[1:]
    numbered = [f"number_{i}" for i in range(len(names))]
    numbers = "".join(f", {each}" for each in numbered)
    if item_columns is not None:
        connection.register("item_columns", item_columns.rename_columns(["item", *numbered]))
        cold = {PROPENSITY} if propensity and "popularity" in propensity else set()
        _refuse_missing_numbers(
            connection,
            {name: each for name, each in zip(names, numbered, strict=True) if name not in cold},
        )
    if propensity and propensity.get("column") == "truth":
        names, numbered, numbers = (
            [*names, PROPENSITY],
            [*numbered, PROPENSITY],
            f"{numbers}, {PROPENSITY}",
        )
    item_values = {
        "numbers": numbers,
        "item_columns": "" if item_columns is None else _JOIN_ITEM_COLUMNS,
    }
    connection.execute(_USERS.format(lists=lists, restricted=restricted))
    users = fetch(connection, "SELECT user, known, n_listed FROM judged_users ORDER BY number")
    # Rows of one grade may differ in their numbers: a fixed order gives the same sums.
    order = _BY_ITEM if names or subtopics_for else place_column
    truth = fetch(connection, _TRUTH.format(place=place_column, order=order, **item_values))
    hits = fetch(connection, _HITS.format(lists=lists, first=first, tied=tied, **item_values))
    subtopics = _read_subtopics(connection, lists, subtopics_for) if subtopics_for else None
    equal = _read_equal(connection, lists, ranking) if finds_equal else None
    connection.execute("DROP TABLE judged_users")
    columns = {name: (hits[each], truth[each]) for name, each in zip(names, numbered, strict=True)}
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
        hit_tied=np.column_stack([hits["tie_first"], hits["tie_last"]]) if averaged else None,
        hit_equal=equal,
        truth_position=truth["place"] if place_column else None,
        columns=columns,
        weights=_weights(*columns[PROPENSITY], clip=propensity["clip"]) if propensity else None,
        subtopics=subtopics,
    )


def _read_equal(connection: DuckDBPyConnection, lists: str, ranking: Ranking) -> Ints | None:
    """Return (n_hits, 2) the ranks of each hit's score; None if no hit shares its score."""
    query = _EQUAL.format(lists=lists, key=score_key(ranking.score_dtype))
    ranks = fetch(connection, query)
    equal = np.column_stack([ranks["first"], ranks["last"]])
    return equal if np.any(equal[:, 0] < equal[:, 1]) else None


def _read_subtopics(
    connection: DuckDBPyConnection, lists: str, label: str
) -> tuple[SubtopicRows, SubtopicRows]:
    """Return the subtopics of the hits and of the ground truth."""
    if "subtopics" not in connection.view("truth").columns:
        msg = (
            f"{label}: needs the subtopics of the ground truth; name their column in the columns "
            "of truth: {subtopic: …}, which is `iteration` in TREC qrels"
        )
        raise ValueError(msg)
    connection.execute(_SUBTOPICS)
    hits = f"{lists} AS listed JOIN truth USING (user, item)"
    hit_rows, truth_rows = (
        SubtopicRows(**fetch(connection, _SUBTOPICS_OF_ROWS.format(rows=rows, order=order)))
        for rows, order in (
            (hits, "number, rank"),
            ("truth", _TRUTH_ORDER + _BY_ITEM),
        )
    )
    connection.execute("DROP TABLE judged_subtopics")
    return hit_rows, truth_rows


def _weights(hits: Floats, truth: Floats, *, clip: float) -> tuple[Floats, Floats]:
    """Return 1 / propensity of hits and rows of the truth; `clip` bounds it and replaces NaN."""
    hit_weights, truth_weights = (
        1.0 / np.fmax(np.asarray(p, dtype=np.float64), clip) for p in (hits, truth)
    )
    return hit_weights, truth_weights


def _refuse_missing_numbers(connection: DuckDBPyConnection, numbered: Mapping[str, str]) -> None:
    for name, each in numbered.items():
        counted = "count(DISTINCT truth.item), min(CAST(truth.item AS VARCHAR))"
        query = f"SELECT {counted} FROM truth{_JOIN_ITEM_COLUMNS} WHERE {each} IS NULL"
        n_missing, first = connection.execute(query).fetchall()[0]
        if n_missing:
            items = format_count(n_missing, "item")
            msg = (
                f"{name}: the catalogue has no value for {items} of the ground truth, "
                f"first {first!r}; complete it"
            )
            raise ValueError(msg)


def fetch(connection: DuckDBPyConnection, query: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns of a query as arrays; NULL is NaN, or None in columns without numbers."""
    columns: dict[str, Any] = connection.execute(query).fetchnumpy()
    return {name: _without_mask(values) for name, values in columns.items()}


def _without_mask(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if not isinstance(values, np.ma.MaskedArray):
        return values
    is_number = values.dtype.kind in "iuf"
    plain = values.data.astype(np.float64 if is_number else object)
    plain[values.mask] = np.nan if is_number else None
    return plain
