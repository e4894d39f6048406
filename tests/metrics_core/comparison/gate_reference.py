"""A gate's decision once more, in plain Python that does everything another way."""

from typing import Any


def decision(
    guardrails: list[dict[str, Any]],
    successes: list[dict[str, Any]],
    *,
    alpha: float,
    undecided_passes: bool,
) -> str:
    """`pass`, `worse` or `undecided` of one model; rows hold low, high, up, margin, identical, p, difference."""
    reported = []
    for row in guardrails:
        harm_at_most = -row["low"] if row["up"] else row["high"]
        harm_at_least = -row["high"] if row["up"] else row["low"]
        if row["identical"] or harm_at_most < row["margin"]:
            reported.append("pass")
        elif harm_at_least > row["margin"]:
            reported.append("worse")
        else:
            reported.append("undecided")
    if "worse" in reported:
        return "worse"
    if "undecided" in reported and not undecided_passes:
        return "undecided"
    if not successes:
        return "pass"
    return "pass" if _any_better(successes, alpha) else "undecided"


def _any_better(rows: list[dict[str, Any]], alpha: float) -> bool:
    """Holm by its definition: the i-th smallest of m p values is significant if it and all before are below alpha / (m - i)."""
    tested = sorted((row["p"], n) for n, row in enumerate(rows) if row["p"] is not None)
    for i, (p, n) in enumerate(tested):
        if not p * (len(tested) - i) < alpha:
            return False
        gained = rows[n]["difference"] > 0 if rows[n]["up"] else rows[n]["difference"] < 0
        if gained:
            return True
    return False
