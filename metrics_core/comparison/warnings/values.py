"""Warnings about users' values of other tools, and about outlying replicates."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.errors import in_words
from concord.metrics_core.evaluation.model_result import Models
from concord.metrics_core.evaluation.warnings.base import severity_of_rows, warned
from concord.metrics_core.metrics.catalogue import METRIC
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.comparison_parts import Warned
from concord.metrics_core.results.words import are, listed, number, percent

# Names whose lowest value is the best in most tools.
_ERRORS = frozenset(
    ("error", "rmse", "mse", "mae", "mape", "loss", "logloss", "ece", "latency", "perplexity")
)


def value_warnings(
    config: ComparisonConfig, models: Models, stated: Collection[str]
) -> list[Warned]:
    """Return the warnings, the most serious first."""
    found = [*_missing_users(models), *_directions(config, stated)]
    return sorted(found, key=lambda each: each.severity != "serious")


def _missing_users(models: Models) -> Iterator[Warned]:
    """On models that have no row for users of another model."""
    counts = {model: each.summary["users"] for model, each in models.items()}
    lacking = {model: users["missing"] for model, users in counts.items() if users["missing"]}
    if not lacking:
        return
    most = max(lacking, key=lacking.__getitem__)
    evaluated = counts[most]["evaluated"]
    share = lacking[most] / evaluated
    each = [f"{model} has no values of {in_words(n, 'user')}" for model, n in lacking.items()]
    yield warned(
        "user_sets_differ",
        severity_of_rows(lacking[most], evaluated),
        list(lacking),
        f"Not all models have values of the same users: of {evaluated:,}, {listed(each)}"
        f"{' (' + percent(share) + ')' if len(lacking) == 1 else ''}. "
        "A mean is over the users whom its model has, a difference over the users whom both models have.",
        "give every model a row for every user; write the value that a failed user shall count",
    )


def _directions(config: ComparisonConfig, stated: Collection[str]) -> Iterator[Warned]:
    """On metrics that are read as higher is better, though their name says otherwise."""
    doubtful = [
        str(label)
        for label in config.labels
        if str(label) not in stated and _sounds_lower_is_better(label)
    ]
    if doubtful:
        yield warned(
            "direction_unclear",
            "serious",
            [],
            f"{listed(doubtful)} {are(doubtful)} taken as higher is better, and of most metrics of such a name the "
            "lowest value is the best.",
            f"say which it is, as in higher_is_better={dict.fromkeys(doubtful, False)}; verdicts depend on it",
        )


def _sounds_lower_is_better(label: Label) -> bool:
    known = METRIC.get(label.name.partition("(")[0])
    words = re.split(r"[\W_]+", label.name.casefold())
    return (known is not None and not known.higher_is_better) or not _ERRORS.isdisjoint(words)


@dataclass(frozen=True)
class OutlyingTraining:
    """A training whose mean, or whose difference to the baseline, lies far from those of the others.

    name      : of its lists
    baseline  : None where it is the mean that lies far
    value     : its mean or difference; `low` and `high`: the ends of the others
    places    : digits of these numbers
    """

    label: str
    model: str
    name: str
    baseline: str | None
    value: float
    low: float
    high: float
    places: int


def training_warnings(found: Iterable[OutlyingTraining]) -> Iterator[Warned]:
    """One warning a training, with all labels on which it is an outlier."""
    of_training: dict[tuple[str, str], list[OutlyingTraining]] = {}
    for each in found:
        of_training.setdefault((each.model, each.name), []).append(each)
    for (model, name), of_labels in of_training.items():
        first, labels = of_labels[0], listed([each.label for each in of_labels])
        value, low, high = (
            number(each, first.places) for each in (first.value, first.low, first.high)
        )
        others = f"{low} to {high}" if low != high else low
        what = "" if first.baseline is None else f" by the difference to {first.baseline}"
        yield warned(
            "outlying_training",
            "notice",
            [model],
            f"{name} lies far from the other trainings of {model}{what} on {labels}: {value} on {first.label}, the "
            f"others {others}. Where trainings fail now and then, intervals over new trainings are too short.",
            "look at what happened in this training, and train more often",
        )
