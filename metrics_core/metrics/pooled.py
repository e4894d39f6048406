"""Metrics of a pool of which only a sample was judged.

`lists` has all rows of the ground truth: judged items, and with a negative grade those that were
pooled but not judged. Later copies of an item do not count.
"""

import numpy as np

from concord.metrics_core.metrics.judged import (
    Bools,
    Floats,
    Judged,
    ratio_or_zero,
    running_sum,
    sum_by_user,
)
from concord.metrics_core.metrics.metric import DerivationInput, Steps, format_number, format_sum

SMOOTHING = 0.00001  # of the share of relevant items, as trec_eval has it


def inferred_ap(lists: Judged, k: int | None, *, relevance_threshold: float | None) -> Floats:
    """infAP = 1/R x sum over listed relevant items at rank i of the estimated precision at i.

    The estimate is 1/i + (i-1)/i x pooled above/(i-1) x (relevant above + e) / (judged above + 2e),
    where e = 0.00001. R is the number of items judged relevant. Items outside the pool count as
    not relevant; the judged items of the pool represent those that were not judged, whose grade in
    the ground truth is negative (`input.negative_grade: pooled`). It takes no cutoff.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1; near average precision if all of the pool was judged.

    References
    ----------
    Yilmaz & Aslam (2006), CIKM, 102-111.  doi:10.1145/1183614.1183633
    """  # noqa: D403 - the name of the metric
    relevant, n_relevant = _relevant(lists, relevance_threshold)
    precision = _estimated_precision(lists, relevant)[relevant]
    total = sum_by_user(lists.hit_user[relevant], precision, lists.n_users)
    return ratio_or_zero(total, n_relevant)


def inferred_ap_steps(data: DerivationInput) -> Steps:
    """Return the steps of infAP."""
    relevant, n_relevant = _relevant(data.judged, data.conventions.relevance_threshold)
    precision = _estimated_precision(data.judged, relevant)
    ranks = data.judged.hit_rank[relevant].tolist()
    terms = dict(zip(ranks, map(format_number, precision[relevant]), strict=True))
    line = (
        f"infAP = ({format_sum(list(terms.values()))}) / {n_relevant[0]:g}  (estimated precisions)"
    )
    return Steps(terms, (line,))


def _relevant(lists: Judged, threshold: float | None) -> tuple[Bools, Floats]:
    """Return (n_hits,) True for relevant items, and (n_users,) the number of relevant items."""
    lowest = 0.0 if threshold is None else threshold
    relevant = lists.hit_first & (lists.hit_grade >= lowest)
    user = lists.truth_user[lists.truth_grade >= lowest]
    return relevant, np.bincount(user, minlength=lists.n_users).astype(np.float64)


def _estimated_precision(lists: Judged, relevant: Bools) -> Floats:
    """Return (n_hits,) the expected precision at the rank of each item, were it relevant."""
    first, judged = lists.hit_first, lists.hit_first & (lists.hit_grade >= 0)
    pooled_above, judged_above, relevant_above = (
        running_sum(rows.astype(np.float64), lists.hit_number) - rows
        for rows in (first, judged, relevant)
    )
    share = (relevant_above + SMOOTHING) / (judged_above + 2.0 * SMOOTHING)
    return (1.0 + pooled_above * share) / lists.hit_rank
