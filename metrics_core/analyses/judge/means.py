"""Bounds of the mean of a label over all judgements, and the items whose judgement matters most."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.analyses.judge.bounds import QueryBounds, Rule, query_bounds
from concord.metrics_core.analyses.judge.items import QueryLists
from concord.metrics_core.analyses.judge.result import NextItem
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import refuse
from concord.metrics_core.metrics.elementary import powers
from concord.metrics_core.metrics.judged import Bools, Floats, Ints
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.stats.floating_point import exact_sum, is_close

_DIGITS = 12  # so that rounding errors do not order items


@dataclass(frozen=True)
class MeanBounds:
    """Bounds of the means of a label.

    Attributes
    ----------
    rule : Rule
        The label, and the grades that an unjudged item may get.
    lists : sequence of QueryLists
        Lists of each query, as the label reads them.
    queries : sequence of QueryBounds
        Bounds of each query with a relevant or an unjudged item; None for the others.
    contrasts : (n_rows, n_models) array
        The models, then their differences.
    low, high : (n_rows,) arrays
        Numbers that no mean of a contrast is below or above.
    is_exact : (n_rows,) array of bool
        True if some judgements attain each of the two.
    judged : (n_models,) array
        Mean share of the listed items that are judged, over queries with a list.
    """

    rule: Rule
    lists: Sequence[QueryLists]
    queries: Sequence[QueryBounds | None]
    contrasts: Floats
    low: Floats
    high: Floats
    is_exact: Bools
    judged: Floats

    @property
    def residual(self) -> Floats | None:
        """(n_models,) RBP's residual: weights of the items that are unjudged or below the list."""
        rule = self.rule
        if rule.label.name != "RBP" or rule.conventions.rbp_norm != "one_minus_p":
            return None
        p, gain = rule.label.parameters["p"], rule.gains(rule.grades).max(initial=0.0)
        depth = max(int(lists.lengths.max(initial=0)) for lists in self.lists)
        weights = powers(p, depth + 1)  # at rank - 1, and of all ranks below a list at its length
        unseen = [
            (1.0 - p) * np.where(lists.ranks > 0, weights[lists.ranks - 1], 0.0).sum(axis=1)
            + weights[_lengths(lists, rule.k)]
            for lists in self.lists
        ]
        return np.asarray(gain * np.mean(unseen, axis=0))

    def next_items(
        self, models: Sequence[str], titles: Mapping[str, str], number: int
    ) -> Iterator[NextItem]:
        """Yield the items to judge next, by descending weight.

        The weight of an item is the largest change of a mean difference that is still open if this
        item alone gets the highest grade. Models take turns, each with the item of its lists that
        has the largest weight; the largest weight goes first, then the lowest ids.
        """
        is_open = (self.low < 0) & (self.high > 0)
        contrasts = self.contrasts[is_open] if len(models) > 1 else self.contrasts
        candidates: list[tuple[float, str, str, Ints]] = []
        for lists, bounds in zip(self.lists, self.queries, strict=True):
            if bounds is not None:
                changes = np.abs(contrasts @ (bounds.single - bounds.current[:, None]))
                weights = (changes.max(axis=0, initial=0.0) / len(self.lists)).round(_DIGITS)
                for position in np.flatnonzero(weights > 0).tolist():
                    item, ranks = lists.items[position], lists.ranks[:, position]
                    candidates.append((-float(weights[position]), lists.user, item, ranks))
        candidates.sort(key=lambda candidate: candidate[:3])
        queues = [
            deque(n for n, (*_, ranks) in enumerate(candidates) if ranks[model])
            for model in range(len(models))
        ]
        turns = [0] * len(models)
        chosen: set[int] = set()
        while len(chosen) < number and any(queues):
            waiting = [m for m, queue in enumerate(queues) if queue]
            model = min(waiting, key=lambda m: (turns[m], queues[m][0]))
            best = queues[model].popleft()
            turns[model] += best not in chosen
            chosen.add(best)
        for weight, user, item, ranks in (candidates[n] for n in sorted(chosen)):
            held = [f"{name}:{rank}" for name, rank in zip(models, ranks, strict=True) if rank]
            yield NextItem(user, item, -weight, " ".join(held), titles.get(item))


