"""Expected values over all orders of items with equal scores; every order is equally likely.

A sum over hits needs only the chance that a hit is in the top k (`Judged.exact_total`).
Average precision, reciprocal rank and Hit also depend on the order of the hits among themselves.
Here they are summed over the ranks of each group of equal scores, down to the cutoff.

References
----------
McSherry & Najork (2008), ECIR, LNCS 4956, 414-421.  doi:10.1007/978-3-540-78646-7_38
"""

from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.judged import (
    Floats,
    Ints,
    Judged,
    differs_from_previous,
    position_in_user,
    product_before,
    sum_by_user,
)


@dataclass(frozen=True)
class _TiedRanks:
    """Ranks down to the cutoff of the groups of equal scores that have a hit, one row per rank.

    Attributes
    ----------
    user, rank : (n_rows,) int64
        User number and rank.
    position, size : (n_rows,) int64
        Position of the rank in its group (1 is first), and number of ranks in the group.
    n_hits, n_hits_above : (n_rows,) int64
        Number of hits in the group, and above the group.
    """

    user: Ints
    rank: Ints
    position: Ints
    size: Ints
    n_hits: Ints
    n_hits_above: Ints


def average_precision_sum(lists: Judged, k: int | None) -> Floats:
    """Return (n_users,) expected sum of P@i over the ranks i <= k of the hits.

    Position j of a group of m items with r hits is a hit with probability r/m.
    If it is, (j - 1)(r - 1)/(m - 1) of the group's other hits are expected above it.
    """
    ranks = _tied_ranks(lists, k)
    hits_above = (ranks.position - 1) * (ranks.n_hits - 1) / np.maximum(ranks.size - 1, 1)
    precision = (ranks.n_hits_above + 1 + hits_above) / ranks.rank
    return sum_by_user(ranks.user, ranks.n_hits / ranks.size * precision, lists.n_users)


def reciprocal_rank(lists: Judged, k: int | None) -> Floats:
    """Return (n_users,) expected 1 / rank of the first hit in the top k."""
    ranks = _tied_ranks(lists, k)
    return sum_by_user(ranks.user, _first_hit_probability(ranks) / ranks.rank, lists.n_users)


def any_hit(lists: Judged, k: int | None) -> Floats:
    """Return (n_users,) probability that the top k has a hit."""
    ranks = _tied_ranks(lists, k)
    return np.minimum(sum_by_user(ranks.user, _first_hit_probability(ranks), lists.n_users), 1.0)


def _first_hit_probability(ranks: _TiedRanks) -> Floats:
    """Return (n_rows,) probability that the user's first hit has this rank."""
    hit_probability = ranks.n_hits / (ranks.size - ranks.position + 1)  # if no rank above is a hit
    none_above = product_before(1.0 - np.minimum(hit_probability, 1.0), ranks.position)
    return np.where(ranks.n_hits_above == 0, np.minimum(hit_probability, 1.0) * none_above, 0.0)


def _tied_ranks(lists: Judged, k: int | None) -> _TiedRanks:
    first, last = lists.tied_ranks.T
    starts = np.flatnonzero(differs_from_previous(lists.hit_user) | differs_from_previous(first))
    size = (last - first + 1)[starts]
    n_top = size if k is None else np.clip(k - first[starts] + 1, 0, size)
    group = np.repeat(np.arange(len(starts)), n_top)
    n_hits = np.diff(np.append(starts, len(lists.hit_user)))
    position = position_in_user(group, len(starts))
    return _TiedRanks(
        user=lists.hit_user[starts][group],
        rank=first[starts][group] + position - 1,
        position=position,
        size=size[group],
        n_hits=n_hits[group],
        n_hits_above=(lists.hit_number[starts] - 1)[group],
    )
