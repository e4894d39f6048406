"""Metrics beyond accuracy, per user: how new, popular, varied and surprising a list is.

Every function takes `listed`, the cutoff `k` (None: the whole list) and, keyword-only and without defaults, the
conventions that it depends on. It returns `(users,)` float64: NaN for a user without list, and wherever the value
is not defined. A mean divides by the items in the list, at most k. Sums over the items of a list are exact and rounded
once, so the same items in another order have the same bits; features are added up one after the other.
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
    sum_by_user,
)
from concord.metrics_core.metrics.ranked_lists import RankedLists
from concord.metrics_core.metrics.user_sums import UserSums

_ONES = np.array([n.bit_count() for n in range(256)], dtype=np.uint8)  # of each byte


def user_coverage(listed: RankedLists, k: int | None, *, user_coverage_kind: str) -> Floats:
    """UserCoverage@k = 1 if the list holds an item, else 0; as full: 1 if it holds at least k items.

    The one metric that a user without list enters with 0.

    References
    ----------
    Shani & Gunawardana (2011), Recommender Systems Handbook, 257-297.  doi:10.1007/978-0-387-85820-3_8
    """
    enough = 1 if user_coverage_kind == "any" or k is None else k
    return (listed.n_listed >= enough).astype(np.float64)


def novelty(
    listed: RankedLists,
    k: int | None,
    *,
    novelty_population: str,
    novelty_norm: str,
    cold_item: str,
) -> Floats:
    """Novelty@k = mean over the top k of log2(train users / train users of the item).

    References
    ----------
    Zhou et al. (2010), PNAS 107(10), 4511-4515.  doi:10.1073/pnas.1000488107
    Vargas & Castells (2011), RecSys, 109-116.  doi:10.1145/2043932.2043955
    """
    items = listed.items
    population = items.n_train_users if novelty_population == "users" else items.n_interactions
    if population == 0:
        return np.full(listed.n_users, np.nan)
    warm = items.users > 0
    information = log2(population / np.maximum(items.users, 1))
    if cold_item != "one_user":
        information = np.where(warm, information, 0.0)
    counted = np.ones(items.n_items) if cold_item != "skip" else warm.astype(np.float64)
    n_counted = listed.total(counted[listed.row_item], k)
    mean = listed.sums(information[listed.row_item], k).mean(n_counted)
    if novelty_norm == "none":
        return mean
    return ratio_or_nan(mean, np.full(listed.n_users, log2(items.n_train_users)))


def average_popularity(listed: RankedLists, k: int | None) -> Floats:
    """ARP@k = mean over the top k of the train users of the item.

    References
    ----------
    Yin, Cui, Li, Yao & Chen (2012), PVLDB 5(9), 896-907.  doi:10.14778/2311906.2311916
    """
    return listed.mean(listed.items.users[listed.row_item].astype(np.float64), k)


def long_tail(listed: RankedLists, k: int | None, *, longtail_head: float) -> Floats:
    """LongTail@k = items of the top k in the tail / items of the top k.

    The head are the fewest most popular items that together hold the share `longtail_head` of the train; of equally
    popular items those with the lower number come first. All others, and every cold item, are the tail.

    References
    ----------
    Abdollahpouri, Burke & Mobasher (2017), RecSys, 42-46.  doi:10.1145/3109859.3109912
    """
    tail = listed.items.long_tail(longtail_head)
    return listed.mean(tail[listed.row_item].astype(np.float64), k)


def intra_list_diversity(listed: RankedLists, k: int | None, *, ild_distance: str) -> Floats:
    """ILD@k = mean over the pairs of items in the top k of the distance of their features.

    The distance is 1 - cosine similarity, 1 - common / united categories, or the number of categories that only one
    of the two has. An item without features is at cosine distance 1 from every item; two items without category are
    at Jaccard distance 0. Undefined under two items and without features.

    Raises
    ------
    ValueError : jaccard or hamming of features that are not 0 or 1

    References
    ----------
    Ziegler, McNee, Konstan & Lausen (2005), WWW, 22-32.  doi:10.1145/1060745.1060754
    """
    if listed.items.features is None:
        return np.full(listed.n_users, np.nan)
    length = listed.length(k)
    pairs = length * (length - 1) // 2
    if ild_distance == "cosine":
        return 1.0 - np.minimum(ratio_or_nan(_cosine_similarity_of_pairs(listed, k), pairs), 1.0)
    return _category_distances_of_pairs(listed, k, ild_distance).mean(pairs)


def serendipity(listed: RankedLists, k: int | None, *, serendipity_kind: str) -> Floats:
    """Serendipity@k = mean over the top k of surprise x relevant (0 or 1).

    By popularity, the surprise is max(p - pu, 0), with p = (n + 1 - rank) / n, pu = (n + 1 - popularity rank) / n,
    0 for a cold item, and n items in the catalogue; items with equally many train users share a popularity rank,
    and the next number of users has the next rank. By history it is 1 - mean cosine similarity of the features to
    those of the items that the user had before; undefined without history and without features.

    References
    ----------
    Murakami, Mori & Orihara (2008), JSAI 2007, LNCS 4914, 40-46.  doi:10.1007/978-3-540-78197-4_5  (by popularity)
    Zhang, Ó Séaghdha, Quercia & Jambor (2012), WSDM, 13-22.  doi:10.1145/2124295.2124300  (by history)
    """
    of_kind = {"popularity": _rise_over_popularity, "history": _distance_to_history}
    return listed.mean(of_kind[serendipity_kind](listed) * listed.row_relevant, k)


def calibration(listed: RankedLists, k: int | None, *, calibration_alpha: float) -> Floats:
    """Calibration@k = sum over the categories of p x ln(p / ((1 - a) q + a p)), a = calibration_alpha.

    p and q are the distributions of the categories in the user's history and in the top k: each item counts 1,
    shared equally by its categories; an item without category is left out. 0 is a list in the proportions of the
    history, and lower is better. Undefined without an item with a category in either.

    Raises
    ------
    ValueError : a feature lies below 0

    References
    ----------
    Steck (2018), RecSys, 154-162.  doi:10.1145/3240323.3240372
    """
    if listed.items.features is None:
        return np.full(listed.n_users, np.nan)
    user, item = _top(listed, k)
    counted = listed.items.has_features
    n_before = listed.history_total(counted[listed.history_item])
    n_now = sum_by_user(user, counted[item], listed.n_users)
    divergence = np.zeros(listed.n_users)
    for category in listed.items.category_shares:
        p = ratio_or_nan(listed.history_total(category[listed.history_item]), n_before)
        q = UserSums.from_values(user, category[item], listed.n_users).mean(n_now)
        mixed = (1.0 - calibration_alpha) * q + calibration_alpha * p
        divergence += p * ln(np.divide(p, mixed, out=np.ones_like(p), where=p > 0))
    return np.maximum(divergence, 0.0)  # below 0 by rounding only


def popularity_correlation(listed: RankedLists, k: int | None) -> Floats:
    """PopCorr@k = Spearman correlation of place and popularity in the top k: 1 lists the popular items first.

    Equally popular items share the mean of their positions. Undefined under two items, and where all are equally
    popular.

    References
    ----------
    Zhu, He, Zhao, Zhang, Wang & Caverlee (2021), WSDM, 85-93.  doi:10.1145/3437963.3441820  (the idea)
    """
    user, item = _top(listed, k)
    users_of_item = listed.items.users[item]
    popular_first = np.lexsort((-users_of_item, user))
    # Twice the distance from the middle position: whole numbers, so that a perfect order is exactly 1.
    middle = listed.length(k)[user] + 1
    position = (2 * position_in_user(user, listed.n_users) - middle).astype(np.float64)
    by_popularity = np.empty_like(position)
    by_popularity[popular_first] = _twice_mean_position(
        user[popular_first], users_of_item[popular_first], listed.n_users
    )
    by_popularity -= middle
    together = sum_by_user(user, position * by_popularity, listed.n_users)
    spread = sum_by_user(user, position**2, listed.n_users)
    spread_of_popularity = sum_by_user(user, by_popularity**2, listed.n_users)
    return ratio_or_nan(together, np.sqrt(spread * spread_of_popularity))


def _twice_mean_position(user: Ints, value: Ints, n_users: int) -> Ints:
    """Return (rows,) first + last position of the rows with an equal value, for rows sorted by user and value."""
    position = position_in_user(user, n_users)
    starts = np.flatnonzero(differs_from_previous(user) | differs_from_previous(value))
    size = np.diff(np.append(starts, len(user)))
    return np.repeat(2 * position[starts] + size - 1, size)


def _rise_over_popularity(listed: RankedLists) -> Floats:
    """Return (rows,) max(p - pu, 0) of each listed item; NaN if the catalogue is empty."""
    items, n = listed.items, np.count_nonzero(listed.items.in_catalogue)
    if n == 0:
        return np.full(len(listed.row_item), np.nan)
    p = (n + 1 - listed.row_rank) / n
    pu = np.where(items.users > 0, (n + 1 - items.popularity_rank) / n, 0.0)
    return np.maximum(p - pu[listed.row_item], 0.0)


def _distance_to_history(listed: RankedLists) -> Floats:
    """Return (rows,) 1 - mean cosine similarity to the user's history; NaN without history or features."""
    if listed.items.features is None:
        return np.full(len(listed.row_item), np.nan)
    similarity = np.zeros(len(listed.row_item))
    for feature in listed.items.directions:
        # The mean similarity to the items of the history is the similarity to their mean direction.
        mean = ratio_or_nan(listed.history_total(feature[listed.history_item]), listed.n_history)
        similarity += feature[listed.row_item] * mean[listed.row_user]
    return 1.0 - similarity


