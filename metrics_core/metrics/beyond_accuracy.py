"""Metrics beyond accuracy, per user: how novel, popular, diverse and surprising a list is.

Each function takes `lists` (`RankedLists`), the cutoff `k` (None: the whole list) and, keyword-only
and without defaults, the conventions that it depends on.
It returns NaN for a user without a list, and where the value is undefined.
A mean divides by the number of items in the list, at most k.
Sums over the items of a list are exact and rounded once, so that the order of the items changes no
bit. Features are added one after the other.
"""

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.elementary import ln, log2
from concord.metrics_core.metrics.judged import (
    Floats,
    Ints,
    differs_from_previous,
    position_in_user,
    ratio_or_nan,
    ratio_or_zero,
    sum_by_user,
)
from concord.metrics_core.metrics.ranked_lists import RankedLists
from concord.metrics_core.metrics.user_sums import UserSums

_BIT_COUNT = np.array([n.bit_count() for n in range(256)], dtype=np.uint8)  # of each byte


def user_coverage(lists: RankedLists, k: int | None, *, user_coverage_kind: str) -> Floats:
    """UserCoverage@k = 1 if the list holds an item, else 0; `full`: 1 if it holds at least k items.

    Returns
    -------
    ndarray of shape (n_users,)
        0 or 1; 0 for a user without a list.

    References
    ----------
    Shani & Gunawardana (2011), Recommender Systems Handbook, 257-297.
    doi:10.1007/978-0-387-85820-3_8
    """
    required = 1 if user_coverage_kind == "any" or k is None else k
    return (lists.n_listed >= required).astype(np.float64)


def novelty(
    lists: RankedLists,
    k: int | None,
    *,
    novelty_population: str,
    novelty_norm: str,
    novelty_denominator: str,
    cold_item: str,
) -> Floats:
    """Novelty@k = mean over the top k of log2(training users / training users of the item).

    Returns
    -------
    ndarray of shape (n_users,)
        Mean self-information in bits, from 0, or from 0 to 1 if `novelty_norm` scales it.

    References
    ----------
    Zhou et al. (2010), PNAS 107(10), 4511-4515.  doi:10.1073/pnas.1000488107
    Vargas & Castells (2011), RecSys, 109-116.  doi:10.1145/2043932.2043955
    """
    items = lists.items
    population = items.n_train_users if novelty_population == "users" else items.n_interactions
    if population == 0:
        return np.full(lists.n_users, np.nan)
    is_warm = items.users > 0
    information = log2(population / np.maximum(items.users, 1))
    if cold_item != "one_user":
        information = np.where(is_warm, information, 0.0)
    weight = np.ones(items.n_items) if cold_item != "skip" else is_warm.astype(np.float64)
    n_items = lists.total(weight[lists.row_item], k)
    if novelty_denominator == "k" and k is not None:
        n_items = np.where(n_items > 0, k, 0)
    mean = lists.sums(information[lists.row_item], k).mean(n_items)
    if novelty_norm == "none":
        return mean
    return ratio_or_nan(mean, np.full(lists.n_users, log2(items.n_train_users)))


def average_popularity(lists: RankedLists, k: int | None) -> Floats:
    """ARP@k = mean over the top k of the training users of the item.

    Returns
    -------
    ndarray of shape (n_users,)
        Mean popularity in users, from 0.

    References
    ----------
    Yin, Cui, Li, Yao & Chen (2012), PVLDB 5(9), 896-907.  doi:10.14778/2311906.2311916
    """
    return lists.mean(lists.items.users[lists.row_item].astype(np.float64), k)


def long_tail(lists: RankedLists, k: int | None, *, longtail_head: float) -> Floats:
    """LongTail@k = items of the top k in the tail / items of the top k.

    The head is the smallest set of most popular items that has the share `longtail_head` of the
    interactions in train. Of equally popular items, those with the lower number come first.
    The tail is all other items, including cold items.

    Returns
    -------
    ndarray of shape (n_users,)
        Share of the recommended items, 0 to 1.

    References
    ----------
    Abdollahpouri, Burke & Mobasher (2017), RecSys, 42-46.  doi:10.1145/3109859.3109912
    """
    tail = lists.items.long_tail(longtail_head)
    return lists.mean(tail[lists.row_item].astype(np.float64), k)


