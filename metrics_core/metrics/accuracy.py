"""Accuracy metrics: from lists and a cutoff to one value per user.

Every function takes `lists` (`Judged` with the relevant rows only), the cutoff `k` (None: the whole list) and,
keyword-only and without defaults, the conventions and parameters that it depends on. It returns `(users,)` float64.
A list without hits has the value 0, also if the denominator is 0; users without list or without relevant items
follow the `user_*` policies, which are applied afterwards. A list shorter than k is not filled up: ranks that are
not there hold no hit.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from concord.metrics_core.metrics import tie_expectations
from concord.metrics_core.metrics.discounting import discounts, gains, ideal_dcg, ideal_order
from concord.metrics_core.metrics.elementary import exp2
from concord.metrics_core.metrics.judged import (
    Bools,
    Floats,
    Ints,
    Judged,
    product_before,
    ratio_or_zero,
    sum_by_user,
)
from concord.metrics_core.metrics.steps import DerivationInput, Steps, format_number, format_sum


def precision(lists: Judged, k: int | None, *, precision_denominator: str) -> Floats:
    """P@k = hits in the top k / k."""
    return ratio_or_zero(lists.count(k), precision_divisor(lists, k, precision_denominator))


def precision_divisor(lists: Judged, k: int | None, precision_denominator: str) -> Ints:
    """Return what precision divides by: k (without one the length of the list), that length up to k, or min(k, relevant items)."""
    return {
        "k": lists.cutoff(k),
        "len": lists.length(k),
        "min_k_relevant": lists.reachable(k),
    }[precision_denominator]


def precision_steps(one: DerivationInput) -> Steps:
    """Return the steps of P."""
    divisor = precision_divisor(one.lists, one.k, one.conventions.precision_denominator)[0]
    return _ratio(one, "P", int(divisor), one.conventions.precision_denominator)


def recall(lists: Judged, k: int | None, *, recall_denominator: str) -> Floats:
    """R@k = hits in the top k / relevant items."""
    divisor = {"relevant": lists.relevant_weight, "min_k_relevant": lists.reachable(k)}
    return ratio_or_zero(lists.count(k), divisor[recall_denominator])


def recall_steps(one: DerivationInput) -> Steps:
    """Return the steps of R."""
    capped = one.conventions.recall_denominator == "min_k_relevant"
    divisor = one.reachable if capped else one.lists.relevant_weight[0].item()
    return _ratio(one, "R", divisor, one.conventions.recall_denominator)


def f1(
    lists: Judged, k: int | None, *, precision_denominator: str, recall_denominator: str
) -> Floats:
    """F1@k = 2 P R / (P + R), 0 if both are 0."""
    p = precision(lists, k, precision_denominator=precision_denominator)
    r = recall(lists, k, recall_denominator=recall_denominator)
    return ratio_or_zero(2.0 * p * r, p + r)


def f1_steps(one: DerivationInput) -> Steps:
    """Return the steps of F1."""
    conventions = one.conventions
    p = precision(one.lists, one.k, precision_denominator=conventions.precision_denominator)[0]
    r = recall(one.lists, one.k, recall_denominator=conventions.recall_denominator)[0]
    first = precision_steps(one)
    sums = (*first.lines, *recall_steps(one).lines)
    if p + r == 0:
        return Steps(first.terms, (*sums, "F1 = 0, because both are 0"))
    total = f"F1 = 2 × {p:.6g} × {r:.6g} / ({p:.6g} + {r:.6g})"
    return Steps(first.terms, (*sums, total))


def hit(lists: Judged, k: int | None, *, hit_kind: str) -> Floats:
    """Hit@k = 1 if the top k holds a relevant item, else 0; as a count: the hits in the top k."""
    if lists.hit_tied is not None and hit_kind == "indicator":
        return tie_expectations.any_hit(lists, k)
    hits = lists.count(k).astype(np.float64)
    return hits if hit_kind == "count" else np.minimum(hits, 1.0)


def hit_steps(one: DerivationInput) -> Steps:
    """Return the steps of Hit."""
    kind = (
        "the number of hits"
        if one.conventions.hit_kind == "count"
        else "1 if there is any hit, else 0"
    )
    hits = dict.fromkeys(one.ranks, "hit")
    return Steps(hits, (f"{len(hits)} hit(s) in the top {one.cutoff}; Hit is {kind}",))


def average_precision(
    lists: Judged, k: int | None, *, ap_denominator: str, ap_sum_over: str
) -> Floats:
    """AP@k = sum of P@i over the ranks i <= k that hit / min(k, relevant items).

    References
    ----------
    Buckley & Voorhees (2000), SIGIR, 33-40.  doi:10.1145/345508.345543
    """
    if lists.hit_tied is not None:
        total = tie_expectations.average_precision_sum(lists, k)
    elif ap_sum_over == "hits":
        total = lists.total(lists.hit_number / lists.hit_rank, k)
    else:
        # P@i = hits up to i / i, so a hit at rank r adds 1/r + 1/(r + 1) + … + 1/k.
        last = lists.cutoff(k)
        harmonic = _harmonic(last)
        end = last[lists.hit_user]
        total = lists.total(harmonic[end] - harmonic[np.minimum(lists.hit_rank - 1, end)], k)
    relevant = lists.n_relevant
    divisor = {
        "relevant": relevant,
        "min_k_relevant": lists.reachable(k),
        "hits": lists.count(k),
        "k": lists.cutoff(k),
        "min_len_relevant": np.minimum(lists.length(k), relevant),
    }[ap_denominator]
    return ratio_or_zero(total, divisor)


def average_precision_steps(one: DerivationInput) -> Steps:
    """Return the steps of AP."""
    ranks = one.ranks
    divisor = {
        "relevant": one.n_relevant,
        "min_k_relevant": one.reachable,
        "hits": len(ranks),
        "k": one.cutoff,
        "min_len_relevant": min(one.length, one.n_relevant),
    }[one.conventions.ap_denominator]
    if one.conventions.ap_sum_over == "all_ranks":
        terms = {i: f"{sum(r <= i for r in ranks)}/{i}" for i in range(1, one.cutoff + 1)}
    else:
        terms = {rank: f"{number}/{rank}" for number, rank in enumerate(ranks, 1)}
    total = format_sum(list(terms.values()))
    return Steps(terms, (f"AP = ({total}) / {divisor}  (sum / {one.conventions.ap_denominator})",))


def reciprocal_rank(lists: Judged, k: int | None, *, rr_cutoff: str) -> Floats:
    """RR@k = 1 / rank of the first hit in the top k, 0 without one.

    References
    ----------
    Kantor & Voorhees (2000), Information Retrieval 2, 165-176.  doi:10.1023/A:1009902609570
    """
    depth = None if rr_cutoff == "none" else k
    if lists.hit_tied is not None:
        return tie_expectations.reciprocal_rank(lists, depth)
    first = (lists.hit_number == 1) & lists.within(depth)
    return sum_by_user(lists.hit_user[first], 1.0 / lists.hit_rank[first], lists.n_users)


def reciprocal_rank_steps(one: DerivationInput) -> Steps:
    """Return the steps of RR."""
    ranks = one.lists.hit_rank[
        one.lists.within(None if one.conventions.rr_cutoff == "none" else one.k)
    ]
    if not len(ranks):
        return Steps(lines=("RR = 0, because there is no hit",))
    return Steps({int(ranks[0]): f"1/{ranks[0]}"}, (f"RR = 1 / {ranks[0]}  (the first hit)",))


def cumulated_gain(
    lists: Judged,
    k: int | None,
    *,
    gain: str | Mapping[str, Any],
    relevance_threshold: float | None,
) -> Floats:
    """CG@k = sum of the gains of the top k.

    References
    ----------
    Järvelin & Kekäläinen (2000), SIGIR, 41-48.  doi:10.1145/345508.345545
    """
    return lists.exact_total(
        lists.apply_weights(gains(lists.hit_grade, gain, relevance_threshold)), k
    )


def cumulated_gain_steps(one: DerivationInput) -> Steps:
    """Return the steps of CG."""
    hit_gains = _gains_in_top(one, one.conventions.gain)
    terms = dict(zip(one.ranks, map(format_number, hit_gains), strict=True))
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

    References
    ----------
    Järvelin & Kekäläinen (2002), TOIS 20(4), 422-446.  doi:10.1145/582415.582418
    """
    hit_gains = lists.apply_weights(gains(lists.hit_grade, gain, relevance_threshold))
    return lists.discounted(hit_gains, lambda depth: discounts(discount, depth), k)


