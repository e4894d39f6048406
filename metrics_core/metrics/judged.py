"""Judged: what every metric reads. Sparse: one row a recommended item that the truth knows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.exact_sums import UserSums

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Array = TypeVar("Array", bound=NDArray[Any])


@dataclass(frozen=True)
class Judged:
    """Lists joined with the truth; users are numbered 0 … n_users - 1, ranks start at 1. No array can be written to.

    users       : (users,) ids, ascending
    known       : (users,) is the user in the truth, or stated to be evaluated?
    n_listed    : (users,) length of the list
    hit_*       : (hits,) user number, rank and grade of each listed item that the truth knows, by user and rank
    hit_first   : (hits,) is it the item's first place in the list? False for the copies that `keep` counts
    hit_tied    : (hits, 2) first and last rank of the items that share the hit's score; None: no tie is averaged
    truth_*     : (truth rows,) user number and grade of each row of the truth, by user, best grade first
    truth_place : (truth rows,) where the row stood in the truth as it was given; None: nobody asked
    columns     : name of a column of the catalogue -> its numbers, (hits,) and (truth rows,)
    weights     : what each relevant row counts, (hits,) and (truth rows,): one over its propensity; None: all count 1
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
    hit_tied: Ints | None = None
    truth_place: Ints | None = None
    columns: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)

    weights: tuple[Floats, Floats] | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            _map_arrays(getattr(self, each.name), read_only)

    def copied(self) -> "Judged":
        """Return the same lists with arrays of their own, for code that may write to them in spite of all."""
        return replace(
            self,
            **{each.name: _map_arrays(getattr(self, each.name), np.copy) for each in fields(self)},
        )

    def weighed(self, earned: Floats) -> Floats:
        """(hits,) what each hit earns, times what it counts."""
        return earned if self.weights is None else earned * self.weights[0]

    def hit_column(self, name: str) -> Floats:
        """(hits,) the catalogue's number of each hit, such as its price."""
        return self.columns[name][0]

    def truth_column(self, name: str) -> Floats:
        """(truth rows,) the same of each row of the truth."""
        return self.columns[name][1]

    @cached_property
    def unweighed(self) -> "Judged":
        """The same lists where all relevant rows count 1."""
        return self if self.weights is None else replace(self, weights=None)

    def relevant(self, threshold: float | None, visible: str) -> "Judged":
        """The same lists with the relevant rows only; `visible` = retrieved hides truth that is not listed."""
        if (threshold, visible) not in self._views:
            lists = self._relevant(threshold, visible)
            self._views[threshold, visible] = None if lists is self else lists
        return self._views[threshold, visible] or self

    @cached_property
    def _views(self) -> dict[tuple[float | None, str], "Judged | None"]:
        """None: these lists themselves. Naming themselves they would stay in memory until somebody looks for garbage."""
        return {}

    def _relevant(self, threshold: float | None, visible: str) -> "Judged":
        lists = self
        if threshold is not None and (self.truth_grade < threshold).any():
            hit, truth = self.hit_grade >= threshold, self.truth_grade >= threshold
            lists = self.keep(hit, truth)
        if visible == "retrieved":
            user, grade = lists.hit_user[lists.hit_first], lists.hit_grade[lists.hit_first]
            best_first = np.lexsort((-grade, user))
            lists = replace(
                lists,
                truth_user=user[best_first],
                truth_grade=grade[best_first],
                truth_place=None,
                columns={
                    name: (of_hits, of_hits[lists.hit_first][best_first])
                    for name, (of_hits, _) in lists.columns.items()
                },
                weights=None
                if lists.weights is None
                else (lists.weights[0], lists.weights[0][lists.hit_first][best_first]),
            )
        return lists

    def once(
        self, make: Callable[..., NDArray[Any]], *arguments: Any, **options: Any
    ) -> NDArray[Any]:
        """Return `make(self, *arguments, **options)`, (users,), computed once: definitions of a metric share its parts."""
        key = make, repr((arguments, options))
        if key not in self._made:
            self._made[key] = read_only(make(self, *arguments, **options))
        return self._made[key]

    @cached_property
    def _made(self) -> dict[tuple[Callable[..., Any], str], NDArray[Any]]:
        return {}

    def keep(self, hit: Bools, truth: Bools) -> "Judged":
        """The same users with some of the hits and some rows of the truth."""
        return replace(
            self,
            hit_user=self.hit_user[hit],
            hit_rank=self.hit_rank[hit],
            hit_grade=self.hit_grade[hit],
            hit_first=self.hit_first[hit],
            hit_tied=None if self.hit_tied is None else self.hit_tied[hit],
            truth_user=self.truth_user[truth],
            truth_grade=self.truth_grade[truth],
            truth_place=None if self.truth_place is None else self.truth_place[truth],
            columns={name: (a[hit], b[truth]) for name, (a, b) in self.columns.items()},
            weights=None
            if self.weights is None
            else (self.weights[0][hit], self.weights[1][truth]),
        )

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return len(self.users)

    @cached_property
    def n_relevant(self) -> Ints:
        """(users,) rows of the truth."""
        return read_only(np.bincount(self.truth_user, minlength=self.n_users))

    @cached_property
    def weight(self) -> Ints | Floats:
        """(users,) what the relevant items count together: their number, or the sum of their weights."""
        if self.weights is None:
            return self.n_relevant
        return read_only(UserSums.of(self.truth_user, self.weights[1], self.n_users).total())

    @cached_property
    def hit_number(self) -> Ints:
        """(hits,) 1 for a user's first hit, 2 for the second, …: the hits up to and including this rank."""
        return read_only(position_in_user(self.hit_user, self.n_users))

    @cached_property
    def truth_rank(self) -> Ints:
        """(truth rows,) place of the row in the user's ideal list."""
        return read_only(position_in_user(self.truth_user, self.n_users))

    def within(self, k: int | None) -> Bools:
        """(hits,) does the hit stand in the top k?"""
        return np.ones(len(self.hit_rank), dtype=bool) if k is None else self.hit_rank <= k

    def cutoff(self, k: int | None) -> Ints:
        """(users,) k, or the length of the list where there is no cutoff."""
        return self.n_listed if k is None else np.full(self.n_users, k)

    def reachable(self, k: int | None) -> Ints:
        """(users,) the relevant items that a list of k items can hold: min(k, relevant), all where there is no k."""
        return self.n_relevant if k is None else np.minimum(self.n_relevant, k)

    def length(self, k: int | None) -> Ints:
        """(users,) items in the list, at most k."""
        return self.n_listed if k is None else np.minimum(self.n_listed, k)

    def count(self, k: int | None) -> Ints | Floats:
        """(users,) hits in the top k, each by what it counts; where ties are averaged, the hits to be expected there."""
        if self.hit_tied is not None or self.weights is not None:
            return self.exact_total(self.weighed(np.ones(len(self.hit_rank))), k)
        return np.bincount(self.hit_user[self.within(k)], minlength=self.n_users)

    def total(self, values: Floats, k: int | None) -> Floats:
        """(users,) sum of a value per hit over the top k, added in rank order."""
        if self.hit_tied is not None:
            return per_user(self.hit_user, values * self.chance_within(k), self.n_users)
        top = self.within(k)
        return per_user(self.hit_user[top], values[top], self.n_users)

    def exact_total(self, values: Floats, k: int | None) -> Floats:
        """(users,) as `total`, but exact and rounded once, so that the order of the hits changes no bit."""
        if self.hit_tied is not None:
            values = values * self.chance_within(k)
            return UserSums.of(self.hit_user, values, self.n_users).total()
        top = self.within(k)
        return UserSums.of(self.hit_user[top], values[top], self.n_users).total()

    def discounted(self, values: Floats, weights: Callable[[int], Floats], k: int | None) -> Floats:
        """(users,) sum over the top k of a hit's value x the weight of its rank; `weights(depth)` from rank 0 on."""
        if self.hit_tied is None:
            weight = weights(int(self.hit_rank.max(initial=0)))
            return self.total(values * weight[self.hit_rank], k)
        first, last = self.hit_tied.T
        up_to = np.cumsum(weights(int(last.max(initial=0))))
        end = last if k is None else np.minimum(last, k)
        within = np.where(end >= first, up_to[end] - up_to[np.minimum(first - 1, end)], 0.0)
        return per_user(self.hit_user, values * within / (last - first + 1), self.n_users)

    def chance_within(self, k: int | Ints | None) -> Floats:
        """(hits,) the share of the ranks that the hit may take which lie in the top k."""
        first, last = self.tied_ranks.T
        end = last if k is None else np.minimum(last, k)
        return np.maximum(end - first + 1, 0) / (last - first + 1)

    @property
    def tied_ranks(self) -> Ints:
        """(hits, 2) the first and last rank that a hit may take."""
        if self.hit_tied is None:
            return np.column_stack([self.hit_rank, self.hit_rank])
        return self.hit_tied