def intra_list_diversity(
    lists: RankedLists, k: int | None, *, ild_distance: str, ild_one_item: str
) -> Floats:
    """ILD@k = mean over the pairs of items in the top k of the distance of their features.

    The convention `ild_distance` chooses the distance: 1 - cosine similarity, 1 - common categories
    / categories of either, or the number of categories that only one of the two has.
    The cosine distance of an item without features to any item is 1.
    The Jaccard distance of two items without categories is 0.
    Undefined for fewer than two items, and without features; `ild_one_item: zero` counts one item
    as 0.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1; cosine up to 2, hamming up to the number of categories.

    Raises
    ------
    ValueError
        If the distance is jaccard or hamming and a feature is neither 0 nor 1.

    References
    ----------
    Ziegler, McNee, Konstan & Lausen (2005), WWW, 22-32.  doi:10.1145/1060745.1060754
    """
    length = lists.length(k)
    pairs = length * (length - 1) // 2
    if ild_distance == "cosine":
        similarity = ratio_or_nan(_cosine_similarity_of_pairs(lists, k), pairs)
        diversity = 1.0 - np.minimum(similarity, 1.0)
    else:
        diversity = _category_distances_of_pairs(lists, k, ild_distance).mean(pairs)
    return np.where((length == 1) & (ild_one_item == "zero"), 0.0, diversity)


def serendipity(lists: RankedLists, k: int | None, *, serendipity_kind: str) -> Floats:
    """Serendipity@k = mean over the top k of surprise x relevant (0 or 1).

    With `serendipity_kind: popularity` the surprise is max(p - pu, 0) with p = (n + 1 - rank) / n,
    pu = (n + 1 - popularity rank) / n (0 for a cold item) and n items in the catalogue.
    Items with equally many training users share a popularity rank; there are no gaps between ranks.
    With `history` it is 1 - the mean cosine similarity of the item's features to those of the
    user's items in train; undefined without such items and without features.

    Returns
    -------
    ndarray of shape (n_users,)
        Mean surprise of the recommended items, 0 to 1; up to 2 with `history`.

    References
    ----------
    Murakami, Mori & Orihara (2008), JSAI 2007, LNCS 4914, 40-46.
    doi:10.1007/978-3-540-78197-4_5  (popularity)
    Zhang, Ó Séaghdha, Quercia & Jambor (2012), WSDM, 13-22.  doi:10.1145/2124295.2124300  (history)
    """
    surprise = {"popularity": _popularity_surprise, "history": _distance_to_history}
    return lists.mean(surprise[serendipity_kind](lists) * lists.row_relevant, k)


def calibration(lists: RankedLists, k: int | None, *, calibration_alpha: float) -> Floats:
    """Calibration@k = sum over categories of p x ln(p / ((1 - a) q + a p)), a = calibration_alpha.

    p and q are the distributions of the categories in the user's history and in the top k.
    Each item counts 1, divided equally among its categories; items without categories are left out.
    Undefined if no item of the history, or none of the top k, has a category.

    Returns
    -------
    ndarray of shape (n_users,)
        Divergence in nats, from 0 (the proportions of the history); lower is better.

    Raises
    ------
    ValueError
        If a feature is below 0.

    References
    ----------
    Steck (2018), RecSys, 154-162.  doi:10.1145/3240323.3240372
    """
    user, item = _top(lists, k)
    has_features = lists.items.has_features
    n_history = lists.history_total(has_features[lists.history_item])
    n_top = sum_by_user(user, has_features[item], lists.n_users)
    divergence = np.zeros(lists.n_users)
    for category in lists.items.category_shares:
        p = ratio_or_nan(lists.history_total(category[lists.history_item]), n_history)
        q = UserSums.from_values(user, category[item], lists.n_users).mean(n_top)
        mixed = (1.0 - calibration_alpha) * q + calibration_alpha * p
        divergence += p * ln(np.divide(p, mixed, out=np.ones_like(p), where=p > 0))
    return np.maximum(divergence, 0.0)  # below 0 by rounding only


