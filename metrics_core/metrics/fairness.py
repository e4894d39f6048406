"""Fairness of the attention to groups of items, per user.

The attention to rank i is the convention `discount`. Items of the catalogue without a group, and
recommended items that are not in the catalogue, form a group of their own.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from concord.metrics_core.metrics.discounting import discounts
from concord.metrics_core.metrics.judged import Floats, Ints, ratio_or_nan, sum_by_user
from concord.metrics_core.metrics.metric import DerivationInput, Steps, format_number, format_sum
from concord.metrics_core.metrics.ranked_lists import Items, RankedLists

NO_GROUP = "without a group"
_FORMS = {"EED": "{e}^2", "EER": "{e} × {t}", "EEL": "({e} - {t})^2"}


def attention_fairness(
    lists: RankedLists, k: int | None, *, discount: Mapping[str, float], fairness_target: str
) -> Floats:
    """AWRF@k = 1 - sum over groups of |a - t| / 2, a: share of the attention, t: target share.

    a is a share of the attention to the top k; the convention `fairness_target` defines t.
    Half the sum of the absolute differences is the total variation distance: the share of the
    attention that would have to move to other groups.
    Undefined without a list; with `fairness_target: relevant` also without a relevant item in the
    catalogue.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1 (target met); NaN where undefined.

    References
    ----------
    Sapiezynski, Zeng, Robertson, Mislove & Wilson (2019), WWW Companion, 553-562.
    doi:10.1145/3308560.3317595
    Raj & Ekstrand (2022), SIGIR, 726-736.  doi:10.1145/3477495.3532018  (comparison of metrics)
    """
    distance = np.zeros(lists.n_users)
    attention = attention_shares(lists, k, discount)
    for a, t in zip(attention, target_shares(lists, fairness_target), strict=True):
        distance += np.abs(a - t)
    return np.maximum(1.0 - distance / 2, 0.0)  # below 0 by rounding only


def attention_steps(data: DerivationInput) -> Steps:
    """Return the steps of AWRF."""
    lists, k, discount = data.ranked_lists, data.k, data.conventions.discount
    fairness_target = data.conventions.fairness_target
    assert lists is not None
    assert fairness_target is not None
    if not lists.n_listed[0]:
        return Steps(lines=("undefined: no list",))
    weight = discounts(discount, int(lists.row_rank.max()))
    attention, group = weight[lists.row_rank[lists.within(k)]], _groups_in_top(lists, k)
    total = format_number(float(np.sum(attention)))
    shares, differences = [], []
    by_group = zip(
        _group_names(lists),
        attention_shares(lists, k, discount),
        target_shares(lists, fairness_target),
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
    return Steps(_attention_terms(lists, k, weight), (*shares, line))


def attention_shares(
    lists: RankedLists, k: int | None, discount: Mapping[str, float]
) -> Iterator[Floats]:
    """Yield (n_users,) each group's share of the attention to the top k; ungrouped items last."""
    weight = discounts(discount, int(lists.row_rank.max(initial=0)))[lists.row_rank]
    total = lists.total(weight, k)
    group = _group_of(lists.items)[lists.row_item]
    for number in range(len(lists.items.groups) + 1):
        yield ratio_or_nan(lists.total(np.where(group == number, weight, 0.0), k), total)


def target_shares(lists: RankedLists, fairness_target: str) -> Iterator[Floats]:
    """Yield (n_users,) the target share of each group; ungrouped items last."""
    n_groups, users = len(lists.items.groups), lists.n_users
    if fairness_target == "relevant":
        group = _group_of(lists.items)[lists.relevant_item]
        n_relevant = np.bincount(lists.relevant_user, minlength=users)
        for number in range(n_groups + 1):
            is_in_group = np.where(group == number, 1.0, 0.0)
            yield ratio_or_nan(sum_by_user(lists.relevant_user, is_in_group, users), n_relevant)
    elif fairness_target == "uniform":
        yield from (np.full(users, 1 / n_groups) for _ in range(n_groups))
        yield np.zeros(users)
    else:
        sizes = group_sizes(lists.items)
        yield from (np.full(users, size / sizes.sum()) for size in sizes)


def group_sizes(items: Items) -> Ints:
    """Return (n_groups + 1,) number of catalogue items in each group; ungrouped items last."""
    return np.bincount(_group_of(items)[items.in_catalogue], minlength=len(items.groups) + 1)


def _group_of(items: Items) -> Ints:
    assert items.group is not None
    return items.group


def disparity(lists: RankedLists, k: int | None, *, discount: Mapping[str, float]) -> Floats:
    """EED@k = sum over groups of e^2, e: the group's share of the attention that a top k can give.

    The attention to a rank without an item goes to no group. The disparity is lowest if the groups
    have equal attention.
    Undefined without a list, and without a relevant item in the catalogue.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1, lower is better; NaN where undefined.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega & Carterette (2020), CIKM, 275-284.  doi:10.1145/3340531.3411962
    """
    return _sum_over_groups(lists, k, discount, lambda e, _: e * e)


def relevance(lists: RankedLists, k: int | None, *, discount: Mapping[str, float]) -> Floats:
    """EER@k = sum over groups of e × t, e as in EED, t: the same share in ideal lists.

    t is the mean over a user's ideal lists: the relevant items in any order, then all other items
    of the catalogue in any order. Undefined where EED is.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1; NaN where undefined.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega & Carterette (2020), CIKM, 275-284.  doi:10.1145/3340531.3411962
    """
    return _sum_over_groups(lists, k, discount, lambda e, t: e * t)


