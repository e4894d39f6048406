"""Accuracy metrics of gains, which may grow with the grade of an item.

Each function takes `lists` (`Judged`, relevant rows only), the cutoff `k` (None: the whole list)
and, keyword-only and without defaults, the conventions and parameters that it depends on.
A list without hits has the value 0, also if the denominator is 0.
The `user_*` policies later replace the value of users without a list or without relevant items.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from concord.metrics_core.metrics.discounting import discounts, gains, ideal_dcg, ideal_order
from concord.metrics_core.metrics.elementary import exp2
from concord.metrics_core.metrics.judged import (
    Bools,
    Floats,
    Judged,
    product_before,
    ratio_or_nan,
    ratio_or_zero,
)
from concord.metrics_core.metrics.metric import DerivationInput, Steps, format_number, format_sum


def cumulated_gain(
    lists: Judged,
    k: int | None,
    *,
    gain: str | Mapping[str, Any],
    relevance_threshold: float | None,
) -> Floats:
    """CG@k = sum of the gains of the top k.

    Returns
    -------
    ndarray of shape (n_users,)
        In units of the gain: grades if it is linear. No upper bound.

    References
    ----------
    Järvelin & Kekäläinen (2000), SIGIR, 41-48.  doi:10.1145/345508.345545
    """
    hit_gains = lists.apply_weights(gains(lists.hit_grade, gain, relevance_threshold))
    return lists.exact_total(hit_gains, k)


def cumulated_gain_steps(data: DerivationInput) -> Steps:
    """Return the steps of CG."""
    hit_gains = _gains_in_top(data, data.conventions.gain)
    terms = dict(zip(data.ranks, map(format_number, hit_gains), strict=True))
    return Steps(terms, (f"CG = {format_sum(list(terms.values()))}",))


def dcg(
    lists: Judged,
    k: int | None,
    *,
    gain: str | Mapping[str, Any],
    discount: Mapping[str, float],
    relevance_threshold: float | None,
) -> Floats:
    """DCG@k = sum over the top k of gain at rank i x discount of i.

    Returns
    -------
    ndarray of shape (n_users,)
        In units of the gain. No upper bound.

    References
    ----------
    Järvelin & Kekäläinen (2002), TOIS 20(4), 422-446.  doi:10.1145/582415.582418
    """
    hit_gains = lists.apply_weights(gains(lists.hit_grade, gain, relevance_threshold))
    return lists.discounted(hit_gains, lambda depth: discounts(discount, depth), k)


def dcg_steps(data: DerivationInput) -> Steps:
    """Return the steps of DCG."""
    terms, total = _discounted_terms(data, data.conventions.gain, data.conventions.discount)
    return Steps(terms, (f"DCG = {total}",))


def ndcg(
    lists: Judged,
    k: int | None,
    *,
    gain: str | Mapping[str, Any],
    discount: Mapping[str, float],
    ideal: str,
    relevance_threshold: float | None,
) -> Floats:
    """nDCG@k = DCG@k / DCG@k of the ideal list; undefined if no item has a gain.

    Returns
    -------
    ndarray of shape (n_users,)
        Between 0 and 1, or above 1 if `ideal` is not the best list; NaN where undefined.

    References
    ----------
    Järvelin & Kekäläinen (2002), TOIS 20(4), 422-446.  doi:10.1145/582415.582418
    Burges et al. (2005), ICML, 89-96.  doi:10.1145/1102351.1102363  (gain exp2, discount log 2)
    """
    threshold = relevance_threshold
    dcg_at_k = lists.cached(dcg, k, gain=gain, discount=discount, relevance_threshold=threshold)
    ideal_at_k = lists.cached(
        ideal_dcg, k, gain=gain, discount=discount, ideal=ideal, relevance_threshold=threshold
    )
    if ideal in {"truth_at_k", "truth"}:  # 0 only where there is no gain
        any_gain = ideal_at_k > 0
    else:
        any_gain = lists.cached(_any_gain, gain=gain, relevance_threshold=threshold)
    return np.where(any_gain, ratio_or_zero(dcg_at_k, ideal_at_k), np.nan)


def ndcg_steps(data: DerivationInput) -> Steps:
    """Return the steps of nDCG."""
    conventions = data.conventions
    terms, total = _discounted_terms(data, conventions.gain, conventions.discount)
    ideal_gains, weights = ideal_order(data.lists, data.k, conventions)
    ideal = float(np.sum(ideal_gains * weights))
    pairs = zip(ideal_gains, weights, strict=True)
    ideal_sum = format_sum([f"{format_number(g)} × {format_number(w)}" for g, w in pairs])
    return Steps(
        terms,
        (
            f"DCG = {total}",
            f"ideal DCG = {ideal_sum} = {format_number(ideal)}  ({conventions.ideal})",
            f"nDCG = {total.rpartition('= ')[2]} / {format_number(ideal)}"
            if ideal
            else "nDCG is undefined, because the ideal DCG is 0",
        ),
    )


def rank_biased_precision(
    lists: Judged, k: int | None, *, p: float, rbp_gain: str, rbp_norm: str
) -> Floats:
    """RBP(p)@k = (1 - p) x sum over the top k of gain at rank i x p^(i - 1).

    Returns
    -------
    ndarray of shape (n_users,)
        In units of the gain: 0 to 1 under `standard`.

    References
    ----------
    Moffat & Zobel (2008), TOIS 27(1), 2.  doi:10.1145/1416950.1416952
    """
    hit_gains = lists.apply_weights(gains(lists.hit_grade, rbp_gain, None))
    total = lists.discounted(hit_gains, lambda depth: discounts({"geometric": p}, depth), k)
    if rbp_norm == "one_minus_p":
        return (1.0 - p) * total
    if rbp_norm == "none":
        return total
    cutoff = lists.cutoff(k)
    weight_sums = np.cumsum(discounts({"geometric": p}, int(cutoff.max(initial=0))))
    return ratio_or_zero(total, weight_sums[cutoff])


def rank_biased_precision_steps(data: DerivationInput) -> Steps:
    """Return the steps of RBP."""
    p = data.parameters["p"]
    terms, total = _discounted_terms(data, data.conventions.rbp_gain, {"geometric": p})
    norm = {
        "one_minus_p": f"(1 - {p:g}) × sum",
        "sum_weights": f"sum / (1 + {p:g} + … + {p:g}^{data.cutoff - 1})",
        "none": "sum",
    }[data.conventions.rbp_norm]
    return Steps(terms, (f"sum = {total}", f"RBP = {norm}"))


def expected_reciprocal_rank(lists: Judged, k: int | None, *, err_max_grade: float) -> Floats:
    """ERR@k = sum over i <= k of R_i / i x prod over j < i of (1 - R_j); R = (2^grade - 1) / 2^max.

    R_i is the probability that the item at rank i satisfies the user; max is `err_max_grade`.

    Returns
    -------
    ndarray of shape (n_users,)
        Expected 1 / rank at which a user who reads down the list is satisfied, 0 to 1.

    Raises
    ------
    ValueError
        If a relevant grade is above `err_max_grade`.

    References
    ----------
    Chapelle, Metzler, Zhang & Grinspan (2009), CIKM, 621-630.  doi:10.1145/1645953.1646033
    """
    highest = float(lists.truth_grade.max(initial=0.0))
    if highest > err_max_grade:
        msg = (
            f"ERR: grade {highest:g} is above err_max_grade {err_max_grade:g}; "
            f"set err_max_grade to {highest:g}"
        )
        raise ValueError(msg)
    satisfied = (exp2(lists.hit_grade) - 1.0) / exp2(err_max_grade)
    unsatisfied = product_before(1.0 - satisfied, lists.hit_number)
    return lists.total(satisfied * unsatisfied / lists.hit_rank, k)


def expected_reciprocal_rank_steps(data: DerivationInput) -> Steps:
    """Return the steps of ERR."""
    unsatisfied, terms = 1.0, {}
    top = data.lists.within(data.k)
    for rank, grade in zip(data.ranks, data.lists.hit_grade[top], strict=True):
        satisfied = float((exp2(grade) - 1.0) / exp2(data.conventions.err_max_grade))
        terms[rank] = f"1/{rank} × {format_number(satisfied)} × {format_number(unsatisfied)}"
        unsatisfied *= 1 - satisfied
    line = "ERR = sum of 1/rank × satisfied here × not satisfied before"
    return Steps(terms, (line,))


def normalised_err(lists: Judged, k: int | None, *, err_max_grade: float) -> Floats:
    """nERR@k = ERR@k / ERR@k of the ideal list; undefined if no item has a gain.

    The ideal list has the relevant items of the ground truth, best grade first.

    Returns
    -------
    ndarray of shape (n_users,)
        Between 0 and 1; NaN where undefined.

    Raises
    ------
    ValueError
        If a relevant grade is above `err_max_grade`.

    References
    ----------
    Sakai & Song (2011), SIGIR, 1043-1052.  doi:10.1145/2009916.2010055
    """
    err = expected_reciprocal_rank(lists, k, err_max_grade=err_max_grade)
    ideal = expected_reciprocal_rank(_ideal_lists(lists), k, err_max_grade=err_max_grade)
    return ratio_or_nan(err, ideal)


def normalised_err_steps(data: DerivationInput) -> Steps:
    """Return the steps of nERR."""
    steps = expected_reciprocal_rank_steps(data)
    maximum = data.conventions.err_max_grade
    err, ideal = (
        format_number(float(expected_reciprocal_rank(lists, data.k, err_max_grade=maximum)[0]))
        for lists in (data.lists, _ideal_lists(data.lists))
    )
    return Steps(steps.terms, (*steps.lines, f"nERR = {err} / {ideal}  (ERR / ERR of the ideal)"))


def _ideal_lists(lists: Judged) -> Judged:
    """Return the relevant items of the ground truth as lists, best grade first."""
    return replace(
        lists,
        hit_user=lists.truth_user,
        hit_rank=lists.truth_rank,
        hit_grade=lists.truth_grade,
        hit_first=np.ones(len(lists.truth_grade), dtype=bool),
        columns={},
    )


def _any_gain(
    lists: Judged, *, gain: str | Mapping[str, Any], relevance_threshold: float | None
) -> Bools:
    """Return (n_users,) True if any item of the ground truth has a gain."""
    truth_gains = gains(lists.truth_grade, gain, relevance_threshold)
    return np.bincount(lists.truth_user[truth_gains > 0], minlength=lists.n_users) > 0


def _discounted_terms(
    data: DerivationInput, gain: Any, discount: Mapping[str, float]
) -> tuple[dict[int, str], str]:
    """Return the text of each term of a discounted sum, by rank, and that of the sum."""
    hit_gains = _gains_in_top(data, gain)
    weights = discounts(discount, max(data.ranks, default=0))[data.ranks]
    terms = {
        rank: f"{format_number(g)} × {format_number(w)} = {format_number(g * w)}"
        for rank, g, w in zip(data.ranks, hit_gains, weights, strict=True)
    }
    if not terms:
        return terms, "0"
    products: Floats = hit_gains * weights
    total = format_number(float(np.sum(products)))
    if len(terms) == 1:
        return terms, total
    return terms, f"{format_sum(list(map(format_number, products)))} = {total}"


def _gains_in_top(data: DerivationInput, gain: Any) -> Floats:
    """Return the gains of the hits in the top k, times their weights."""
    hit_gains = gains(data.lists.hit_grade, gain, data.conventions.relevance_threshold)
    return data.lists.apply_weights(hit_gains)[data.lists.within(data.k)]
