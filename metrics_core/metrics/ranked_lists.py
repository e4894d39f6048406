"""Input of the metrics beyond accuracy: one row per recommended item, judged or not."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from concord.metrics_core.metrics.items import Items
from concord.metrics_core.metrics.judged import Bools, Floats, Ints, sum_by_user
from concord.metrics_core.metrics.user_sums import UserSums


def _no_rows() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class RankedLists:
    """Recommendations with all their items.

    Users are numbered 0 … n_users - 1. Ranks start at 1 and have no gaps.

    Attributes
    ----------
    n_users : int
        Number of users.
    n_listed : (n_users,) int64
        Length of each list.
    row_user, row_rank, row_item : (n_rows,) int64
        User number, rank and item number of each recommended item, by user and rank.
    row_relevant : (n_rows,) bool
        True if the item is relevant to the user.
    history_user, history_item : (n_history,) int64
        User number and item number of the users' interactions in train, by user and item.
    items : Items
        The items that the item numbers refer to.
    relevant_user, relevant_item : (n_relevant,) int64
        User number and item number of the relevant items in the catalogue, by user and item;
        empty if items have no groups.
    """

    n_users: int
    n_listed: Ints
    row_user: Ints
    row_rank: Ints
    row_item: Ints
    row_relevant: Bools
    history_user: Ints
    history_item: Ints
    items: Items
    relevant_user: Ints = field(default_factory=_no_rows)
    relevant_item: Ints = field(default_factory=_no_rows)

    def within(self, k: int | None) -> Bools:
        """Return (n_rows,) True if the item is in the top k."""
        return np.ones(len(self.row_rank), dtype=bool) if k is None else self.row_rank <= k

    def length(self, k: int | None) -> Ints:
        """Return (n_users,) number of items in the list, at most k."""
        return self.n_listed if k is None else np.minimum(self.n_listed, k)

    def total(self, values: Floats, k: int | None) -> Floats:
        """Return (n_users,) sum of a value per row over the top k, added in rank order."""
        top = self.within(k)
        return sum_by_user(self.row_user[top], values[top], self.n_users)

    def sums(self, values: Floats, k: int | None) -> UserSums:
        """Return exact sums of a value per row over the top k."""
        top = self.within(k)
        return UserSums.from_values(self.row_user[top], values[top], self.n_users)

    def mean(self, values: Floats, k: int | None) -> Floats:
        """Return (n_users,) mean of a value per row over the top k, rounded once.

        NaN for a user without a list.
        """
        return self.sums(values, k).mean(self.length(k))

    def history_total(self, values: Floats) -> Floats:
        """Return (n_users,) sum of a value per item of the user's history."""
        return sum_by_user(self.history_user, values, self.n_users)

    @cached_property
    def n_history(self) -> Ints:
        """(n_users,) number of items in the user's history."""
        return np.bincount(self.history_user, minlength=self.n_users)

    @cached_property
    def row_first(self) -> Bools:
        """(n_rows,) True at the first rank of an item; False for its later copies."""
        pair = self.row_user * self.items.n_items + self.row_item
        first = np.zeros(len(pair), dtype=bool)
        first[np.unique(pair, return_index=True)[1]] = True
        return first
