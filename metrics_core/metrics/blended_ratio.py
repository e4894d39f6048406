"""Accuracy metrics of the blended ratio: precision and cumulated gain in one.

Each function takes `lists` (`Judged`, relevant rows only), the cutoff `k` (None: the whole list)
and, keyword-only and without defaults, its conventions and its parameter.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from concord.metrics_core.metrics.discounting import gains, ideal_gains
from concord.metrics_core.metrics.judged import (
    Floats,
    Judged,
    ratio_or_zero,
    running_sum,
    sum_by_user,
)
from concord.metrics_core.metrics.metric import DerivationInput, Steps, format_number, format_sum


def q_measure(
    lists: Judged,
    k: int | None,
    *,
    beta: float,
    gain: str | Mapping[str, Any],
    relevance_threshold: float | None,
) -> Floats:
    """Q(beta)@k = sum of the blended ratios at the ranks i <= k that hit / min(k, relevant items).

    The blended ratio at rank i is (hits + beta x their gains) / (i + beta x gains of the ideal
    list), each up to rank i. With beta towards 0, Q is average precision.

    Returns
    -------
    ndarray of shape (n_users,)
        Between 0 and 1.

    References
    ----------
    Sakai (2004), NTCIR-4 Workshop, open submission session.  (Q-measure)
    Sakai & Song (2011), SIGIR, 1043-1052.  doi:10.1145/2009916.2010055  (with a cutoff)
    """
    ratios = _blended_ratios(lists, beta, gain, relevance_threshold)
    return ratio_or_zero(lists.total(ratios, k), lists.reachable(k))


def q_measure_steps(data: DerivationInput) -> Steps:
    """Return the steps of Q."""
    terms = _terms(data)
    total = format_sum(list(terms.values()))
    line = f"Q = ({total}) / {data.reachable}  (blended ratios at the hits / min(k, relevant))"
    return Steps(terms, (line,))


def o_measure(
    lists: Judged,
    k: int | None,
    *,
    beta: float,
    gain: str | Mapping[str, Any],
    relevance_threshold: float | None,
) -> Floats:
    """O(beta)@k = (1 + beta x gain) / (i + beta x gains of the ideal list up to i); i: first hit.

    A graded reciprocal rank for tasks that end with one relevant item.

    Returns
    -------
    ndarray of shape (n_users,)
        Between 0 and 1; 0 without a hit in the top k.

    References
    ----------
    Sakai (2006), IPSJ Transactions on Databases 47 (TOD 29).  (O-measure)
    """
    ratios = _blended_ratios(lists, beta, gain, relevance_threshold)
    first = (lists.hit_number == 1) & lists.within(k)
    return sum_by_user(lists.hit_user[first], ratios[first], lists.n_users)


def o_measure_steps(data: DerivationInput) -> Steps:
    """Return the steps of O."""
    terms = dict(list(_terms(data).items())[:1])
    value = "".join(terms.values()) or "0"
    return Steps(terms, (f"O = {value}  (the blended ratio at the first hit)",))


def _blended_ratios(
    lists: Judged, beta: float, gain: str | Mapping[str, Any], threshold: float | None
) -> Floats:
    """Return (n_hits,) the blended ratio at the rank of each hit."""
    gained, ideal = _gains_up_to_hits(lists, gain, threshold)
    return (lists.hit_number + beta * gained) / (lists.hit_rank + beta * ideal)


def _gains_up_to_hits(
    lists: Judged, gain: str | Mapping[str, Any], threshold: float | None
) -> tuple[Floats, Floats]:
    """Return (n_hits,) the gains of the list and of the ideal list, up to the rank of each hit."""
    gained = running_sum(gains(lists.hit_grade, gain, threshold), lists.hit_number)
    _, rank, row_gains = ideal_gains(lists, None, gain, "truth", threshold)
    ideal = running_sum(row_gains, rank)
    user = lists.hit_user
    before = np.cumsum(lists.n_relevant) - lists.n_relevant
    return gained, ideal[before[user] + np.minimum(lists.hit_rank, lists.n_relevant[user]) - 1]


def _terms(data: DerivationInput) -> dict[int, str]:
    """Return the text of the blended ratio at each hit in the top k, by rank."""
    conventions, beta = data.conventions, format_number(data.parameters["beta"])
    gained, ideal = _gains_up_to_hits(data.lists, conventions.gain, conventions.relevance_threshold)
    return {
        rank: f"({n} + {beta} × {format_number(g)}) / ({rank} + {beta} × {format_number(i)})"
        for n, (rank, g, i) in enumerate(zip(data.ranks, gained, ideal, strict=False), 1)
    }