def _cosine_similarity_of_pairs(listed: RankedLists, k: int | None) -> Floats:
    """Return (users,) the sum over the pairs of the top k.

    |sum of directions|^2 holds each pair twice and each item once.
    """
    user, item = _top(listed, k)
    squared = np.zeros(listed.n_users)
    for feature in listed.items.directions:
        squared += UserSums.from_values(user, feature[item], listed.n_users).total() ** 2
    itself = sum_by_user(user, listed.items.has_features[item], listed.n_users)
    return (squared - itself) / 2


def _category_distances_of_pairs(listed: RankedLists, k: int | None, distance: str) -> UserSums:
    """Return sums over the pairs of the top k: first those one rank apart, then two, …"""
    user, item = _top(listed, k)
    categories = listed.items.category_bits[:, item]
    longest = int(listed.length(k).max(initial=0))
    farthest = 1.0 if distance == "jaccard" else 8.0 * len(categories)
    sums = UserSums(listed.n_users, farthest, longest * (longest - 1) // 2)
    for distance_in_ranks in range(1, longest):
        upper = np.flatnonzero(user[distance_in_ranks:] == user[:-distance_in_ranks])
        one, other = categories[:, upper], categories[:, upper + distance_in_ranks]
        differing = _count_bits(one ^ other)
        united = _count_bits(one | other) if distance == "jaccard" else np.ones_like(differing)
        distances = np.divide(differing, united, out=np.zeros_like(differing), where=united > 0)
        sums.add(user[upper], distances)
    return sums


def _count_bits(bytes_: NDArray[np.uint8]) -> Floats:
    """Return (rows,) number of ones in each column."""
    return _ONES[bytes_].sum(axis=0, dtype=np.float64)


def _top(listed: RankedLists, k: int | None) -> tuple[Ints, Ints]:
    """Return (rows of the top k,) user and item."""
    top = listed.within(k)
    return listed.row_user[top], listed.row_item[top]
