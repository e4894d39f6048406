"""`evaluate` for Spark DataFrames: values of users stay there, summaries are those of one machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.data.arguments import Columns, check_columns, open_table
from concord.metrics_core.data.id_matching import IdMatchContext, match_id_sets, unknown_users_error
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.policies import Policies, parse_policies
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.side_data import no_rows_left_error, read_items, read_users
from concord.metrics_core.data.source import read_source
from concord.metrics_core.errors import ArgumentNames, InputError, refuse
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.evaluate_model import (
    ModelData,
    ModelEvaluation,
    evaluate_model,
)
from concord.metrics_core.evaluation.grade_fit import err_grade_problems
from concord.metrics_core.evaluation.model_result import (
    ModelResult,
)
from concord.metrics_core.evaluation.partition import Task
from concord.metrics_core.evaluation.side_data import (
    Catalogue,
    catalogue_of,
    refuse_missing,
    with_item_columns,
)
from concord.metrics_core.evaluation.spark.bucket import (
    added,
    highest,
    merged,
    raise_refusals,
    unmarked,
)
from concord.metrics_core.evaluation.spark.buckets import (
    BucketResults,
    bucket_count,
    evaluate_buckets,
    exposures_of,
    numbered,
)
from concord.metrics_core.evaluation.spark.checked import CheckedPlan
from concord.metrics_core.evaluation.spark.data import SparkData, rewritten_ids, users_by_length
from concord.metrics_core.evaluation.spark.frames import (
    SparkIds,
    SparkTable,
    arrow_schema,
    given,
    is_spark,
)
from concord.metrics_core.evaluation.spark.values import SparkValues
from concord.metrics_core.evaluation.warnings.data import Lengths, none_relevant_warnings
from concord.metrics_core.evaluation.warnings.lists import evaluation_warnings
from concord.metrics_core.results.comparison_parts import Warned
from concord.metrics_core.results.evaluation import Evaluation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
) -> Evaluation:
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

    def result(self) -> Evaluation:
        beyond = self.task.needs_items
        later = beyond or bool(self.task.numbers)  # once the catalogue is known to fit
        plan = self._plan(self.sides, self.task, scores=not later)
        found = self._run(plan, self.sides)
        try:
            self._refuse_wrong(found, self.sides)
            fit = self._check_ids(found)
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
            values = SparkValues(found, exposures_of(found))
            evaluation = evaluate_model(self._no_data(), plan.task, values.execute, values, fit=fit)
            warnings = self._warnings(found, evaluation)
            return Evaluation(plan.task.conventions, warnings, values)
        except BaseException:  # nobody gets what Spark keeps
            found.rows.unpersist()
            raise

    def _no_data(self) -> ModelData:
        return ModelData("recs", pl.DataFrame(), pl.DataFrame(), lambda _: in_memory())

    def _warnings(self, found: BucketResults, evaluation: ModelEvaluation) -> tuple[Warned, ...]:
        facts, conventions = found.facts, self.task.conventions
        config = EvaluationConfig.of_one_model(self.task.labels, conventions)
        data = SparkData.of(found, None if self.catalogue is None else self.catalogue.items)
        lengths = Lengths.of(users_by_length(facts, "recs"))
        quality = {
            "order": facts[0].order,
            "has_scores": "score" in self.sides[0].kinds,
            "list_length": {
                "min": lengths.shortest,
                "median": lengths.median,
                "max": lengths.longest,
            },
            **rewritten_ids(facts, "recs"),
        }
        nothing = pl.DataFrame()
        result = ModelResult(nothing, nothing, nothing, evaluation.counts(), quality)
        none_relevant = none_relevant_warnings(config, data)
        return (*none_relevant, *evaluation_warnings(config, {"recs": result}, data))

    def _check_ids(self, found: BucketResults) -> dict[str, Any]:
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
        settings = ArgumentNames("truth")
        labels, conventions = self.task.labels, self.task.conventions
        grade = highest(found.facts)
        if problems := list(err_grade_problems(grade, labels, conventions, "truth", settings)):
            raise InputError(problems)
        return fit


def table_of(name: str, frame: "DataFrame", named: Columns) -> InputTable:
    """The frame's columns as a table without rows."""
    return open_table(name, pa.Table.from_batches([], arrow_schema(frame)), named)
