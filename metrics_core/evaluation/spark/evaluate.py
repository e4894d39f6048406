"""`evaluate` for Spark DataFrames: values per user stay in Spark, summaries do not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.data.argument_types import TableColumns
from concord.metrics_core.data.arguments import Columns, check_columns, names_in_table, open_table
from concord.metrics_core.data.feature_tables import read_items
from concord.metrics_core.data.id_matching import IdMatchContext, match_id_sets, unknown_users_error
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.policies import Policies, parse_policies
from concord.metrics_core.data.read_source import read_source
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.side_data import no_rows_left_error, read_users
from concord.metrics_core.errors import (
    InputError,
    Problem,
    argument_names,
    raise_problems,
    refuse,
)
from concord.metrics_core.evaluation.config import EvaluationConfig, err_grade_problems
from concord.metrics_core.evaluation.evaluate_model import evaluate_model
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.evaluation.partition import Task
from concord.metrics_core.evaluation.side_data import (
    Catalogue,
    build_catalogue,
    missing_catalogue_error,
    refuse_missing,
    with_item_columns,
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
from concord.metrics_core.evaluation.spark.facts import (
    highest_grade,
    merge_problems,
    raise_refusals,
    sum_counts,
    with_row_names,
)
from concord.metrics_core.evaluation.spark.frames import (
    SparkIds,
    SparkTable,
    arrow_schema,
    is_spark,
    spark_table,
)
from concord.metrics_core.evaluation.spark.values import (
    SparkData,
    SparkValues,
    rewritten_ids,
    users_by_length,
)
from concord.metrics_core.evaluation.warnings.data import Lengths, none_relevant_warnings
from concord.metrics_core.evaluation.warnings.lists import evaluation_warnings
from concord.metrics_core.evaluation.warnings.sanity import list_sanity_warnings
from concord.metrics_core.results.comparison_parts import DataWarning
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
    columns: TableColumns | None = None,
    policies: Mapping[str, Any] | None = None,
    buckets: int | None = None,
) -> Evaluation:
    """Evaluate Spark DataFrames; see `metrics_core.evaluation.evaluate.evaluate`.

    Parameters
    ----------
    recs, truth, users, train, items, columns, policies
        As in `evaluate`.
    task : Task
        What is evaluated.
    buckets : int, optional
        Number of buckets of users; by default as many as their rows need.

    Raises
    ------
    ValueError
        As `evaluate`; rows are named by their file or partition.
    """
    allowed, column_names = parse_policies(policies or {}), check_columns(columns or {})
    named_data = {"recs": recs, "truth": truth, "users": users, "train": train}
    inputs = SparkInputs(task, allowed, column_names, buckets)
    for name, data in named_data.items():
        if data is not None:
            inputs.add(name, data)
    if items is not None:
        inputs.add_items(items)
    conventions = task.conventions.with_catalogue_size(inputs.count_items)
    inputs.task = replace(task, conventions=conventions)
    return inputs.result()


@dataclass
class SparkInputs:
    """Tables that are added one after the other, and their evaluation."""

    task: Task
    policies: Policies
    columns: Columns
    buckets: int | None
    sides: list[SparkTable] = field(default_factory=list)
    catalogue: Catalogue | None = None
    catalogue_name: str | None = None

    def add(self, name: str, data: Any) -> None:
        """Add lists, ground truth, users or train.

        Raises
        ------
        InputError
            If the table, or one that was added before it, is invalid.
        """
        try:
            frame = data if is_spark(data) else self._frame(name, data)
            table = table_of(name, frame, self.columns)
            self.sides.append(spark_table(table, frame, self.policies.rank_base))
            if name != "users" and not self.sides[-1].origins.rows:
                self._refuse_empty(self.sides[-1])
        except InputError as error:
            self._refuse_before(name, error)
            raise

    def _frame(self, name: str, data: Any) -> "DataFrame":
        """Return ids of users from other tables as a Spark frame."""
        if name != "users":
            problem = f"is {type(data).__name__}, and other tables are Spark DataFrames"
            raise refuse(
                name, problem, "give all tables as Spark DataFrames; items and users may be others"
            )
        with in_memory() as connection:
            read_users(connection, open_table(name, data, self.columns))
            ids = connection.sql("SELECT DISTINCT user FROM source").to_arrow_table()
        user_column = names_in_table(name, self.columns).get("user") or "user"
        return self._session.createDataFrame(ids.rename_columns([user_column]))

    @property
    def _session(self) -> "SparkSession":
        return self.sides[0].rows.sparkSession

    def _refuse_empty(self, side: SparkTable) -> None:
        """Raise the readers' error if a table has no rows."""
        may_be_empty = side.name == "recs" and self.policies.empty_lists == "keep"
        with in_memory() as connection:
            read_source(connection, side.table, may_be_empty=may_be_empty)

    def _refuse_before(self, name: str, error: InputError) -> None:
        """Raise the problems of earlier tables; those of the lists come with the table's own."""
        if before := [side for side in self.sides if side.name != name]:
            try:
                self._validate(before)
            except InputError as earlier:
                of_lists = all(each.where.startswith("recs") for each in earlier.problems)
                own = error.problems if of_lists else ()
                raise InputError([*earlier.problems, *own]) from None

    def add_items(self, items: Any) -> None:
        """Add the catalogue; raises as `add`."""
        try:
            if is_spark(items):
                if items.limit(MOST_ITEMS + 1).count() > MOST_ITEMS:
                    problem = (
                        f"holds more than {MOST_ITEMS:,} items, "
                        "which the driver and every worker would hold"
                    )
                    raise refuse("items", problem, "give the items that lists and train may name")
                items = items.toArrow()
            table = open_table("items", items, self.columns)
            with in_memory() as connection:
                self.catalogue = build_catalogue(read_items(connection, table)[0])
            self.catalogue_name = table.name
        except InputError:
            self._validate(self.sides)
            raise

    def count_items(self, role: str) -> int:
        """Return the number of items of the table `items` or `train`."""
        if role == "items" and self.catalogue is not None:
            return len(self.catalogue.items)
        for side in self.sides:
            if side.name == role:
                item = column(side.table.original_name("item"))
                return side.rows.select(item).distinct().count()
        raise missing_catalogue_error(role)

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
        rows = sum(side.origins.rows for side in sides)
        return evaluate_buckets(plan, sides, self.buckets or bucket_count(rows))

    def _validate(self, sides: Sequence[SparkTable]) -> None:
        """Read and validate the tables without evaluating them."""
        results = self._run(self._plan(sides, self.task, scores=False), sides)
        try:
            self._raise_problems(results, sides)
        finally:
            results.rows.unpersist()

    def _raise_problems(self, results: BucketResults, sides: Sequence[SparkTable]) -> None:
        """Raise the problems of the lists and of the first other table that has some.

        Other rows are counted only if those of the lists are valid.
        """
        lists, *others = (self._problems(results, side) for side in sides)
        raise_problems([*lists, *next(filter(None, others), ())])
        for side in sides:
            rows = sum(each.rows.get(side.name, 0) for each in results.facts)
            if side.name != "users" and not rows:
                self._refuse_empty(side)
            if side.name == "truth" and not sum_counts(results.facts)["truth_left"]:
                raise no_rows_left_error(side.table)

    def _problems(self, results: BucketResults, side: SparkTable) -> Sequence[Problem]:
        problems = [p for each in results.facts for p in each.problems.get(side.name, [])]
        return [with_row_names(each, side.origins.words) for each in merge_problems(problems)]

    def result(self) -> Evaluation:
        """Return the evaluation of the tables."""
        needs_items = self.task.needs_items
        is_second_pass = needs_items or bool(self.task.numbers)  # after ids are matched
        plan = self._plan(self.sides, self.task, scores=not is_second_pass)
        results = self._run(plan, self.sides)
        try:
            self._raise_problems(results, self.sides)
            id_match = self._check_ids(results)
            names = {side.name for side in self.sides}
            refuse_missing(self.task, has_train="train" in names, catalogue=self.catalogue)
            if is_second_pass:
                task = with_item_columns(self.task, lambda: self.catalogue, lambda: None)
                if needs_items:
                    catalogue = self.catalogue
                    features = None if catalogue is None else catalogue.features
                    groups = None if catalogue is None else catalogue.groups
                    items = numbered(results, plan.catalogue, features, groups)
                    task = replace(task, items=items)
                plan = replace(plan, task=task, scores=True)
                results.rows.unpersist()
                results = self._run(plan, self.sides)
            raise_refusals(results.facts)
            values = SparkValues(results, exposures_of(results))
            no_data = EvaluationData(truth=pl.DataFrame(), connect=lambda _: in_memory())
            accumulator = evaluate_model(pl.DataFrame(), no_data, plan.task, values.execute, values)
            counts = {**accumulator.counts_content(), "id_match": id_match}
            warnings = self._warnings(results, counts)
            return Evaluation(plan.task.conventions, warnings, values)
        except BaseException:  # releases the rows that Spark keeps
            results.rows.unpersist()
            raise

    def _warnings(
        self, results: BucketResults, summary: Mapping[str, Any]
    ) -> tuple[DataWarning, ...]:
        facts, conventions = results.facts, self.task.conventions
        config = EvaluationConfig.of_one_model(self.task.labels, conventions)
        data = SparkData.from_results(
            results, None if self.catalogue is None else self.catalogue.items
        )
        lengths = Lengths.from_counts(users_by_length(facts, "recs"))
        counts = sum_counts(facts)
        quality = {
            "users": counts["users_listed"],
            "duplicates": {"rows": counts["copied_rows"], "users": counts["copied_users"]},
            "order": facts[0].order,
            "has_scores": "score" in self.sides[0].kinds,
            "list_length": {
                "min": lengths.shortest,
                "median": lengths.median,
                "max": lengths.longest,
            },
            **rewritten_ids(facts, "recs"),
        }
        no_rows = pl.DataFrame()
        result = ModelResult(no_rows, no_rows, no_rows, summary, quality)
        overlap = data.train_overlap(of_requests=config.of_requests)
        return (
            *none_relevant_warnings(config, data),
            *list_sanity_warnings(config, {"recs": result}, data, None, overlap),
            *evaluation_warnings(config, {"recs": result}, data, overlap),
        )

    def _check_ids(self, results: BucketResults) -> dict[str, Any]:
        tables = {side.name: side for side in self.sides}
        text = {
            column: any(
                tables[name].is_text(column)
                for name in ("recs", "truth", "users")
                if name in tables and column in tables[name].kinds
            )
            for column in ("user", "item")
        }
        match_context = IdMatchContext(
            tables["recs"].table, self.catalogue_name, self.policies.unknown_items
        )
        id_match = match_id_sets(SparkIds(results, text), match_context)
        if "users" in tables and not sum_counts(results.facts)["named"]:
            raise unknown_users_error()
        settings = argument_names("truth")
        labels, conventions = self.task.labels, self.task.conventions
        grade = highest_grade(results.facts)
        raise_problems(err_grade_problems(grade, labels, conventions, "truth", settings))
        return id_match


def table_of(name: str, frame: "DataFrame", columns: Columns) -> InputTable:
    """Return the columns of a frame as a table without rows."""
    return open_table(name, pa.Table.from_batches([], arrow_schema(frame)), columns)