def dcg_steps(one: DerivationInput) -> Steps:
    """Return the steps of DCG."""
    terms, total = _discounted(one, one.conventions.gain, one.conventions.discount)
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
    """nDCG@k = DCG@k / DCG@k of the ideal list; undefined where the truth holds no gain at all.

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


def ndcg_steps(one: DerivationInput) -> Steps:
    """Return the steps of nDCG."""
    conventions = one.conventions
    terms, total = _discounted(one, conventions.gain, conventions.discount)
    ideal_gains, weights = ideal_order(
        one.lists,
        one.k,
        gain=conventions.gain,
        discount=conventions.discount,
        ideal=conventions.ideal,
        relevance_threshold=conventions.relevance_threshold,
    )
    best = float(np.sum(ideal_gains * weights))
    pairs = zip(ideal_gains, weights, strict=True)
    ideal_sum = format_sum([f"{format_number(g)} × {format_number(w)}" for g, w in pairs])
    return Steps(
        terms,
        (
            f"DCG = {total}",
            f"ideal DCG = {ideal_sum} = {format_number(best)}  ({conventions.ideal})",
            f"nDCG = {total.rpartition('= ')[2]} / {format_number(best)}"
            if best
            else "nothing to gain",
        ),
    )


def r_precision(lists: Judged, k: int | None) -> Floats:
    """Rprec = hits in the top R / R, for R relevant items; it takes no cutoff.

    References
    ----------
    Buckley & Voorhees (2000), SIGIR, 33-40.  doi:10.1145/345508.345543
    """
    in_top_r = lists.chance_within(lists.n_relevant[lists.hit_user])
    return ratio_or_zero(sum_by_user(lists.hit_user, in_top_r, lists.n_users), lists.n_relevant)


def r_precision_steps(one: DerivationInput) -> Steps:
    """Return the steps of Rprec."""
    r = one.n_relevant
    hits = {rank: "hit" for rank in one.lists.hit_rank.tolist() if rank <= r}
    return Steps(hits, (f"Rprec = {len(hits)} / {r}  (hits in the top R / R)",))


def rank_biased_precision(
    lists: Judged, k: int | None, *, p: float, rbp_gain: str, rbp_norm: str
) -> Floats:
    """RBP(p)@k = (1 - p) x sum over the top k of gain at rank i x p^(i - 1).

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
    last = lists.cutoff(k)
    weights = np.cumsum(discounts({"geometric": p}, int(last.max(initial=0))))
    return ratio_or_zero(total, weights[last])


