"""Whole lists of a block, for the metrics beyond accuracy.

Users are numbered as in `join_truth`, items in the order of their ids as text.
"""

import numpy as np
import polars as pl
import pyarrow as pa

from concord.metrics_core.data.arrow import codes, one_array, positions
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.evaluation.block import Block
from concord.metrics_core.evaluation.join_truth import match_rows
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.judged import (
    Ints,
    differs_from_previous,
    position_in_user,
)
from concord.metrics_core.metrics.ranked_lists import Items, RankedLists


def read_ranked_lists(
    block: Block, task: Task, number: int, threshold: float | None
) -> RankedLists:
    """Return the whole lists of a block.

    Parameters
    ----------
    block : Block
        Lists, ground truth and train.
    task : Task
        Which users are evaluated, and all items.
    number : int
        Index of the ranking, if the lists have several.
    threshold : float or None
        Relevance threshold.
    """
    if (items := task.items) is None:
        msg = "metrics beyond accuracy need `train` or `items`"
        raise ValueError(msg)
    matched = match_rows(block, number, only_known=task.only_known)
    n_users, lists, truth = len(matched.users), matched.lists, block.truth
    code = codes(lists.items)
    rows = np.flatnonzero((matched.list_user >= 0) & (code >= 0))
    row_user, item_of_code = matched.list_user[rows], _item_numbers(lists.items.dictionary, items)
    is_relevant = truth.numbers("grade") >= (threshold or 0.0)
    row_relevant = np.zeros(len(matched.list_user), dtype=bool)
    row_relevant[matched.hit] = is_relevant[matched.hit_truth]
    history: tuple[Ints, ...] = (_NO_ROWS, _NO_ROWS)
    if block.train is not None:
        of_requests = task.conventions.unit_mean is not None
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