def read_only(array: Array) -> Array:
    """Return the array, which can no longer be written to."""
    array.setflags(write=False)
    return array


def _map_arrays(value: Any, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    """Return a field with its arrays changed: one, those of a tuple, or those of a mapping of tuples."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_map_arrays(each, change) for each in value)
    if isinstance(value, Mapping):
        return {name: _map_arrays(each, change) for name, each in value.items()}
    return value


def per_user(user: Ints, values: Floats, n_users: int) -> Floats:
    """(users,) sums of values, each user's added one after the other in the order given."""
    return np.bincount(user, weights=values, minlength=n_users).astype(np.float64, copy=False)


def position_in_user(user: Ints, n_users: int) -> Ints:
    """1, 2, 3 … within each user, for rows sorted by user."""
    count = np.bincount(user, minlength=n_users)
    start = np.cumsum(count) - count
    return np.arange(1, len(user) + 1) - start[user]


def product_before(factor: Floats, number: Ints) -> Floats:
    """(rows,) product of the factors of the earlier rows; `number` counts 1, 2, 3 … within a group of rows."""
    product = np.ones(len(factor))
    for n in range(2, int(number.max(initial=1)) + 1):
        here = np.flatnonzero(number == n)
        product[here] = product[here - 1] * factor[here - 1]
    return product
