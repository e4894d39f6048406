"""How simulations are seeded and told: a generator a run, rates with their error, tables."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

Row = Sequence[str]


def rng_of(*seed: int) -> np.random.Generator:
    """The generator of one run."""
    return np.random.default_rng(seed)


def rate(count: int, of: int, *, error: bool = True) -> str:
    """A share of the runs, with its standard error."""
    if not of:
        return "–"
    share = count / of
    deviation = math.sqrt(share * (1 - share) / of)
    return f"{share:.1%} ± {deviation:.1%}" if error else f"{share:.0%}"


def table_of(head: Row, rows: Iterable[Row], *, left: int = 0) -> list[str]:
    """The lines of a table in Markdown; `left`: so many columns hold words."""
    sides = ["---"] * left + ["---:"] * (len(head) - left)
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(sides)}|"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]
