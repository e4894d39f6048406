"""Accuracy metrics of relevant and other items, whatever the grades.

Each function takes `lists` (`Judged`, relevant rows only), the cutoff `k` (None: the whole list)
and, keyword-only and without defaults, the conventions that it depends on.
A list without hits has the value 0, also if the denominator is 0.
The `user_*` policies later replace the value of users without a list or without relevant items.
A list shorter than k is not filled up: its missing ranks are no hits.
"""

import numpy as np

from concord.metrics_core.metrics import tie_expectations
from concord.metrics_core.metrics.judged import (
    Floats,
    Ints,
    Judged,
    ratio_or_zero,
    sum_by_user,
)
from concord.metrics_core.metrics.metric import DerivationInput, Steps, format_number, format_sum


def precision(lists: Judged, k: int | None, *, precision_denominator: str) -> Floats:
    """P@k = hits in the top k / k.

    Returns
    -------
    ndarray of shape (n_users,)
        Share of the recommended items that are relevant, 0 to 1.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval, 2nd edition, Butterworths
    """
    return ratio_or_zero(lists.count(k), precision_divisor(lists, k, precision_denominator))


def precision_divisor(lists: Judged, k: int | None, precision_denominator: str) -> Ints:
    """Return (n_users,) what precision divides the hits by."""
    return {
        "k": lists.cutoff(k),
        "len": lists.length(k),
        "min_k_relevant": lists.reachable(k),
        "min_len_relevant": np.minimum(lists.length(k), lists.reachable(None)),
    }[precision_denominator]


def precision_steps(data: DerivationInput) -> Steps:
    """Return the steps of P."""
    divisor = precision_divisor(data.lists, data.k, data.conventions.precision_denominator)[0]
    return _ratio_steps(data, "P", int(divisor), data.conventions.precision_denominator)


def recall(lists: Judged, k: int | None, *, recall_denominator: str) -> Floats:
    """R@k = hits in the top k / relevant items.

    Returns
    -------
    ndarray of shape (n_users,)
        Share of the relevant items that are recommended, 0 to 1.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval, 2nd edition, Butterworths
    """
    divisor = {"relevant": lists.relevant_weight, "min_k_relevant": lists.reachable(k)}
    return ratio_or_zero(lists.count(k), divisor[recall_denominator])


def recall_steps(data: DerivationInput) -> Steps:
    """Return the steps of R."""
    is_capped = data.conventions.recall_denominator == "min_k_relevant"
    divisor = data.reachable if is_capped else data.lists.relevant_weight[0].item()
    return _ratio_steps(data, "R", divisor, data.conventions.recall_denominator)


def f1(
    lists: Judged, k: int | None, *, precision_denominator: str, recall_denominator: str
) -> Floats:
    """F1@k = 2 P R / (P + R), 0 if both are 0.

    Returns
    -------
    ndarray of shape (n_users,)
        Harmonic mean of precision and recall, 0 to 1.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval, 2nd edition, Butterworths
    """
    p = precision(lists, k, precision_denominator=precision_denominator)
    r = recall(lists, k, recall_denominator=recall_denominator)
    return ratio_or_zero(2.0 * p * r, p + r)


def f1_steps(data: DerivationInput) -> Steps:
    """Return the steps of F1."""
    conventions = data.conventions
    p = precision(data.lists, data.k, precision_denominator=conventions.precision_denominator)[0]
    r = recall(data.lists, data.k, recall_denominator=conventions.recall_denominator)[0]
    steps = precision_steps(data)
    f1_line = (
        f"F1 = 2 × {p:.6g} × {r:.6g} / ({p:.6g} + {r:.6g})"
        if p + r
        else "F1 = 0, because both are 0"
    )
    return Steps(steps.terms, (*steps.lines, *recall_steps(data).lines, f1_line))


def hit(lists: Judged, k: int | None, *, hit_kind: str) -> Floats:
    """Hit@k = 1 if the top k holds a relevant item, else 0; as a count: the hits in the top k.

    Returns
    -------
    ndarray of shape (n_users,)
        0 or 1; with `hit_kind: count` the number of hits.

    References
    ----------
    Deshpande & Karypis (2004), TOIS 22(1), 143-177.  doi:10.1145/963770.963776
    """
    if lists.hit_tied is not None and hit_kind == "indicator":
        return tie_expectations.any_hit(lists, k)
    hits = lists.count(k).astype(np.float64)
    return hits if hit_kind == "count" else np.minimum(hits, 1.0)


def hit_steps(data: DerivationInput) -> Steps:
    """Return the steps of Hit."""
    kind = (
        "the number of hits"
        if data.conventions.hit_kind == "count"
        else "1 if there is any hit, else 0"
    )
    hits = dict.fromkeys(data.ranks, "hit")
    return Steps(hits, (f"{len(hits)} hit(s) in the top {data.cutoff}; Hit is {kind}",))


