"""Gain of a grade, discount of a rank, and DCG of the ideal list that nDCG divides by."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import Refusal, ScoringError
from concord.metrics_core.metrics.elementary import exp2, ln, log2, powers
from concord.metrics_core.metrics.judged import Floats, Ints, Judged, position_in_user, sum_by_user

BINARY = 2  # log2 is exact at powers of two

# Weight of rank i = 1, 2, 3 …
_WEIGHTS: Mapping[str, Callable[[Floats, float], Floats]] = {
    "log": lambda i, b: log2(b) / log2(i + 1.0),  # Burges et al. 2005 for b = 2
    "jk": lambda i, b: 1.0 / np.maximum(1.0, _log(i, b)),  # Järvelin & Kekäläinen 2002
    "halflife": lambda i, a: exp2(-(i - 1.0) / (a - 1.0)),  # Breese, Heckerman & Kadie 1998
    "geometric": lambda i, p: powers(p, len(i)),  # Moffat & Zobel 2008
}


def _log(x: Any, base: float) -> Any:
    return log2(x) if base == BINARY else ln(x) / ln(base)


def discounts(discount: Mapping[str, float], depth: int) -> Floats:
    """Return (depth + 1,) weight of rank i at index i; 0 at index 0."""
    ((form, number),) = discount.items()
    return _weights(form, float(number), 1 << depth.bit_length())[: depth + 1].copy()


@lru_cache(maxsize=64)
def _weights(form: str, number: float, depth: int) -> Floats:
    ranks = np.arange(1, depth + 1, dtype=np.float64)
    return np.concatenate([[0.0], _WEIGHTS[form](ranks, number)])


def gains(grade: Floats, gain: str | Mapping[str, Any], threshold: float | None) -> Floats:
    """Return (n_rows,) gains of relevant grades.

    Raises
    ------
    ValueError
        If a grade is missing from a gain map.
    """
    if isinstance(gain, Mapping):
        return _mapped_gains(grade, gain["map"])
    if gain == "binary":
        return np.ones_like(grade)
    if gain == "linear":
        return grade
    if gain == "exp2":
        return exp2(grade) - 1.0
    assert threshold is not None, "refused before"
    return exp2(grade - threshold + 1.0) - 1.0


def _mapped_gains(grade: Floats, table: Mapping[float, float]) -> Floats:
    mapped = np.full(len(grade), np.nan)
    for known, gain in table.items():
        mapped[grade == known] = gain
    missing = sorted({float(g) for g in grade[np.isnan(mapped)]})
    if missing:
        problem = (
            "gain map has no gain for the relevant grade(s) {grades}; "
            "add them to conventions.gain.map"
        )
        raise ScoringError(Refusal(problem, (0,), grades=tuple(missing)))
    return mapped


def ideal_dcg(
    lists: Judged,
    k: int | None,
    *,
    gain: str | Mapping[str, Any],
    discount: Mapping[str, float],
    ideal: str,
    relevance_threshold: float | None,
) -> Floats:
    """Return (n_users,) DCG of the ideal list that the convention `ideal` chooses."""
    if ideal == "full_k":
        return _full_ideal_dcg(lists, k, gain, discount)
    user, rank, row_gains = ideal_gains(lists, k, gain, ideal, relevance_threshold)
    weight = discounts(discount, int(rank.max(initial=0)))
    if k is not None and ideal != "truth":
        weight[k + 1 :] = 0.0  # cheaper than removing rows
    contribution = row_gains * weight[rank]
    if ideal == "truth_at_min_k_len":
        contribution[rank > lists.n_listed[user]] = 0.0
    return sum_by_user(user, contribution, lists.n_users)


def ideal_order(lists: Judged, k: int | None, conventions: Conventions) -> tuple[Floats, Floats]:
    """Return gains and weights of the ideal list of the only user, best first.

    The sum of their products is `ideal_dcg`.
    """
    depth, ideal, discount = int(lists.cutoff(k)[0]), conventions.ideal, conventions.discount
    if ideal == "full_k":
        return np.ones(depth), discounts(discount, depth)[1:]
    threshold = conventions.relevance_threshold
    _, rank, row_gains = ideal_gains(lists, k, conventions.gain, ideal, threshold)
    if ideal == "truth_at_min_k_len":
        depth = int(lists.length(k)[0])
    elif k is None or ideal == "truth":
        depth = len(rank)
    return row_gains[:depth], discounts(discount, len(rank))[rank][:depth]


def ideal_gains(
    lists: Judged,
    k: int | None,
    gain: str | Mapping[str, Any],
    ideal: str,
    relevance_threshold: float | None,
) -> tuple[Ints, Ints, Floats]:
    """Return user, rank and gain of the rows of the ideal lists, before the cutoff."""
    if ideal == "truth_given_order_at_k":
        return _original_order(
            lists, _ideal_row_gains(lists.truth_grade, gain, relevance_threshold)
        )
    from_truth = ideal.startswith("truth")
    if from_truth and not isinstance(gain, Mapping) and lists.weights is None:
        # A higher grade never has a lower gain, so the rows are already sorted.
        row_gains = _ideal_row_gains(lists.truth_grade, gain, relevance_threshold)
        return lists.truth_user, lists.truth_rank, row_gains
    top = lists.within(k if ideal == "retrieved_at_k" else None)
    user = lists.truth_user if from_truth else lists.hit_user[top]
    grade = lists.truth_grade if from_truth else lists.hit_grade[top]
    row_gains = _ideal_row_gains(grade, gain, relevance_threshold)
    if lists.weights is not None:
        row_gains = row_gains * (lists.weights[1] if from_truth else lists.weights[0][top])
    order = np.lexsort((-row_gains, user))
    return user[order], position_in_user(user[order], lists.n_users), row_gains[order]


def _ideal_row_gains(
    grade: Floats, gain: str | Mapping[str, Any], threshold: float | None
) -> Floats:
    try:
        return gains(grade, gain, threshold)
    except ScoringError as error:  # after the gains of the list itself
        raise error.nested_in(1) from None


def _original_order(lists: Judged, row_gains: Floats) -> tuple[Ints, Ints, Floats]:
    if lists.truth_position is None:
        msg = (
            "ideal truth_given_order_at_k needs the rows of the ground truth in their original "
            "order; with truth_visible: retrieved, or without that order, choose truth_at_k"
        )
        raise ValueError(msg)
    order = np.lexsort((lists.truth_position, lists.truth_user))
    user = lists.truth_user[order]
    return user, position_in_user(user, lists.n_users), row_gains[order]


def _full_ideal_dcg(
    lists: Judged, k: int | None, gain: Any, discount: Mapping[str, float]
) -> Floats:
    if gain != "binary":
        msg = f"ideal full_k is a list of k gains of 1 and needs gain: binary, not {gain!r}"
        raise ValueError(msg)
    cutoff = lists.cutoff(k)
    weight_sums = np.cumsum(discounts(discount, int(cutoff.max(initial=0))))
    return weight_sums[cutoff]
