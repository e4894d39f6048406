"""Descriptions of MLflow runs, in Markdown: who was evaluated, and what came out against the baseline."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

Json = Mapping[str, Any]
_ROOM = 7000  # characters; MLflow cuts a tag at 8,000 without a word


def model_note(users: Json) -> str:
    """What concerns one model alone: a run outlives the comparison that it was first part of."""
    return (
        f"{_who(users)}\nHow it compares with other models: `report.html` under Artifacts of the run `comparison` "
        "that names this run in its tags."
    )


def comparison_note(comparison: Json) -> str:
    """The verdicts on the primary metrics, model by model, and where the rest is."""
    baseline = comparison["baseline"]
    lines = [
        line
        for model in _in_order(comparison)
        for line in (
            f"\n**{model}** against the baseline **{baseline}**:\n",
            *_verdicts(model, comparison),
        )
    ]
    ends = accumulate(len(line) + 1 for line in lines)
    shown = [line for line, end in zip(lines, ends, strict=True) if end < _ROOM]
    more = ["\n…"] if len(shown) < len(lines) else []
    where = "\nThe comparison of all models: `report.html` under Artifacts."
    return "\n".join([f"**{baseline}** is the baseline.", *shown, *more, where])


def _in_order(comparison: Json) -> list[str]:
    rows = [row for row in comparison["differences"] if row["vs_baseline"] and row["primary"]]
    return list(dict.fromkeys(row["a"] for row in rows))


def _verdicts(model: str, comparison: Json) -> Iterator[str]:
    for row in comparison["differences"]:
        if row["a"] == model and row["vs_baseline"] and row["primary"]:
            verdict = row["verdict"].replace("_", " ")
            yield f"- {row['label']}: {verdict}{_numbers(row, comparison['confidence'])}"


def _numbers(row: Json, confidence: float) -> str:
    """Empty where the comparison gives no number, for example with too few users."""
    if row["difference"] is None:
        return ""
    text = f"; {row['mean_a']:.4f} against {row['mean_b']:.4f}, difference {row['difference']:+.4f}"
    if row["ci_low"] is None or row["ci_high"] is None:
        return text
    return f"{text} ({100 * confidence:g} % interval {row['ci_low']:+.4f} to {row['ci_high']:+.4f})"


def _who(users: Json) -> str:
    without = users["without_list"]
    missing = f", {without:,} of them without a list" if without else ""
    return f"{users['evaluated']:,} users{missing}."