def rank_biased_precision_steps(one: DerivationInput) -> Steps:
    """Return the steps of RBP."""
    p = one.parameters["p"]
    terms, total = _discounted(one, one.conventions.rbp_gain, {"geometric": p})
    norm = {
        "one_minus_p": f"(1 - {p:g}) × sum",
        "sum_weights": f"sum / (1 + {p:g} + … + {p:g}^{one.cutoff - 1})",
        "none": "sum",
    }[one.conventions.rbp_norm]
    return Steps(terms, (f"sum = {total}", f"RBP = {norm}"))


def expected_reciprocal_rank(lists: Judged, k: int | None, *, err_max_grade: float) -> Floats:
    """ERR@k = sum over the top k of 1/i x R_i x product over j < i of (1 - R_j), R = (2^grade - 1) / 2^max.

    Raises
    ------
    ValueError : a relevant grade lies above `err_max_grade`

    References
    ----------
    Chapelle, Metzler, Zhang & Grinspan (2009), CIKM, 621-630.  doi:10.1145/1645953.1646033
    """
    highest = float(lists.truth_grade.max(initial=0.0))
    if highest > err_max_grade:
        msg = f"ERR: grade {highest:g} lies above err_max_grade {err_max_grade:g}; set err_max_grade to {highest:g}"
        raise ValueError(msg)
    satisfied = (exp2(lists.hit_grade) - 1.0) / exp2(err_max_grade)
    still_looking = product_before(1.0 - satisfied, lists.hit_number)
    return lists.total(satisfied * still_looking / lists.hit_rank, k)


