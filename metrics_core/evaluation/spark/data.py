"""Data that lists in Spark are evaluated on, as counts of all buckets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import polars as pl

from concord.metrics_core.data.quality import MAX_COUNTED_GRADES
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.tables import read_frame
from concord.metrics_core.evaluation.diagnostics import SHARED_ITEMS, TrainOverlap
from concord.metrics_core.evaluation.model_result import (
    EvaluationData,
    ModelResult,
)
from concord.metrics_core.evaluation.spark.buckets import (
    BucketResults,
)
from concord.metrics_core.evaluation.spark.facts import Facts, highest_grade, sum_counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
