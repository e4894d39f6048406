"""Seeds and tables of simulations: generators, rates with their errors, Markdown tables."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

Row = Sequence[str]


def generator(*seed: int) -> np.random.Generator:
    """Return the random generator of one run."""
    return np.random.default_rng(seed)


def rate(count: int, n: int, *, error: bool = True) -> str:
    """Return a share of n runs as text, with its standard error."""
    if not n:
        return "–"
    share = count / n
    deviation = math.sqrt(share * (1 - share) / n)
    return f"{share:.1%} ± {deviation:.1%}" if error else f"{share:.0%}"


def markdown_table(header: Row, rows: Iterable[Row], *, text_columns: int = 0) -> list[str]:
    """Return the lines of a Markdown table; the first `text_columns` are left-aligned."""
    sides = ["---"] * text_columns + ["---:"] * (len(header) - text_columns)
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join(sides)}|"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]
