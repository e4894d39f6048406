"""Metrics beyond accuracy, over all users: how evenly recommendations are spread over the items.

Every function takes an `Exposure` and, keyword-only and without defaults, its conventions. It returns one number,
NaN where it is not defined. Exposures hold whole numbers only: those of partitions add up to the same bits.
"""

import math
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.elementary import ln, log2
from concord.metrics_core.metrics.items import Items
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.ranked_lists import RankedLists


@dataclass(frozen=True)
class Exposure:
    """Number of users to whom each item is recommended.

    counts  : (items,) users whose top k holds the item
    n_users : users with a list
    k       : the cutoff; None: the whole list
    """

    counts: Ints
    n_users: int
    k: int | None
    items: Items

    def __add__(self, other: "Exposure") -> "Exposure":
        """Return the exposure of both partitions, which have different users and the same numbers of items.

        Raises
        ------
        ValueError : their cutoffs or items differ
        """
        if self.k != other.k or self.items.n_items != other.items.n_items:
            msg = "only exposures of the same cutoff and the same items add up"
            raise ValueError(msg)
        short, counts = sorted((self.counts, other.counts), key=len)
        counts = counts.copy()
        counts[: len(short)] += short
        return Exposure(counts, self.n_users + other.n_users, self.k, self.items)


def count_exposure(listed: RankedLists, k: int | None) -> Exposure:
    """Count the users whose top k holds each item; a copy of an item in the same list does not count again."""
    item = listed.row_item[listed.within(k) & listed.row_first]
    counts = np.bincount(item, minlength=listed.items.n_items)
    return Exposure(counts, int(np.count_nonzero(listed.n_listed)), k, listed.items)


def coverage(exposure: Exposure, *, coverage_items: str) -> float:
    """Coverage@k = distinct recommended items of the pool / items of the pool: the catalogue, or the train.

    Recommended items from elsewhere do not count, so the value is at most 1.

    References
    ----------
    Ge, Delgado-Battenfeld & Jannach (2010), RecSys, 257-260.  doi:10.1145/1864708.1864761
    """
    items = exposure.items
    pool = items.in_catalogue if coverage_items == "catalogue" else items.users > 0
    return _ratio(int(np.count_nonzero(exposure.counts[pool])), int(np.count_nonzero(pool)))


def gini(exposure: Exposure, *, gini_items: str) -> float:
    """Gini@k = sum over j of (2 j - n - 1) x c_j / (n x sum of c), for counts c_1 <= … <= c_n; 0 is equal.

    The items are those of the catalogue, recommended or not, or the recommended ones. Lower is more equal.

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
    """Entropy@k = - sum over the recommended items of p x log2 p, p = count of the item / sum of the counts.

    References
    ----------
    Shannon (1948), Bell System Technical Journal 27(3), 379-423.  doi:10.1002/j.1538-7305.1948.tb01338.x
    """
    c = exposure.counts[exposure.counts > 0]
    if len(c) == 0:
        return math.nan
    log = {"2": log2, "e": ln}[str(entropy_base)]
    p = c / c.sum()
    bits = math.fsum(p * log(c.sum() / c))  # the same in any order of the items
    return bits / len(c) if entropy_norm == "recommended_items" else bits


def personalization(exposure: Exposure) -> float:
    """Personalization@k = 1 - sum over the items of c (c - 1) / (U (U - 1) k), for U users with a list.

    c (c - 1) counts the ordered pairs of users who share the item, so the second term is the mean over the pairs of
    users of shared items / k. Undefined under two users, and without a cutoff.

    References
    ----------
    Zhou et al. (2010), PNAS 107(10), 4511-4515.  doi:10.1073/pnas.1000488107
    """
    if exposure.k is None:
        return math.nan
    c, users = exposure.counts, exposure.n_users
    possible = users * (users - 1) * exposure.k
    return _ratio(possible - int((c * (c - 1)).sum()), possible)


def _ratio(part: int, whole: int) -> float:
    """Return part / whole, rounded once; NaN where whole is 0."""
    return part / whole if whole else math.nan