def average_precision(
    lists: Judged, k: int | None, *, ap_denominator: str, ap_sum_over: str
) -> Floats:
    """AP@k = sum of P@i over the ranks i <= k that hit / min(k, relevant items).

    Returns
    -------
    ndarray of shape (n_users,)
        Between 0 and 1.

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
        cutoff = lists.cutoff(k)
        harmonic = _harmonic_numbers(int(cutoff.max(initial=0)))
        end = cutoff[lists.hit_user]
        total = lists.total(harmonic[end] - harmonic[np.minimum(lists.hit_rank - 1, end)], k)
    return ratio_or_zero(total, _average_precision_divisor(lists, k, ap_denominator))


def _average_precision_divisor(lists: Judged, k: int | None, ap_denominator: str) -> Ints | Floats:
    """Return (n_users,) what AP divides the sum of precisions by."""
    return {
        "relevant": lists.n_relevant,
        "min_k_relevant": lists.reachable(k),
        "hits": lists.count(k),
        "k": lists.cutoff(k),
        "min_len_relevant": np.minimum(lists.length(k), lists.n_relevant),
    }[ap_denominator]


def average_precision_steps(data: DerivationInput) -> Steps:
    """Return the steps of AP."""
    ranks, denominator = data.ranks, data.conventions.ap_denominator
    divisor = _average_precision_divisor(data.lists, data.k, denominator)[0].item()
    if data.conventions.ap_sum_over == "all_ranks":
        terms = {i: f"{sum(r <= i for r in ranks)}/{i}" for i in range(1, data.cutoff + 1)}
    else:
        terms = {rank: f"{number}/{rank}" for number, rank in enumerate(ranks, 1)}
    total = format_sum(list(terms.values()))
    return Steps(terms, (f"AP = ({total}) / {divisor}  (sum / {denominator})",))


def reciprocal_rank(lists: Judged, k: int | None, *, rr_cutoff: str) -> Floats:
    """RR@k = 1 / rank of the first hit in the top k, 0 without one.

    Returns
    -------
    ndarray of shape (n_users,)
        0, or from 1 / k to 1.

    References
    ----------
    Kantor & Voorhees (2000), Information Retrieval 2, 165-176.  doi:10.1023/A:1009902609570
    """
    depth = None if rr_cutoff == "none" else k
    if lists.hit_tied is not None:
        return tie_expectations.reciprocal_rank(lists, depth)
    first = (lists.hit_number == 1) & lists.within(depth)
    return sum_by_user(lists.hit_user[first], 1.0 / lists.hit_rank[first], lists.n_users)


def reciprocal_rank_steps(data: DerivationInput) -> Steps:
    """Return the steps of RR."""
    ranks = data.lists.hit_rank[
        data.lists.within(None if data.conventions.rr_cutoff == "none" else data.k)
    ]
    if not len(ranks):
        return Steps(lines=("RR = 0, because there is no hit",))
    return Steps({int(ranks[0]): f"1/{ranks[0]}"}, (f"RR = 1 / {ranks[0]}  (the first hit)",))


def r_precision(lists: Judged, k: int | None) -> Floats:
    """Rprec = hits in the top R / R, for R relevant items; it takes no cutoff.

    Returns
    -------
    ndarray of shape (n_users,)
        Precision and recall at rank R, 0 to 1.

    References
    ----------
    Buckley & Voorhees (2000), SIGIR, 33-40.  doi:10.1145/345508.345543
    """
    in_top_r = lists.chance_within(lists.n_relevant[lists.hit_user])
    return ratio_or_zero(sum_by_user(lists.hit_user, in_top_r, lists.n_users), lists.n_relevant)


def r_precision_steps(data: DerivationInput) -> Steps:
    """Return the steps of Rprec."""
    r = data.n_relevant
    hits = {rank: "hit" for rank in data.lists.hit_rank.tolist() if rank <= r}
    return Steps(hits, (f"Rprec = {len(hits)} / {r}  (hits in the top R / R)",))


def _harmonic_numbers(n: int) -> Floats:
    """Return (n + 1,) 1 + 1/2 + … + 1/i at index i."""
    return np.cumsum(np.concatenate([[0.0], 1.0 / np.arange(1, n + 1)]))


def _ratio_steps(data: DerivationInput, name: str, divisor: float, denominator: str) -> Steps:
    hits = dict.fromkeys(data.ranks, "hit")
    if data.lists.weights is not None:
        ratio = f"{format_number(float(data.lists.count(data.k)[0]))} / {format_number(divisor)}"
        return Steps(hits, (f"{name} = {ratio}  (what the hits count / {denominator})",))
    return Steps(hits, (f"{name} = {len(hits)} / {divisor}  (hits / {denominator})",))
