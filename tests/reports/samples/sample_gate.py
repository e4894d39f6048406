"""A gate's decision on the models of a sample, by the function that decides."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from concord.metrics_core.comparing.gate import decide, guarded
from concord.metrics_core.comparison.gate import Measured
from concord.metrics_core.comparison.stored import plain

MARGINS = {"nDCG@10": 0.0002, "R@20": 0.0004}


def decision(
    differences: Sequence[dict[str, Any]], baseline: str, models: Sequence[str]
) -> dict[str, Any]:
    """As comparison.json has it: guardrails over all users and in one segment, and one success metric."""
    found = {(d["a"], d["label"]): d for d in differences if d["b"] == baseline}
    checked = {
        model: (
            [guarded(_measured(found[model, label]), "min_effect", margin) for label, margin in MARGINS.items()]
            + [guarded(_in_segment(found[model, "nDCG@10"]), "5%", 0.0003)],
            [_measured(found[model, "nDCG@10"])],
        )
        for model in models
    }  # fmt: skip
    made = decide(
        checked, against="baseline", reference=baseline, confidence=0.95, undecided_passes=False
    )
    content: dict[str, Any] = plain(made)
    return content


def _measured(row: dict[str, Any]) -> Measured:
    own = {
        "n_lost": 0,
        "higher_is_better": True,
        "segmentation": None,
        "segment": None,
        "mean": row["mean_a"],
        "reference": row["mean_b"],
    }
    names = {each.name for each in fields(Measured)}
    return Measured(**{**{key: row[key] for key in row if key in names}, **own})


def _in_segment(row: dict[str, Any]) -> Measured:
    """Worse there by 0.01 than over all users."""
    lower = {key: row[key] - 0.01 for key in ("mean_a", "difference", "ci_low", "ci_high")}
    return replace(_measured({**row, **lower}), segmentation="activity", segment="0 to 5")
