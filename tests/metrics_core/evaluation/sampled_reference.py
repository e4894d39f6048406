"""Reference of probabilities and corrected values, in integers and fractions."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

ZERO = Fraction(0)


def chance(r: int, full: int, negatives: int, catalogue: int) -> Fraction:
    """P(sampled rank r | full rank): r - 1 of the full - 1 items above are among the negatives."""
    above, below = full - 1, catalogue - full
    ways = comb(above, r - 1) * comb(below, negatives - r + 1)
    return Fraction(ways, comb(catalogue - 1, negatives))


def corrected(
    by_rank: Sequence[Fraction], negatives: int, gamma: Fraction, *, catalogue: int
) -> list[Fraction]:
    """Return argmin of the mean of (E f - M)^2 + gamma (E f^2 - (E f)^2): its gradient is 0."""
    ranks, sampled = range(1, catalogue + 1), range(1, negatives + 2)
    p = [[chance(r, full, negatives, catalogue) for r in sampled] for full in ranks]
    left = [
        [
            sum(((1 - gamma) * row[a] * row[b] + gamma * row[a] * (a == b) for row in p), ZERO)
            for b in range(negatives + 1)
        ]
        for a in range(negatives + 1)
    ]
    right = [
        sum((row[a] * by_rank[n] for n, row in enumerate(p[: len(by_rank)])), ZERO)
        for a in range(negatives + 1)
    ]
    return _solve(left, right)


def _solve(left: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a linear system by Gauss-Jordan elimination."""
    n = len(right)
    rows = [[*row, b] for row, b in zip(left, right, strict=True)]
    for column in range(n):
        pivot = next(i for i in range(column, n) if rows[i][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [x / rows[column][column] for x in rows[column]]
        for i in range(n):
            if i != column:
                factor = rows[i][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[column], strict=True)]
    return [row[n] for row in rows]
