"""How lists share attention out among groups of items: per user, and over all users.

Attention to rank i is the convention `discount`. Items of the catalogue without a group are a group of their own, and so
are recommended items that the catalogue lacks: nobody is left out.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from concord.metrics_core.metrics.discounting import discounts
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.judged import Floats, Ints, per_user
from concord.metrics_core.metrics.listed import Items, Listed, share


def attention_fairness(
    listed: Listed, k: int | None, *, discount: Mapping[str, float], fairness_target: str
) -> Floats:
    """AWRF@k = 1 - sum over the groups of |a - t| / 2, a: share of the attention to the top k, t: target share.

    Half the sum of the absolute differences is the total variation distance: the share of the attention that would have to
    go to other groups. 1 is the target met. The convention `fairness_target` says what t is. Undefined without a list,
    and for shares of the relevant items without a relevant item in the catalogue.

    References
    ----------
    Sapiezynski, Zeng, Robertson, Mislove & Wilson (2019), WWW Companion, 553-562.  doi:10.1145/3308560.3317595
    Raj & Ekstrand (2022), SIGIR, 726-736.  doi:10.1145/3477495.3532018  (such metrics compared)
    """
    if listed.items.group is None:
        return np.full(listed.n_users, np.nan)
    apart = np.zeros(listed.n_users)
    given = attention_shares(listed, k, discount)
    for attention, target in zip(given, target_shares(listed, fairness_target), strict=True):
        apart += np.abs(attention - target)
    return np.maximum(1.0 - apart / 2, 0.0)  # below 0 by rounding only


def attention_shares(
    listed: Listed, k: int | None, discount: Mapping[str, float]
) -> Iterator[Floats]:
    """(users,) for each group, and for items without one: its share of the attention to the items of the top k."""
    weight = discounts(discount, int(listed.row_rank.max(initial=0)))[listed.row_rank]
    whole = listed.total(weight, k)
    group = _group_of(listed.items)[listed.row_item]
    for number in range(len(listed.items.groups) + 1):
        yield share(listed.total(np.where(group == number, weight, 0.0), k), whole)


def target_shares(listed: Listed, fairness_target: str) -> Iterator[Floats]:
    """(users,) for each group, and for items without one: the share that it should have."""
    named, users = len(listed.items.groups), listed.n_users
    if fairness_target == "relevant":
        group = _group_of(listed.items)[listed.wanted_item]
        wanted = np.bincount(listed.wanted_user, minlength=users)
        for number in range(named + 1):
            here = np.where(group == number, 1.0, 0.0)
            yield share(per_user(listed.wanted_user, here, users), wanted)
    elif fairness_target == "uniform":
        yield from (np.full(users, 1 / named) for _ in range(named))
        yield np.zeros(users)
    else:
        sizes = group_sizes(listed.items)
        yield from (np.full(users, size / sizes.sum()) for size in sizes)


def group_sizes(items: Items) -> Ints:
    """(groups + 1,) items of the catalogue in each group, and without one."""
    return np.bincount(_group_of(items)[items.in_catalogue], minlength=len(items.groups) + 1)


def _group_of(items: Items) -> Ints:
    assert items.group is not None
    return items.group


def disparity(exposure: Exposure, *, discount: Mapping[str, float]) -> float:
    """EED@k = sum over the groups of e^2, e: the group's mean share of the attention that a top k can give.

    The mean is over the users with a relevant item in the catalogue; a place that no item fills gives its attention to
    nobody. Attention that is spread evenly has the lowest disparity.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega & Carterette (2020), CIKM, 275-284.  doi:10.1145/3340531.3411962
    """
    e, _ = _exposures(exposure, discount)
    return math.fsum(e * e)


def relevance(exposure: Exposure, *, discount: Mapping[str, float]) -> float:
    """EER@k = sum over the groups of e × t, e as in EED, t: the same share in ideal lists.

    An ideal list of a user has the relevant items first, in every order alike, then all others of the catalogue, in every
    order alike.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega & Carterette (2020), CIKM, 275-284.  doi:10.1145/3340531.3411962
    """
    e, t = _exposures(exposure, discount)
    return math.fsum(e * t)


def loss(exposure: Exposure, *, discount: Mapping[str, float]) -> float:
    """EEL@k = sum over the groups of (e - t)^2 = EED - 2 × EER + sum of t^2; e as in EED, t as in EER.

    0 is the exposure of ideal lists. Shares of attention make cutoffs comparable: the numbers of the paper, in which
    attention is not divided by its sum, are larger by the square of that sum.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega & Carterette (2020), CIKM, 275-284.  doi:10.1145/3340531.3411962
    """
    e, t = _exposures(exposure, discount)
    return math.fsum((e - t) ** 2)


def expose_groups(listed: Listed, k: int | None) -> Exposure:
    """Count places by group and rank, and what ideal lists rest on; see `cells_of`."""
    assert k is not None, "refused before"
    shown = (listed.row_user, listed.row_item, listed.row_rank)
    wanted = (listed.wanted_user, listed.wanted_item)
    user, cell = cells_of(shown, wanted, listed.items, k)
    counts = np.bincount(cell, minlength=listed.items.n_items)
    return Exposure(counts, len(np.unique(user)), k, listed.items)


def cells_of(
    shown: tuple[Ints, Ints, Ints], wanted: tuple[Ints, Ints], items: Items, k: int
) -> tuple[Ints, Ints]:
    """(rows,) user and cell of what a model shows and of what is relevant, for the users with a relevant item.

    Group g at rank i is cell g × k + i - 1. Behind these cells, a relevant item of group g of a user with m relevant items
    is cell (m - 1) × groups + g: all that the exposure of ideal lists depends on, in whole numbers.

    Parameters
    ----------
    shown  : (rows,) user, item and rank
    wanted : (relevant rows,) user and item
    """
    group, groups = _group_of(items), len(items.groups) + 1
    user, item, rank = shown
    m = np.bincount(wanted[0], minlength=int(user.max(initial=-1)) + 1)
    counted = (m[user] > 0) & (rank <= k)
    places = group[item[counted]] * k + rank[counted] - 1
    ideal = groups * k + (m[wanted[0]] - 1) * groups + group[wanted[1]]
    return np.concatenate([user[counted], wanted[0]]), np.concatenate([places, ideal])


def _exposures(exposure: Exposure, discount: Mapping[str, float]) -> tuple[Floats, Floats]:
    """(groups + 1,) the mean share of attention of each group, and that in ideal lists; NaN without users."""
    sizes, k, users = group_sizes(exposure.items), exposure.k, exposure.n_users
    assert k is not None, "refused before"
    groups, n = len(sizes), int(sizes.sum())
    if users == 0:
        return np.full(groups, np.nan), np.full(groups, np.nan)
    attention = discounts(discount, k)
    up_to = np.cumsum(attention)  # rank i at index i
    counts = np.concatenate([exposure.counts, np.zeros(-len(exposure.counts) % groups, dtype=np.int64)])  # fmt: skip
    counts = np.concatenate([counts, np.zeros(max(groups * k - len(counts), 0), dtype=np.int64)])
    at = counts[: groups * k].reshape(groups, k)
    wanted = counts[groups * k :].reshape(-1, groups)  # row m - 1: of users with m relevant items
    held = np.flatnonzero(wanted.any(axis=1))
    m, wanted = held + 1, wanted[held]
    first = up_to[np.minimum(m, k)]  # the attention to the relevant items of one ideal list
    left = up_to[min(k, n)] - up_to[np.minimum(m, min(k, n))]
    each, other = first / m, left / np.maximum(n - m, 1)
    rest = np.outer(wanted.sum(axis=1) // m, sizes) - wanted  # items that are not relevant
    ideal = wanted * each[:, None] + rest * other[:, None]
    whole = users * up_to[k]
    e = np.array([math.fsum(row) for row in at * attention[1:]]) / whole
    t = np.array([math.fsum(column) for column in ideal.T]) / whole
    return e, t
