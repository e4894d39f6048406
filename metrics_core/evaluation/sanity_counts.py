"""Counts of hits that show whether lists hold the ground truth, or only what chance brings."""

import numpy as np

from concord.metrics_core.metrics.judged import Ints, Judged

# Column of a block's values: 1 if the list starts with relevant items only, else 0; 3 or 2 if
# all items of the list are judged; -1 if the user does not count.
PERFECT_TOP = "#perfect_top"
ALL_JUDGED = 2
_MIN_RELEVANT = 3  # fewer relevant items come first by chance, or because they are easy
_MIN_LISTED, _MAX_TIMES = 10, 2  # of a list shorter than the number of relevant items


def hits_at(k: int) -> str:
    """Return the name of the column with the number of relevant items in the top k."""
    return f"#hits@{k}"


def count_hits(relevant: Judged, k: int) -> Ints:
    """Return (n_users,) the number of relevant items in the top k; copies count once."""
    within = relevant.hit_first & relevant.within(k)
    return np.bincount(relevant.hit_user[within], minlength=relevant.n_users)


def perfect_tops(judged: Judged, relevant: Judged) -> Ints:
    """Return (n_users,) 1 if all r relevant items are at the first r ranks, else 0.

    The first min(r, length) ranks of a shorter list count if it has at least 10 items, and at least
    half as many as are relevant. 2 more if all items of the list are judged.
    -1 is a user who does not count: with fewer than three relevant items, or a shorter list.
    """
    depth = np.minimum(relevant.n_relevant, relevant.n_listed)
    within = relevant.hit_first & (relevant.hit_rank <= depth[relevant.hit_user])
    n_hits = np.bincount(relevant.hit_user[within], minlength=relevant.n_users)
    r, length = relevant.n_relevant, relevant.n_listed
    is_long = (length >= _MIN_LISTED) & (_MAX_TIMES * length >= r)
    counts = relevant.known & (r >= _MIN_RELEVANT) & ((length >= r) | is_long)
    n_judged = np.bincount(judged.hit_user, minlength=judged.n_users)
    kind = (n_hits == depth) + ALL_JUDGED * (n_judged >= length)
    return np.where(counts, kind, -1)
