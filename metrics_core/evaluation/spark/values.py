"""Values per user and counts of the data that stay in Spark, and their summaries."""

import math
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.data.quality import MAX_COUNTED_GRADES
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.tables import Table, read_frame
from concord.metrics_core.evaluation.diagnostics import (
    KNOWN,
    SHARED_ITEMS,
    ListCounts,
    ListIssues,
    ListKind,
    TrainOverlap,
)
from concord.metrics_core.evaluation.evaluate_model import evaluated_label
from concord.metrics_core.evaluation.model_result import (
    EvaluationData,
    ModelResult,
)
from concord.metrics_core.evaluation.partition import Part, Task
from concord.metrics_core.evaluation.spark.bucket import USER, value_columns
from concord.metrics_core.evaluation.spark.buckets import (
    BucketResults,
    column,
)
from concord.metrics_core.evaluation.spark.facts import Facts, highest_grade, sum_counts, sum_totals
from concord.metrics_core.evaluation.summary import (
    CONFIDENCE,
    counted_values,
    mean_from_totals,
    summarise_catalogue,
    summary_from_totals,
)
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.summary import Summary
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
                    counts.get("constant", Counter()),
                )
            )
        no_values = pl.DataFrame(schema=dict.fromkeys(value_columns(task), pl.Null))
        yield Part(no_values, self.exposures, sum_counts(facts), ListCounts(kinds), issues)

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


@dataclass(frozen=True)
class SparkData(EvaluationData):
    """Counts of all buckets, for warnings."""

    results: BucketResults | None = None

    @classmethod
    def from_results(cls, results: BucketResults, items: pl.DataFrame | None) -> "SparkData":
        """Sum the counts of all buckets."""
        facts, no_rows = results.facts, pl.DataFrame()
        grades = sorted({grade for each in facts for grade in each.grades})
        counts = sum_counts(facts)
        grade_counts = (
            {repr(grade).removesuffix(".0"): 0 for grade in grades}
            if len(grades) <= MAX_COUNTED_GRADES
            else None
        )
        quality = {
            "grades": grade_counts,
            "rows": counts["truth_left"],
            "users": counts["users_known"],
            **rewritten_ids(facts, "truth"),
        }
        has_train = "train" in results.plan.columns
        return SparkData(
            truth=no_rows,
            train=no_rows if has_train else None,
            items=items,
            users=None,
            truth_quality=quality,
            connect=lambda _: in_memory(),
            results=results,
        )

    def users_by_items(self, evaluated: ModelResult) -> Mapping[int, int]:
        """See `EvaluationData`."""
        return users_by_length(self._facts, "truth")

    def users_with_own_id(self, evaluated: ModelResult) -> int:
        """See `EvaluationData`."""
        return sum_counts(self._facts)["own_id"]

    def highest_grade(self) -> float | None:
        """See `EvaluationData`."""
        return highest_grade(self._facts)

    def truths_differ(self) -> bool:
        """See `EvaluationData`."""
        quality = self.truth_quality
        return bool(quality["rows"] < quality["users"] * self._count_ids("item known"))

    def n_known_items(self) -> int:
        """See `EvaluationData`."""
        if self.items is not None:
            return len(read_frame(self.items))
        return 0 if self.train is None else self._count_ids("train")

    def known_share(self, evaluated: ModelResult, others: Sequence[Table]) -> tuple[float, str]:
        """See `EvaluationData`."""
        listed, train = (
            pl.DataFrame(self._ids(kind).toArrow()).rename({"id": "item"})
            for kind in ("item listed", "train")
        )
        data = EvaluationData(truth=train, train=train, items=self.items, connect=self.connect)
        return data.known_share(replace(evaluated, lists=listed), others)

    def train_overlap(self, *, of_requests: bool) -> TrainOverlap | None:
        """See `EvaluationData`."""
        overlaps = [TrainOverlap(*each.overlap) for each in self._facts if each.overlap is not None]
        if not overlaps:
            return None
        overlap = reduce(add, overlaps)
        if overlap.shares_users:
            return overlap
        items, train_items = (self._ids(kind) for kind in ("item known", "train"))
        shared = items.join(train_items, on="id", how="semi").count()
        return replace(overlap, shares_items=shared >= SHARED_ITEMS * items.count())

    @property
    def _facts(self) -> Sequence[Facts]:
        assert self.results is not None
        return self.results.facts

    def _count_ids(self, kind: str) -> int:
        return int(self._ids(kind).count())

    def _ids(self, kind: str) -> "DataFrame":
        assert self.results is not None
        return self.results.counted_ids.where(f"kind = '{kind}'").select("id").distinct()


def users_by_length(facts: Sequence[Facts], table: str) -> dict[int, int]:
    """Return the number of users by their number of rows in a table."""
    lengths: Counter[int] = Counter()
    for each in facts:
        lengths.update(dict(each.lengths.get(table, ())))
    return dict(lengths)


def rewritten_ids(facts: Sequence[Facts], table: str) -> dict[str, Any]:
    """Return `ids_rewritten` as in the description of a table; empty if there are none."""
    columns: dict[str, dict[str, Any]] = {}
    for each in facts:
        for column_name, counts in each.rewritten.get(table, {}).items():
            known = columns.setdefault(column_name, {"rows": 0, "example": counts["example"]})
            known["rows"] += counts["rows"]
    return {"ids_rewritten": columns} if columns else {}
