"""Overlap of two lists of each user: Jaccard and rank-biased overlap."""

from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.elementary import powers
from concord.metrics_core.metrics.judged import Floats, Ints, ratio_or_nan


@dataclass(frozen=True)
class SharedItems:
    """Items that occur in both lists of a user.

    Attributes
    ----------
    length_a, length_b : (users,) int64
        Lengths of the lists.
    user : (shared items,) int64
        Number of the user, from 0.
    depth : (shared items,) int64
        The larger of the item's two ranks: the item is in the top d of both lists from d = depth.
        Ranks start at 1 and have no gaps.
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
        """Return (users,) X_d, the number of items in the top d of both lists; d is per user."""
        is_within = self.depth <= depth[self.user]
        return np.bincount(self.user[is_within], minlength=self.n_users)


def jaccard(lists: SharedItems) -> Floats:
    """Jaccard = |A and B| / |A or B|, where A and B are the items of two lists.

    Returns
    -------
    (users,) float64
        In [0, 1]; NaN if both lists are empty.

    References
    ----------
    Jaccard (1912), The New Phytologist 11(2), 37-50.  doi:10.1111/j.1469-8137.1912.tb05611.x
    """
    both = np.bincount(lists.user, minlength=lists.n_users)
    either = lists.length_a + lists.length_b - both
    return ratio_or_nan(both, either)


def rank_biased_overlap(lists: SharedItems, p: float) -> Floats:
    """RBO_ext = (1 - p) / p × (S_1 + S_2) + ((X_l - X_s) / l + X_s / s) × p^l.

    S_1 = Σ X_d / d × p^d for d = 1 … l, and S_2 = Σ X_s (d - s) / (s d) × p^d for d = s + 1 … l.
    s and l are the lengths of the shorter and of the longer list, and X_d is the number of items
    in the top d of both. The agreement at the end of the lists is extrapolated.

    Parameters
    ----------
    lists : SharedItems
        Lengths and shared items of the lists.
    p : float
        Persistence, 0 < p < 1: with 0.9 the top 10 has 86 % of the weight.

    Returns
    -------
    (users,) float64
        In [0, 1]; 0 if one list is empty, NaN if both are (`rbo` on PyPI gives 1).

    References
    ----------
    Webber, Moffat & Zobel (2010), TOIS 28(4), 20:1-38, eq. 32.  doi:10.1145/1852102.1852106
    """
    short = np.minimum(lists.length_a, lists.length_b)
    long = np.maximum(lists.length_a, lists.length_b)
    power = powers(p, int(long.max(initial=0)) + 1)
    rank = np.arange(1, len(power))
    weight = np.concatenate([[0.0], np.cumsum(power[1:])])  # Σ p^d for d = 1 … index
    per_rank = np.concatenate([[0.0], np.cumsum(power[1:] / rank)])  # Σ p^d / d
    agreement = np.bincount(  # an item counts at all depths from its own
        lists.user,
        weights=per_rank[long[lists.user]] - per_rank[lists.depth - 1],
        minlength=lists.n_users,
    )
    x_short, x_long = lists.count(short), lists.count(long)
    s, l_ = np.maximum(short, 1), np.maximum(long, 1)  # no division by 0
    after_short = x_short * (
        (weight[long] - weight[short]) / s - (per_rank[long] - per_rank[short])
    )
    extrapolated = ((x_long - x_short) / l_ + x_short / s) * power[long]
    value = (1 - p) / p * (agreement + after_short) + extrapolated
    return np.where(long > 0, value, np.nan)
