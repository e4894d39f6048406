"""The description of a model's MLflow run: what came out against the baseline, in Markdown."""

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]


def note(model: str, comparison: Json, users: Json) -> str:
    """The verdicts on the primary metrics, who was evaluated, and where the whole comparison is."""
    baseline = comparison["baseline"]
    if model == baseline:
        verdicts = [f"**{model}** is the baseline of this comparison."]
    else:
        verdicts = [
            f"**{model}** against the baseline **{baseline}**:\n",
            *_verdicts(model, comparison),
        ]
    where = "The comparison of all models: `report.html` under Artifacts."
    return "\n".join([*verdicts, "", _who(users), where])


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