def mean_bounds(
    label: Label,
    conventions: Conventions,
    queries: Sequence[QueryLists],
    contrasts: Floats,
    grades: Floats,
) -> MeanBounds:
    """Return the bounds of the means of a label.

    Queries are independent, so the bounds of a sum are sums of bounds. A query counts in the mean
    only under some judgements if the conventions leave out queries without a relevant item.

    Parameters
    ----------
    contrasts : (n_rows, n_models) array
        The models, then their differences.
    grades : array
        Relevant grades that an unjudged item may get, ascending; at least one.

    Raises
    ------
    InputError
        If no query counts, or a policy for users without a value allows no bounds.
    """
    label_conventions = label.conventions(conventions)
    threshold = label_conventions.relevance_threshold
    assert threshold is not None
    rule = Rule(label, label_conventions, grades)
    lists = [each.relevant_at(rule.k, threshold) for each in queries]
    empty = _empty_value(lists, rule)
    without_relevant = None if empty is None else empty * contrasts.sum(axis=1)
    bounds: list[QueryBounds | None] = []
    certain: list[tuple[Floats, Floats]] = []  # lowest and highest values
    optional: list[tuple[Floats, Floats]] = []  # of queries that may be left out
    for each in lists:
        query = query_bounds(each, rule, contrasts) if len(each.grades) or each.items else None
        bounds.append(query)
        ends = None if query is None else (query.low, query.high)
        if not len(each.grades) and without_relevant is not None:
            low, high = ends or (without_relevant, without_relevant)
            ends = np.minimum(low, without_relevant), np.maximum(high, without_relevant)
        if ends is not None:
            is_optional = not len(each.grades) and without_relevant is None
            (optional if is_optional else certain).append(ends)
    if not certain and not optional:
        raise refuse("truth", f"has no relevant item for {label}", "check grades and ids")
    low, high = (
        sign * _lowest_mean(*(sign * _stack(rows, end, contrasts) for rows in (certain, optional)))
        for end, sign in ((0, 1.0), (1, -1.0))
    )
    largest = np.abs(contrasts) @ high[: contrasts.shape[1]]
    low, high = (
        np.where(is_close(largest + end, largest, rule.scale), 0.0, end) for end in (low, high)
    )
    margin = sum(0.5 / 10**digits for digits in (rule.conventions.round or {}).values())
    margins = margin * np.abs(contrasts).sum(axis=1)
    ends_of_queries = np.array([*certain, *optional])
    maximum = np.array(label.bounds(label_conventions)[1])
    low = 0.0 - _rounded_highest(-low, -ends_of_queries[:, 0], margins, maximum)
    high = _rounded_highest(high, ends_of_queries[:, 1], margins, maximum)
    exact = [query.is_exact for query in bounds if query is not None]
    is_exact = np.all([np.ones(len(contrasts), dtype=bool), *exact], axis=0)
    is_exact &= (margin == 0) | (low == high)
    judged = _mean_judged(queries, rule.k)
    return MeanBounds(rule, lists, bounds, contrasts, low, high, is_exact, judged)


def _rounded_highest(high: Floats, of_queries: Floats, margins: Floats, maximum: Floats) -> Floats:
    """Return (n_rows,) upper bounds of rounded means.

    Rounding keeps 0, the order of two values and the range of the metric, if its values are in it.
    """
    limit = np.where((high <= maximum) | is_close(high, maximum), maximum, np.inf)
    limit[(of_queries <= 0.0).all(axis=0)] = 0.0
    return np.minimum(high + margins, limit)


def _stack(rows: Sequence[tuple[Floats, Floats]], end: int, contrasts: Floats) -> Floats:
    return np.reshape([row[end] for row in rows], (-1, len(contrasts)))


def _lowest_mean(certain: Floats, optional: Floats) -> Floats:
    """Return the lowest mean of rows, of which the optional ones may be left out.

    The mean of n rows is lowest with the n lowest; each number of optional rows is tried.
    """
    total = [exact_sum(column) for column in certain.T]
    sums = np.cumsum(np.vstack([total, np.sort(optional, axis=0)]), axis=0)
    counts = len(certain) + np.arange(len(sums))
    n_least = 0 if len(certain) else 1
    return np.asarray((sums[n_least:] / counts[n_least:, None]).min(axis=0))


def _mean_judged(queries: Sequence[QueryLists], k: int | None) -> Floats:
    """Return (n_models,) mean share of the listed items that are judged, over queries with a list.

    A copy is listed and not judged, as in Judged@k.
    """
    lengths = np.array([_lengths(lists, k) for lists in queries])
    top = (lists.hit_model[lists.hit_rank <= (k or np.inf)] for lists in queries)
    n_judged = np.array([np.bincount(models, minlength=lengths.shape[1]) for models in top])
    n_listed = np.maximum((lengths > 0).sum(axis=0), 1)
    return np.asarray((n_judged / np.maximum(lengths, 1)).sum(axis=0) / n_listed)


def _lengths(lists: QueryLists, k: int | None) -> Ints:
    return lists.lengths if k is None else np.minimum(lists.lengths, k)


def _empty_value(lists: Sequence[QueryLists], rule: Rule) -> float | None:
    """Return the value of a query without a relevant item; None if it is left out of the mean.

    Raises
    ------
    InputError
        If a policy that applies is an error, leaves out single models or makes means undefined.
    """
    conventions = rule.conventions
    missing = [each for each in lists if (each.lengths == 0).any()]
    values: dict[str, float | None] = {"zero": 0.0, "one": 1.0, "drop": None}
    if conventions.undefined != "propagate":
        values["nan"] = None if conventions.undefined == "skip" else 0.0
    value = values.get(conventions.user_empty_truth)
    allowed: dict[str, list[str]] = {}
    if any(len(each.grades) or each.items for each in missing):
        allowed["user_no_recs"] = ["zero"]
    if any(not len(each.grades) for each in lists):
        allowed["user_empty_truth"] = [*values]
    if any(not len(each.grades) for each in missing):
        allowed["user_both_empty"] = [name for name, each in values.items() if each == value]
    for name, policies in allowed.items():
        if (policy := getattr(conventions, name)) not in policies:
            problem = f"is {policy}, which allows no bounds of {rule.label}"
            raise refuse(f"conventions.{name}", problem, f"write {' or '.join(policies)}")
    return value
