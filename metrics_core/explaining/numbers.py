"""How numbers and sums are written in derivations."""

from collections.abc import Sequence

SHOWN = 20  # terms of a sum that are written out


def format_number(value: float) -> str:
    """Return a number with six digits."""
    return f"{value:.6g}"


def format_sum(terms: Sequence[str]) -> str:
    """Return the terms of a sum, the first ones if they are many."""
    more = [f"… {len(terms) - SHOWN} more"] if len(terms) > SHOWN else []
    return " + ".join([*terms[:SHOWN], *more]) or "0"