def popularity_correlation(lists: RankedLists, k: int | None) -> Floats:
    """PopCorr@k = Spearman correlation of rank and popularity in the top k; 1: popular items first.

    Equally popular items share their mean rank by popularity.
    Undefined for fewer than two items, and if all items are equally popular.

    Returns
    -------
    ndarray of shape (n_users,)
        From -1 to 1; NaN where undefined.

    References
    ----------
    Zhu, He, Zhao, Zhang, Wang & Caverlee (2021), WSDM, 85-93.
    doi:10.1145/3437963.3441820  (the idea)
    """
    user, item = _top(lists, k)
    users_of_item = lists.items.users[item]
    popular_first = np.lexsort((-users_of_item, user))
    # Twice the distance from the middle: whole numbers, so that a perfect order is exactly 1.
    middle = lists.length(k)[user] + 1
    x = (2 * position_in_user(user, lists.n_users) - middle).astype(np.float64)
    y = np.empty_like(x)
    y[popular_first] = _twice_mean_position(
        user[popular_first], users_of_item[popular_first], lists.n_users
    )
    y -= middle
    covariance = sum_by_user(user, x * y, lists.n_users)
    x_variance = sum_by_user(user, x**2, lists.n_users)
    y_variance = sum_by_user(user, y**2, lists.n_users)
    return ratio_or_nan(covariance, np.sqrt(x_variance * y_variance))


def _twice_mean_position(user: Ints, value: Ints, n_users: int) -> Ints:
    """Return (n_rows,) first + last position of the rows with an equal value.

    Rows are sorted by user and value.
    """
    position = position_in_user(user, n_users)
    starts = np.flatnonzero(differs_from_previous(user) | differs_from_previous(value))
    size = np.diff(np.append(starts, len(user)))
    return np.repeat(2 * position[starts] + size - 1, size)


def _popularity_surprise(lists: RankedLists) -> Floats:
    """Return (n_rows,) max(p - pu, 0) of each listed item; NaN if the catalogue is empty."""
    items = lists.items
    n = np.count_nonzero(items.in_catalogue)
    if n == 0:
        return np.full(len(lists.row_item), np.nan)
    p = (n + 1 - lists.row_rank) / n
    pu = np.where(items.users > 0, (n + 1 - items.popularity_rank) / n, 0.0)
    return np.maximum(p - pu[lists.row_item], 0.0)


def _distance_to_history(lists: RankedLists) -> Floats:
    """Return (n_rows,) 1 - mean cosine similarity to the user's history; NaN without one."""
    similarity = np.zeros(len(lists.row_item))
    for feature in lists.items.directions:
        # The mean similarity to the history is the similarity to its mean direction.
        mean = ratio_or_nan(lists.history_total(feature[lists.history_item]), lists.n_history)
        similarity += feature[lists.row_item] * mean[lists.row_user]
    return 1.0 - similarity


def _cosine_similarity_of_pairs(lists: RankedLists, k: int | None) -> Floats:
    """Return (n_users,) sum of the cosine similarities over the pairs of the top k.

    |sum of directions|^2 contains each pair twice and each item once.
    """
    user, item = _top(lists, k)
    squared = np.zeros(lists.n_users)
    for feature in lists.items.directions:
        squared += UserSums.from_values(user, feature[item], lists.n_users).total() ** 2
    n_items = sum_by_user(user, lists.items.has_features[item], lists.n_users)
    return (squared - n_items) / 2


def _category_distances_of_pairs(lists: RankedLists, k: int | None, distance: str) -> UserSums:
    """Return sums of the distances over the pairs of the top k."""
    user, item = _top(lists, k)
    categories = lists.items.category_bits[:, item]
    max_length = int(lists.length(k).max(initial=0))
    max_distance = 1.0 if distance == "jaccard" else 8.0 * len(categories)
    sums = UserSums(lists.n_users, max_distance, max_length * (max_length - 1) // 2)
    for rank_difference in range(1, max_length):
        upper = np.flatnonzero(user[rank_difference:] == user[:-rank_difference])
        a, b = categories[:, upper], categories[:, upper + rank_difference]
        n_different = _count_bits(a ^ b)
        divisor = _count_bits(a | b) if distance == "jaccard" else np.ones_like(n_different)
        sums.add(user[upper], ratio_or_zero(n_different, divisor))
    return sums


def _count_bits(bytes_: NDArray[np.uint8]) -> Floats:
    """Return (n_columns,) number of ones in each column."""
    return _BIT_COUNT[bytes_].sum(axis=0, dtype=np.float64)


def _top(lists: RankedLists, k: int | None) -> tuple[Ints, Ints]:
    """Return (n_rows,) user and item of the rows in the top k."""
    top = lists.within(k)
    return lists.row_user[top], lists.row_item[top]
