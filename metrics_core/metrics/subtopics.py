"""Metrics of novelty and diversity: which subtopics the relevant items of a list cover.

Each function takes `lists` (`Judged`, relevant rows only, with subtopics), the cutoff `k` (None:
the whole list) and, keyword-only and without defaults, its parameters. An item is relevant to a
subtopic if its grade for it reaches the relevance threshold; how high the grade is does not matter.
Later copies of an item do not count.

With alpha as the intolerance of repetition, the gain of an item is the sum over its subtopics of
(1 - alpha)^c, where c is the number of items above that are relevant to the subtopic.
"""

from collections.abc import Callable

import numpy as np

from concord.metrics_core.metrics.discounting import discounts
from concord.metrics_core.metrics.elementary import powers
from concord.metrics_core.metrics.judged import (
    Floats,
    Ints,
    Judged,
    differs_from_previous,
    position_in_user,
    ratio_or_zero,
    sum_by_user,
)
from concord.metrics_core.metrics.metric import DerivationInput, Steps, format_number, format_sum

# e / (e - 1): at any depth the best list gains at most this times what the greedy list gains. With
# weights that fall with the rank, the bound holds for the weighted sums, too.
BEST_OVER_GREEDY = 1.5819767068693265
ERR_ALPHA = 0.5  # ERR's probability that an item of the highest of the grades 0 and 1 satisfies


def subtopic_recall(lists: Judged, k: int | None) -> Floats:
    """StRecall@k = subtopics of the relevant items in the top k / subtopics of all relevant items.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1.

    References
    ----------
    Zhai, Cohen & Lafferty (2003), SIGIR, 10-17.  doi:10.1145/860435.860440
    """
    top = lists.hit_subtopics.select(lists.within(k)[lists.hit_subtopics.row])
    covered = _count_distinct(lists.hit_user[top.row], top.subtopic, lists.n_users)
    return ratio_or_zero(covered, _n_subtopics(lists))


def alpha_dcg(lists: Judged, k: int | None, *, alpha: float) -> Floats:
    """alpha_DCG(alpha)@k = sum over the top k of gain at rank i / log2(i + 1), / its maximum.

    The maximum belongs to a list of k items that are each relevant to all subtopics, as in ndeval.
    The paper does not divide.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1; below 1 for the ideal list, if no item is relevant to all subtopics.

    References
    ----------
    Clarke et al. (2008), SIGIR, 659-666.  doi:10.1145/1390334.1390446
    """
    return _ratio(lists, k, alpha, _log_weights, _maximum)


def alpha_ndcg(lists: Judged, k: int | None, *, alpha: float) -> Floats:
    """alpha_nDCG(alpha)@k = sum over the top k of gain at rank i / log2(i + 1), / the ideal sum.

    The ideal list takes the item of the highest gain at each rank, of equal gains the highest item
    id. A better list may exist: finding the best is NP-hard.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1, or up to e / (e - 1) for a list that is better than the greedy one.

    References
    ----------
    Clarke et al. (2008), SIGIR, 659-666.  doi:10.1145/1390334.1390446
    Nemhauser et al. (1978), Mathematical Programming 14, 265-294.  doi:10.1007/BF01588971  (bound)
    """
    return _ratio(lists, k, alpha, _log_weights, _ideal_sum)


def err_ia(lists: Judged, k: int | None) -> Floats:
    """ERR_IA@k = sum over the top k of gain at rank i / i, / its maximum; gain with alpha 1/2.

    This is the mean ERR over the subtopics, all of equal probability and with grades 0 and 1, which
    satisfy with probability 0 and 1/2. The maximum belongs to a list of k items that are each
    relevant to all subtopics, as in ndeval.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1; below 1 for the ideal list, if no item is relevant to all subtopics.

    References
    ----------
    Chapelle et al. (2011), Information Retrieval 14(6), 572-592.  doi:10.1007/s10791-011-9167-7
    """
    return _ratio(lists, k, ERR_ALPHA, _reciprocals, _maximum)


def normalised_err_ia(lists: Judged, k: int | None) -> Floats:
    """nERR_IA@k = sum over the top k of gain at rank i / i, / the ideal sum; gain with alpha 1/2.

    The ideal list is that of alpha_nDCG.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1, or up to e / (e - 1) for a list that is better than the greedy one.

    References
    ----------
    Chapelle et al. (2011), Information Retrieval 14(6), 572-592.  doi:10.1007/s10791-011-9167-7
    """
    return _ratio(lists, k, ERR_ALPHA, _reciprocals, _ideal_sum)


