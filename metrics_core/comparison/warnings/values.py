"""Warnings about values per user of other tools."""

import re
from collections.abc import Collection, Iterator

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.evaluation.model_result import Models
from concord.metrics_core.evaluation.warnings.data import severity_of_rows
from concord.metrics_core.metrics.catalogue import METRIC
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.comparison_parts import DataWarning, most_serious_first

# Words of metrics whose lowest value is the best in most tools.
_ERRORS = {"error", "rmse", "mse", "mae", "mape", "loss", "logloss", "ece", "perplexity"}
_ERROR_WORDS = frozenset(_ERRORS | {"latency", "seconds"})


def value_warnings(
    config: ComparisonConfig, models: Models, directed_metrics: Collection[str]
) -> list[DataWarning]:
    """Return the warnings about values that other tools computed, the most serious first.

    Parameters
    ----------
    directed_metrics : collection of str
        Metrics for which the caller set whether higher or lower is better.
    """
    return most_serious_first(
        [*_missing_values(models), *_unclear_directions(config, directed_metrics)]
    )


def _missing_values(models: Models) -> Iterator[DataWarning]:
    """Yield a warning if models lack values of users that another model has."""
    users = {model: result.summary["users"] for model, result in models.items()}
    missing = {model: counts["missing"] for model, counts in users.items() if counts["missing"]}
    if missing:
        most = max(missing, key=missing.__getitem__)
        n_users = users[most]["evaluated"]
        severity = severity_of_rows(missing[most], n_users)
        details = {"without_values": missing, "n_users": n_users}
        yield DataWarning("user_sets_differ", severity, tuple(missing), details)


def _unclear_directions(
    config: ComparisonConfig, directed_metrics: Collection[str]
) -> Iterator[DataWarning]:
    """Warn of metrics treated as higher-is-better although their names suggest the opposite."""
    labels = [label for label in config.labels if str(label) not in directed_metrics]
    metrics = [str(label) for label in labels if _sounds_lower_is_better(label)]
    if metrics:
        yield DataWarning("direction_unclear", "serious", (), {"metrics": metrics})


def _sounds_lower_is_better(label: Label) -> bool:
    known = METRIC.get(label.name.partition("(")[0])
    words = re.split(r"[\W_]+", label.name.casefold())
    return (known is not None and not known.higher_is_better) or not _ERROR_WORDS.isdisjoint(words)
