"""Expected values over all orders of items with equal scores; every order is equally likely.

A sum over hits needs only the chance that a hit is in the top k (`Judged.exact_total`).
Average precision, reciprocal rank and Hit also depend on the order of the hits among themselves.
Here they are summed over the ranks of each group of equal scores, down to the cutoff.

References
----------
McSherry & Najork (2008), ECIR, LNCS 4956, 414-421.  doi:10.1007/978-3-540-78646-7_38
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.judged import (
    Bools,
    Floats,
    Ints,
    Judged,
    differs_from_previous,
    position_in_user,
    product_before,
    sum_by_user,
)


@dataclass(frozen=True)
class _Groups:
    """Groups of equal scores that have a hit.

    Attributes
    ----------
    user, first, size : (n_groups,) int64
        User number, first rank, and number of ranks.
    n_hits, n_hits_above : (n_groups,) int64
        Number of hits in the group, and above the group.
    """

    user: Ints
    first: Ints
    size: Ints
    n_hits: Ints
    n_hits_above: Ints

    def select(self, rows: Ints | Bools) -> "_Groups":
        """Return the selected groups."""
        return _Groups(*(column[rows] for column in vars(self).values()))


@dataclass(frozen=True)
class _TiedRanks:
    """Ranks of groups down to the cutoff, one row per rank.

    Attributes
    ----------
    group, rank : (n_rows,) int64
        Number of the group, and rank.
    position : (n_rows,) int64
        Position of the rank in its group; 1 is first.
    """

    group: Ints
    rank: Ints
    position: Ints


def average_precision_sum(lists: Judged, k: int | None) -> Floats:
    """Return (n_users,) expected sum of P@i over the ranks i <= k of the hits.

    Position j of a group of m items with r hits is a hit with probability r/m.
    If it is, (j - 1)(r - 1)/(m - 1) of the group's other hits are expected above it.
    """
    groups = _groups(lists)
    ranks = _ranks(groups, k)
    of_rank = groups.select(ranks.group)
    hits_above = (ranks.position - 1) * (of_rank.n_hits - 1) / np.maximum(of_rank.size - 1, 1)
    precision = (of_rank.n_hits_above + 1 + hits_above) / ranks.rank
    return sum_by_user(of_rank.user, of_rank.n_hits / of_rank.size * precision, lists.n_users)


def reciprocal_rank(lists: Judged, k: int | None) -> Floats:
    """Return (n_users,) expected 1 / rank of the first hit in the top k."""
    return _sum_over_first_hits(lists, k, lambda rank: rank)


def any_hit(lists: Judged, k: int | None) -> Floats:
    """Return (n_users,) probability that the top k has a hit."""
    return np.minimum(_sum_over_first_hits(lists, k, np.ones_like), 1.0)


def _sum_over_first_hits(lists: Judged, k: int | None, divisor: Callable[[Ints], Ints]) -> Floats:
    """Return (n_users,) expected 1 / divisor of the rank of the first hit, if that is in the top k.

    The first hit is in the user's first group with a hit. Users with equal groups share a sum.
    """
    groups = _groups(lists)
    groups = groups.select(groups.n_hits_above == 0)
    order = np.lexsort((groups.n_hits, groups.size, groups.first))
    keys = (column[order] for column in (groups.first, groups.size, groups.n_hits))
    is_new = np.logical_or.reduce([differs_from_previous(key) for key in keys])
    distinct = groups.select(order[is_new])
    ranks = _ranks(distinct, k)
    n_hits, size = distinct.n_hits[ranks.group], distinct.size[ranks.group]
    hit_probability = np.minimum(n_hits / (size - ranks.position + 1), 1.0)  # after no hit
    none_above = product_before(1.0 - hit_probability, ranks.position)
    values = hit_probability * none_above / divisor(ranks.rank)
    sums = np.zeros(lists.n_users)
    sums[groups.user[order]] = sum_by_user(ranks.group, values, len(distinct.user))[
        np.cumsum(is_new) - 1
    ]
    return sums


def _groups(lists: Judged) -> _Groups:
    first, last = lists.tied_ranks.T
    starts = np.flatnonzero(differs_from_previous(lists.hit_user) | differs_from_previous(first))
    return _Groups(
        user=lists.hit_user[starts],
        first=first[starts],
        size=(last - first + 1)[starts],
        n_hits=np.diff(np.append(starts, len(lists.hit_user))),
        n_hits_above=lists.hit_number[starts] - 1,
    )


def _ranks(groups: _Groups, k: int | None) -> _TiedRanks:
    n_ranks = groups.size if k is None else np.clip(k - groups.first + 1, 0, groups.size)
    group = np.repeat(np.arange(len(n_ranks)), n_ranks)
    position = position_in_user(group, len(n_ranks))
    return _TiedRanks(group, groups.first[group] + position - 1, position)
