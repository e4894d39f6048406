"""The result of an evaluation on Spark: users' values stay there, means and summary are the numbers of one machine."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.scoring.buckets.bucket import USER, value_columns
from concord.metrics_core.scoring.buckets.buckets import Evaluated, column
from concord.metrics_core.scoring.buckets.facts import added, totals_added
from concord.metrics_core.scoring.numerics.mean_interval import squared
from concord.metrics_core.scoring.partition import Task
from concord.metrics_core.scoring.result import CONFIDENCE, Told
from concord.metrics_core.scoring.summary import (
    Summary,
    counted,
    mean_of,
    summarise_catalogue,
    summary_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEPT = "#known"


@dataclass(frozen=True, repr=False)
class SparkResult(Told):
    """What `evaluate` returns for Spark DataFrames: as `Result`, but `per_user` is a Spark DataFrame."""

    evaluated: Evaluated
    exposures: Mapping[str, Exposure]
    warnings: tuple[Warned, ...] = ()

    @cached_property
    def per_user(self) -> "DataFrame":
        """user, then one double column a label: NaN where undefined, null where the user is left out."""
        from pyspark.sql import functions as sf

        names = self._names
        labels = list(map(str, self._task.per_user))
        kept = " OR ".join([names[KEPT], *(f"{names[label]} IS NOT NULL" for label in labels)])
        chosen = [sf.col(names[label]).alias(label) for label in labels]
        return self.evaluated.values.where(kept).select(USER, *chosen)

    @property
    def n_users(self) -> int:
        """The rows of `per_user`."""
        return added(self.evaluated.facts)["kept"]

    @cached_property
    def means(self) -> dict[str, Summary]:
        """The summary of each label, at full precision."""
        return self._summaries(self._squares())

    @cached_property
    def _means(self) -> dict[str, float]:
        """Known from what the buckets told; the intervals alone take a second pass."""
        nothing: dict[str, list[float]] = {str(label): [] for label in self._task.per_user}
        return {label: summary.mean for label, summary in self._summaries(nothing).items()}

    @property
    def _task(self) -> Task:
        return self.evaluated.plan.task

    def _summaries(self, squares: Mapping[str, list[float]]) -> dict[str, Summary]:
        task = self._task
        return {
            str(label): summarise_catalogue(label, self.exposures[str(label)], task.conventions)
            if label.metric.of_catalogue
            else self._summary(label, squares[str(label)])
            for label in task.labels
        }

    def _summary(self, label: Label, squares: list[float]) -> Summary:
        totals = totals_added(self.evaluated.facts, str(label))
        conventions = self._task.conventions
        return summary_of(label, totals, squares, conventions, confidence=CONFIDENCE)

    @property
    def _names(self) -> dict[str, str]:
        """Column of the values -> as it is called in the buckets' rows."""
        return {name: f"v{n}" for n, name in enumerate(value_columns(self._task))}

    def _squares(self) -> dict[str, list[float]]:
        """Numbers that add up to the squared deviations of each label: a second pass over what Spark keeps."""
        task, names = self._task, self._names
        asked = []
        for label in task.per_user:
            totals = totals_added(self.evaluated.facts, str(label))
            mean = mean_of(label, totals)
            if len(totals.sums) == 1 and not math.isnan(mean):
                undefined = label.conventions(task.conventions).undefined
                asked.append((names[str(label)], mean, undefined))

        def squares(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for name, mean, undefined in asked:
                    values = batch.column(name).drop_null().to_numpy(zero_copy_only=False)
                    found = squared(counted(values, undefined), mean)
                    yield pa.record_batch(
                        {"name": [name] * len(found), "part": found}, schema=_PARTS
                    )

        found: dict[str, list[float]] = {str(label): [] for label in task.per_user}
        if asked:
            of_name = {ours: theirs for theirs, ours in names.items()}
            values = self.evaluated.values.select(*(column(name) for name, _, _ in asked))
            for name, part in values.mapInArrow(squares, "name string, part double").collect():
                found[of_name[name]].append(part)
        return found


_PARTS = pa.schema({"name": pa.string(), "part": pa.float64()})
