"""Judged: what every metric reads. Sparse: one row a recommended item that the truth knows."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """Lists joined with the truth; users are numbered 0 … n_users - 1, ranks start at 1.

    users       : (users,) ids, ascending
    known       : (users,) is the user in the truth, or stated to be evaluated?
    n_listed    : (users,) length of the list
    hit_*       : (hits,) user number, rank and grade of each listed item that the truth knows, by user and rank
    hit_first   : (hits,) is it the item's first place in the list? False for the copies that `keep` counts
    truth_*     : (truth rows,) user number and grade of each row of the truth, by user, best grade first
    """

    users: NDArray[Any]
    known: Bools
    n_listed: Ints
    hit_user: Ints
    hit_rank: Ints
    hit_grade: Floats
    hit_first: Bools
    truth_user: Ints
    truth_grade: Floats

    def relevant(self, threshold: float | None, visible: str) -> "Judged":
        """The same lists with the relevant rows only; `visible` = retrieved hides truth that is not listed."""
        if (threshold, visible) not in self._views:
            self._views[threshold, visible] = self._relevant(threshold, visible)
        return self._views[threshold, visible]

    @cached_property
    def _views(self) -> dict[tuple[float | None, str], "Judged"]:
        return {}

    def _relevant(self, threshold: float | None, visible: str) -> "Judged":
        lists = self
        if threshold is not None and (self.truth_grade < threshold).any():
            hit, truth = self.hit_grade >= threshold, self.truth_grade >= threshold
            lists = replace(
                self,
                hit_user=self.hit_user[hit],
                hit_rank=self.hit_rank[hit],
                hit_grade=self.hit_grade[hit],
                hit_first=self.hit_first[hit],
                truth_user=self.truth_user[truth],
                truth_grade=self.truth_grade[truth],
            )
        if visible == "retrieved":
            user, grade = lists.hit_user[lists.hit_first], lists.hit_grade[lists.hit_first]
            best_first = np.lexsort((-grade, user))
            lists = replace(lists, truth_user=user[best_first], truth_grade=grade[best_first])
        return lists

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return len(self.users)

    @cached_property
    def n_relevant(self) -> Ints:
        """(users,) rows of the truth."""
        return np.bincount(self.truth_user, minlength=self.n_users)

    @cached_property
    def hit_number(self) -> Ints:
        """(hits,) 1 for a user's first hit, 2 for the second, …: the hits up to and including this rank."""
        return position_in_user(self.hit_user, self.n_users)

    @cached_property
    def truth_rank(self) -> Ints:
        """(truth rows,) place of the row in the user's ideal list."""
        return position_in_user(self.truth_user, self.n_users)

    def within(self, k: int | None) -> Bools:
        """(hits,) does the hit stand in the top k?"""
        return np.ones(len(self.hit_rank), dtype=bool) if k is None else self.hit_rank <= k

    def cutoff(self, k: int | None) -> Ints:
        """(users,) k, or the length of the list where there is no cutoff."""
        return self.n_listed if k is None else np.full(self.n_users, k)

    def length(self, k: int | None) -> Ints:
        """(users,) items in the list, at most k."""
        return self.n_listed if k is None else np.minimum(self.n_listed, k)

    def count(self, k: int | None) -> Ints:
        """(users,) hits in the top k."""
        return np.bincount(self.hit_user[self.within(k)], minlength=self.n_users)

    def total(self, values: Floats, k: int | None) -> Floats:
        """(users,) sum of a value per hit over the top k, added in rank order."""
        top = self.within(k)
        return per_user(self.hit_user[top], values[top], self.n_users)


def per_user(user: Ints, values: Floats, n_users: int) -> Floats:
    """(users,) sums of values, each user's added one after the other in the order given."""
    return np.bincount(user, weights=values, minlength=n_users).astype(np.float64, copy=False)


def position_in_user(user: Ints, n_users: int) -> Ints:
    """1, 2, 3 … within each user, for rows sorted by user."""
    count = np.bincount(user, minlength=n_users)
    start = np.cumsum(count) - count
    return np.arange(1, len(user) + 1) - start[user]
