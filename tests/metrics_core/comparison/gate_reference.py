"""Reference implementation of a gate's decision, in plain Python."""

from typing import Any


def decision(
    guardrails: list[dict[str, Any]],
    successes: list[dict[str, Any]],
    *,
    undecided_passes: bool,
) -> str:
    """Return the outcome of one model: `pass`, `worse` or `undecided`.

    Rows have low, high, up, margin and identical.
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
    return "pass" if any(map(_is_better, successes)) else "undecided"


def _is_better(row: dict[str, Any]) -> bool:
    """True if the whole interval is a gain."""
    return not row["identical"] and (row["low"] > 0 if row["up"] else row["high"] < 0)
