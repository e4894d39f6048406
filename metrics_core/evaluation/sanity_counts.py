"""Counts of hits that show whether lists hold the ground truth, or only what chance brings."""

import numpy as np

from concord.metrics_core.metrics.judged import Ints, Judged

# Column of a partition's values: 1 if the list starts with relevant items only, else 0; -1 if the
# user does not count.
PERFECT_TOP = "#perfect_top"
_MIN_RELEVANT = 3  # fewer relevant items come first by chance, or because they are easy
_MIN_LISTED = 10  # of a list that is shorter than the number of relevant items


def hits_at(k: int) -> str:
    """Return the name of the column with the number of relevant items in the top k."""
    return f"#hits@{k}"


def count_hits(relevant: Judged, k: int) -> Ints:
    """Return (n_users,) the number of relevant items in the top k; copies count once."""
    within = relevant.hit_first & relevant.within(k)
    return np.bincount(relevant.hit_user[within], minlength=relevant.n_users)


def perfect_tops(relevant: Judged) -> Ints:
    """Return (n_users,) 1 if all r relevant items are at the first r ranks, else 0.

    The first min(r, length) ranks of a shorter list count if it has at least 10 items.
    -1 is a user who does not count: with fewer than three relevant items, or a shorter list.
    """
    depth = np.minimum(relevant.n_relevant, relevant.n_listed)
    within = relevant.hit_first & (relevant.hit_rank <= depth[relevant.hit_user])
    n_hits = np.bincount(relevant.hit_user[within], minlength=relevant.n_users)
    counts = (relevant.n_relevant >= _MIN_RELEVANT) & (
        (relevant.n_listed >= relevant.n_relevant) | (relevant.n_listed >= _MIN_LISTED)
    )
    return np.where(counts & relevant.known, (n_hits == depth).astype(np.int64), -1)
