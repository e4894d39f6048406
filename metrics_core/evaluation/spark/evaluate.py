"""`evaluate` for Spark DataFrames: values of users stay there, summaries are those of one machine."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.data.arguments import Columns, check_columns, open_table
from concord.metrics_core.data.id_matching import IdMatchContext, match_id_sets, unknown_users_error
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.policies import Policies, parse_policies
from concord.metrics_core.data.quality import SHOWN
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.side_data import no_rows_left_error, read_items, read_users
from concord.metrics_core.data.source import read_source
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.evaluation.partition import Task
from concord.metrics_core.evaluation.result import CONFIDENCE, Told
from concord.metrics_core.evaluation.side_data import (
    Catalogue,
    catalogue_of,
    refuse_missing,
    with_item_columns,
)
from concord.metrics_core.evaluation.spark.bucket import (
    USER,
    added,
    highest,
    merged,
    raise_refusals,
    totals_added,
    unmarked,
    value_columns,
)
from concord.metrics_core.evaluation.spark.buckets import (
    BucketResults,
    bucket_count,
    column,
    evaluate_buckets,
    exposures_of,
    numbered,
)
from concord.metrics_core.evaluation.spark.checked import CheckedPlan
from concord.metrics_core.evaluation.spark.frames import (
    SparkIds,
    SparkTable,
    arrow_schema,
    given,
    is_spark,
)
from concord.metrics_core.evaluation.summary import (
    Summary,
    counted_values,
    mean_of,
    summarise_catalogue,
    summary_of,
)
from concord.metrics_core.evaluation.warnings.ids import ground_truth_warnings
from concord.metrics_core.evaluation.warnings.users import few_lists
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.comparison_parts import Warned
from concord.metrics_core.stats.mean_interval import squared_deviations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEPT = "#known"


@dataclass(frozen=True, repr=False)
class SparkResult(Told):
    """What `evaluate` returns for Spark DataFrames: as `Result`, but `per_user` is a Spark DataFrame."""

    evaluated: BucketResults
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
                    found = squared_deviations(counted_values(values, undefined), mean)
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


MOST_ITEMS = 1 << 21  # of a catalogue, which the driver reads


def evaluate_frames(
    recs: Any,
    truth: Any,
    task: Task,
    *,
    users: Any = None,
    train: Any = None,
    items: Any = None,
    columns: Columns | None = None,
    policies: Mapping[str, Any] | None = None,
    buckets: int | None = None,
) -> SparkResult:
    """See `metrics_core.evaluate.evaluate`.

    buckets : into how many the users are cut; None: as many as their rows need

    Raises
    ------
    ValueError : as there, in the same words; a row is named by its file or partition
    """
    allowed, named = parse_policies(policies or {}), check_columns(columns or {})
    named_data = {"recs": recs, "truth": truth, "users": users, "train": train}
    opened = _Opened(task, allowed, named, buckets)
    for name, data in named_data.items():
        if data is not None:
            opened.add(name, data)
    if items is not None:
        opened.add_items(items)
    return opened.result()


@dataclass
class _Opened:
    """What was given, as far as it is understood."""

    task: Task
    policies: Policies
    named: Columns
    buckets: int | None
    sides: list[SparkTable] = field(default_factory=list)
    catalogue: Catalogue | None = None
    shelf: str | None = None

    def add(self, name: str, data: Any) -> None:
        try:
            frame = data if is_spark(data) else self._frame(name, data)
            table = table_of(name, frame, self.named)
            self.sides.append(given(table, frame, self.policies.rank_base))
            if name != "users" and not self.sides[-1].places.rows:
                self._refuse_empty(self.sides[-1])
        except InputError:
            self._refuse_before(name)
            raise

    def _frame(self, name: str, data: Any) -> "DataFrame":
        """Ids of users that are no Spark frame, as one."""
        if name != "users":
            what = f"is {type(data).__name__}, and other tables are Spark DataFrames"
            raise refuse(
                name, what, "give all tables as Spark DataFrames; items and users may be others"
            )
        with in_memory() as connection:
            read_users(connection, open_table(name, data, self.named))
            ids = connection.sql("SELECT DISTINCT user FROM source").to_arrow_table()
        called = self.named.get(name, {}).get("user") or "user"
        return self._session.createDataFrame(ids.rename_columns([called]))

    @property
    def _session(self) -> "SparkSession":
        return self.sides[0].rows.sparkSession

    def _refuse_empty(self, side: SparkTable) -> None:
        """Refuses a table without rows as its readers do."""
        kept = side.name == "recs" and self.policies.empty_lists == "keep"
        with in_memory() as connection:
            read_source(connection, side.table, may_be_empty=kept)

    def _refuse_before(self, name: str) -> None:
        """What is wrong with a table is told after what is wrong with the rows of those that are read before it."""
        before = [side for side in self.sides if side.name != name]
        if before:
            self._checked(before)

    def add_items(self, items: Any) -> None:
        try:
            if is_spark(items):
                if items.limit(MOST_ITEMS + 1).count() > MOST_ITEMS:
                    what = f"holds more than {MOST_ITEMS:,} items, which the driver and every worker would hold"
                    raise refuse("items", what, "give the items that lists and train may name")
                items = items.toArrow()
            table = open_table("items", items, self.named)
            with in_memory() as connection:
                self.catalogue = catalogue_of(read_items(connection, table)[0])
            self.shelf = table.name
        except InputError:
            self._checked(self.sides)
            raise

    def _plan(self, sides: Sequence[SparkTable], task: Task, *, scores: bool) -> CheckedPlan:
        ids = [side for side in sides if side.name != "train"]
        items = None if self.catalogue is None else self.catalogue.items
        return CheckedPlan(
            {side.name: side.reads for side in sides},
            task,
            scores=scores,
            as_text=any(side.is_text("user") for side in ids),
            tables={side.name: side.table for side in sides},
            policies=replace(self.policies, empty_lists="keep"),
            catalogue=None
            if items is None
            else pa.table({"item": items["item"].cast(pl.String).to_arrow()}),
        )

    def _run(self, plan: CheckedPlan, sides: Sequence[SparkTable]) -> BucketResults:
        rows = sum(side.places.rows for side in sides)
        return evaluate_buckets(plan, sides, self.buckets or bucket_count(rows))

    def _checked(self, sides: Sequence[SparkTable]) -> None:
        """Only read and checked."""
        found = self._run(self._plan(sides, self.task, scores=False), sides)
        try:
            self._refuse_wrong(found, sides)
        finally:
            found.rows.unpersist()

    def _refuse_wrong(self, found: BucketResults, sides: Sequence[SparkTable]) -> None:
        for side in sides:
            problems = [p for each in found.facts for p in each.problems.get(side.name, [])]
            if problems:
                told = merged(problems)
                raise InputError([unmarked(each, side.places.words) for each in told])
            rows = sum(each.rows.get(side.name, 0) for each in found.facts)
            if side.name != "users" and not rows:
                self._refuse_empty(side)
            if side.name == "truth" and rows and not added(found.facts)["truth_left"]:
                raise no_rows_left_error(side.table)

    def result(self) -> SparkResult:
        beyond = self.task.needs_items
        later = beyond or bool(self.task.numbers)  # once the catalogue is known to fit
        plan = self._plan(self.sides, self.task, scores=not later)
        found = self._run(plan, self.sides)
        try:
            self._refuse_wrong(found, self.sides)
            warnings = self._doubts(found)
            names = {side.name for side in self.sides}
            refuse_missing(self.task, has_train="train" in names, catalogue=self.catalogue)
            if later:
                task, numbers = (
                    with_item_columns(self.task, lambda: self.catalogue, lambda: None),
                    None,
                )
                if beyond:
                    shelf = self.catalogue
                    known = (None, None) if shelf is None else (shelf.features, shelf.groups)
                    items, numbers = numbered(found, plan.catalogue, *known)
                    task = replace(task, items=items)
                plan = replace(plan, task=task, scores=True, numbers=numbers)
                found.rows.unpersist()
                found = self._run(plan, self.sides)
            raise_refusals(found.facts)
            counts = added(found.facts)
            lacking = few_lists(counts["without_list"], counts["in_truth"], self.task.conventions)
            exposures: Mapping[str, Exposure] = exposures_of(found)
            return SparkResult(found, exposures, (*warnings, *lacking))
        except BaseException:  # nobody gets what Spark keeps
            found.rows.unpersist()
            raise

    def _doubts(self, found: BucketResults) -> tuple[Any, ...]:
        of = {side.name: side for side in self.sides}
        text = {
            column: any(
                of[name].is_text(column)
                for name in ("recs", "truth", "users")
                if name in of and column in of[name].kinds
            )
            for column in ("user", "item")
        }
        table = of["recs"].table
        met = IdMatchContext(
            table.name, table.columns, self.shelf, self.policies.unknown_items, table.settings
        )
        fit = match_id_sets(SparkIds(found, text), met)
        if "users" in of and not added(found.facts)["named"]:
            raise unknown_users_error()
        grades = sorted({grade for each in found.facts for grade in each.grades})
        few = grades if len(grades) <= SHOWN else []
        return tuple(ground_truth_warnings(highest(found.facts), few, fit, self.task))


def table_of(name: str, frame: "DataFrame", named: Columns) -> InputTable:
    """The frame's columns as a table without rows."""
    return open_table(name, pa.Table.from_batches([], arrow_schema(frame)), named)
