"""Warnings about users' values of other tools, and about outlying replicates."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.evaluation.model_result import Models
from concord.metrics_core.evaluation.warnings.data import severity_of_rows
from concord.metrics_core.metrics.catalogue import METRIC
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.comparison_parts import DataWarning, most_serious_first

# Words of metrics whose lowest value is the best in most tools.
_ERROR_WORDS = frozenset(
    ("error", "rmse", "mse", "mae", "mape", "loss", "logloss", "ece", "latency", "perplexity")
)


def value_warnings(
    config: ComparisonConfig, models: Models, directed: Collection[str]
) -> list[DataWarning]:
    """Return the warnings on values that other tools computed, the most serious first.

    Parameters
    ----------
    config : ComparisonConfig
        With the metrics as they are read.
    models : Models
        Counts of users by model.
    directed : collection of str
        Metrics of which the caller said whether higher or lower is better.
    """
    found = [*_missing_values(models), *_unclear_directions(config, directed)]
    return most_serious_first(found)


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
    config: ComparisonConfig, directed: Collection[str]
) -> Iterator[DataWarning]:
    """Yield a warning on metrics that are read as higher is better, though their name says otherwise."""
    labels = [label for label in config.labels if str(label) not in directed]
    metrics = [str(label) for label in labels if _sounds_lower_is_better(label)]
    if metrics:
        yield DataWarning("direction_unclear", "serious", (), {"metrics": metrics})


def _sounds_lower_is_better(label: Label) -> bool:
    known = METRIC.get(label.name.partition("(")[0])
    words = re.split(r"[\W_]+", label.name.casefold())
    return (known is not None and not known.higher_is_better) or not _ERROR_WORDS.isdisjoint(words)


@dataclass(frozen=True)
class OutlyingTraining:
    """A training whose mean, or whose difference to the baseline, lies far from those of the others.

    Attributes
    ----------
    label, model : str
        Metric and model.
    lists : str
        Name of the training's lists.
    baseline : str or None
        None if the mean lies far.
    value : float
        The mean or difference.
    low, high : float
        Lowest and highest value of the other trainings.
    digits : int
        Decimals that these numbers are shown with.
    """

    label: str
    model: str
    lists: str
    baseline: str | None
    value: float
    low: float
    high: float
    digits: int


def training_warnings(outlying: Iterable[OutlyingTraining]) -> Iterator[DataWarning]:
    """Yield one warning a training, with all labels on which it is an outlier; numbers are those of the first."""
    by_lists: dict[tuple[str, str], list[OutlyingTraining]] = {}
    for each in outlying:
        by_lists.setdefault((each.model, each.lists), []).append(each)
    for (model, lists), trainings in by_lists.items():
        first = trainings[0]
        details = {
            "lists": lists,
            "labels": [each.label for each in trainings],
            "baseline": first.baseline,
            "value": first.value,
            "low": first.low,
            "high": first.high,
            "digits": first.digits,
        }
        yield DataWarning("outlying_training", "notice", (model,), details)
