"""Read items and whole lists from DuckDB, for the metrics beyond accuracy.

The relations are `lists`, `truth`, `known`, `train` (user, item) and `items` (item); the last two
may be empty. Items are numbered in the order of their ids as text, users as in `join_truth`.
Ids of different types are compared as text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.evaluation.join_truth import fetch
from concord.metrics_core.metrics.judged import Floats, Ints, Judged, position_in_user
from concord.metrics_core.metrics.ranked_lists import Items, RankedLists

Features = Mapping[str, Sequence[float]]  # by the item's id as text
Groups = Mapping[str, str]  # by the item's id as text

_NUMBERS = """
CREATE OR REPLACE TEMP TABLE item_numbers AS
SELECT item, CAST(row_number() OVER (ORDER BY item) - 1 AS BIGINT) AS item_number,
       bool_or(known) AS known
FROM (SELECT DISTINCT CAST(item AS VARCHAR) AS item, FALSE AS known
      FROM lists WHERE item IS NOT NULL
      UNION ALL SELECT DISTINCT CAST(item AS VARCHAR), FALSE FROM train
      UNION ALL SELECT CAST(item AS VARCHAR), TRUE FROM items)
GROUP BY item
"""
_COUNTED = """
CREATE OR REPLACE TEMP TABLE item_numbers AS
SELECT item, CAST(row_number() OVER (ORDER BY item) - 1 AS BIGINT) AS item_number,
       bool_or(known) AS known, CAST(sum(users) AS BIGINT) AS users
FROM (SELECT item, FALSE AS known, coalesce(users, 0) AS users FROM had
      UNION ALL SELECT CAST(item AS VARCHAR), TRUE, 0 FROM items)
GROUP BY item
"""
_HAD = """
SELECT item_number, known, count(DISTINCT train.user) AS users
FROM item_numbers LEFT JOIN train ON CAST(train.item AS VARCHAR) = item_numbers.item
GROUP BY item_number, known ORDER BY item_number
"""
_ROWS = """
SELECT number, rank, item_number, {relevant} AS relevant
FROM {lists} AS lists JOIN listed_users USING (user) LEFT JOIN truth USING (user, item)
JOIN item_numbers ON CAST(lists.item AS VARCHAR) = item_numbers.item
ORDER BY number, rank
"""
_HISTORY = """
SELECT DISTINCT number, item_number
FROM train JOIN listed_users ON CAST(train.user AS VARCHAR) = listed_users.owner
JOIN item_numbers ON CAST(train.item AS VARCHAR) = item_numbers.item
ORDER BY number, item_number
"""
_RELEVANT_ITEMS = """
SELECT number, item_number
FROM truth JOIN listed_users USING (user)
JOIN item_numbers ON CAST(truth.item AS VARCHAR) = item_numbers.item
WHERE {relevant}
ORDER BY number, item_number
"""
_COLUMNS = {"user": "number", "item": "item_number"}


def number_items(
    connection: DuckDBPyConnection, features: Features | None, groups: Groups | None = None
) -> Items:
    """Number the items of `lists`, `train` and `items`, for all partitions, and return them."""
    connection.execute(_NUMBERS)
    had = fetch(connection, _HAD)
    (train_users,) = connection.execute("SELECT count(DISTINCT user) FROM train").fetchall()[0]
    users: Ints = had["users"]
    return Items(
        n_train_users=train_users,
        n_interactions=int(users.sum()),
        users=users,
        in_catalogue=np.asarray(had["known"], dtype=bool),
        features=None if features is None else _features(connection, features),
        **_grouped(connection, groups),
    )


def number_counted_items(
    connection: DuckDBPyConnection,
    n_train_users: int,
    features: Features | None,
    groups: Groups | None = None,
) -> tuple[Items, pa.Table]:
    """Number the items of `had` (item, number of train users) and `items`.

    Returns
    -------
    Items, Table
        The items; and item, item_number of each.
    """
    connection.execute(_COUNTED)
    had = fetch(connection, "SELECT * FROM item_numbers ORDER BY item_number")
    users: Ints = had["users"]
    items = Items(
        n_train_users=n_train_users,
        n_interactions=int(users.sum()),
        users=users,
        in_catalogue=np.asarray(had["known"], dtype=bool),
        features=None if features is None else _features(connection, features),
        **_grouped(connection, groups),
    )
    return items, connection.sql("SELECT item, item_number FROM item_numbers").to_arrow_table()


def _features(connection: DuckDBPyConnection, features: Features) -> Floats:
    width = len(next(iter(features.values()), ()))
    matrix = np.zeros((_count(connection), width))
    for item, number in connection.execute("SELECT item, item_number FROM item_numbers").fetchall():
        if item in features:
            matrix[number] = features[item]
    return matrix


def _grouped(connection: DuckDBPyConnection, groups: Groups | None) -> dict[str, Any]:
    """Return the arguments `group` and `groups` of `Items`."""
    if groups is None:
        return {}
    names = tuple(sorted(set(groups.values())))
    index = {name: number for number, name in enumerate(names)}
    group_of = np.full(_count(connection), len(names), dtype=np.int64)
    for item, number in connection.execute("SELECT item, item_number FROM item_numbers").fetchall():
        if item in groups:
            group_of[number] = index[groups[item]]
    return {"group": group_of, "groups": names}


def _count(connection: DuckDBPyConnection) -> int:
    return int(connection.execute("SELECT count(*) FROM item_numbers").fetchall()[0][0])


def read_ranked_lists(
    connection: DuckDBPyConnection,
    judged: Judged,
    items: Items,
    *,
    number: int,
    threshold: float | None,
    of_requests: bool = False,
) -> RankedLists:
    """Return the whole lists of one partition.

    Parameters
    ----------
    connection : DuckDBPyConnection
        With the relations and the item numbers.
    judged : Judged
        Users of the partition.
    items : Items
        All items.
    number : int
        Index of the ranking, if `lists` has several.
    threshold : float or None
        Relevance threshold.
    of_requests : bool
        True if the unit is a request; train has users.
    """
    users = judged.users.tolist() if judged.users.dtype == object else judged.users
    numbered = pl.DataFrame({"user": users, "number": np.arange(judged.n_users)})
    owner = users_of_units(numbered["user"]) if of_requests else numbered["user"].cast(pl.String)
    numbered = numbered.with_columns(owner.alias("owner"))
    connection.register("listed_users", numbered.to_arrow())
    several = "ranking" in connection.view("lists").columns
    lists = f"(SELECT * FROM lists WHERE ranking = {number})" if several else "lists"
    relevant = f"grade IS NOT NULL AND grade >= {threshold or 0.0!r}"
    rows = fetch(connection, _ROWS.format(lists=lists, relevant=relevant))
    history = fetch(connection, _HISTORY)
    relevant_columns = {}
    if items.group is not None:
        relevant_items = fetch(connection, _RELEVANT_ITEMS.format(relevant=relevant))
        known = items.in_catalogue[relevant_items["item_number"]]
        relevant_columns = {
            f"relevant_{name}": relevant_items[column][known] for name, column in _COLUMNS.items()
        }
    connection.unregister("listed_users")
    return RankedLists(
        n_users=judged.n_users,
        n_listed=np.bincount(rows["number"], minlength=judged.n_users),
        row_user=rows["number"],
        row_rank=position_in_user(rows["number"], judged.n_users),  # later copies may be missing
        row_item=rows["item_number"],
        row_relevant=np.asarray(rows["relevant"], dtype=bool),
        history_user=history["number"],
        history_item=history["item_number"],
        items=items,
        **relevant_columns,
    )
