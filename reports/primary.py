"""The primary metrics for DVC: few numbers, so that the table of `dvc exp show` can be read."""

from typing import Any

from concord.metrics_core.results.comparison import Comparison
from concord.reports.writing.verdicts import VERDICTS


def primary_metrics(comparison: Comparison) -> dict[str, Any]:
    """{label: {model: mean}} and {label + " verdict": {model: verdict against the baseline, in words}}."""
    found: dict[str, Any] = {}
    for label in comparison.primary:
        found[label] = {score.model: score.mean for score in comparison.scores_of(label)}
        pairs = [
            comparison.difference(model, comparison.baseline, label)
            for model in comparison.models
            if model != comparison.baseline
        ]
        said = {pair.a: VERDICTS[pair.verdict].word for pair in pairs if pair is not None}
        if said:
            found[f"{label} verdict"] = said
    return found
