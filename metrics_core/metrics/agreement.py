"""Metrics that read judged items, and not only the relevant ones: how well a list agrees with the grades.

Every function takes `lists` with all judged rows, whatever their grade, and the cutoff `k` (None: the whole list),
and returns `(users,)` float64. A later copy of an item does not count.
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
from concord.metrics_core.metrics.steps import DerivationInput, Steps, format_number, format_sum


def spearman(lists: Judged, k: int | None) -> Floats:
    """Spearman@k = correlation of the order of the judged items in the top k with the order of their grades.

    Equal grades share their average rank; 1 means best grades first. Undefined (NaN) with fewer than two judged
    items, or where all grades are equal.

    References
    ----------
    Spearman (1904), The American Journal of Psychology 15(1), 72-101.  doi:10.2307/1412159
    """
    items = _judged_items(lists, k)
    by_grade = _average_rank(items)
    n = np.bincount(items.user, minlength=lists.n_users)
    middle = ((n + 1) / 2)[items.user]
    position, graded = items.position - middle, by_grade - middle
    together = sum_by_user(items.user, position * graded, lists.n_users)
    spread = sum_by_user(items.user, position**2, lists.n_users)
    spread_of_grades = sum_by_user(items.user, graded**2, lists.n_users)
    return ratio_or_nan(together, np.sqrt(spread * spread_of_grades))


def kendall(lists: Judged, k: int | None) -> Floats:
    """Kendall@k = (concordant - discordant) / sqrt(pairs x pairs of different grades), over judged items of the top k.

    tau-b; in a list no two items share a rank. Undefined as `spearman`.

    References
    ----------
    Kendall (1945), Biometrika 33(3), 239-251.  doi:10.1093/biomet/33.3.239
    """
    items = _judged_items(lists, k)
    concordant, discordant = _pairs(items, lists.n_users)
    n = np.bincount(items.user, minlength=lists.n_users)
    different = concordant + discordant
    return ratio_or_nan(concordant - discordant, np.sqrt(n * (n - 1) / 2 * different))


def concordant_pairs(lists: Judged, k: int | None) -> Floats:
    """FCP@k = concordant / (concordant + discordant) pairs of judged items of the top k with different grades.

    Undefined (NaN) without such a pair.

    References
    ----------
    Koren & Sill (2011), RecSys, 117-124.  doi:10.1145/2043932.2043956
    """
    concordant, discordant = _pairs(_judged_items(lists, k), lists.n_users)
    return ratio_or_nan(concordant, concordant + discordant)


def agreement_steps(one: DerivationInput) -> Steps:
    """Return the steps of Spearman, Kendall and FCP."""
    top = one.judged.within(one.k) & one.judged.hit_first
    ranks, grades = one.judged.hit_rank[top].tolist(), one.judged.hit_grade[top].tolist()
    pairs = list(combinations(grades, 2))
    right, wrong = (sum(a > b for a, b in pairs), sum(a < b for a, b in pairs))
    terms = dict(zip(ranks, (f"place {n}" for n in range(1, len(ranks) + 1)), strict=True))
    pair_counts = (
        f"{len(pairs)} pairs of judged items: {right} in the right order, {wrong} in the wrong, "
    )
    equal = f"{len(pairs) - right - wrong} of equal grade"
    formula = {
        "FCP": f"FCP = {right} / ({right} + {wrong})",
        "Kendall": f"Kendall = ({right} - {wrong}) / sqrt({len(pairs)} × {right + wrong})",
        "Spearman": "Spearman = correlation of the places with the ranks by grade",
    }[one.metric]
    return Steps(terms, (pair_counts + equal, formula))


def bpref(lists: Judged, k: int | None, *, relevance_threshold: float | None) -> Floats:
    """Bpref = 1/R x sum over the relevant items in the list of 1 - min(non-relevant above, R) / min(R, N).

    R relevant and N judged non-relevant items in the truth; items that nobody judged do not count. The paper divides by
    R; min(R, N) is trec_eval's, by which a relevant item below all N others counts 0 also where N < R.

    References
    ----------
    Buckley & Voorhees (2004), SIGIR, 25-32.  doi:10.1145/1008992.1009000  (the divisor min(R, N) is trec_eval's)
    """
    relevant = _relevant(lists.hit_grade, relevance_threshold)
    first = lists.hit_first
    n_relevant = _counted(lists, _relevant(lists.truth_grade, relevance_threshold))
    n_other = _counted(lists, ~_relevant(lists.truth_grade, relevance_threshold))
    others: Ints = np.cumsum(first & ~relevant) - (first & ~relevant)
    above = others - _before_user(others, lists.hit_user)
    counted = first & relevant & lists.within(k)
    user = lists.hit_user[counted]
    most = np.minimum(n_relevant, n_other)[user]
    above = np.minimum(above[counted], n_relevant[user])
    lost = ratio_or_zero(above, most)
    return ratio_or_zero(sum_by_user(user, 1.0 - lost, lists.n_users), n_relevant)


def bpref_steps(one: DerivationInput) -> Steps:
    """Return the steps of Bpref."""
    judged = one.judged
    relevant = _relevant(judged.hit_grade, one.conventions.relevance_threshold)
    r, n = one.n_relevant, len(judged.truth_grade) - one.n_relevant
    above, terms = 0, {}
    for rank, hit, first in zip(judged.hit_rank.tolist(), relevant, judged.hit_first, strict=True):
        if first and not hit:
            above += 1
        elif first and (one.k is None or rank <= one.k):
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
    """HLU(halflife)@k = sum over the top k of max(grade - neutral, 0) x 2^(-(rank - 1) / (halflife - 1)) / its best.

    The best is that of all relevant items of the truth, best first; with `hlu_norm: none` nothing is divided.
    Undefined (NaN) where the best is 0.

    References
    ----------
    Breese, Heckerman & Kadie (1998), UAI, 43-52.  arXiv:1301.7363
    """
    relevant = lists.keep(
        lists.hit_first & _relevant(lists.hit_grade, relevance_threshold),
        _relevant(lists.truth_grade, relevance_threshold),
    )
    weight = {"halflife": halflife}
    utility = relevant.discounted(
        np.maximum(relevant.hit_grade - hlu_neutral, 0.0), lambda depth: discounts(weight, depth), k
    )
    if hlu_norm == "none":
        return utility
    best_first = discounts(weight, int(relevant.truth_rank.max(initial=0)))[relevant.truth_rank]
    utilities = np.maximum(relevant.truth_grade - hlu_neutral, 0.0)
    return ratio_or_nan(
        utility, sum_by_user(relevant.truth_user, utilities * best_first, relevant.n_users)
    )


def half_life_utility_steps(one: DerivationInput) -> Steps:
    """Return the steps of HLU."""
    halflife, neutral = one.parameters["halflife"], one.conventions.hlu_neutral
    top = one.lists.within(one.k) & one.lists.hit_first
    ranks = one.lists.hit_rank[top].tolist()
    utilities = np.maximum(one.lists.hit_grade[top] - neutral, 0.0)
    weight = discounts({"halflife": halflife}, max(ranks, default=0))[ranks]
    terms = {
        rank: f"{format_number(w)} × {format_number(d)} = {format_number(w * d)}"
        for rank, w, d in zip(ranks, utilities, weight, strict=True)
    }
    utility = float(np.sum(utilities * weight))
    if one.conventions.hlu_norm == "none":
        return Steps(terms, (f"HLU = {format_number(utility)}",))
    ideal = np.maximum(one.lists.truth_grade - neutral, 0.0)
    best = float(np.sum(ideal * discounts({"halflife": halflife}, len(ideal))[1:]))
    return Steps(
        terms, (f"HLU = {format_number(utility)} / {format_number(best)}  (utility / its best)",)
    )


def auc(lists: Judged, k: int | None, *, relevance_threshold: float | None) -> Floats:
    """AUC@k = pairs of a relevant and another item of the top k with the relevant one above / all such pairs.

    Every listed item that is not relevant is another item, judged or not. Undefined (NaN) without a pair.

    References
    ----------
    Hanley & McNeil (1982), Radiology 143(1), 29-36.  doi:10.1148/radiology.143.1.7063747
    """
    relevant = lists.keep(
        lists.hit_first & _relevant(lists.hit_grade, relevance_threshold),
        np.zeros(len(lists.truth_grade), dtype=bool),
    )
    n, hits = relevant.length(k), relevant.count(k)
    top = relevant.within(k)
    user = relevant.hit_user[top]
    below = (n - hits)[user] - (relevant.hit_rank[top] - relevant.hit_number[top])
    return ratio_or_nan(
        sum_by_user(user, below.astype(np.float64), relevant.n_users), hits * (n - hits)
    )


def auc_steps(one: DerivationInput) -> Steps:
    """Return the steps of AUC."""
    firsts = one.lists.keep(one.lists.hit_first, np.zeros(len(one.lists.truth_grade), dtype=bool))
    ranks = firsts.hit_rank[firsts.within(one.k)].tolist()
    others = one.length - len(ranks)
    terms = {
        rank: f"{others - (rank - number)} others below" for number, rank in enumerate(ranks, 1)
    }
    below = sum(others - (rank - number) for number, rank in enumerate(ranks, 1))
    pairs = f"{len(ranks)} × {others}"
    return Steps(terms, (f"AUC = {below} / ({pairs})  (pairs in the right order / pairs)",))


def judged_share(lists: Judged, k: int | None) -> Floats:
    """Judged@k = items of the top k that the truth knows / items in the list, at most k.

    References
    ----------
    MacAvaney, Macdonald & Ounis (2022), ECIR, 305-310.  arXiv:2111.13466  (ir_measures, Judged)
    """
    return ratio_or_zero(lists.keep(lists.hit_first, _all(lists)).count(k), lists.length(k))


def judged_share_steps(one: DerivationInput) -> Steps:
    """Return the steps of Judged."""
    known = one.judged.hit_rank[one.judged.within(one.k) & one.judged.hit_first].tolist()
    line = f"Judged = {len(known)} / {one.length}  (judged / items in the list)"
    return Steps(dict.fromkeys(known, "judged"), (line,))


def judged_only(lists: Judged) -> Judged:
    """Return condensed lists: only the judged items, in the same order, closed up.

    References
    ----------
    Sakai (2007), SIGIR, 71-78.  doi:10.1145/1277741.1277756
    """
    condensed = lists.keep(lists.hit_first, _all(lists))
    rank = position_in_user(condensed.hit_user, condensed.n_users)
    length = np.bincount(condensed.hit_user, minlength=condensed.n_users)
    tied = (
        None
        if condensed.hit_tied is None
        else _closed_up(condensed.hit_user, condensed.hit_tied, rank)
    )
    return replace(condensed, hit_rank=rank, n_listed=length, hit_tied=tied)


def _closed_up(user: Ints, tied: Ints, rank: Ints) -> Ints:
    """Return (hits, 2) first and last of the closed-up ranks that items of equal scores share."""
    starts = np.flatnonzero(differs_from_previous(user) | differs_from_previous(tied[:, 0]))
    size = np.diff(np.append(starts, len(rank)))
    first = np.repeat(rank[starts], size)
    return np.column_stack([first, first + np.repeat(size, size) - 1])


@dataclass(frozen=True)
class _Items:
    """(items,) the judged items of the top k: user, position among them, grade."""

    user: Ints
    position: Ints
    grade: Floats


def _judged_items(lists: Judged, k: int | None) -> _Items:
    is_read = lists.hit_first & lists.within(k)
    user = lists.hit_user[is_read]
    return _Items(user, position_in_user(user, lists.n_users), lists.hit_grade[is_read])


def _average_rank(items: _Items) -> Floats:
    """Return (items,) rank by grade within the user, best first; equal grades share the average."""
    order = np.lexsort((-items.grade, items.user))
    user, grade = items.user[order], items.grade[order]
    starts = np.flatnonzero(differs_from_previous(user) | differs_from_previous(grade))
    size = np.diff(np.append(starts, len(user)))
    position = position_in_user(user, int(user.max(initial=-1)) + 1)
    shared = np.empty(len(order))
    shared[order] = np.repeat(position[starts] + (size - 1) / 2, size)
    return shared


def _pairs(items: _Items, n_users: int) -> tuple[Ints, Ints]:
    """Return (users,) concordant and discordant pairs: the upper item has the higher, or the lower, grade."""
    concordant, discordant = np.zeros(n_users, dtype=np.int64), np.zeros(n_users, dtype=np.int64)
    for upper, lower in _neighbours(items):
        better = items.grade[upper] > items.grade[lower]
        worse = items.grade[upper] < items.grade[lower]
        concordant += np.bincount(items.user[upper[better]], minlength=n_users)
        discordant += np.bincount(items.user[upper[worse]], minlength=n_users)
    return concordant, discordant


def _neighbours(items: _Items) -> Iterator[tuple[Ints, Ints]]:
    """Yield the pairs of items of one user at distance 1, 2, 3, … as (upper, lower)."""
    rows = np.arange(len(items.user))
    for distance in range(1, int(items.position.max(initial=1))):
        lower = rows[items.position > distance]
        yield lower - distance, lower


def _relevant(grade: Floats, threshold: float | None) -> Bools:
    return np.ones(len(grade), dtype=bool) if threshold is None else grade >= threshold


def _counted(lists: Judged, truth: Bools) -> Ints:
    return np.bincount(lists.truth_user[truth], minlength=lists.n_users)


def _before_user(running: Ints, user: Ints) -> Ints:
    """Return (rows,) the running count where the row's user begins."""
    starts = np.flatnonzero(differs_from_previous(user))
    return np.repeat(running[starts], np.diff(np.append(starts, len(user))))


def _all(lists: Judged) -> Bools:
    return np.ones(len(lists.truth_grade), dtype=bool)
