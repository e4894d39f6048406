"""Metrics that read all judged items: how well a list agrees with the grades.

Each function takes `lists` (`Judged`) with all judged rows, whatever their grade, and the cutoff
`k` (None: the whole list). Later copies of an item do not count.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from concord.metrics_core.metrics.discounting import discounts
from concord.metrics_core.metrics.judged import (
    Bools,
    Floats,
    Ints,
    Judged,
    differs_from_previous,
    position_in_user,
    ratio_or_nan,
    ratio_or_zero,
    sum_by_user,
)
from concord.metrics_core.metrics.metric import DerivationInput, Steps, format_number, format_sum


def spearman(lists: Judged, k: int | None) -> Floats:
    """Spearman@k = correlation of the rank with the rank by grade, over judged items of the top k.

    Equal grades share their mean rank. Undefined with fewer than two judged items, or if all grades
    are equal.

    Returns
    -------
    ndarray of shape (n_users,)
        From -1 to 1 (best grades first); NaN where undefined.

    References
    ----------
    Spearman (1904), The American Journal of Psychology 15(1), 72-101.  doi:10.2307/1412159
    """
    items = _judged_items(lists, k)
    rank_by_grade = _mean_rank_by_grade(items)
    n = np.bincount(items.user, minlength=lists.n_users)
    middle = ((n + 1) / 2)[items.user]
    x, y = items.position - middle, rank_by_grade - middle
    covariance = sum_by_user(items.user, x * y, lists.n_users)
    x_variance = sum_by_user(items.user, x**2, lists.n_users)
    y_variance = sum_by_user(items.user, y**2, lists.n_users)
    return ratio_or_nan(covariance, np.sqrt(x_variance * y_variance))


def kendall(lists: Judged, k: int | None) -> Floats:
    """Kendall@k = (concordant - discordant) / sqrt(pairs x untied pairs), judged items in top k.

    This is tau-b; a pair is untied if its grades differ, as no two items share a rank.
    Undefined with fewer than two judged items, or if all grades are equal.

    Returns
    -------
    ndarray of shape (n_users,)
        From -1 to 1 (best grades first); NaN where undefined.

    References
    ----------
    Kendall (1945), Biometrika 33(3), 239-251.  doi:10.1093/biomet/33.3.239
    """
    items = _judged_items(lists, k)
    concordant, discordant = _count_pairs(items, lists.n_users)
    n = np.bincount(items.user, minlength=lists.n_users)
    untied = concordant + discordant
    return ratio_or_nan(concordant - discordant, np.sqrt(n * (n - 1) / 2 * untied))


def concordant_pairs(lists: Judged, k: int | None) -> Floats:
    """FCP@k = concordant / (concordant + discordant) pairs of judged items of the top k.

    Undefined without a pair of different grades.

    Returns
    -------
    ndarray of shape (n_users,)
        Share of the pairs in the right order, 0 to 1; NaN where undefined.

    References
    ----------
    Koren & Sill (2011), RecSys, 117-124.  doi:10.1145/2043932.2043956
    """
    concordant, discordant = _count_pairs(_judged_items(lists, k), lists.n_users)
    return ratio_or_nan(concordant, concordant + discordant)


def agreement_steps(data: DerivationInput) -> Steps:
    """Return the steps of Spearman, Kendall and FCP."""
    top = data.judged.within(data.k) & data.judged.hit_first
    ranks, grades = data.judged.hit_rank[top].tolist(), data.judged.hit_grade[top].tolist()
    pairs = list(combinations(grades, 2))
    right, wrong = (sum(a > b for a, b in pairs), sum(a < b for a, b in pairs))
    terms = dict(zip(ranks, (f"position {n}" for n in range(1, len(ranks) + 1)), strict=True))
    pair_counts = (
        f"{len(pairs)} pairs of judged items: {right} in the right order, {wrong} in the wrong, "
        f"{len(pairs) - right - wrong} of equal grade"
    )
    formula = {
        "FCP": f"FCP = {right} / ({right} + {wrong})",
        "Kendall": f"Kendall = ({right} - {wrong}) / sqrt({len(pairs)} × {right + wrong})",
        "Spearman": "Spearman = correlation of the positions with the ranks by grade",
    }[data.metric]
    return Steps(terms, (pair_counts, formula))


def bpref(lists: Judged, k: int | None, *, relevance_threshold: float | None) -> Floats:
    """Bpref = 1/R x sum over listed relevant items of 1 - min(non-relevant above, R) / min(R, N).

    R and N are the numbers of relevant and of judged non-relevant items in the ground truth.
    Items without a judgement do not count. The paper divides by R. With trec_eval's min(R, N),
    a relevant item below all N others counts 0 also if N < R.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1.

    References
    ----------
    Buckley & Voorhees (2004), SIGIR, 25-32.  doi:10.1145/1008992.1009000
    """
    relevant = _is_relevant(lists.hit_grade, relevance_threshold)
    relevant_truth = _is_relevant(lists.truth_grade, relevance_threshold)
    n_relevant = np.bincount(lists.truth_user[relevant_truth], minlength=lists.n_users)
    n_other = np.bincount(lists.truth_user[~relevant_truth], minlength=lists.n_users)
    other = lists.hit_first & ~relevant
    others_above: Ints = np.cumsum(other) - other
    others_above -= _value_at_first_row(others_above, lists.hit_user)
    scored = lists.hit_first & relevant & lists.within(k)
    user = lists.hit_user[scored]
    others_above = np.minimum(others_above[scored], n_relevant[user])
    penalty = ratio_or_zero(others_above, np.minimum(n_relevant, n_other)[user])
    return ratio_or_zero(sum_by_user(user, 1.0 - penalty, lists.n_users), n_relevant)


def bpref_steps(data: DerivationInput) -> Steps:
    """Return the steps of Bpref."""
    judged = data.judged
    relevant = _is_relevant(judged.hit_grade, data.conventions.relevance_threshold)
    r, n = data.n_relevant, len(judged.truth_grade) - data.n_relevant
    above, terms = 0, {}
    for rank, hit, first in zip(judged.hit_rank.tolist(), relevant, judged.hit_first, strict=True):
        if first and not hit:
            above += 1
        elif first and (data.k is None or rank <= data.k):
            terms[rank] = f"(1 - {min(above, r)}/{min(r, n)})" if above else "1"
    total = format_sum(list(terms.values()))
    return Steps(terms, (f"Bpref = ({total}) / {r}  ({n} judged items are not relevant)",))


def half_life_utility(
    lists: Judged,
    k: int | None,
    *,
    halflife: float,
    relevance_threshold: float | None,
    hlu_neutral: float,
    hlu_norm: str,
) -> Floats:
    """HLU(halflife)@k = U / max U, U = sum of max(grade - neutral, 0) / 2^((i-1) / (halflife-1)).

    i runs over the ranks up to k; `hlu_neutral` is the neutral grade. max U is the sum over all
    relevant items of the ground truth, best first; `hlu_norm: none` does not divide.
    Undefined if max U is 0.

    Returns
    -------
    ndarray of shape (n_users,)
        From 0 to 1, or in grades if not divided; NaN where undefined.

    References
    ----------
    Breese, Heckerman & Kadie (1998), UAI, 43-52.  arXiv:1301.7363
    """
    relevant = lists.keep(
        lists.hit_first & _is_relevant(lists.hit_grade, relevance_threshold),
        _is_relevant(lists.truth_grade, relevance_threshold),
    )
    discount = {"halflife": halflife}
    gain = np.maximum(relevant.hit_grade - hlu_neutral, 0.0)
    utility = relevant.discounted(gain, lambda depth: discounts(discount, depth), k)
    if hlu_norm == "none":
        return utility
    ideal_gain = np.maximum(relevant.truth_grade - hlu_neutral, 0.0)
    weight = discounts(discount, int(relevant.truth_rank.max(initial=0)))[relevant.truth_rank]
    maximum = sum_by_user(relevant.truth_user, ideal_gain * weight, relevant.n_users)
    return ratio_or_nan(utility, maximum)


def half_life_utility_steps(data: DerivationInput) -> Steps:
    """Return the steps of HLU."""
    halflife, neutral = data.parameters["halflife"], data.conventions.hlu_neutral
    top = data.lists.within(data.k) & data.lists.hit_first
    ranks = data.lists.hit_rank[top].tolist()
    gain = np.maximum(data.lists.hit_grade[top] - neutral, 0.0)
    weight = discounts({"halflife": halflife}, max(ranks, default=0))[ranks]
    terms = {
        rank: f"{format_number(g)} × {format_number(w)} = {format_number(g * w)}"
        for rank, g, w in zip(ranks, gain, weight, strict=True)
    }
    utility = format_number(float(np.sum(gain * weight)))
    if data.conventions.hlu_norm == "none":
        return Steps(terms, (f"HLU = {utility}",))
    ideal_gain = np.maximum(data.lists.truth_grade - neutral, 0.0)
    ideal_weight = discounts({"halflife": halflife}, len(ideal_gain))[1:]
    maximum = format_number(float(np.sum(ideal_gain * ideal_weight)))
    return Steps(terms, (f"HLU = {utility} / {maximum}  (utility / its maximum)",))


def auc(lists: Judged, k: int | None, *, relevance_threshold: float | None) -> Floats:
    """AUC@k = (relevant, other) pairs of the top k with the relevant item above / all such pairs.

    Other items are all recommended items that are not relevant, judged or not.
    Undefined without a pair.

    Returns
    -------
    ndarray of shape (n_users,)
        Share of the pairs in the right order, 0 to 1; NaN where undefined.

    References
    ----------
    Hanley & McNeil (1982), Radiology 143(1), 29-36.  doi:10.1148/radiology.143.1.7063747
    """
    relevant = lists.keep(
        lists.hit_first & _is_relevant(lists.hit_grade, relevance_threshold),
        np.zeros(len(lists.truth_grade), dtype=bool),
    )
    n_hits = relevant.count(k)
    n_others = relevant.length(k) - n_hits
    top = relevant.within(k)
    user = relevant.hit_user[top]
    others_below = n_others[user] - (relevant.hit_rank[top] - relevant.hit_number[top])
    pairs = sum_by_user(user, others_below.astype(np.float64), relevant.n_users)
    return ratio_or_nan(pairs, n_hits * n_others)


def auc_steps(data: DerivationInput) -> Steps:
    """Return the steps of AUC."""
    relevant = data.lists.keep(
        data.lists.hit_first, np.zeros(len(data.lists.truth_grade), dtype=bool)
    )
    ranks = relevant.hit_rank[relevant.within(data.k)].tolist()
    n_others = data.length - len(ranks)
    others_below = {rank: n_others - (rank - number) for number, rank in enumerate(ranks, 1)}
    terms = {rank: f"{n} others below" for rank, n in others_below.items()}
    pairs = f"{len(ranks)} × {n_others}"
    line = f"AUC = {sum(others_below.values())} / ({pairs})  (pairs in the right order / pairs)"
    return Steps(terms, (line,))


def judged_share(lists: Judged, k: int | None) -> Floats:
    """Judged@k = judged items of the top k / items in the list, at most k.

    Returns
    -------
    ndarray of shape (n_users,)
        Share of the recommended items that have a judgement, 0 to 1.

    References
    ----------
    MacAvaney, Macdonald & Ounis (2022), ECIR, 305-310.  arXiv:2111.13466  (ir_measures, Judged)
    """
    return ratio_or_zero(_first_copies(lists).count(k), lists.length(k))


def judged_share_steps(data: DerivationInput) -> Steps:
    """Return the steps of Judged."""
    ranks = data.judged.hit_rank[data.judged.within(data.k) & data.judged.hit_first].tolist()
    line = f"Judged = {len(ranks)} / {data.length}  (judged / items in the list)"
    return Steps(dict.fromkeys(ranks, "judged"), (line,))


def judged_only(lists: Judged) -> Judged:
    """Return condensed lists: the judged items in the same order, ranked without gaps.

    References
    ----------
    Sakai (2007), SIGIR, 71-78.  doi:10.1145/1277741.1277756
    """
    condensed = _first_copies(lists)
    rank = position_in_user(condensed.hit_user, condensed.n_users)
    length = np.bincount(condensed.hit_user, minlength=condensed.n_users)
    tied = condensed.hit_tied
    if tied is not None:
        tied = _condensed_ties(condensed.hit_user, tied, rank)
    return replace(condensed, hit_rank=rank, n_listed=length, hit_tied=tied)


def _condensed_ties(user: Ints, tied: Ints, rank: Ints) -> Ints:
    """Return (n_hits, 2) first and last of the condensed ranks that items of equal scores share."""
    starts = np.flatnonzero(differs_from_previous(user) | differs_from_previous(tied[:, 0]))
    size = np.diff(np.append(starts, len(rank)))
    first = np.repeat(rank[starts], size)
    return np.column_stack([first, first + np.repeat(size, size) - 1])


@dataclass(frozen=True)
class _JudgedItems:
    """(n_items,) user, position among the judged items, and grade of judged items of the top k."""

    user: Ints
    position: Ints
    grade: Floats


def _judged_items(lists: Judged, k: int | None) -> _JudgedItems:
    top = lists.hit_first & lists.within(k)
    user = lists.hit_user[top]
    return _JudgedItems(user, position_in_user(user, lists.n_users), lists.hit_grade[top])


def _mean_rank_by_grade(items: _JudgedItems) -> Floats:
    """Return (n_items,) rank by grade within the user, best first; equal grades share the mean."""
    order = np.lexsort((-items.grade, items.user))
    user, grade = items.user[order], items.grade[order]
    starts = np.flatnonzero(differs_from_previous(user) | differs_from_previous(grade))
    size = np.diff(np.append(starts, len(user)))
    position = position_in_user(user, int(user.max(initial=-1)) + 1)
    mean_rank = np.empty(len(order))
    mean_rank[order] = np.repeat(position[starts] + (size - 1) / 2, size)
    return mean_rank


def _count_pairs(items: _JudgedItems, n_users: int) -> tuple[Ints, Ints]:
    """Return (n_users,) number of concordant and of discordant pairs.

    A pair is concordant if the item above has the higher grade, discordant if it has the lower.
    """
    concordant, discordant = np.zeros(n_users, dtype=np.int64), np.zeros(n_users, dtype=np.int64)
    for upper, lower in _pairs_by_distance(items):
        better = items.grade[upper] > items.grade[lower]
        worse = items.grade[upper] < items.grade[lower]
        concordant += np.bincount(items.user[upper[better]], minlength=n_users)
        discordant += np.bincount(items.user[upper[worse]], minlength=n_users)
    return concordant, discordant


def _pairs_by_distance(items: _JudgedItems) -> Iterator[tuple[Ints, Ints]]:
    """Yield the pairs of items of one user at distance 1, 2, 3, … as (upper, lower)."""
    rows = np.arange(len(items.user))
    for distance in range(1, int(items.position.max(initial=1))):
        lower = rows[items.position > distance]
        yield lower - distance, lower


def _is_relevant(grade: Floats, threshold: float | None) -> Bools:
    return np.ones(len(grade), dtype=bool) if threshold is None else grade >= threshold


def _value_at_first_row(values: Ints, user: Ints) -> Ints:
    """Return (n_rows,) the value in the first row of each row's user."""
    starts = np.flatnonzero(differs_from_previous(user))
    return np.repeat(values[starts], np.diff(np.append(starts, len(user))))


def _first_copies(lists: Judged) -> Judged:
    return lists.keep(lists.hit_first, np.ones(len(lists.truth_grade), dtype=bool))
