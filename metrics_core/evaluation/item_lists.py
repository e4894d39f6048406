"""Items of lists, train and catalogue, and whole lists of a block, for the metrics beyond accuracy.

Items are numbered in the order of their ids as text, users as in `join_truth`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.arrow import as_numpy, codes, one_array, positions
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.evaluation.block import Block
from concord.metrics_core.evaluation.join_truth import match_rows
from concord.metrics_core.metrics.judged import (
    Floats,
    Ints,
    differs_from_previous,
    position_in_user,
)
from concord.metrics_core.metrics.ranked_lists import Items, RankedLists

Features = Mapping[str, Sequence[float]]  # by the item's id as text
Groups = Mapping[str, str]  # by the item's id as text

_HAD = """
CREATE OR REPLACE TEMP TABLE had AS
SELECT item, count(DISTINCT user) AS users
FROM (SELECT DISTINCT CAST(item AS VARCHAR) AS item, NULL AS user FROM lists WHERE item IS NOT NULL
      UNION ALL SELECT CAST(item AS VARCHAR), CAST(user AS VARCHAR) FROM train)
GROUP BY item
"""
_NUMBERS = """
CREATE OR REPLACE TEMP TABLE item_numbers AS
SELECT item, CAST(row_number() OVER (ORDER BY item) - 1 AS BIGINT) AS item_number,
       bool_or(known) AS known, CAST(sum(users) AS BIGINT) AS users
FROM (SELECT item, FALSE AS known, coalesce(users, 0) AS users FROM had
      UNION ALL SELECT CAST(item AS VARCHAR), TRUE, 0 FROM items)
GROUP BY item
"""


def number_items(
    connection: DuckDBPyConnection, features: Features | None, groups: Groups | None = None
) -> Items:
    """Return the items of the relations `lists`, `train` (user, item) and `items` (item)."""
    connection.execute(_HAD)
    (train_users,) = only_row(connection, "SELECT count(DISTINCT user) FROM train")
    return number_counted_items(connection, train_users, features, groups)


def number_counted_items(
    connection: DuckDBPyConnection,
    n_train_users: int,
    features: Features | None,
    groups: Groups | None = None,
) -> Items:
    """Return the items of `had` (item, number of train users) and `items`.

    The table `item_numbers` has item and item_number of each.
    """
    connection.execute(_NUMBERS)
    query = "SELECT item, known, users FROM item_numbers ORDER BY item_number"
    ids, known, users = connection.sql(query).to_arrow_table().columns
    users = as_numpy(one_array(users))
    return Items(
        n_train_users=n_train_users,
        n_interactions=int(users.sum()),
        users=users,
        in_catalogue=as_numpy(one_array(known)),
        features=None if features is None else _features(ids, features),
        ids=one_array(ids),
        **_grouped(ids, groups),
    )


def _features(ids: pa.ChunkedArray, features: Features) -> Floats:
    width = len(next(iter(features.values()), ()))
    matrix = np.zeros((len(ids), width))
    for number, item in enumerate(pl.Series(ids).to_list()):
        if item in features:
            matrix[number] = features[item]
    return matrix


def _grouped(ids: pa.ChunkedArray, groups: Groups | None) -> dict[str, Any]:
    """Return the arguments `group` and `groups` of `Items`."""
    if groups is None:
        return {}
    names = tuple(sorted(set(groups.values())))
    index = {name: number for number, name in enumerate(names)}
    items = pl.Series(ids).to_list()
    group_of = [index[groups[item]] if item in groups else len(names) for item in items]
    return {"group": np.array(group_of, dtype=np.int64), "groups": names}


def read_ranked_lists(
    block: Block,
    items: Items,
    *,
    number: int,
    threshold: float | None,
    only_known: bool = False,
    of_requests: bool = False,
) -> RankedLists:
    """Return the whole lists of a block.

    Parameters
    ----------
    block : Block
        Lists, ground truth and train.
    items : Items
        All items.
    number : int
        Index of the ranking, if the lists have several.
    threshold : float or None
        Relevance threshold.
    only_known : bool
        As in `join_truth`.
    of_requests : bool
        True if the unit is a request; train has users.
    """
    matched = match_rows(block, number, only_known=only_known)
    n_users, lists, truth = len(matched.users), matched.lists, block.truth
    code = codes(lists.items)
    rows = np.flatnonzero((matched.list_user >= 0) & (code >= 0))
    row_user, item_of_code = matched.list_user[rows], _item_numbers(lists.items.dictionary, items)
    is_relevant = truth.numbers("grade") >= (threshold or 0.0)
    row_relevant = np.zeros(len(matched.list_user), dtype=bool)
    row_relevant[matched.hit] = is_relevant[matched.hit_truth]
    history: tuple[Ints, ...] = (_NO_ROWS, _NO_ROWS)
    if block.train is not None:
        history = _history(matched.users, block.train, items, of_requests=of_requests)
    relevant: dict[str, Ints] = {}
    if items.group is not None:
        known = np.flatnonzero((matched.truth_user >= 0) & is_relevant)
        numbers = _item_numbers(truth.column("item"), items)[known]
        listed = (numbers >= 0) & items.in_catalogue[numbers]
        user, item = _distinct(matched.truth_user[known][listed], numbers[listed], items)
        relevant = {"relevant_user": user, "relevant_item": item}
    return RankedLists(
        n_users=n_users,
        n_listed=np.bincount(row_user, minlength=n_users),
        row_user=row_user,
        row_rank=position_in_user(row_user, n_users),  # later copies may be missing
        row_item=item_of_code[code[rows]],
        row_relevant=row_relevant[rows],
        history_user=history[0],
        history_item=history[1],
        items=items,
        **relevant,
    )


_NO_ROWS: Ints = np.zeros(0, dtype=np.int64)


def _item_numbers(ids: pa.Array, items: Items) -> Ints:
    assert items.ids is not None
    return positions(ids.cast(pa.string()), items.ids)


def _distinct(user: Ints, item: Ints, items: Items) -> tuple[Ints, Ints]:
    """Return each pair of user and item once, by user and item."""
    pairs = np.sort(user * items.n_items + item)  # `np.unique` takes 20 times as long
    return np.divmod(pairs[differs_from_previous(pairs)], items.n_items)


def _history(
    users: pa.Array, train: pa.Table, items: Items, *, of_requests: bool
) -> tuple[Ints, Ints]:
    """Return user number and item number of the users' rows of train."""
    ids = pl.Series(users)
    owners = users_of_units(ids) if of_requests else ids.cast(pl.String)
    numbered = pl.DataFrame({"user": owners, "number": np.arange(len(users))})
    rows = pl.DataFrame(train.select(["user", "item"])).with_columns(pl.col("user").cast(pl.String))
    rows = rows.join(numbered, on="user")
    item = _item_numbers(one_array(rows.to_arrow().column("item")), items)
    return _distinct(rows["number"].to_numpy(), item, items)