def loss(lists: RankedLists, k: int | None, *, discount: Mapping[str, float]) -> Floats:
    """EEL@k = sum over groups of (e - t)^2 = EED - 2 × EER + sum of t^2; e as in EED, t as in EER.

    For example, the catalogue is an item of group x, relevant to user u, and an item of group y,
    relevant to user v; k = 1. If each user gets the relevant item, e = t and EEL = 0 for both.
    If each user gets the other item, u has e = (0, 1) and t = (1, 0) for x and y, so that
    EEL = (0 - 1)^2 + (1 - 0)^2 = 2. The same holds for v.

    Shares of attention make cutoffs comparable. The paper does not divide attention by its sum, so
    its values are larger by the square of that sum. Undefined where EED is.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 (exposure of ideal lists) to 2, lower is better; NaN where undefined.

    References
    ----------
    Diaz, Mitra, Ekstrand, Biega & Carterette (2020), CIKM, 275-284.  doi:10.1145/3340531.3411962
    """
    return _sum_over_groups(lists, k, discount, lambda e, t: (e - t) * (e - t))


def exposure_steps(data: DerivationInput) -> Steps:
    """Return the steps of EED, EER or EEL."""
    lists, k, metric = data.ranked_lists, data.k, data.metric
    assert lists is not None
    assert k is not None
    if not (lists.n_listed[0] and len(lists.relevant_user)):
        return Steps(lines=("undefined: no list, or no relevant item in the catalogue",))
    weight = discounts(data.conventions.discount, k)
    lines, terms = [], []
    shares = exposure_shares(lists, k, data.conventions.discount)
    for name, (exposure, ideal) in zip(_group_names(lists), shares, strict=True):
        if exposure[0] or ideal[0]:
            e, t = format_number(exposure[0]), format_number(ideal[0])
            lines.append(f"{name}: e = {e}, in ideal lists t = {t}")
            terms.append(_FORMS[metric].format(e=e, t=t))
    total_line = f"a top {k} can give {format_number(float(np.sum(weight)))} of attention"
    sum_line = f"{metric} = {format_sum(terms)}"
    return Steps(_attention_terms(lists, k, weight), (total_line, *lines, sum_line))


def _sum_over_groups(
    lists: RankedLists,
    k: int | None,
    discount: Mapping[str, float],
    term: Callable[[Floats, Floats], Floats],
) -> Floats:
    """Return (n_users,) sum over the groups of term(e, t)."""
    total = np.zeros(lists.n_users)
    for exposure, ideal in exposure_shares(lists, k, discount):
        total += term(exposure, ideal)
    return total


def exposure_shares(
    lists: RankedLists, k: int | None, discount: Mapping[str, float]
) -> Iterator[tuple[Floats, Floats]]:
    """Yield (n_users,) e and t of each group, as in `relevance`; ungrouped items last.

    NaN without a list, and without a relevant item in the catalogue.
    """
    assert k is not None, "refused before"
    users, group, sizes = lists.n_users, _group_of(lists.items), group_sizes(lists.items)
    n_items = int(sizes.sum())
    attention = discounts(discount, k)
    attention_to_top = np.cumsum(attention)  # to ranks 1 … i at index i
    weight = attention[np.minimum(lists.row_rank, k)]
    n_relevant = np.bincount(lists.relevant_user, minlength=users)
    depth = min(k, n_items)
    to_relevant = attention_to_top[np.minimum(n_relevant, k)]
    to_others = attention_to_top[depth] - attention_to_top[np.minimum(n_relevant, depth)]
    per_relevant = to_relevant / np.maximum(n_relevant, 1)
    per_other = to_others / np.maximum(n_items - n_relevant, 1)
    is_defined = (n_relevant > 0) & (lists.n_listed > 0)
    for number, size in enumerate(sizes.tolist()):
        exposure = lists.total(np.where(group[lists.row_item] == number, weight, 0.0), k)
        relevant_user = lists.relevant_user[group[lists.relevant_item] == number]
        n_in_group = np.bincount(relevant_user, minlength=users)  # relevant items of the group
        ideal = n_in_group * per_relevant + (size - n_in_group) * per_other
        yield (
            np.where(is_defined, exposure / attention_to_top[k], np.nan),
            np.where(is_defined, ideal / attention_to_top[k], np.nan),
        )


def _group_names(lists: RankedLists) -> tuple[str, ...]:
    return (*lists.items.groups, NO_GROUP)


def _groups_in_top(lists: RankedLists, k: int | None) -> Ints:
    """Return (n_rows,) number of the group of each item in the top k."""
    return _group_of(lists.items)[lists.row_item[lists.within(k)]]


def _attention_terms(lists: RankedLists, k: int | None, weight: Floats) -> dict[int, str]:
    """Return rank -> group of the item and attention to the rank."""
    names, ranks = _group_names(lists), lists.row_rank[lists.within(k)].tolist()
    groups = _groups_in_top(lists, k).tolist()
    return {
        rank: f"{names[group]}: {format_number(weight[rank])}"
        for rank, group in zip(ranks, groups, strict=True)
    }