def expected_reciprocal_rank_steps(one: DerivationInput) -> Steps:
    """Return the steps of ERR."""
    looking, terms = 1.0, {}
    top = one.lists.within(one.k)
    for rank, grade in zip(one.ranks, one.lists.hit_grade[top], strict=True):
        satisfied = float((exp2(grade) - 1.0) / exp2(one.conventions.err_max_grade))
        terms[rank] = f"1/{rank} × {format_number(satisfied)} × {format_number(looking)}"
        looking *= 1 - satisfied
    line = "ERR = sum of 1/rank × satisfied here × not satisfied before"
    return Steps(terms, (line,))


def _any_gain(
    lists: Judged, *, gain: str | Mapping[str, Any], relevance_threshold: float | None
) -> Bools:
    """Return (users,) True if any item of the ground truth has a gain."""
    truth_gains = gains(lists.truth_grade, gain, relevance_threshold)
    return np.bincount(lists.truth_user[truth_gains > 0], minlength=lists.n_users) > 0


def _harmonic(last: Ints) -> Floats:
    """Return 1 + 1/2 + … + 1/i at index i."""
    return np.cumsum(np.concatenate([[0.0], 1.0 / np.arange(1, int(last.max(initial=0)) + 1)]))


def _ratio(one: DerivationInput, name: str, divisor: float, denominator: str) -> Steps:
    hits = dict.fromkeys(one.ranks, "hit")
    if one.lists.weights is not None:
        counted = f"{format_number(float(one.lists.count(one.k)[0]))} / {format_number(divisor)}"
        return Steps(hits, (f"{name} = {counted}  (what the hits count / {denominator})",))
    return Steps(hits, (f"{name} = {len(hits)} / {divisor}  (hits / {denominator})",))


def _discounted(
    one: DerivationInput, gain: Any, discount: Mapping[str, float]
) -> tuple[dict[int, str], str]:
    """Return the text of each term of a discounted sum, by rank, and that of the sum."""
    hit_gains = _gains_in_top(one, gain)
    weights = discounts(discount, max(one.ranks, default=0))[one.ranks]
    terms = {
        rank: f"{format_number(g)} × {format_number(w)} = {format_number(g * w)}"
        for rank, g, w in zip(one.ranks, hit_gains, weights, strict=True)
    }
    if not terms:
        return terms, "0"
    products: Floats = hit_gains * weights
    total = format_number(float(np.sum(products)))
    return terms, f"{format_sum(list(map(format_number, products)))} = {total}"


def _gains_in_top(one: DerivationInput, gain: Any) -> Floats:
    """Return the gains of the hits in the top k, times their weights."""
    hit_gains = gains(one.lists.hit_grade, gain, one.conventions.relevance_threshold)
    return one.lists.apply_weights(hit_gains)[one.lists.within(one.k)]
