"""Models of which only values per user are known: their summaries, and no data."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import polars as pl

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.data.relations import connect
from concord.metrics_core.data.tables import read_column
from concord.metrics_core.evaluation.accumulator import program_versions, summary_numbers
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult, Models
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


def with_missing_users(models: Models) -> dict[str, ModelResult]:
    """Return the models with the number of users of all models, and of those that each lacks."""
    users = {model: read_column(result.values, "user") for model, result in models.items()}
    n_users = pl.concat(users.values()).n_unique()
    return {
        model: replace(
            result,
            summary={
                **result.summary,
                "users": {"evaluated": n_users, "missing": n_users - len(users[model])},
            },
        )
        for model, result in models.items()
    }


def no_lists_data() -> EvaluationData:
    """Return the data behind values of another tool: none."""
    return EvaluationData(truth=pl.DataFrame(), connect=lambda files: connect(reads=files))
