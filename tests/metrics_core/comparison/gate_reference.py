"""Reference implementation of a gate's decision, in plain Python."""

from typing import Any


def decision(
    guardrails: list[dict[str, Any]],
    successes: list[dict[str, Any]],
    *,
    alpha: float,
    undecided_passes: bool,
) -> str:
    """Return the outcome of one model: `pass`, `worse` or `undecided`.

    Rows have low, high, up, margin, identical, p and difference.
    """
    outcomes = []
    for row in guardrails:
        max_loss = -row["low"] if row["up"] else row["high"]
        min_loss = -row["high"] if row["up"] else row["low"]
        if row["identical"] or max_loss < row["margin"]:
            outcomes.append("pass")
        elif min_loss > row["margin"]:
            outcomes.append("worse")
        else:
            outcomes.append("undecided")
    if "worse" in outcomes:
        return "worse"
    if "undecided" in outcomes and not undecided_passes:
        return "undecided"
    if not successes:
        return "pass"
    return "pass" if _any_better(successes, alpha) else "undecided"


def _any_better(rows: list[dict[str, Any]], alpha: float) -> bool:
    """True if a gain is significant by Holm's definition.

    The i-th smallest of m p-values is significant if it and all before are below alpha / (m - i).
    """
    tested = sorted((row["p"], n) for n, row in enumerate(rows) if row["p"] is not None)
    for i, (p, n) in enumerate(tested):
        if not p * (len(tested) - i) < alpha:
            return False
        if rows[n]["difference"] > 0 if rows[n]["up"] else rows[n]["difference"] < 0:
            return True
    return False
