"""Models of which only values per user are known, as inputs of a comparison."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import connect
from concord.metrics_core.data.tables import read_column
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult, Models


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
    return EvaluationData(truth=pl.DataFrame(), connect=_connect)


def _connect(files: Iterable[Path]) -> AbstractContextManager[DuckDBPyConnection]:
    return connect(reads=files)
