"""Input of the metrics beyond accuracy: recommended items, judged or not, and their features."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.judged import Bools, Floats, Ints, ratio_or_zero, sum_by_user
from concord.metrics_core.metrics.user_sums import UserSums

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Items:
    """Popularity, features and groups of the items of lists, train and catalogue.

    Items are numbered 0 … n_items - 1.

    Attributes
    ----------
    n_train_users : int
        Number of distinct users in train.
    n_interactions : int
        Number of distinct pairs of user and item in train: the sum of `users`.
    users : (n_items,) int64
        Number of distinct train users of each item; 0 for a cold item.
    in_catalogue : (n_items,) bool
        True if the item belongs to the catalogue.
    features : (n_items, d) float64 or None
        Categories (0 or 1) or vectors; a row of zeros for an item without features.
        None if no item has features.
    group : (n_items,) int64 or None
        Index of each item's group in `groups`, or `len(groups)` for an item without a group.
        None if there are no groups.
    groups : tuple of str
        Names of the groups in the catalogue, sorted.
    ids : (n_items,) Array or None
        Ids as text, ascending; None if no lists are matched with the items.
    """

    n_train_users: int
    n_interactions: int
    users: Ints
    in_catalogue: Bools
    features: Floats | None
    group: Ints | None = None
    groups: tuple[str, ...] = ()
    ids: "pa.Array | None" = None

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.users)

    @cached_property
    def popularity_rank(self) -> Ints:
        """(n_items,) 1 for the most train users, 2 for the next number, …; 0 for a cold item."""
        user_counts = np.unique(self.users[self.users > 0])
        rank = len(user_counts) - np.searchsorted(user_counts, self.users)
        return np.where(self.users > 0, rank, 0)

    @cached_property
    def has_features(self) -> Floats:
        """(n_items,) 1.0, or 0.0 for an item without features."""
        return np.asarray(self._require_features().any(axis=1), dtype=np.float64)

    @cached_property
    def directions(self) -> list[Floats]:
        """For each feature (n_items,) its value after each item is scaled to length 1.

        An item without features stays 0.
        """
        features = _scale_near_one(self._feature_columns())
        length = np.sqrt(_sum_of_features([feature * feature for feature in features]))
        return _divide_features(features, length)

    @cached_property
    def category_shares(self) -> list[Floats]:
        """For each category (n_items,) its share in each item; 0 for an item without categories."""
        if (self._require_features() < 0).any():
            msg = "calibration needs categories: features of 0 and 1, or at least none below 0"
            raise ValueError(msg)
        features = self._feature_columns()
        return _divide_features(features, _sum_of_features(features))

    @cached_property
    def category_bits(self) -> NDArray[np.uint8]:
        """(ceil(d / 8), n_items) categories of each item, eight to a byte."""
        features = self._require_features()
        if not ((features == 0) | (features == 1)).all():
            msg = (
                "ild_distance jaccard and hamming need features of 0 and 1; "
                "for vectors choose cosine"
            )
            raise ValueError(msg)
        return np.packbits(features.T.astype(bool), axis=0)

    def long_tail(self, head: float) -> Bools:
        """Return (n_items,) True for items of the long tail.

        The head are the fewest most popular items with the share `head` of the interactions.
        """
        popular_first = np.argsort(-self.users, kind="stable")
        users = self.users[popular_first]
        share_before = (np.cumsum(users) - users) / max(self.n_interactions, 1)
        tail = np.empty(self.n_items, dtype=bool)
        tail[popular_first] = (share_before >= head) | (users == 0)
        return tail

    def _feature_columns(self) -> list[Floats]:
        features = self._require_features()
        return [np.ascontiguousarray(features[:, number]) for number in range(features.shape[1])]

    def _require_features(self) -> Floats:
        assert self.features is not None, "refused before"
        return self.features


def _scale_near_one(features: list[Floats]) -> list[Floats]:
    """Return each item's features times a power of two, so that no square is 0 or infinite.

    The largest feature of an item is then between 1/2 and 1.
    """
    largest = np.max(np.abs(features), axis=0, initial=0.0)
    exponent = np.frexp(largest)[1]
    return [np.ldexp(feature, -exponent) for feature in features]


def _sum_of_features(features: list[Floats]) -> Floats:
    """Return (n_items,) sum of the features, added one by one: all processors round alike."""
    total = np.zeros_like(features[0])
    for feature in features:
        total += feature
    return total


def _divide_features(features: list[Floats], divisor: Floats) -> list[Floats]:
    """Return each feature / divisor; 0 where the divisor is 0."""
    return [ratio_or_zero(feature, divisor) for feature in features]


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