def nrbp(lists: Judged, k: int | None, *, alpha: float, beta: float) -> Floats:
    """NRBP(alpha,beta) = (1 - (1 - alpha) beta) / subtopics x sum of gain at rank i x beta^(i - 1).

    beta is the probability that the user goes on to the next item.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1; below 1 for the ideal list, if no item is relevant to all subtopics.

    References
    ----------
    Clarke, Kolla & Vechtomova (2009), ICTIR, 188-199.  doi:10.1007/978-3-642-04417-5_17
    """
    total = _discounted_sum(lists, k, alpha, _geometric(beta))
    return ratio_or_zero((1.0 - (1.0 - alpha) * beta) * total, _n_subtopics(lists))


def normalised_nrbp(lists: Judged, k: int | None, *, alpha: float, beta: float) -> Floats:
    """nNRBP(alpha,beta) = sum of gain at rank i x beta^(i - 1), / the ideal sum.

    The ideal list is that of alpha_nDCG.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1, or up to e / (e - 1) for a list that is better than the greedy one.

    References
    ----------
    Clarke, Kolla & Vechtomova (2009), ICTIR, 188-199.  doi:10.1007/978-3-642-04417-5_17
    """
    return _ratio(lists, k, alpha, _geometric(beta), _ideal_sum)


def subtopic_steps(data: DerivationInput) -> Steps:
    """Return the steps of the metrics of subtopics."""
    lists, k, name = data.lists, data.k, data.metric
    n_subtopics, covered = int(_n_subtopics(lists)[0]), _names_by_rank(data)
    terms = {rank: f"subtopics {', '.join(names)}" for rank, names in covered.items()}
    if name == "StRecall":
        n_covered = len({each for names in covered.values() for each in names})
        line = f"StRecall = {n_covered} / {n_subtopics}  (subtopics in the top k / subtopics)"
        return Steps(terms, (line,))
    alpha, beta = data.parameters.get("alpha", ERR_ALPHA), data.parameters.get("beta", 0.0)
    by_name = {"NRBP": _geometric(beta), "ERR_IA": _reciprocals}
    weights = by_name.get(name.removeprefix("n"), _log_weights)
    weight = weights(max(data.ranks, default=0))
    gains = dict(zip(data.ranks, _novelty_gains(lists, alpha), strict=False))
    addends = {rank: _product(gains[rank], weight[rank]) for rank in terms}
    terms = {rank: f"{term}: {addends[rank]}" for rank, term in terms.items()}
    total = format_number(float(_discounted_sum(lists, k, alpha, weights)[0]))
    lines = (f"sum = {format_sum(list(addends.values()))} = {total}",)
    if name == "NRBP":
        factor = f"(1 - (1 - {alpha:g}) × {beta:g}) / {n_subtopics}"
        return Steps(terms, (*lines, f"NRBP = {factor} × {total}  ({n_subtopics} subtopics)"))
    if name in ("alpha_DCG", "ERR_IA"):
        divisor = format_number(float(_maximum(lists, k, alpha, weights)[0]))
        line = f"maximum = {divisor}  (each item relevant to all {n_subtopics} subtopics)"
    else:
        _, rank, ideal_gains = _ideal_lists(lists, k, alpha)
        ideal = format_sum([*map(_product, ideal_gains, weights(len(rank))[rank])])
        divisor = format_number(float(_ideal_sum(lists, k, alpha, weights)[0]))
        line = f"ideal sum = {ideal} = {divisor}  (greedy)"
    return Steps(terms, (*lines, line, f"{name} = {total} / {divisor}"))


def _product(gain: float, weight: float) -> str:
    return f"{format_number(gain)} × {format_number(weight)}"


Weights = Callable[[int], Floats]  # weight of rank i at index i, for i = 0 … depth
Divisor = Callable[[Judged, int | None, float, Weights], Floats]


def _log_weights(depth: int) -> Floats:
    return discounts({"log": 2}, depth)


def _reciprocals(depth: int) -> Floats:
    return np.concatenate([[0.0], 1.0 / np.arange(1, depth + 1)])


def _geometric(beta: float) -> Weights:
    return lambda depth: discounts({"geometric": beta}, depth)


def _ratio(
    lists: Judged, k: int | None, alpha: float, weights: Weights, divisor: Divisor
) -> Floats:
    total = _discounted_sum(lists, k, alpha, weights)
    return ratio_or_zero(total, divisor(lists, k, alpha, weights))


def _discounted_sum(lists: Judged, k: int | None, alpha: float, weights: Weights) -> Floats:
    """Return (n_users,) the sum over the top k of gain x weight of the rank."""
    return lists.discounted(lists.cached(_novelty_gains, alpha), weights, k)


