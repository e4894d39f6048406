"""Values per user and counts of the data that stay in Spark, and their summaries."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from concord.metrics_core.data.quality import MAX_COUNTED_GRADES
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.evaluation.diagnostics import SHARED_ITEMS, TrainOverlap
from concord.metrics_core.evaluation.evaluate_model import evaluated_label
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.evaluation.spark.buckets import BucketResults
from concord.metrics_core.evaluation.summary import (
    CONFIDENCE,
    counted_values,
    mean_from_totals,
    summarise_catalogue,
    summary_from_totals,
)
from concord.metrics_core.results.summary import Summary
from concord.metrics_core.stats.mean_interval import squared_deviations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class SparkValues:
    """Values per user, which stay in Spark; see `EvaluationValues`."""

    results: BucketResults
    n_requests: None = None

    @property
    def per_user(self) -> "DataFrame":
        """user, and a column for each label: NaN where undefined, null where left out."""
        labels = self.results.plan.value_names
        return self.results.values.withColumnsRenamed(labels)

    @property
    def by_id(self) -> "DataFrame":
        """See `EvaluationValues`."""
        return self.per_user

    @property
    def n_users(self) -> int:
        """See `EvaluationValues`."""
        return self.results.facts.counts["n_evaluated"]

    @cached_property
    def summaries(self) -> dict[str, Summary]:
        """Summary of each label, at full precision."""
        return self._summaries(self._squares())

    def mean(self, label: str) -> float:
        """Return the mean of a label; only intervals need a second pass."""
        return self._means[evaluated_label(label, self._means)]

    @cached_property
    def _means(self) -> dict[str, float]:
        return {label: summary.mean for label, summary in self._summaries({}).items()}

    def _summaries(self, squares: Mapping[str, Sequence[float]]) -> dict[str, Summary]:
        task, facts = self.results.plan.task, self.results.facts
        summaries = {}
        for label in task.labels:
            name, conventions = str(label), task.conventions
            if label.metric.is_aggregate:
                assert task.items is not None
                exposure = replace(facts.exposures[name], items=task.items)
                summaries[name] = summarise_catalogue(label, exposure, conventions)
            else:
                totals, parts = facts.totals[name], squares.get(name, [])
                summaries[name] = summary_from_totals(
                    label, totals, parts, conventions, confidence=CONFIDENCE
                )
        return summaries

    def _squares(self) -> dict[str, list[float]]:
        """Return the squared deviations of each label, in a second pass over the values."""
        task, totals = self.results.plan.task, self.results.facts.totals
        labels = self.results.plan.value_names
        needed = []
        for name, label in zip(labels, task.per_user, strict=True):
            mean = mean_from_totals(label, totals[str(label)])
            if len(totals[str(label)].sums) == 1 and not math.isnan(mean):
                needed.append((name, mean, label.conventions(task.conventions).undefined))

        def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for name, mean, undefined in needed:
                    values = batch.column(name).drop_null().to_numpy(zero_copy_only=False)
                    parts = squared_deviations(counted_values(values, undefined), mean)
                    yield pa.record_batch(
                        {"name": [name] * len(parts), "part": parts}, schema=_PARTS
                    )

        squares: dict[str, list[float]] = {}
        if needed:
            values = self.results.values.select(*(name for name, _, _ in needed))
            for name, part in values.mapInArrow(compute, "name string, part double").collect():
                squares.setdefault(labels[name], []).append(part)
        return squares


_PARTS = pa.schema({"name": pa.string(), "part": pa.float64()})


@dataclass(frozen=True)
class SparkData(EvaluationData):
    """Counts of all buckets, for warnings."""

    results: BucketResults | None = None

    @classmethod
    def from_results(cls, results: BucketResults, items: pl.DataFrame | None) -> "SparkData":
        """Return the data behind the results."""
        facts, grades = results.facts, sorted(results.facts.grades)
        with_train = results.items.filter(pl.col("train").is_not_null())
        quality = {
            "grades": {repr(grade).removesuffix(".0"): 0 for grade in grades}
            if len(grades) <= MAX_COUNTED_GRADES
            else None,
            "rows": facts.counts["truth_left"],
            "users": facts.counts["users_known"],
            "items": int(results.items["known"].sum()),
            **facts.rewritten_ids("truth"),
        }
        return SparkData(
            truth=pl.DataFrame({"grade": [facts.highest]}),
            train=with_train.select(item="id") if facts.overlap else None,
            items=items,
            truth_quality=quality,
            connect=lambda _: in_memory(),
            results=results,
        )

    def users_by_items(self, evaluated: ModelResult) -> Mapping[int, int]:
        """See `EvaluationData`."""
        return self._results.facts.users_by_length("truth")

    def train_overlap(self, *, of_requests: bool) -> TrainOverlap | None:
        """See `EvaluationData`."""
        overlap = self._results.facts.overlap.get("train")
        if overlap is None or overlap.shares_users:
            return overlap
        known = self._results.items.filter(pl.col("known"))
        return replace(overlap, shares_items=known["train"].count() >= SHARED_ITEMS * len(known))

    @property
    def _results(self) -> BucketResults:
        assert self.results is not None
        return self.results
