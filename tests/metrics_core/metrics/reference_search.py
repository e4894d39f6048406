"""The metrics of search, a second time: one user, plain Python."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Number = float | Fraction


def q_measure(user: Any, gain: Callable[[float], float], *, beta: float) -> Number:
    ratios = [_blended_ratio(user, gain, i, beta) for i, _ in user.top_hits]
    return math.fsum(ratios) / user.reachable if ratios else 0


def o_measure(user: Any, gain: Callable[[float], float], *, beta: float) -> Number:
    return _blended_ratio(user, gain, user.top_hits[0][0], beta) if user.top_hits else 0


def _blended_ratio(user: Any, gain: Callable[[float], float], i: int, beta: float) -> float:
    gained = [gain(g) for rank, g in user.hits if rank <= i]
    ideal = sorted(map(gain, user.relevant.values()), reverse=True)[:i]
    return (len(gained) + beta * math.fsum(gained)) / (i + beta * math.fsum(ideal))


def infap(user: Any) -> Number:
    """Yilmaz & Aslam 2006, with e = 0.00001; a grade below 0 was pooled, but not judged."""
    e = Fraction(1, 100_000)
    above: list[float] = []
    total = Fraction(0)
    observed: set[Any] = set()
    for i, x in enumerate(user.ranked, 1):
        if x not in user.judged or x in observed:
            continue
        observed.add(x)
        if x in user.relevant and user.judged[x] >= 0:
            n_relevant = sum(_counts(user, g) for g in above)
            n_judged = sum(g >= 0 for g in above)
            share = (n_relevant + e) / (n_judged + 2 * e)
            pooled = Fraction(len(above), i - 1) if i > 1 else Fraction(0)
            total += Fraction(1, i) + Fraction(i - 1, i) * pooled * share
        above.append(user.judged[x])
    return total / sum(_counts(user, g) for g in user.relevant.values())


def _counts(user: Any, grade: float) -> bool:
    threshold = user.pinned.relevance_threshold
    return grade >= (0 if threshold is None else threshold)
