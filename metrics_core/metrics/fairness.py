"""Fairness of attention to groups of items, per user.

Attention to rank i is the convention `discount`. Items of the catalogue without a group, and recommended items that are
not in the catalogue, form a group of their own.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from concord.metrics_core.metrics.discounting import discounts
from concord.metrics_core.metrics.items import Items
from concord.metrics_core.metrics.judged import Floats, Ints, ratio_or_nan, sum_by_user
from concord.metrics_core.metrics.ranked_lists import RankedLists
from concord.metrics_core.metrics.steps import DerivationInput, Steps, format_number, format_sum

NO_GROUP = "without a group"
_FORMS = {"EED": "{e}^2", "EER": "{e} × {t}", "EEL": "({e} - {t})^2"}


def attention_fairness(
    listed: RankedLists, k: int | None, *, discount: Mapping[str, float], fairness_target: str
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
    attention, target = (
        attention_shares(listed, k, discount),
        target_shares(listed, fairness_target),
    )
    distance = np.zeros(listed.n_users)
    for a, t in zip(attention, target, strict=True):
        distance += np.abs(a - t)
    return np.maximum(1.0 - distance / 2, 0.0)  # below 0 by rounding only


def attention_steps(one: DerivationInput) -> Steps:
    """Return the steps of AWRF."""
    listed, k, discount = one.listed, one.k, one.conventions.discount
    fairness_target = one.conventions.fairness_target
    assert listed is not None
    assert fairness_target is not None
    if not listed.n_listed[0]:
        return Steps(lines=("no list, so no attention to share out",))
    weight = discounts(discount, int(listed.row_rank.max()))
    attention, group = weight[listed.row_rank[listed.within(k)]], _groups_in_top(listed, k)
    total = format_number(float(np.sum(attention)))
    shares, differences = [], []
    by_group = zip(
        _group_names(listed),
        attention_shares(listed, k, discount),
        target_shares(listed, fairness_target),
        strict=True,
    )
    for number, (name, (a,), (t,)) in enumerate(by_group):
        if a or t:
            of_group = format_number(float(np.sum(attention[group == number])))
            shares.append(
                f"{name}: {of_group} / {total} = {format_number(a)} of the attention; "
                f"target {format_number(t)}  ({fairness_target})"
            )
            differences.append(f"|{format_number(a)} - {format_number(t)}|")
    line = f"AWRF = 1 - ({format_sum(differences)}) / 2"
    return Steps(_attention_terms(listed, k, weight), (*shares, line))


def attention_shares(
    listed: RankedLists, k: int | None, discount: Mapping[str, float]
) -> Iterator[Floats]:
    """Yield (users,) the share of the attention to the top k, of each group and of the items without one."""
    weight = discounts(discount, int(listed.row_rank.max(initial=0)))[listed.row_rank]
    total = listed.total(weight, k)
    group = _group_of(listed.items)[listed.row_item]
    for number in range(len(listed.items.groups) + 1):
        yield ratio_or_nan(listed.total(np.where(group == number, weight, 0.0), k), total)


def target_shares(listed: RankedLists, fairness_target: str) -> Iterator[Floats]:
    """Yield (users,) the target share of each group, and of the items without one."""
    n_groups, users = len(listed.items.groups), listed.n_users
    if fairness_target == "relevant":
        group = _group_of(listed.items)[listed.relevant_item]
        n_relevant = np.bincount(listed.relevant_user, minlength=users)
        for number in range(n_groups + 1):
            is_in_group = np.where(group == number, 1.0, 0.0)
            yield ratio_or_nan(sum_by_user(listed.relevant_user, is_in_group, users), n_relevant)
    elif fairness_target == "uniform":
        yield from (np.full(users, 1 / n_groups) for _ in range(n_groups))
        yield np.zeros(users)
    else:
        sizes = group_sizes(listed.items)
        yield from (np.full(users, size / sizes.sum()) for size in sizes)


def group_sizes(items: Items) -> Ints:
    """Return (groups + 1,) items of the catalogue in each group, and without one."""
    return np.bincount(_group_of(items)[items.in_catalogue], minlength=len(items.groups) + 1)


def _group_of(items: Items) -> Ints:
    assert items.group is not None
    return items.group


def disparity(listed: RankedLists, k: int | None, *, discount: Mapping[str, float]) -> Floats:
    """EED@k = sum over the groups of e^2, e: the group's share of the attention that a top k can give.

    The attention to a rank without an item goes to no group. Attention that is spread evenly over the groups has the
    lowest disparity. Undefined without a list and without a relevant item in the catalogue.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega & Carterette (2020), CIKM, 275-284.  doi:10.1145/3340531.3411962
    """
    return _sum_over_groups(listed, k, discount, lambda e, _: e * e)


def relevance(listed: RankedLists, k: int | None, *, discount: Mapping[str, float]) -> Floats:
    """EER@k = sum over the groups of e × t, e as in EED, t: the same share in ideal lists.

    An ideal list of a user has the relevant items first, in every order alike, then all others of the catalogue, in every
    order alike. Undefined as EED.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega & Carterette (2020), CIKM, 275-284.  doi:10.1145/3340531.3411962
    """
    return _sum_over_groups(listed, k, discount, lambda e, t: e * t)


def loss(listed: RankedLists, k: int | None, *, discount: Mapping[str, float]) -> Floats:
    """EEL@k = sum over the groups of (e - t)^2 = EED - 2 × EER + sum of t^2; e as in EED, t as in EER.

    0 is the exposure of ideal lists. For example, the catalogue is one item of group x, relevant for user u, and one of
    group y, relevant for v, and k = 1. If each user gets the relevant item, e = t and EEL = 0 for both. If each gets the
    other, u has e = (0, 1) and t = (1, 0) for x and y, so EEL = (0 - 1)^2 + (1 - 0)^2 = 2, and v likewise. Shares of
    attention make cutoffs comparable: the numbers of the paper, in which attention is not divided by its sum, are larger
    by the square of that sum. Undefined as EED.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega & Carterette (2020), CIKM, 275-284.  doi:10.1145/3340531.3411962
    """
    return _sum_over_groups(listed, k, discount, lambda e, t: (e - t) * (e - t))


def exposure_steps(one: DerivationInput) -> Steps:
    """Return the steps of EED, EER or EEL."""
    listed, k, metric = one.listed, one.k, one.metric
    assert listed is not None
    assert k is not None
    if not (listed.n_listed[0] and len(listed.relevant_user)):
        return Steps(lines=("undefined: no list, or no relevant item in the catalogue",))
    weight = discounts(one.conventions.discount, k)
    lines, terms = [], []
    shares = exposure_shares(listed, k, one.conventions.discount)
    for name, (exposure, ideal) in zip(_group_names(listed), shares, strict=True):
        if exposure[0] or ideal[0]:
            e, t = format_number(exposure[0]), format_number(ideal[0])
            lines.append(f"{name}: e = {e}, in ideal lists t = {t}")
            terms.append(_FORMS[metric].format(e=e, t=t))
    head = f"a top {k} can give {format_number(float(np.sum(weight)))} of attention"
    total = f"{metric} = {format_sum(terms)}"
    return Steps(_attention_terms(listed, k, weight), (head, *lines, total))


def _sum_over_groups(
    listed: RankedLists,
    k: int | None,
    discount: Mapping[str, float],
    term: Callable[[Floats, Floats], Floats],
) -> Floats:
    """Return (users,) sum over the groups of a term of the share of attention and of that in ideal lists."""
    if listed.items.group is None:
        return np.full(listed.n_users, np.nan)
    total = np.zeros(listed.n_users)
    for exposure, ideal in exposure_shares(listed, k, discount):
        total += term(exposure, ideal)
    return total


def exposure_shares(
    listed: RankedLists, k: int | None, discount: Mapping[str, float]
) -> Iterator[tuple[Floats, Floats]]:
    """Yield (users,) the share of the attention that a top k can give, and in ideal lists, of each group and of other items.

    NaN without a list, and without a relevant item in the catalogue.
    """
    assert k is not None, "refused before"
    users, group, sizes = listed.n_users, _group_of(listed.items), group_sizes(listed.items)
    attention = discounts(discount, k)
    up_to, n = np.cumsum(attention), int(sizes.sum())  # up to rank i at index i
    weight = attention[np.minimum(listed.row_rank, k)]
    m = np.bincount(listed.relevant_user, minlength=users)
    depth = min(k, n)
    each = up_to[np.minimum(m, k)] / np.maximum(m, 1)  # attention to a relevant item
    other = (up_to[depth] - up_to[np.minimum(m, depth)]) / np.maximum(n - m, 1)
    counts = (m > 0) & (listed.n_listed > 0)
    for number, size in enumerate(sizes.tolist()):
        exposure = listed.total(np.where(group[listed.row_item] == number, weight, 0.0), k)
        relevant_user = listed.relevant_user[group[listed.relevant_item] == number]
        n_relevant = np.bincount(relevant_user, minlength=users)
        ideal = n_relevant * each + (size - n_relevant) * other
        yield (
            np.where(counts, exposure / up_to[k], np.nan),
            np.where(counts, ideal / up_to[k], np.nan),
        )


def _group_names(listed: RankedLists) -> tuple[str, ...]:
    return (*listed.items.groups, NO_GROUP)


def _groups_in_top(listed: RankedLists, k: int | None) -> Ints:
    """Return (rows of the top k,) number of each item's group."""
    return _group_of(listed.items)[listed.row_item[listed.within(k)]]


def _attention_terms(listed: RankedLists, k: int | None, weight: Floats) -> dict[int, str]:
    """Return rank -> group of the item, and the attention to the rank."""
    names, ranks = _group_names(listed), listed.row_rank[listed.within(k)].tolist()
    groups = _groups_in_top(listed, k).tolist()
    return {
        rank: f"{names[group]}: {format_number(weight[rank])}"
        for rank, group in zip(ranks, groups, strict=True)
    }
