"""Inputs of a comparison: results of each model and the data behind them, in files or in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from concord.metrics_core.comparison.aligned import Aligned, align, nobody
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.data.relations import Connecting, Table
from concord.metrics_core.files import WHOLE

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Evaluated:
    """One model's results.

    values  : user, then a column a label: NaN where undefined, null where the user is left out
    panel   : user, then a column a definition of the convention panel
    lists   : user, item, rank [, score, ranking], sorted by user and rank
    summary : means, counts of users and of signs of doubt, inputs and versions; as its file has it
    quality : what was found in the lists, as its file has it
    trainings : of a model with replicates, name -> the results of each; values, panel, lists and quality are then
                those of the first, and so is `summary` but for the means of labels and of the panel
    """

    values: Table
    panel: Table
    lists: Table
    summary: Json
    quality: Json
    trainings: Mapping[str, "Evaluated"] = field(default_factory=dict)

    @property
    def each(self) -> "Sequence[Evaluated]":
        """The results of each training; of a model without replicates these alone."""
        return tuple(self.trainings.values()) or (self,)

    def mean(self, label: str) -> float | None:
        """The mean of a label; None where it does not exist."""
        mean: float | None = self.summary["metrics"][label]["mean"]
        return mean

    @property
    def full_lists(self) -> Json:
        """The counts of `validity` over whole lists; empty where nothing was counted."""
        found: Json = self.summary.get("validity", {}).get("full_lists", {})
        return found

    def at_cutoff(self, k: int | None) -> Json:
        """The counts of `validity` at a cutoff; empty where nothing was counted."""
        found: Json = self.summary.get("validity", {}).get("by_cutoff", {}).get(str(k), {})
        return found


@dataclass(frozen=True)
class Ground:
    """What all models were evaluated on; None: it was not given.

    truth         : user, item, grade [, time]; of folds that of the first
    train         : user, item [, time, last], each pair once
    items         : item [, categories | vector, title]
    users         : user, and columns that segments may name
    truth_quality : what was found in the truth, as its file has it
    connecting    : opens a connection to DuckDB that reads these files and no other
    folds         : fold -> its truth, where folds have truths of their own
    """

    truth: Table
    train: Table | None
    items: Table | None
    users: Table | None
    truth_quality: Json
    connecting: Connecting
    folds: Mapping[str, Table] = field(default_factory=dict)

    def truth_of(self, evaluated: Evaluated) -> Table:
        """What the lists were judged by."""
        return self.folds[evaluated.quality["fold"]] if self.folds else self.truth


Models = Mapping[str, Evaluated]


def lists_of(models: Models) -> dict[str, Evaluated]:
    """Name -> the results of every single list: models, and of those with replicates each training."""
    return {
        name: single
        for model, evaluated in models.items()
        for name, single in (evaluated.trainings or {model: evaluated}).items()
    }


def unlisted_models(models: Models, max_share: float) -> dict[str, int]:
    """Return the models that lack the lists of more than this share of the evaluated users, and how many they lack."""
    counts = {model: _missing(evaluated) for model, evaluated in models.items()}
    return {model: n for model, (n, n_users) in counts.items() if n > max_share * n_users}


def _missing(evaluated: Evaluated) -> tuple[int, int]:
    """Return how many of the evaluated users have a list from no training, and how many are evaluated.

    Trainings whose lists are for different sets of users, as those of folds are, count as having no user in common.
    """
    n_users: dict[str, int] = {}  # of each fold; of all trainings where they have one truth
    listed: dict[str, dict[tuple[object, int], int]] = {}
    for training in evaluated.each:
        counts = training.summary.get("users", {})
        fold = str(training.quality.get("fold", WHOLE))
        n_users[fold] = counts.get("in_truth", counts.get("evaluated", 0))
        n_listed = n_users[fold] - counts.get("without_list", counts.get("missing", 0))
        users = training.summary.get("validity", {}).get(
            "users"
        )  # a fingerprint of those with a list
        listed.setdefault(fold, {})[users, n_listed] = n_listed
    total = sum(n_users.values())
    return total - sum(min(n, sum(listed[fold].values())) for fold, n in n_users.items()), total


@dataclass(frozen=True)
class Evidence:
    """What is asked, the results of each model, and the data behind all of them.

    told : is called when the users' values of another label are read
    """

    config: ComparisonConfig
    models: Models
    ground: Ground
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
