"""The metrics that read all judged items, a second time: one user, plain Python."""

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

Number = float | Fraction


def judged(user: Any) -> list[tuple[int, float]]:
    """(rank, grade) of each judged item in the top k, where it stands first."""
    known = user.truth or {}
    return [
        (i, known[x])
        for i, x in enumerate(user.ranked, 1)
        if x in known and x not in user.ranked[: i - 1] and i <= user.cutoff
    ]


def spearman(user: Any) -> Number:
    grades = [g for _, g in judged(user)]
    if len(set(grades)) < 2:
        return math.nan
    positions = [Fraction(i) for i in range(1, len(grades) + 1)]
    by_grade = [
        Fraction(sum(other > g for other in grades)) + Fraction(grades.count(g) + 1, 2)
        for g in grades
    ]
    middle = Fraction(len(grades) + 1, 2)
    together = sum((a - middle) * (b - middle) for a, b in zip(positions, by_grade, strict=True))
    spreads = [sum((x - middle) ** 2 for x in xs) for xs in (positions, by_grade)]
    return float(together) / math.sqrt(spreads[0] * spreads[1])


def _pairs(user: Any) -> tuple[int, int, int]:
    pairs = list(combinations([g for _, g in judged(user)], 2))
    return sum(a > b for a, b in pairs), sum(a < b for a, b in pairs), len(pairs)


def kendall(user: Any) -> Number:
    concordant, discordant, total = _pairs(user)
    different = concordant + discordant
    return (concordant - discordant) / math.sqrt(total * different) if different else math.nan


def concordant_pairs(user: Any) -> Number:
    concordant, discordant, _ = _pairs(user)
    different = concordant + discordant
    return Fraction(concordant, different) if different else math.nan


def bpref(user: Any) -> Number:
    truth, relevant = user.judged, user.relevant
    n_relevant, n_other = len(relevant), len(truth) - len(relevant)
    total, above, observed = Fraction(0), 0, set()
    for i, x in enumerate(user.ranked, 1):
        if x in observed or x not in truth:
            continue
        observed.add(x)
        if x not in relevant:
            above += 1
        elif i <= user.cutoff:
            lost = Fraction(min(above, n_relevant), min(n_relevant, n_other)) if above else 0
            total += 1 - lost
    return total / n_relevant


def hlu(user: Any, *, halflife: float) -> Number:
    def worth(grade: float) -> float:
        return max(grade - user.pinned.hlu_neutral, 0.0)

    def p_left(i: int) -> float:
        return float(2 ** (-(i - 1) / (halflife - 1)))

    earned = math.fsum(worth(g) * p_left(i) for i, g in judged(user) if _is_relevant(user, g))
    if user.pinned.hlu_norm == "none":
        return earned
    best = math.fsum(
        worth(g) * p_left(i) for i, g in enumerate(sorted(user.relevant.values(), reverse=True), 1)
    )
    return earned / best if best else math.nan


def auc(user: Any) -> Number:
    top = user.ranked[: user.cutoff]
    hits = {i for i, g in judged(user) if _is_relevant(user, g)}
    others = [i for i in range(1, len(top) + 1) if i not in hits]
    pairs = [(a, b) for a in hits for b in others]
    return Fraction(sum(a < b for a, b in pairs), len(pairs)) if pairs else math.nan


def judged_share(user: Any) -> Number:
    length = min(user.cutoff, user.n)
    return Fraction(len(judged(user)), length) if length else 0


def _is_relevant(user: Any, grade: float) -> bool:
    threshold = user.pinned.relevance_threshold
    return threshold is None or grade >= threshold
