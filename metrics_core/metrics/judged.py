"""Input of the accuracy metrics: one row per recommended item that has a judgement."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.user_sums import UserSums

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Array = TypeVar("Array", bound=NDArray[Any])


class SubtopicRows(NamedTuple):
    """Subtopics of items: one row per item and subtopic, by user, item and name.

    Attributes
    ----------
    row : (n_rows,) array of int
        Index of the hit, or of the row of the ground truth.
    subtopic : (n_rows,) array of int
        Number of the subtopic among those of the user, from 0.
    name : (n_rows,) array
        Name of the subtopic, as text.
    grade : (n_rows,) array
        Grade of the item for the subtopic.
    """

    row: Ints
    subtopic: Ints
    name: NDArray[Any]
    grade: Floats

    def select(self, kept: Bools) -> "SubtopicRows":
        """Return the selected rows."""
        return SubtopicRows(self.row[kept], self.subtopic[kept], self.name[kept], self.grade[kept])

    def renumber(self, order: Ints | Bools, n: int) -> "SubtopicRows":
        """Return the rows of the hits, or of the ground truth, that `order` selects of all n."""
        selected = np.arange(n)[order]
        index = np.full(n, -1)
        index[selected] = np.arange(len(selected))
        rows = self._replace(row=index[self.row])
        return rows.select(rows.row >= 0)


@dataclass(frozen=True)
class Judged:
    """Recommendations joined with the ground truth, the input of a metric.

    Users are numbered 0 … n_users - 1, ranks start at 1. Arrays are read-only.

    Attributes
    ----------
    users : (n_users,) array
        Ids, ascending.
    known : (n_users,) array of bool
        True if the user is in the ground truth or in the users to evaluate.
    n_listed : (n_users,) array of int
        Length of the list.
    hit_user, hit_rank, hit_grade : (n_hits,) arrays
        User number, rank and grade of each recommended item that has a judgement, by user and rank.
    hit_first : (n_hits,) array of bool
        False for the later copies of an item, which `duplicates: keep` counts.
    truth_user, truth_grade : (n_truth,) arrays
        User number and grade of each row of the ground truth, by user, best grade first.
    hit_tied : (n_hits, 2) array of int, optional
        First and last rank of the items with the hit's score; None if ties are not averaged.
    hit_equal : (n_hits, 2) array of int, optional
        The same if their ids decide the order; None if no list has equal scores.
    truth_position : (n_truth,) array of int, optional
        Position of the row in the ground truth's original order; None if no convention reads it.
    columns : mapping of str to (array, array)
        Numeric columns of the catalogue by name, for the hits and for the rows of the ground truth.
    weights : (array, array), optional
        Inverse propensities of hits and of rows of the ground truth; None if all weights are 1.
    subtopics : (SubtopicRows, SubtopicRows), optional
        Subtopics of hits and of rows of the ground truth; None if the metrics read none.

    Examples
    --------
    >>> import concord as cc
    >>> @cc.metric()
    ... def tophit(lists: cc.metrics.Judged, k):
    ...     '''tophit@k = 1 if the first item is relevant, else 0.'''
    ...     return lists.count(1)
    ...
    >>> result = cc.evaluate({"u1": ["a", "b"]}, {"u1": ["a"]}, metrics=["tophit@2"])
    >>> result["tophit@2"]
    1.0
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
    hit_equal: Ints | None = None
    truth_position: Ints | None = None
    columns: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)
    weights: tuple[Floats, Floats] | None = None
    subtopics: tuple[SubtopicRows, SubtopicRows] | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            _map_arrays(getattr(self, each.name), read_only)

    def copy(self) -> "Judged":
        """Return the same lists with copied arrays, for code that may write to them."""
        return replace(
            self,
            **{each.name: _map_arrays(getattr(self, each.name), np.copy) for each in fields(self)},
        )

    def apply_weights(self, gain: Floats) -> Floats:
        """Return (n_hits,) the gain of each hit times its weight."""
        return gain if self.weights is None else gain * self.weights[0]

    def hit_column(self, name: str) -> Floats:
        """Return (n_hits,) a numeric column of the catalogue, such as each hit's price."""
        return self.columns[name][0]

    @property
    def hit_subtopics(self) -> SubtopicRows:
        """Subtopics of the hits, for metrics that read subtopics."""
        return self._subtopics[0]

    @property
    def truth_subtopics(self) -> SubtopicRows:
        """Subtopics of the rows of the ground truth, for metrics that read subtopics."""
        return self._subtopics[1]

    @property
    def _subtopics(self) -> tuple[SubtopicRows, SubtopicRows]:
        if self.subtopics is None:
            msg = "the lists have no subtopics; register the metric with `subtopics=True`"
            raise ValueError(msg)
        return self.subtopics

    def truth_column(self, name: str) -> Floats:
        """Return (n_truth,) a numeric column of the catalogue for each row of the ground truth."""
        return self.columns[name][1]

    @cached_property
    def unweighted(self) -> "Judged":
        """The same lists with all weights 1."""
        return self if self.weights is None else replace(self, weights=None)

    def relevant(self, threshold: float | None, visible: str) -> "Judged":
        """Return the lists with the relevant rows only.

        Parameters
        ----------
        threshold : float or None
            Lowest relevant grade; None if all grades are relevant.
        visible : {"all", "retrieved"}
            "retrieved" removes ground truth that is not recommended.
        """
        if (threshold, visible) not in self._views:
            lists = self._relevant(threshold, visible)
            self._views[threshold, visible] = None if lists is self else lists
        return self._views[threshold, visible] or self

    @cached_property
    def _views(self) -> dict[tuple[float | None, str], "Judged | None"]:
        """Results of `relevant` by its arguments.

        None means these lists: a reference to them would be a cycle and keep them in memory.
        """
        return {}

    def _relevant(self, threshold: float | None, visible: str) -> "Judged":
        lists = self
        if threshold is not None and (self.truth_grade < threshold).any():
            hit, truth = self.hit_grade >= threshold, self.truth_grade >= threshold
            lists = self.keep(hit, truth)
        if threshold is not None and lists.subtopics is not None:
            hits, rows = (each.select(each.grade >= threshold) for each in lists.subtopics)
            lists = replace(lists, subtopics=(hits, rows))
        if visible == "retrieved":
            user, grade = lists.hit_user[lists.hit_first], lists.hit_grade[lists.hit_first]
            best_first = np.lexsort((-grade, user))
            rows_best_first = np.flatnonzero(lists.hit_first)[best_first]
            lists = replace(
                lists,
                truth_user=user[best_first],
                truth_grade=grade[best_first],
                truth_position=None,
                columns={
                    name: (values, values[lists.hit_first][best_first])
                    for name, (values, _) in lists.columns.items()
                },
                weights=None
                if lists.weights is None
                else (lists.weights[0], lists.weights[0][lists.hit_first][best_first]),
                subtopics=lists.subtopics
                and (
                    lists.subtopics[0],
                    lists.subtopics[0].renumber(rows_best_first, len(lists.hit_first)),
                ),
            )
        return lists

    def cached(
        self, function: Callable[..., NDArray[Any]], *arguments: Any, **options: Any
    ) -> NDArray[Any]:
        """Return `function(self, *arguments, **options)`, computed once.

        Several definitions of a metric share its parts.
        """
        key = function, repr((arguments, options))
        if key not in self._computed:
            self._computed[key] = read_only(function(self, *arguments, **options))
        return self._computed[key]

    @cached_property
    def _computed(self) -> dict[tuple[Callable[..., Any], str], NDArray[Any]]:
        return {}

    def keep(self, hit: Bools | Ints, truth: Bools) -> "Judged":
        """Return the lists with the selected hits, in their order, and rows of the ground truth."""
        return replace(
            self,
            hit_user=self.hit_user[hit],
            hit_rank=self.hit_rank[hit],
            hit_grade=self.hit_grade[hit],
            hit_first=self.hit_first[hit],
            hit_tied=None if self.hit_tied is None else self.hit_tied[hit],
            hit_equal=None if self.hit_equal is None else self.hit_equal[hit],
            truth_user=self.truth_user[truth],
            truth_grade=self.truth_grade[truth],
            truth_position=None if self.truth_position is None else self.truth_position[truth],
            columns={name: (a[hit], b[truth]) for name, (a, b) in self.columns.items()},
            weights=None
            if self.weights is None
            else (self.weights[0][hit], self.weights[1][truth]),
            subtopics=self.subtopics
            and (
                self.subtopics[0].renumber(hit, len(self.hit_grade)),
                self.subtopics[1].renumber(truth, len(self.truth_grade)),
            ),
        )

    def select_users(self, users: Bools) -> "Judged":
        """Return the lists of the selected users."""
        number = np.cumsum(users) - 1
        lists = self.keep(users[self.hit_user], users[self.truth_user])
        return replace(
            lists,
            users=self.users[users],
            known=self.known[users],
            n_listed=self.n_listed[users],
            hit_user=number[lists.hit_user],
            truth_user=number[lists.truth_user],
        )

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.users)

    @cached_property
    def n_relevant(self) -> Ints:
        """(n_users,) number of rows of the ground truth."""
        return read_only(np.bincount(self.truth_user, minlength=self.n_users))

    @cached_property
    def relevant_weight(self) -> Ints | Floats:
        """(n_users,) sum of the weights of the relevant items; without weights their number."""
        if self.weights is None:
            return self.n_relevant
        return read_only(
            UserSums.from_values(self.truth_user, self.weights[1], self.n_users).total()
        )

    @cached_property
    def hit_number(self) -> Ints:
        """(n_hits,) 1 for a user's first hit, 2 for the second, …"""
        return read_only(position_in_user(self.hit_user, self.n_users))

    @cached_property
    def truth_rank(self) -> Ints:
        """(n_truth,) rank of the row in the user's ideal list."""
        return read_only(position_in_user(self.truth_user, self.n_users))

    def within(self, k: int | None) -> Bools:
        """Return (n_hits,) True if the hit is in the top k."""
        return np.ones(len(self.hit_rank), dtype=bool) if k is None else self.hit_rank <= k

    def cutoff(self, k: int | None) -> Ints:
        """Return (n_users,) k; without a cutoff the length of the list."""
        return self.n_listed if k is None else np.full(self.n_users, k)

    def reachable(self, k: int | None) -> Ints:
        """Return (n_users,) min(k, relevant items); without a cutoff the relevant items."""
        return self.n_relevant if k is None else np.minimum(self.n_relevant, k)

    def length(self, k: int | None) -> Ints:
        """Return (n_users,) the number of items in the list, at most k."""
        return self.n_listed if k is None else np.minimum(self.n_listed, k)

    def count(self, k: int | None) -> Ints | Floats:
        """Return (n_users,) the weighted number of hits in the top k; averaged over ties if set."""
        if self.hit_tied is not None or self.weights is not None:
            return self.exact_total(self.apply_weights(np.ones(len(self.hit_rank))), k)
        return np.bincount(self.hit_user[self.within(k)], minlength=self.n_users)

    def total(self, values: Floats, k: int | None) -> Floats:
        """Return (n_users,) the sum of a value per hit over the top k, added in rank order."""
        top = self.within(k)
        return sum_by_user(self.hit_user[top], values[top], self.n_users)

    def exact_total(self, values: Floats, k: int | None) -> Floats:
        """Return `total` rounded once, so that the order of the hits changes no bit.

        It is the expected value over all orders of ties, if these are averaged.
        """
        if self.hit_tied is not None:
            values = values * self.chance_within(k)
            return UserSums.from_values(self.hit_user, values, self.n_users).total()
        top = self.within(k)
        return UserSums.from_values(self.hit_user[top], values[top], self.n_users).total()

    def discounted(self, values: Floats, weights: Callable[[int], Floats], k: int | None) -> Floats:
        """Return (n_users,) the sum over the top k of value x weight of the rank.

        `weights(depth)` returns the weight of rank i at index i, for i = 0 … depth.
        """
        if self.hit_tied is None:
            weight = weights(int(self.hit_rank.max(initial=0)))
            return self.total(values * weight[self.hit_rank], k)
        first, last = self.hit_tied.T
        weight_sums = np.cumsum(weights(int(last.max(initial=0))))
        end = last if k is None else np.minimum(last, k)
        before = weight_sums[np.minimum(first - 1, end)]
        in_top = np.where(end >= first, weight_sums[end] - before, 0.0)
        return sum_by_user(self.hit_user, values * in_top / (last - first + 1), self.n_users)

    def chance_within(self, k: int | Ints | None) -> Floats:
        """Return (n_hits,) the share of the hit's possible ranks that are in the top k."""
        first, last = self.tied_ranks.T
        end = last if k is None else np.minimum(last, k)
        return np.maximum(end - first + 1, 0) / (last - first + 1)

    @property
    def tied_ranks(self) -> Ints:
        """(n_hits, 2) first and last possible rank of a hit."""
        if self.hit_tied is None:
            return np.column_stack([self.hit_rank, self.hit_rank])
        return self.hit_tied


