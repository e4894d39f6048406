"""Metrics beyond accuracy, over all users: how evenly recommendations are spread over the items.

Each function takes an `Exposure` and, keyword-only and without defaults, its conventions.
It returns one number, NaN where it is undefined.
Exposures are whole numbers, so that those of blocks add up to the same bits in any order.
"""

import math
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.elementary import ln, log2
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.ranked_lists import Items, RankedLists


@dataclass(frozen=True)
class Exposure:
    """Number of users to whom each item is recommended.

    Attributes
    ----------
    counts : (n_items,) int64
        Number of users whose top k contains the item.
    n_users : int
        Number of users with a list.
    k : int or None
        Cutoff; None for the whole list.
    items : Items
        The items that the counts refer to.
    """

    counts: Ints
    n_users: int
    k: int | None
    items: Items

    def __add__(self, other: "Exposure") -> "Exposure":
        """Return the exposure of two blocks: other users, but the same items and cutoff."""
        n_users = self.n_users + other.n_users
        return Exposure(self.counts + other.counts, n_users, self.k, self.items)


def count_exposure(lists: RankedLists, k: int | None) -> Exposure:
    """Return how many users' top k contains each item; copies of an item in a list count once."""
    item = lists.row_item[lists.within(k) & lists.row_first]
    counts = np.bincount(item, minlength=lists.items.n_items)
    return Exposure(counts, int(np.count_nonzero(lists.n_listed)), k, lists.items)


def coverage(exposure: Exposure, *, coverage_items: str) -> float:
    """Coverage@k = distinct recommended items of the pool / its items: the catalogue, or train.

    The pool is the catalogue or the items in train (`coverage_items`). Other items do not count.

    Returns
    -------
    float
        Share of the pool, 0 to 1; NaN if the pool is empty.

    References
    ----------
    Ge, Delgado-Battenfeld & Jannach (2010), RecSys, 257-260.  doi:10.1145/1864708.1864761
    """
    items = exposure.items
    pool = items.in_catalogue if coverage_items == "catalogue" else items.users > 0
    return _ratio(int(np.count_nonzero(exposure.counts[pool])), int(np.count_nonzero(pool)))


def gini(exposure: Exposure, *, gini_items: str) -> float:
    """Gini@k = sum over j of (2 j - n - 1) x c_j / (n x sum of c), for counts c_1 <= … <= c_n.

    The n items are those of the catalogue or the recommended ones (`gini_items`).

    Returns
    -------
    float
        From 0 (equal counts) to 1; NaN without recommendations.

    References
    ----------
    Fleder & Hosanagar (2009), Management Science 55(5), 697-712.  doi:10.1287/mnsc.1080.0974
    """
    counts = exposure.counts
    pool = exposure.items.in_catalogue if gini_items == "catalogue" else counts > 0
    c = np.sort(counts[pool])
    n = len(c)
    j = np.arange(1, n + 1)
    return _ratio(int(((2 * j - n - 1) * c).sum()), n * int(c.sum()))


def entropy(exposure: Exposure, *, entropy_base: int | str, entropy_norm: str) -> float:
    """Entropy@k = - sum over the recommended items of p x log2 p, p = count / sum of the counts.

    Returns
    -------
    float
        In bits, or in nats with `entropy_base: e`; NaN without recommendations.

    References
    ----------
    Shannon (1948), Bell System Technical Journal 27(3), 379-423.
    doi:10.1002/j.1538-7305.1948.tb01338.x
    """
    c = exposure.counts[exposure.counts > 0]
    if len(c) == 0:
        return math.nan
    log = {"2": log2, "e": ln}[str(entropy_base)]
    p = c / c.sum()
    total = math.fsum(p * log(c.sum() / c))  # the same in any order of the items
    return total / len(c) if entropy_norm == "recommended_items" else total


def personalization(exposure: Exposure) -> float:
    """Personalization@k = 1 - sum over items of c (c - 1) / (U (U - 1) k), for U users with a list.

    c is the number of users whose top k contains the item. c (c - 1) counts ordered pairs of such
    users, so that the sum is the mean over pairs of users of the number of shared items / k.
    Undefined for fewer than two users, and without a cutoff.

    Returns
    -------
    float
        From 0 (equal lists) to 1 (no shared items); NaN where undefined.

    References
    ----------
    Zhou et al. (2010), PNAS 107(10), 4511-4515.  doi:10.1073/pnas.1000488107
    """
    if exposure.k is None:
        return math.nan
    c, users = exposure.counts, exposure.n_users
    maximum = users * (users - 1) * exposure.k
    return _ratio(maximum - int((c * (c - 1)).sum()), maximum)


def _ratio(part: int, whole: int) -> float:
    """Return part / whole, rounded once; NaN where whole is 0."""
    return part / whole if whole else math.nan
