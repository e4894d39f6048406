"""Expected values where equal scores may stand in any order, every order alike.

What is linear in the hits needs only the chance that a hit lies in the top k (`Judged.total`). Average precision,
reciprocal rank and Hit depend on the order of the hits among themselves; here they are summed over the ranks of each group
of equal scores.

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
class _Ranks:
    """(rows,) each rank of each group of equal scores that holds a hit.

    user, rank   : whose list, and which rank
    position, size  : position of the rank in its group, 1 first, and the number of ranks of the group
    hits, before : hits in the group, and hits above the group
    """

    user: Ints
    rank: Ints
    position: Ints
    size: Ints
    hits: Ints
    before: Ints


def average_precision_sum(lists: Judged, k: int | None) -> Floats:
    """Return (users,) expected sum of P@i over the ranks i <= k that hit.

    Position j of a group of m items with r hits holds a hit with chance r/m; given that, (j - 1)(r - 1)/(m - 1)
    of the group's other hits are to be expected above it.
    """
    ranks = _ranks(lists)
    others = (ranks.position - 1) * (ranks.hits - 1) / np.maximum(ranks.size - 1, 1)
    precision = (ranks.before + 1 + others) / ranks.rank
    return _within(ranks, ranks.hits / ranks.size * precision, k, lists.n_users)


def reciprocal_rank(lists: Judged, k: int | None) -> Floats:
    """Return (users,) expected 1 / rank of the first hit in the top k."""
    ranks = _ranks(lists)
    return _within(ranks, _chance_of_first_hit(ranks) / ranks.rank, k, lists.n_users)


def any_hit(lists: Judged, k: int | None) -> Floats:
    """Return (users,) chance that the top k holds a hit."""
    ranks = _ranks(lists)
    return np.minimum(_within(ranks, _chance_of_first_hit(ranks), k, lists.n_users), 1.0)


def _chance_of_first_hit(ranks: _Ranks) -> Floats:
    """Return (rows,) chance that the user's first hit has this rank: none on the ranks above, one on this."""
    hit_chance = ranks.hits / (ranks.size - ranks.position + 1)
    none_above = product_before(1.0 - np.minimum(hit_chance, 1.0), ranks.position)
    return np.where(ranks.before == 0, np.minimum(hit_chance, 1.0) * none_above, 0.0)


def _within(ranks: _Ranks, values: Floats, k: int | None, n_users: int) -> Floats:
    top = np.ones(len(ranks.rank), dtype=bool) if k is None else ranks.rank <= k
    return sum_by_user(ranks.user[top], values[top], n_users)


def _ranks(lists: Judged) -> _Ranks:
    first, last = lists.tied_ranks.T
    starts = np.flatnonzero(differs_from_previous(lists.hit_user) | differs_from_previous(first))
    size = (last - first + 1)[starts]
    group = np.repeat(np.arange(len(starts)), size)
    hits = np.diff(np.append(starts, len(lists.hit_user)))
    position = position_in_user(group, len(starts))
    return _Ranks(
        user=lists.hit_user[starts][group],
        rank=first[starts][group] + position - 1,
        position=position,
        size=size[group],
        hits=hits[group],
        before=(lists.hit_number[starts] - 1)[group],
    )
