"""Lowest and highest value of a metric on one query, over all judgements of its unjudged items.

An unjudged item may get 0 or one of the grades of `Rule`. Each function takes the lists of one
query, cut at k and without irrelevant hits, and contrasts, (n_rows, n_models): the first rows
select one model each, the others subtract one model from another. At least one item of the query
must be relevant: the caller decides what a query without one counts.

References
----------
Moffat & Zobel (2008), TOIS 27(1), 2.  doi:10.1145/1416950.1416952  (bounds of RBP)
Carterette, Allan & Sitaraman (2006), SIGIR, 268-275.  doi:10.1145/1148170.1148219
Dinkelbach (1967), Management Science 13(7), 492-498.  doi:10.1287/mnsc.13.7.492
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from concord.metrics_core.analyses.judge.items import QueryLists
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.discounting import discounts, gains
from concord.metrics_core.metrics.elementary import exp2
from concord.metrics_core.metrics.judged import Bools, Floats, Ints, ratio_or_zero, sum_by_user
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.stats.floating_point import scale_of

MAX_TRIED = 10  # unjudged items of two lists, of which all judgements are tried


@dataclass(frozen=True)
class Rule:
    """A label, and the grades that an unjudged item may get.

    Attributes
    ----------
    label : Label
        The label.
    conventions : Conventions
        Its conventions.
    grades : (n_grades,) array
        Relevant grades, ascending; at least one.
    """

    label: Label
    conventions: Conventions
    grades: Floats

    @property
    def k(self) -> int | None:
        """The rank up to which the metric reads lists; None for the whole list."""
        return self.label.depth(self.conventions)

    @property
    def scale(self) -> float:
        """The width of the metric's range, to compare values up to rounding."""
        return scale_of(self.label.bounds(self.conventions))

    def gains(self, grades: Floats) -> Floats:
        """Return the gains of relevant grades; 1 in metrics that do not read them."""
        if self.label.name in {"CG", "DCG", "nDCG"}:
            return gains(grades, self.conventions.gain, self.conventions.relevance_threshold)
        rbp_gain = self.conventions.rbp_gain if self.label.name == "RBP" else "binary"
        return gains(grades, rbp_gain, None)


@dataclass(frozen=True)
class QueryBounds:
    """Bounds of one query.

    Attributes
    ----------
    current : (n_models,) array
        Values if no unjudged item is relevant.
    single : (n_models, n_items) array
        Values if this item alone gets the highest grade.
    low, high : (n_rows,) arrays
        Numbers that no value of a contrast is below or above.
    is_exact : (n_rows,) array of bool
        True if some judgements attain each of the two; always for one model.
    """

    current: Floats
    single: Floats
    low: Floats
    high: Floats
    is_exact: Bools


def query_bounds(lists: QueryLists, rule: Rule, contrasts: Floats) -> QueryBounds:
    """Return the bounds of a label on one query."""
    name = rule.label.name
    if name in {"AP", "ERR"}:
        return _by_rank(lists, rule, contrasts)
    if name == "RR" or (name == "Hit" and rule.conventions.hit_kind == "indicator"):
        return _first_hit(lists, rule, contrasts)
    return _sum_over_hits(lists, rule, contrasts)


