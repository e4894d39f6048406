"""The results of evaluated models and the data that they were evaluated on, in files or in memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from concord.metrics_core.data.relations import (
    OpenConnection,
    Table,
    create_view,
    file_paths,
    only_row,
    read_column,
)
from concord.metrics_core.evaluation.diagnostics import TrainOverlap, count_train_overlap
from concord.metrics_core.files import NO_FOLD

Json = Mapping[str, Any]


@dataclass(frozen=True)
class ModelResult:
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
    trainings: Mapping[str, "ModelResult"] = field(default_factory=dict)

    @property
    def each(self) -> "Sequence[ModelResult]":
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
class EvaluationData:
    """The data that all models were evaluated on; None if not given.

    truth         : user, item, grade [, time]; of folds that of the first
    train         : user, item [, time, last], each pair once
    items         : item [, categories | vector, title]
    users         : user, and columns that segments may name
    truth_quality : what was found in the truth, as its file has it
    connecting    : opens a DuckDB connection that reads the given files and no others
    folds         : fold -> its truth, where folds have truths of their own
    """

    truth: Table
    train: Table | None
    items: Table | None
    users: Table | None
    truth_quality: Json
    connecting: OpenConnection
    folds: Mapping[str, Table] = field(default_factory=dict)

    def truth_of(self, evaluated: ModelResult) -> Table:
        """Return the ground truth that the lists were evaluated on."""
        return self.folds[evaluated.quality["fold"]] if self.folds else self.truth

    @property
    def truth_qualities(self) -> Mapping[str, Json]:
        """Fold -> what was found in its ground truth; NO_FOLD -> that of all models."""
        return self.truth_quality.get("folds") or {NO_FOLD: self.truth_quality}

    def users_by_items(self, evaluated: ModelResult) -> Mapping[int, int]:
        """Return number of items -> users who have so many in the ground truth of these lists."""
        counts = read_column(self.truth_of(evaluated), "user").value_counts()["count"]
        return Counter(counts.to_list())

    def truths_differ(self) -> bool:
        """True if the users of a ground truth do not all have the same items."""
        truths = self.truth_qualities.values()
        return any(each["rows"] < each["users"] * each["items"] for each in truths)

    def highest_grade(self) -> float | None:
        """Return the highest grade of the ground truth; None if it has no rows."""
        highest: Any = read_column(self.truth, "grade").max()
        return None if highest is None else float(highest)

    def n_known_items(self) -> int:
        """Return how many items the catalogue has, or else the train; 0 if neither is given."""
        table = self.train if self.items is None else self.items
        if table is None:
            return 0
        with self.connecting(file_paths([table])) as connection:
            create_view(connection, "known", table)
            return int(only_row(connection, "SELECT count(DISTINCT item) FROM known")[0])

    def train_overlap(self, *, of_requests: bool) -> TrainOverlap | None:
        """Return what train and ground truth share; None without a train. Of folds it is that of all truths."""
        if self.train is None:
            return None
        truths = tuple(self.folds.values()) or (self.truth,)
        with self.connecting(file_paths([self.train, *truths])) as connection:
            create_view(connection, "train", self.train)
            for number, truth in enumerate(truths):
                create_view(connection, f"truth_{number}", truth)
            every = " UNION ALL BY NAME ".join(f"FROM truth_{n}" for n in range(len(truths)))
            connection.execute(f"CREATE VIEW truth AS {every}")
            return count_train_overlap(connection, of_requests=of_requests)


Models = Mapping[str, ModelResult]


def lists_of(models: Models) -> dict[str, ModelResult]:
    """Return name of lists -> their results: models, and each replicate of models with several."""
    return {
        name: single
        for model, evaluated in models.items()
        for name, single in (evaluated.trainings or {model: evaluated}).items()
    }
