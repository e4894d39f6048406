"""How alike two lists of a user are, from the items that they share."""

from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.elementary import powers
from concord.metrics_core.metrics.judged import Floats, Ints


@dataclass(frozen=True)
class Shared:
    """Two lists of each user, ranks from 1 without gaps; users are numbered 0 … n - 1.

    length_a, length_b : (users,) items in the lists
    user, depth        : (shared items,) the user, and the larger of the item's two ranks: from there on both lists
                         hold it
    """

    length_a: Ints
    length_b: Ints
    user: Ints
    depth: Ints

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return len(self.length_a)

    def count(self, depth: Ints) -> Ints:
        """(users,) X_d: items that both lists hold in their top d, a depth a user."""
        reached = self.depth <= depth[self.user]
        return np.bincount(self.user[reached], minlength=self.n_users)


def jaccard(lists: Shared) -> Floats:
    """Jaccard = |A and B| / |A or B|, of the items of two lists.

    Undefined (NaN) where neither list has an item.

    Returns
    -------
    (users,) float64 in [0, 1]

    References
    ----------
    Jaccard (1912), The New Phytologist 11(2), 37-50.  doi:10.1111/j.1469-8137.1912.tb05611.x
    """
    both = np.bincount(lists.user, minlength=lists.n_users)
    either = lists.length_a + lists.length_b - both
    return np.divide(both, either, out=np.full(lists.n_users, np.nan), where=either > 0)


def rbo(lists: Shared, p: float) -> Floats:
    """RBO_ext = (1 - p) / p × (sum of X_d / d × p^d for d = 1 … l + sum of X_s (d - s) / (s d) × p^d for d = s + 1 … l) + ((X_l - X_s) / l + X_s / s) × p^l.

    s and l are the lengths of the shorter and the longer list, X_d the items that both hold in their top d. The share
    of agreement at the end of the lists is taken to go on. 0 where one list is empty, undefined (NaN) where both are.
    `rbo` on PyPI calls two empty lists alike (1).

    Parameters
    ----------
    p : how deep a reader looks, 0 < p < 1: the top 10 has 86 % of the weight with p = 0.9

    Returns
    -------
    (users,) float64 in [0, 1]

    References
    ----------
    Webber, Moffat & Zobel (2010), TOIS 28(4), 20:1-38, eq. 32.  doi:10.1145/1852102.1852106
    """
    short = np.minimum(lists.length_a, lists.length_b)
    long = np.maximum(lists.length_a, lists.length_b)
    power = powers(p, int(long.max(initial=0)) + 1)
    rank = np.arange(1, len(power))
    up_to = np.concatenate([[0.0], np.cumsum(power[1:])])  # sum of p^d for d = 1 … index
    per_rank = np.concatenate([[0.0], np.cumsum(power[1:] / rank)])  # sum of p^d / d
    agreeing = np.bincount(  # an item counts at every depth from its own on
        lists.user,
        weights=per_rank[long[lists.user]] - per_rank[lists.depth - 1],
        minlength=lists.n_users,
    )
    x_short, x_long = lists.count(short), lists.count(long)
    some, most = np.maximum(short, 1), np.maximum(long, 1)
    beyond = x_short * ((up_to[long] - up_to[short]) / some - (per_rank[long] - per_rank[short]))
    ends = ((x_long - x_short) / most + x_short / some) * power[long]
    found = (1 - p) / p * (agreeing + beyond) + ends
    return np.where(long > 0, found, np.nan)
