"""Inputs of a comparison: its configuration, the results of each model and the data behind them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from concord.metrics_core.comparison.aligned import Aligned, align, nobody
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult, Models
from concord.metrics_core.files import NO_FOLD

Json = Mapping[str, Any]


def unlisted_models(models: Models, max_share: float) -> dict[str, int]:
    """Return the models that lack the lists of more than this share of the evaluated users, and how many they lack."""
    counts = {model: _missing(evaluated) for model, evaluated in models.items()}
    return {model: n for model, (n, n_users) in counts.items() if n > max_share * n_users}


def _missing(evaluated: ModelResult) -> tuple[int, int]:
    """Return how many of the evaluated users have a list from no training, and how many are evaluated.

    Trainings whose lists are for different sets of users, as those of folds are, count as having no user in common.
    """
    n_users: dict[str, int] = {}  # of each fold; of all trainings where they have one truth
    listed: dict[str, dict[tuple[object, int], int]] = {}
    for training in evaluated.each:
        counts = training.summary.get("users", {})
        fold = str(training.quality.get("fold", NO_FOLD))
        n_users[fold] = counts.get("in_truth", counts.get("evaluated", 0))
        n_listed = n_users[fold] - counts.get("without_list", counts.get("missing", 0))
        users = training.summary.get("validity", {}).get(
            "users"
        )  # a fingerprint of those with a list
        listed.setdefault(fold, {})[users, n_listed] = n_listed
    total = sum(n_users.values())
    return total - sum(min(n, sum(listed[fold].values())) for fold, n in n_users.items()), total


@dataclass(frozen=True)
class ComparisonInput:
    """What is asked, the results of each model, and the data behind all of them.

    told : is called when the users' values of another label are read
    """

    config: ComparisonConfig
    models: Models
    ground: EvaluationData
    told: Callable[[], None] = nobody

    @cached_property
    def unlisted(self) -> dict[str, int]:
        """Models that lack the lists of most users, and of how many: they are not compared."""
        return unlisted_models(self.models, self.config.max_missing_lists)

    @property
    def compared(self) -> list[str]:
        """The other models; all, where each lacks the lists of most users."""
        return [model for model in self.models if model not in self.unlisted] or [*self.models]

    @cached_property
    def aligned(self) -> Aligned:
        """The users' values of all models."""
        values = {m: [each.values for each in found.each] for m, found in self.models.items()}
        return align(values, self.told, self.config.conventions.unit_mean)
