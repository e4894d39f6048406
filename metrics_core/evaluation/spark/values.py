"""Values per user that stay in Spark, and their summaries."""

import math
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from concord.metrics_core.data.tables import Table
from concord.metrics_core.evaluation.diagnostics import KNOWN, ListIssues, ListKind
from concord.metrics_core.evaluation.evaluate_model import evaluated_label
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.partition import Part, PartCounts, Task
from concord.metrics_core.evaluation.spark.bucket import USER, value_columns
from concord.metrics_core.evaluation.spark.buckets import (
    BucketResults,
    column,
)
from concord.metrics_core.evaluation.spark.facts import sum_counts, sum_totals
from concord.metrics_core.evaluation.summary import (
    CONFIDENCE,
    Summary,
    counted_values,
    mean_from_totals,
    summarise_catalogue,
    summary_from_totals,
)
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.stats.mean_interval import squared_deviations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class SparkValues:
    """Values per user, which stay in Spark; see `EvaluationValues`.

    They are also an executor and a sink, as the buckets are already evaluated.
    """

    results: BucketResults
    exposures: Mapping[str, Exposure]

    @cached_property
    def per_user(self) -> "DataFrame":
        """user, and a column for each label: NaN where undefined, null where left out."""
        from pyspark.sql import functions as sf

        names = self._names
        labels = list(map(str, self._task.per_user))
        has_value = " OR ".join(
            [names[KNOWN], *(f"{names[label]} IS NOT NULL" for label in labels)]
        )
        columns = [sf.col(names[label]).alias(label) for label in labels]
        return self.results.values.where(has_value).select(USER, *columns)

    @property
    def by_id(self) -> "DataFrame":
        """See `EvaluationValues`."""
        return self.per_user

    @property
    def n_users(self) -> int:
        """See `EvaluationValues`."""
        return sum_counts(self.results.facts)["n_evaluated"]

    @property
    def n_requests(self) -> None:
        """See `EvaluationValues`."""
        return None

    @cached_property
    def summaries(self) -> dict[str, Summary]:
        """Summary of each label, at full precision."""
        return self._summaries(self._squares())

    def mean(self, label: str) -> float:
        """Return the mean of a label; only intervals need a second pass."""
        return self._means[evaluated_label(label, self._means)]

    @cached_property
    def _means(self) -> dict[str, float]:
        no_squares: dict[str, list[float]] = {str(label): [] for label in self._task.per_user}
        return {label: summary.mean for label, summary in self._summaries(no_squares).items()}

    def execute(self, _lists: Table, _data: EvaluationData, task: Task) -> Generator[Part]:
        """Yield the counts of all buckets."""
        facts = self.results.facts
        kinds: Counter[ListKind] = Counter()
        issues = ListIssues()
        for each in facts:
            for length, some, every, number in each.lists:
                kinds[length, some, every] += number
            counts = {name: Counter(dict(n)) for name, n in each.issues.items() if n is not None}
            issues.add(
                ListIssues(
                    counts.get("missing", Counter()),
                    counts.get("in_train"),
                    counts.get("future"),
                    counts.get("tied", Counter()),
                )
            )
        no_values = pl.DataFrame(schema=dict.fromkeys(value_columns(task), pl.Null))
        yield Part(no_values, self.exposures, issues, PartCounts(sum_counts(facts), kinds))

    def write(self, part: Part) -> None:
        """Do nothing: values stay in Spark."""

    def close(self) -> None:
        """Do nothing: values stay in Spark."""

    @property
    def _task(self) -> Task:
        return self.results.plan.task

    def _summaries(self, squares: Mapping[str, list[float]]) -> dict[str, Summary]:
        task = self._task
        return {
            str(label): summarise_catalogue(label, self.exposures[str(label)], task.conventions)
            if label.metric.is_aggregate
            else self._summary(label, squares[str(label)])
            for label in task.labels
        }

    def _summary(self, label: Label, squares: list[float]) -> Summary:
        totals = sum_totals(self.results.facts, str(label))
        conventions = self._task.conventions
        return summary_from_totals(label, totals, squares, conventions, confidence=CONFIDENCE)

    @property
    def _names(self) -> dict[str, str]:
        """Name in the buckets' rows of each column of values."""
        return {name: f"v{n}" for n, name in enumerate(value_columns(self._task))}

    def _squares(self) -> dict[str, list[float]]:
        """Return the squared deviations of each label, in a second pass over the values."""
        task, names = self._task, self._names
        needed = []
        for label in task.per_user:
            totals = sum_totals(self.results.facts, str(label))
            mean = mean_from_totals(label, totals)
            if len(totals.sums) == 1 and not math.isnan(mean):
                undefined = label.conventions(task.conventions).undefined
                needed.append((names[str(label)], mean, undefined))

        def squares(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for name, mean, undefined in needed:
                    values = batch.column(name).drop_null().to_numpy(zero_copy_only=False)
                    parts = squared_deviations(counted_values(values, undefined), mean)
                    yield pa.record_batch(
                        {"name": [name] * len(parts), "part": parts}, schema=_PARTS
                    )

        deviations: dict[str, list[float]] = {str(label): [] for label in task.per_user}
        if needed:
            label_of = {column_name: label_name for label_name, column_name in names.items()}
            values = self.results.values.select(*(column(name) for name, _, _ in needed))
            for name, part in values.mapInArrow(squares, "name string, part double").collect():
                deviations[label_of[name]].append(part)
        return deviations


_PARTS = pa.schema({"name": pa.string(), "part": pa.float64()})
