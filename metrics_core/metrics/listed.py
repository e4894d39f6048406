"""Listed: the input of the metrics beyond accuracy. One row per recommended item, with or without a judgement."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.judged import Bools, Floats, Ints, per_user, ratio_or_zero
from concord.metrics_core.metrics.user_sums import UserSums


def _no_rows() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Items:
    """Train users, features and groups of the items, numbered 0 … n - 1 over all items of lists, train and catalogue.

    n_train_users  : distinct users of the train
    n_interactions : distinct pairs of user and item in the train, which is the sum of `users`
    users          : (items,) distinct train users of each item; 0: a cold item
    in_catalogue   : (items,) True if the item belongs to the catalogue
    features       : (items, d) 0/1 categories or vectors; zeros for an item without features; None: no item has any
    group          : (items,) index of each item's group in `groups`, or their number for an item without one; None:
                     there are no groups
    groups         : the names of the groups of the catalogue, sorted
    """

    n_train_users: int
    n_interactions: int
    users: Ints
    in_catalogue: Bools
    features: Floats | None
    group: Ints | None = None
    groups: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.users)

    @cached_property
    def popularity_rank(self) -> Ints:
        """(items,) 1 for the most train users, 2 for the next number of users that occurs, …; 0: a cold item."""
        occurring = np.unique(self.users[self.users > 0])
        rank = len(occurring) - np.searchsorted(occurring, self.users)
        return np.where(self.users > 0, rank, 0)

    @cached_property
    def has_features(self) -> Floats:
        """(items,) 1, or 0 for an item without features."""
        return np.asarray(self._known_features().any(axis=1), dtype=np.float64)

    @cached_property
    def directions(self) -> list[Floats]:
        """(items,) for each feature: the features scaled to length 1; an item without features stays 0."""
        features = _near_one(self._by_feature())
        length = np.sqrt(_sum_of_features([feature * feature for feature in features]))
        return _scaled_features(features, length)

    @cached_property
    def category_shares(self) -> list[Floats]:
        """(items,) for each category: its share in the item; an item without category stays 0."""
        if (self._known_features() < 0).any():
            msg = "calibration needs categories: features of 0 and 1, or at least none below 0"
            raise ValueError(msg)
        features = self._by_feature()
        return _scaled_features(features, _sum_of_features(features))

    @cached_property
    def category_bits(self) -> NDArray[np.uint8]:
        """(ceil(d / 8), items) the categories of an item, eight to a byte."""
        features = self._known_features()
        if not ((features == 0) | (features == 1)).all():
            msg = "ild_distance jaccard and hamming need features of 0 and 1; for vectors choose cosine"
            raise ValueError(msg)
        return np.packbits(features.T.astype(bool), axis=0)

    def _by_feature(self) -> list[Floats]:
        features = self._known_features()
        return [np.ascontiguousarray(features[:, number]) for number in range(features.shape[1])]

    def _known_features(self) -> Floats:
        if self.features is None:
            msg = "the items have no features"
            raise ValueError(msg)
        return self.features

    def long_tail(self, head: float) -> Bools:
        """Return (items,) False for the fewest most popular items with the share `head` of the interactions, else True."""
        popular_first = np.argsort(-self.users, kind="stable")
        users = self.users[popular_first]
        held_before = (np.cumsum(users) - users) / max(self.n_interactions, 1)
        tail = np.empty(self.n_items, dtype=bool)
        tail[popular_first] = (held_before >= head) | (users == 0)
        return tail


@dataclass(frozen=True)
class Listed:
    """Recommendations with all their items; users are numbered 0 … n_users - 1, ranks start at 1 and leave no gaps.

    n_listed     : (users,) length of the list
    row_*        : (rows,) user number, rank and item number of each listed item, by user and rank
    row_relevant : (rows,) True if the item is relevant for this user
    history_*    : (train rows,) user number and item number of the users' interactions in train, by user and item
    relevant_*   : (relevant rows,) user number and item number of the relevant items in the catalogue, by user and item;
                   empty if items have no groups
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
        """Return (rows,) True if the item is in the top k."""
        return np.ones(len(self.row_rank), dtype=bool) if k is None else self.row_rank <= k

    def length(self, k: int | None) -> Ints:
        """Return (users,) items in the list, at most k."""
        return self.n_listed if k is None else np.minimum(self.n_listed, k)

    def total(self, values: Floats, k: int | None) -> Floats:
        """Return (users,) sum of a value per listed item over the top k, added in rank order."""
        top = self.within(k)
        return per_user(self.row_user[top], values[top], self.n_users)

    def sums(self, values: Floats, k: int | None) -> UserSums:
        """Return exact sums of a value per listed item over the top k."""
        top = self.within(k)
        return UserSums.from_values(self.row_user[top], values[top], self.n_users)

    def mean(self, values: Floats, k: int | None) -> Floats:
        """Return (users,) mean of a value per listed item over the top k, rounded once; NaN without list."""
        return self.sums(values, k).mean(self.length(k))

    def history_total(self, values: Floats) -> Floats:
        """Return (users,) sum of a value per item of the history."""
        return per_user(self.history_user, values, self.n_users)

    @cached_property
    def n_history(self) -> Ints:
        """(users,) items of the history."""
        return np.bincount(self.history_user, minlength=self.n_users)

    @cached_property
    def row_first(self) -> Bools:
        """(rows,) True at the item's first rank; False for the copies that `duplicates: keep` counts."""
        pair = self.row_user * self.items.n_items + self.row_item
        first = np.zeros(len(pair), dtype=bool)
        first[np.unique(pair, return_index=True)[1]] = True
        return first


def _near_one(features: list[Floats]) -> list[Floats]:
    """Return each item's features times a power of two, the largest between 1/2 and 1: no square is 0 or infinite."""
    largest = np.max(np.abs(features), axis=0, initial=0.0)
    exponent = np.frexp(largest)[1]
    return [np.ldexp(feature, -exponent) for feature in features]


def _sum_of_features(features: list[Floats]) -> Floats:
    """Return (items,) sum of the features, one after the other, so that no processor adds in another order."""
    total = np.zeros_like(features[0])
    for feature in features:
        total += feature
    return total


def _scaled_features(features: list[Floats], whole: Floats) -> list[Floats]:
    """Return each feature / whole; 0 where whole is 0."""
    return [ratio_or_zero(feature, whole) for feature in features]
