"""Summary of a model of which only values per user are known."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.evaluation.accumulator import program_versions, summary_numbers
from concord.metrics_core.evaluation.summary import summarise
from concord.metrics_core.metrics.label import Label

VALUE_CONVENTIONS = preset("standard")  # under which NaN is a user who does not count


def summarise_values(
    table: pl.DataFrame, labels: Iterable[Label], *, confidence: float
) -> dict[str, Any]:
    """Return the summary of a model: means, number of users, versions of programs."""
    summaries = {
        str(label): summarise(
            label, table[str(label)].to_numpy(), VALUE_CONVENTIONS, confidence=confidence
        )
        for label in labels
    }
    return {
        "metrics": {label: summary_numbers(each) for label, each in summaries.items()},
        "users": {"evaluated": table.height, "missing": 0},
        "versions": dict(program_versions()),
    }
