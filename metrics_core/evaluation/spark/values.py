"""Values of users that stay in Spark, and their summaries, which are those of one machine."""

import math
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from concord.metrics_core.evaluation.diagnostics import KNOWN, ListKind, ListSigns
from concord.metrics_core.evaluation.evaluate_model import (
    ModelData,
    evaluated_label,
)
from concord.metrics_core.evaluation.partition import Part, PartCounts, Task
from concord.metrics_core.evaluation.spark.bucket import (
    USER,
    added,
    totals_added,
    value_columns,
)
from concord.metrics_core.evaluation.spark.buckets import (
    BucketResults,
    column,
)
from concord.metrics_core.evaluation.summary import (
    CONFIDENCE,
    Summary,
    counted_values,
    mean_of,
    summarise_catalogue,
    summary_of,
)
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.stats.mean_interval import squared_deviations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class SparkValues:
    """Users' values, which stay in Spark; see `EvaluationValues`. An executor and a sink: buckets are evaluated already."""

    results: BucketResults
    exposures: Mapping[str, Exposure]

    @cached_property
    def per_user(self) -> "DataFrame":
        """user, then one double column a label: NaN where undefined, null where the user is left out."""
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
        return added(self.results.facts)["kept"]

    @property
    def n_requests(self) -> None:
        """See `EvaluationValues`."""
        return None

    @cached_property
    def summaries(self) -> dict[str, Summary]:
        """The summary of each label, at full precision."""
        return self._summaries(self._squares())

    def mean(self, label: str) -> float:
        """Known from the counts of the buckets; intervals alone take a second pass."""
        return self._means[evaluated_label(label, self._means)]

    @cached_property
    def _means(self) -> dict[str, float]:
        no_squares: dict[str, list[float]] = {str(label): [] for label in self._task.per_user}
        return {label: summary.mean for label, summary in self._summaries(no_squares).items()}

    def execute(self, _data: ModelData, task: Task) -> Generator[Part]:
        """Yield the counts of all buckets."""
        facts = self.results.facts
        kinds: Counter[ListKind] = Counter()
        signs = ListSigns()
        for each in facts:
            for length, some, every, number in each.lists:
                kinds[length, some, every] += number
            counts = {name: Counter(dict(n)) for name, n in each.signs.items() if n is not None}
            signs.add(
                ListSigns(
                    counts.get("missing", Counter()),
                    counts.get("in_train"),
                    counts.get("future"),
                    counts.get("tied", Counter()),
                )
            )
        no_values = pl.DataFrame(schema=dict.fromkeys(value_columns(task), pl.Null))
        yield Part(no_values, self.exposures, signs, PartCounts(added(facts), kinds))

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
        totals = totals_added(self.results.facts, str(label))
        conventions = self._task.conventions
        return summary_of(label, totals, squares, conventions, confidence=CONFIDENCE)

    @property
    def _names(self) -> dict[str, str]:
        """Column of the values -> as it is called in the buckets' rows."""
        return {name: f"v{n}" for n, name in enumerate(value_columns(self._task))}

    def _squares(self) -> dict[str, list[float]]:
        """Numbers that add up to the squared deviations of each label: a second pass over what Spark keeps."""
        task, names = self._task, self._names
        needed = []
        for label in task.per_user:
            totals = totals_added(self.results.facts, str(label))
            mean = mean_of(label, totals)
            if len(totals.sums) == 1 and not math.isnan(mean):
                undefined = label.conventions(task.conventions).undefined
                needed.append((names[str(label)], mean, undefined))

        def squares(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for name, mean, undefined in needed:
                    values = batch.column(name).drop_null().to_numpy(zero_copy_only=False)
                    found = squared_deviations(counted_values(values, undefined), mean)
                    yield pa.record_batch(
                        {"name": [name] * len(found), "part": found}, schema=_PARTS
                    )

        found: dict[str, list[float]] = {str(label): [] for label in task.per_user}
        if needed:
            label_of = {column_name: label_name for label_name, column_name in names.items()}
            values = self.results.values.select(*(column(name) for name, _, _ in needed))
            for name, part in values.mapInArrow(squares, "name string, part double").collect():
                found[label_of[name]].append(part)
        return found


_PARTS = pa.schema({"name": pa.string(), "part": pa.float64()})