def _novelty_gains(lists: Judged, alpha: float) -> Floats:
    """Return (n_hits,) the gains of the hits; later copies of an item have none."""
    rows = lists.hit_subtopics.select(lists.hit_first[lists.hit_subtopics.row])
    subtopic = _distinct(lists.hit_user[rows.row], rows.subtopic)
    by_rank = np.lexsort((rows.row, subtopic))
    is_new = differs_from_previous(subtopic[by_rank])
    n_before = position_in_user(np.cumsum(is_new) - 1, int(is_new.sum())) - 1
    return _sum_powers(rows.row[by_rank], n_before, 1.0 - alpha, len(lists.hit_rank))


def _sum_powers(row: Ints, exponent: Ints, base: float, n_rows: int) -> Floats:
    """Return (n_rows,) sums of powers, the highest first: equal exponents give equal bits."""
    order = np.argsort(exponent, kind="stable")
    power = powers(base, int(exponent.max(initial=0)) + 1)[exponent[order]]
    return sum_by_user(row[order], power, n_rows)


def _maximum(lists: Judged, k: int | None, alpha: float, weights: Weights) -> Floats:
    """Return (n_users,) the sum for a list of items that are each relevant to all subtopics."""
    cutoff = lists.cutoff(k)
    weight = weights(int(cutoff.max(initial=0)))
    weight[1:] *= powers(1.0 - alpha, len(weight) - 1)
    return np.cumsum(weight)[cutoff] * _n_subtopics(lists)


def _ideal_sum(lists: Judged, k: int | None, alpha: float, weights: Weights) -> Floats:
    """Return (n_users,) the sum for the greedy ideal list."""
    user, rank, gain = _ideal_lists(lists, k, alpha)
    return sum_by_user(user, gain * weights(int(rank.max(initial=0)))[rank], lists.n_users)


def _ideal_lists(lists: Judged, k: int | None, alpha: float) -> tuple[Ints, Ints, Floats]:
    """Return user, rank and gain of the items of the greedy ideal lists, by rank.

    Each rank has the item of the highest gain; of equal gains that of the last row.
    """
    rows = lists.truth_subtopics
    row_user, is_first = lists.truth_user[rows.row], differs_from_previous(rows.row)
    item, item_user = np.cumsum(is_first) - 1, row_user[is_first]
    _, subtopic = np.unique(_distinct(row_user, rows.subtopic), return_inverse=True)
    is_new_user = differs_from_previous(item_user)
    starts, group = np.flatnonzero(is_new_user), np.cumsum(is_new_user) - 1
    n_items, n_covered = len(item_user), np.zeros(len(rows.row), dtype=np.int64)
    is_left = np.ones(n_items, dtype=bool)
    depth = int(np.bincount(group).max(initial=0))
    ideal = [(np.zeros(0, dtype=np.int64), np.zeros(0))]  # rank 0
    for _ in range(depth if k is None else min(k, depth)):
        is_row_left = is_left[item]
        item, subtopic = item[is_row_left], subtopic[is_row_left]
        gain = np.where(is_left, _sum_powers(item, n_covered[subtopic], 1.0 - alpha, n_items), -1.0)
        best = np.maximum.reduceat(gain, starts)
        is_best = is_left & (gain == best[group])
        chosen = np.maximum.reduceat(np.where(is_best, np.arange(n_items), -1), starts)
        chosen = chosen[chosen >= 0]
        ideal.append((chosen, gain[chosen]))
        is_left[chosen] = False
        n_covered += np.bincount(subtopic[~is_left[item]], minlength=len(n_covered))
    ranks = np.repeat(np.arange(len(ideal)), [len(chosen) for chosen, _ in ideal])
    chosen, gain = (np.concatenate(parts) for parts in zip(*ideal, strict=True))
    return item_user[chosen], ranks, gain


def _n_subtopics(lists: Judged) -> Ints:
    """Return (n_users,) the number of subtopics with a relevant item."""
    rows = lists.truth_subtopics
    return _count_distinct(lists.truth_user[rows.row], rows.subtopic, lists.n_users)


def _distinct(user: Ints, subtopic: Ints) -> Ints:
    """Return (n_rows,) a number for each user and subtopic, in the order of users."""
    return user * (int(subtopic.max(initial=0)) + 1) + subtopic


def _count_distinct(user: Ints, subtopic: Ints, n_users: int) -> Ints:
    first = np.unique(_distinct(user, subtopic), return_index=True)[1]
    return np.bincount(user[first], minlength=n_users)


def _names_by_rank(data: DerivationInput) -> dict[int, list[str]]:
    """Return the names of the subtopics of each hit in the top k, by rank."""
    lists, names = data.lists, {}
    for index, rank in enumerate(data.ranks):
        if lists.hit_first[index]:
            names[rank] = lists.hit_subtopics.name[lists.hit_subtopics.row == index].tolist()
    return names
