"""Overlap of two lists of a user, from the items that they share."""

from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.elementary import powers
from concord.metrics_core.metrics.judged import Floats, Ints


@dataclass(frozen=True)
class SharedItems:
    """Items that both lists of a user hold; users are numbered 0 … n - 1, ranks start at 1 and have no gaps.

    length_a, length_b : (users,) lengths of the lists
    user, depth        : (shared items,) the user, and the larger of the item's two ranks: both lists hold the item in
                         their top d from d = depth on
    """

    length_a: Ints
    length_b: Ints
    user: Ints
    depth: Ints

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.length_a)

    def count(self, depth: Ints) -> Ints:
        """(users,) X_d: items that both lists hold in their top d, with one depth per user."""
        is_within = self.depth <= depth[self.user]
        return np.bincount(self.user[is_within], minlength=self.n_users)


def jaccard(lists: SharedItems) -> Floats:
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


def rank_biased_overlap(lists: SharedItems, p: float) -> Floats:
    """RBO_ext = (1 - p) / p × (sum of X_d / d × p^d for d = 1 … l + sum of X_s (d - s) / (s d) × p^d for d = s + 1 … l) + ((X_l - X_s) / l + X_s / s) × p^l.

    s and l are the lengths of the shorter and the longer list, X_d the items that both hold in their top d. The
    agreement at the end of the lists is extrapolated. 0 where one list is empty, undefined (NaN) where both are; `rbo`
    on PyPI gives 1 for two empty lists.

    Parameters
    ----------
    p : float
        Persistence, 0 < p < 1: with 0.9 the top 10 has 86 % of the weight.

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
    weight = np.concatenate([[0.0], np.cumsum(power[1:])])  # sum of p^d for d = 1 … index
    per_rank = np.concatenate([[0.0], np.cumsum(power[1:] / rank)])  # sum of p^d / d
    agreement = np.bincount(  # an item counts at every depth from its own on
        lists.user,
        weights=per_rank[long[lists.user]] - per_rank[lists.depth - 1],
        minlength=lists.n_users,
    )
    x_short, x_long = lists.count(short), lists.count(long)
    s, l_ = np.maximum(short, 1), np.maximum(long, 1)  # no division by 0
    beyond = x_short * ((weight[long] - weight[short]) / s - (per_rank[long] - per_rank[short]))
    extrapolated = ((x_long - x_short) / l_ + x_short / s) * power[long]
    value = (1 - p) / p * (agreement + beyond) + extrapolated
    return np.where(long > 0, value, np.nan)