def _separate(contrasts: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return bounds of the contrasts from those of the models, as if these were independent."""
    plus, minus = np.maximum(contrasts, 0.0), np.minimum(contrasts, 0.0)
    return plus @ low + minus @ high, plus @ high + minus @ low


def _first_hit(lists: QueryLists, rule: Rule, contrasts: Floats) -> QueryBounds:
    """Return the bounds of RR and Hit: one new relevant item decides.

    Of the items that become relevant, keep the one that model a ranks first: a's value stays, and
    b's can only fall.
    """

    def values(ranks: Ints) -> Floats:
        listed = (ranks > 0).astype(np.float64)
        return ratio_or_zero(listed, ranks) if rule.label.name == "RR" else listed

    current = np.zeros(len(lists.lengths))
    np.maximum.at(current, lists.hit_model, values(lists.hit_rank))
    single = np.maximum(current[:, None], values(lists.ranks))
    judgements = np.column_stack([current, single]) if len(lists.grades) else single
    rows = contrasts @ judgements
    exact = np.ones(len(rows), dtype=bool)
    return QueryBounds(current, single, rows.min(axis=1), rows.max(axis=1), exact)


def _sum_over_hits(lists: QueryLists, rule: Rule, contrasts: Floats) -> QueryBounds:
    """Return the bounds of P, R, F1, Hit as a count, CG, DCG, nDCG and RBP.

    They are a sum of gain x weight of the rank over the hits, divided by a number that depends on
    how many items have which grade, but not on which. A difference of two such sums over the same
    divisor is one, too: its weights are those of a minus those of b. Such a ratio is monotone in
    the gain of an item until this passes the gain of another one, so that only the lowest, the
    highest and the gains of judged items need a trial.
    """
    possible = rule.gains(rule.grades)
    ends = possible.min(), possible.max()
    levels = np.intersect1d(possible, [*ends, *rule.gains(lists.grades)])
    depth = int(max(lists.ranks.max(initial=0), lists.hit_rank.max(initial=0)))
    weight = _rank_weights(rule, depth)
    weights = weight[lists.ranks]
    terms = weight[lists.hit_rank] * rule.gains(lists.hit_grade)
    base = sum_by_user(lists.hit_model, terms, len(lists.lengths))
    by_length = {n: _divisor(lists, rule, n, levels) for n in {*lists.lengths.tolist()}}
    divisors = np.array([by_length[n] for n in lists.lengths.tolist()])  # of each model
    is_fixed = (divisors == divisors[:, :, :1]).all(axis=(1, 2))  # the same under all judgements
    scale = np.where(is_fixed, divisors[:, :, 0].sum(axis=1), 1.0)
    scale[scale == 0.0] = 1.0  # there are no hits
    base, weights = base / scale, weights / scale[:, None]
    divisors[is_fixed] = np.eye(len(levels), 1)
    divisor_of = (divisors[:, None] == divisors).all(axis=(2, 3)).argmax(axis=1)  # the first equal
    steps = np.diff(levels, prepend=0.0)
    n_least = 0 if len(lists.grades) else 1
    is_used = contrasts != 0
    first = divisor_of[is_used.argmax(axis=1)]
    is_exact = ((divisor_of == first[:, None]) | ~is_used).all(axis=1)
    sums, sum_weights = contrasts @ base, contrasts @ weights
    low, high = np.zeros((2, len(contrasts)))
    for number in {*divisor_of.tolist()}:
        divisor, rows = divisors[number], is_exact & (first == number)
        low[rows] = -_highest(-sums[rows], -sum_weights[rows], steps, divisor, n_least)
        high[rows] = _highest(sums[rows], sum_weights[rows], steps, divisor, n_least)
    n_models = len(base)
    outer = _separate(contrasts[~is_exact], low[:n_models], high[:n_models])
    low[~is_exact], high[~is_exact] = outer
    none, one = (divisors[:, :, : n + 1][:, :, -1].sum(axis=1) for n in (0, 1))
    single = (base[:, None] + levels[-1] * weights) / one[:, None]
    return QueryBounds(ratio_or_zero(base, none), single, low, high, is_exact)


def _rank_weights(rule: Rule, depth: int) -> Floats:
    """Return (depth + 1,) weight of rank i at index i; 0 at index 0."""
    if rule.label.name in {"DCG", "nDCG"}:
        return discounts(rule.conventions.discount, depth)
    if rule.label.name == "RBP":
        return discounts({"geometric": rule.label.parameters["p"]}, depth)
    return (np.arange(depth + 1) > 0).astype(np.float64)


def _divisor(lists: QueryLists, rule: Rule, length: int, levels: Floats) -> Floats:
    """Return (n_levels, n_items + 1) addends of the divisor of a list of this length.

    The divisor is the sum, over the levels, of the entry at index t, where t is how many unjudged
    items have this gain or a higher one.
    """
    conventions, k = rule.conventions, rule.k
    added = np.arange(len(lists.items) + 1)
    cutoff = length if k is None else k
    length = min(length, cutoff)
    relevant = len(lists.grades) + added
    reachable = relevant if k is None else np.minimum(relevant, k)
    precision = {
        "k": np.full(len(added), cutoff),
        "len": np.full(len(added), length),
        "min_k_relevant": reachable,
        "min_len_relevant": np.minimum(relevant, length),
    }[conventions.precision_denominator]
    recall = {"relevant": relevant, "min_k_relevant": reachable}[conventions.recall_denominator]
    divisor = np.zeros((len(levels), len(added)))
    name = rule.label.name
    if name == "nDCG" and conventions.ideal != "full_k":
        return _ideal(lists, rule, length, levels)
    if name == "nDCG":
        divisor[0] = discounts(conventions.discount, cutoff).sum()
    elif name == "RBP":
        p = rule.label.parameters["p"]
        weight_sum = float(discounts({"geometric": p}, cutoff).sum())
        norm = {"one_minus_p": 1.0 / (1.0 - p), "none": 1.0, "sum_weights": weight_sum}
        divisor[0] = norm[conventions.rbp_norm]
    else:
        divisor[0] = {"P": precision, "R": recall, "F1": (precision + recall) / 2.0}.get(name, 1.0)
    return divisor


def _ideal(lists: QueryLists, rule: Rule, length: int, levels: Floats) -> Floats:
    """Return the ideal DCG as `_divisor` does.

    The gains of the ideal list fall from rank to rank, so its DCG is the sum over the distinct
    gains of (gain - next lower gain) x (weights of as many ranks as have this gain or more).
    """
    conventions, k = rule.conventions, rule.k
    added = np.arange(len(lists.items) + 1)
    known = rule.gains(lists.grades)
    most = len(known) + len(lists.items)
    ends = {"truth": most, "truth_at_min_k_len": length}
    end = min(ends.get(conventions.ideal, most if k is None else k), most)
    weight_sums = np.cumsum(discounts(conventions.discount, end))
    divisor = np.zeros((len(levels), len(added)))
    below = 0.0
    for gain in np.union1d(known, levels).tolist():
        n_known = np.count_nonzero(known >= gain)
        level = int(np.searchsorted(levels, gain))  # the unjudged items with at least this gain
        is_above = level == len(levels)
        n_best = n_known + (np.zeros_like(added) if is_above else added)
        divisor[0 if is_above else level] += (gain - below) * weight_sums[np.minimum(n_best, end)]
        below = gain
    return divisor


def _highest(base: Floats, weights: Floats, steps: Floats, divisor: Floats, n_least: int) -> Floats:
    """Return (n_rows,) the highest ratio of a sum over hits and its divisor.

    The items with the largest weights get the largest gains: for a given number of items with each
    gain the divisor is fixed, and exchanging two gains cannot increase the sum. So only the numbers
    t_1 >= t_2 >= … of items with at least each gain are free. Dinkelbach's method finds the best:
    sum - ratio x divisor is a sum over the levels, whose maximum is found level by level; the ratio
    increases until none is above it.

    Parameters
    ----------
    base : (n_rows,) array
        Sum over the judged hits.
    weights : (n_rows, n_items) array
        Weight of each unjudged item.
    steps : (n_levels,) array
        Each gain minus the next lower one.
    divisor : (n_levels, n_items + 1) array
        As `_divisor` returns it.
    n_least : int
        Least number of unjudged items that are relevant.
    """
    n_rows, n_levels = len(base), len(steps)
    by_weight = np.cumsum(-np.sort(-weights, axis=1), axis=1)
    sums = np.column_stack([np.zeros(n_rows), by_weight])

    def ratio_of(numbers: Ints) -> Floats:
        totals = base + np.take_along_axis(sums, numbers, axis=1) @ steps
        return totals / sum(divisor[level, numbers[:, level]] for level in range(n_levels))

    numbers = np.zeros((n_rows, n_levels), dtype=np.int64)
    numbers[:, 0] = n_least
    ratio = ratio_of(numbers)
    while True:
        numbers = _best_numbers(sums, steps, ratio[:, None] * divisor[:, None], n_least)
        better = ratio_of(numbers)
        if not (better > ratio).any():
            return ratio
        ratio = np.maximum(ratio, better)


def _best_numbers(sums: Floats, steps: Floats, costs: Floats, n_least: int) -> Ints:
    """Return (n_rows, n_levels) t_1 >= t_2 >= … with the largest sum of step x sum - cost."""
    n_rows, n_numbers = sums.shape
    positions = np.arange(n_numbers)
    best_from: list[Ints] = []  # for each level and t, the best number from t on
    carried = np.zeros_like(sums)
    for level, step in enumerate(steps.tolist()):
        total = step * sums - costs[level] + carried
        if level == 0:
            total[:, :n_least] = -np.inf
        from_end = total[:, ::-1]
        highest = np.maximum.accumulate(from_end, axis=1)
        last = np.maximum.accumulate(np.where(from_end == highest, positions, 0), axis=1)
        best_from.append(n_numbers - 1 - last[:, ::-1])
        carried = highest[:, ::-1]
    numbers = np.zeros((n_rows, len(steps)), dtype=np.int64)
    chosen = np.zeros(n_rows, dtype=np.int64)
    for level in range(len(steps) - 1, -1, -1):
        chosen = best_from[level][np.arange(n_rows), chosen]
        numbers[:, level] = chosen
    return numbers


def _by_rank(lists: QueryLists, rule: Rule, contrasts: Floats) -> QueryBounds:
    """Return the bounds of AP and ERR.

    For each number of relevant unjudged items, a list gains most from those at its first ranks and
    least from those that it does not hold, then from those at its last ranks. AP's sum is that of
    1 / max(i, j) over all pairs i, j of ranks of hits, and ERR the mean of 1 / rank at which a user
    stops, who stops later if items are moved down.
    A difference is at most the largest one of a's highest and b's lowest value with the same number
    of relevant items. All judgements are tried if the two lists hold few unjudged items; grades
    between need no trial, as ERR is linear in the satisfaction of each item.
    """
    is_err = rule.label.name == "ERR"
    satisfied = _satisfied if is_err else lambda grades, _: np.ones_like(grades)
    lowest, highest = satisfied(rule.grades[[0, -1]], rule).tolist()
    ranks, n_known = lists.ranks, len(lists.grades)
    n_models, n_items = ranks.shape
    depth = rule.k or int(lists.lengths.max())
    known = np.zeros((n_models, depth + 1))
    known[lists.hit_model, lists.hit_rank] = satisfied(lists.hit_grade, rule)

    def values(model: int, judged: Floats, n_others: int = 0) -> Floats:
        """Return (n_judgements,) values; `n_others` more items are relevant."""
        by_rank = np.repeat(known[model][None], len(judged), axis=0)
        listed = ranks[model] > 0
        by_rank[:, ranks[model, listed]] = judged[:, listed]
        if is_err:
            return _expected_reciprocal_ranks(by_rank)
        n_relevant = n_known + np.count_nonzero(judged, axis=1) + n_others
        return _average_precisions(by_rank, n_relevant, rule, int(lists.lengths[model]))

    def of_models(judged: Callable[[int], Floats]) -> Floats:
        return np.array([values(model, judged(model)) for model in range(n_models)])

    added = np.tri(n_items + 1, n_items, -1)  # row t: the first t items
    places = np.argsort(np.argsort(np.where(ranks > 0, ranks, depth + 1), axis=1, kind="stable"))
    n_least = 0 if n_known else 1
    low = of_models(lambda model: lowest * added[:, ::-1][:, places[model]])[:, n_least:]
    high = of_models(lambda model: highest * added[:, places[model]])[:, n_least:]
    if rule.conventions.ap_denominator == "hits":  # it depends on which items are relevant
        low, high = low.min(axis=1, keepdims=True), high.max(axis=1, keepdims=True)
    all_low, all_high = _separate(contrasts, low, high)
    row_low, row_high = all_low.min(axis=1), all_high.max(axis=1)
    is_exact = np.count_nonzero(contrasts, axis=1) == 1
    for row in np.flatnonzero(~is_exact):
        models = np.flatnonzero(contrasts[row]).tolist()
        listed = np.flatnonzero(ranks[models].any(axis=0))
        if len(listed) > MAX_TRIED:
            continue
        tried = np.zeros((2 ** len(listed), n_items))
        tried[:, listed] = highest * np.array([*product((0.0, 1.0), repeat=len(listed))])
        others = range(1 if is_err else n_items - len(listed) + 1)  # unlisted items count in AP
        sides = [np.ravel([values(model, tried, n) for n in others]) for model in models]
        differences = contrasts[row, models] @ sides
        if n_least and not is_err:
            differences = differences[1:]  # the first judgement leaves no item relevant
        row_low[row], row_high[row] = differences.min(), differences.max()
        is_exact[row] = not (n_least and is_err)
    current = of_models(lambda _: np.zeros((1, n_items)))[:, 0]
    single = of_models(lambda _: highest * np.eye(n_items))
    return QueryBounds(current, single, row_low, row_high, is_exact)


def _satisfied(grades: Floats, rule: Rule) -> Floats:
    """Return the probabilities that items of these grades satisfy a user."""
    return np.asarray((exp2(grades) - 1.0) / exp2(rule.conventions.err_max_grade))


def _expected_reciprocal_ranks(satisfied: Floats) -> Floats:
    """Return (n_rows,) ERR of rows with the satisfaction at ranks 0, 1, 2 …"""
    before = np.cumprod(1.0 - satisfied, axis=1)[:, :-1]
    ranks = np.arange(1, satisfied.shape[1])
    return np.asarray((satisfied[:, 1:] * before / ranks).sum(axis=1))


def _average_precisions(hits: Floats, n_relevant: Ints, rule: Rule, length: int) -> Floats:
    """Return (n_rows,) AP of rows with the hits at ranks 0, 1, 2 …"""
    cutoff = rule.k or length
    counts = np.cumsum(hits, axis=1)[:, 1 : cutoff + 1]
    precisions = counts / np.arange(1, counts.shape[1] + 1)
    if rule.conventions.ap_sum_over == "hits":
        precisions = precisions * hits[:, 1 : cutoff + 1]
    divisor = {
        "relevant": n_relevant,
        "min_k_relevant": n_relevant if rule.k is None else np.minimum(n_relevant, rule.k),
        "hits": hits.sum(axis=1),
        "k": np.full(len(hits), cutoff),
        "min_len_relevant": np.minimum(n_relevant, min(length, cutoff)),
    }[rule.conventions.ap_denominator]
    return ratio_or_zero(precisions.sum(axis=1), divisor)
