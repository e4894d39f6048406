"""Results of evaluated models and the data they were evaluated on, in files or in memory.

Of models of another tool, only values per user are known.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from concord.metrics_core.data.relations import OpenConnection, connect
from concord.metrics_core.data.tables import (
    Table,
    read_column,
    read_frame,
    scan,
)
from concord.metrics_core.evaluation.accumulator import program_versions, summary_numbers
from concord.metrics_core.evaluation.diagnostics import TrainOverlap, count_train_overlap
from concord.metrics_core.evaluation.side_data import SideData
from concord.metrics_core.evaluation.summary import summarise
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.label import VALUE_CONVENTIONS, Label

Json = Mapping[str, Any]


@dataclass(frozen=True)
class ModelResult:
    """Results of one model.

    Attributes
    ----------
    values : path or frame
        user, and a column for each label: NaN where undefined, null where the user is left out.
    panel : path or frame
        user, and a column for each definition of the convention panel.
    lists : path or frame
        user, item, rank [, score, ranking], sorted by user and rank.
    summary : dict
        Means, counts, inputs and versions, as in its file.
    quality : dict
        Description of the lists, as in its file.
    trainings : dict
        Results of each replicate, by name; empty for a model without replicates. The other fields
        are then those of the first replicate, except the means in `summary`.
    """

    values: Table
    panel: Table
    lists: Table
    summary: Json
    quality: Json
    trainings: Mapping[str, "ModelResult"] = field(default_factory=dict)

    @property
    def replicate_results(self) -> "Sequence[ModelResult]":
        """Results of each replicate; for a model without replicates only these results."""
        return tuple(self.trainings.values()) or (self,)

    def mean(self, label: str) -> float | None:
        """Return the mean of a label; None if undefined."""
        mean: float | None = self.summary["metrics"][label]["mean"]
        return mean

    @property
    def truth_hashes(self) -> Json:
        """Path and hashes of the ground truth; empty for values of another tool."""
        hashes: Json = self.summary["inputs"].get("truth", {})
        return hashes

    @property
    def full_lists(self) -> Json:
        """Counts of `validity` over whole lists; empty if not counted."""
        counts: Json = self.summary.get("validity", {}).get("full_lists", {})
        return counts

    def at_cutoff(self, k: int | None) -> Json:
        """Return the counts of `validity` at a cutoff; empty if not counted."""
        counts: Json = self.summary.get("validity", {}).get("by_cutoff", {}).get(str(k), {})
        return counts


@dataclass(frozen=True, kw_only=True)
class EvaluationData(SideData):
    """The ground truth and side data that models are evaluated on; None if not given.

    Attributes
    ----------
    truth : path or frame
        user, item, grade [, time]; the first fold's, if folds have different ground truths.
    connect : callable
        Opens a DuckDB connection that can read only the given files.
    users : path or frame, optional
        user, and columns for segments. While a model is evaluated: the evaluated users; None for
        those of the ground truth.
    truth_quality : dict
        Description of the ground truth, as in its file.
    side_qualities : dict
        Role of a table of side data -> its description, as in its file.
    folds : dict
        Ground truth of each fold, if folds have different ones.
    named_users : path or frame, optional
        user: all users of the ground truth, if some of them have no judged item.
    """

    truth: Table
    connect: OpenConnection
    users: Table | None = None
    truth_quality: Json = field(default_factory=dict)
    side_qualities: Mapping[str, Json] = field(default_factory=dict)
    folds: Mapping[str, Table] = field(default_factory=dict)
    named_users: Table | None = None

    def truth_of(self, evaluated: ModelResult) -> Table:
        """Return the ground truth that the lists were evaluated on."""
        return self.folds[evaluated.quality["fold"]] if self.folds else self.truth

    @property
    def truth_qualities(self) -> Mapping[str, Json]:
        """Description of each fold's ground truth; under NO_FOLD if all models share one."""
        return self.truth_quality.get("folds") or {NO_FOLD: self.truth_quality}

    @property
    def words(self) -> Mapping[str, str] | None:
        """The words that texts show for user, item and request; None if they show these."""
        return next(iter(self.truth_qualities.values())).get("words")

    def users_by_items(self, evaluated: ModelResult) -> Mapping[int, int]:
        """Return the number of users by their number of items in the ground truth."""
        counts = read_column(self.truth_of(evaluated), "user").value_counts()["count"]
        return Counter(counts.to_list())

    def truths_differ(self) -> bool:
        """True if not all users of a ground truth have the same items."""
        truths = self.truth_qualities.values()
        return any(each["rows"] < each["users"] * each["items"] for each in truths)

    def highest_grade(self) -> float | None:
        """Return the highest grade of the ground truth; None if it has no rows."""
        highest: Any = read_column(self.truth, "grade").max()
        return None if highest is None else float(highest)

    def n_known_items(self) -> int:
        """Return the number of items of the catalogue, else of the train; 0 without both."""
        table = self.train if self.items is None else self.items
        if table is None:
            return 0
        return int(scan(table).select(pl.col("item").n_unique()).collect(engine="streaming").item())

    def known_share(self, evaluated: ModelResult, others: Sequence[Table]) -> tuple[float, str]:
        """Return the share of items of the lists that other tables have, and the first item.

        Other tables are train, items, and `others`.
        """
        tables = [table for table in (*others, self.train, self.items) if table is not None]
        known, lists = pl.concat(map(_item_ids, tables)), _item_ids(evaluated.lists)
        items = lists.drop_nulls().unique().collect()
        n_known = items.lazy().join(known, on="item", how="semi").collect().height
        return n_known / items.height, str(items["item"].min())

    def train_overlap(self, *, of_requests: bool) -> TrainOverlap | None:
        """Return the overlap of train and all ground truths; None without a train."""
        if self.train is None:
            return None
        truths = tuple(self.folds.values()) or (self.truth,)
        truth = pl.concat(map(scan, truths), how="diagonal_relaxed")
        return count_train_overlap(truth, scan(self.train), of_requests=of_requests)


def _item_ids(table: Table) -> pl.LazyFrame:
    return scan(table).select(pl.col("item").cast(pl.String))


Models = Mapping[str, ModelResult]


def results_by_list(models: Models) -> dict[str, ModelResult]:
    """Return the results of each model, and of each replicate of models with replicates."""
    return {
        name: single
        for model, evaluated in models.items()
        for name, single in (evaluated.trainings or {model: evaluated}).items()
    }


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
    """Return the models with the number of users of all models, and of those that each lacks.

    A model lacks a user if another model has a value of any metric, and it has none: no row, or
    NaN in all columns.
    """
    tables = {model: read_frame(result.values) for model, result in models.items()}
    n_users = pl.concat(table["user"] for table in tables.values()).n_unique()
    has_value = ~pl.all_horizontal(pl.exclude("user").is_nan())
    users = {model: table.filter(has_value)["user"] for model, table in tables.items()}
    n_known = pl.concat(users.values()).n_unique()
    return {
        model: replace(
            result,
            summary={
                **result.summary,
                "users": {"evaluated": n_users, "missing": n_known - len(users[model])},
            },
        )
        for model, result in models.items()
    }


def no_lists_data() -> EvaluationData:
    """Return the data behind values of another tool: none."""
    return EvaluationData(truth=pl.DataFrame(), connect=lambda files: connect(reads=files))