def read_only(array: Array) -> Array:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def _map_arrays(value: Any, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    """Return an array, or a tuple or mapping of arrays, with each array changed."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, SubtopicRows):
        return SubtopicRows(*(change(column) for column in value))
    if isinstance(value, tuple):
        return tuple(_map_arrays(each, change) for each in value)
    if isinstance(value, Mapping):
        return {name: _map_arrays(each, change) for name, each in value.items()}
    return value


def sum_by_user(user: Ints, values: Floats, n_users: int) -> Floats:
    """Return (n_users,) sums of values, added in the order of the rows."""
    return np.bincount(user, weights=values, minlength=n_users).astype(np.float64, copy=False)


def position_in_user(user: Ints, n_users: int) -> Ints:
    """Return 1, 2, 3 … within each user, for rows sorted by user."""
    count = np.bincount(user, minlength=n_users)
    start = np.cumsum(count) - count
    return np.arange(1, len(user) + 1) - start[user]


def product_before(factor: Floats, number: Ints) -> Floats:
    """Return (n_rows,) the product of the factors of earlier rows of the same group.

    `number` counts 1, 2, 3 … within a group.
    """
    product = np.ones(len(factor))
    for n in range(2, int(number.max(initial=1)) + 1):
        rows = np.flatnonzero(number == n)
        product[rows] = product[rows - 1] * factor[rows - 1]
    return product


def running_sum(values: Floats, number: Ints) -> Floats:
    """Return (n_rows,) the sum of the values of a group up to each row, added in their order.

    `number` counts 1, 2, 3 … within a group.
    """
    total = values.astype(np.float64)
    for n in range(2, int(number.max(initial=1)) + 1):
        rows = np.flatnonzero(number == n)
        total[rows] += total[rows - 1]
    return total


def differs_from_previous(values: NDArray[Any]) -> Bools:
    """Return (n_rows,) True if the row differs from the previous one; True for the first row."""
    return np.concatenate([np.ones(min(len(values), 1), dtype=bool), values[1:] != values[:-1]])


def ratio_or_nan(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """Return part / whole; NaN where whole is 0."""
    undefined = np.full(len(part), np.nan)
    return np.divide(part, whole, out=undefined, where=np.asarray(whole) > 0)


def ratio_or_zero(part: Any, whole: Any) -> Floats:
    """Return part / whole; 0 where whole is 0."""
    part = np.asarray(part, dtype=np.float64)
    return np.divide(part, whole, out=np.zeros_like(part), where=np.asarray(whole) > 0)
