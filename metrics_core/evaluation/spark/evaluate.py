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
    problems_of,
    raise_problems,
    refuse,
)
from concord.metrics_core.evaluation.accumulator import EvaluationAccumulator
from concord.metrics_core.evaluation.config import EvaluationConfig, err_grade_problems
from concord.metrics_core.evaluation.evaluate_block import Part
from concord.metrics_core.evaluation.failures import merge_problems, raise_failures
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.evaluation.side_data import (
    Catalogue,
    build_catalogue,
    missing_catalogue_error,
    refuse_missing,
    with_item_columns,
)
from concord.metrics_core.evaluation.spark.bucket import Plan
from concord.metrics_core.evaluation.spark.buckets import (
    MOST_ITEMS,
    BucketResults,
    SparkIds,
    bucket_count,
    evaluate_buckets,
    number_items,
)
from concord.metrics_core.evaluation.spark.facts import Facts, with_row_names
from concord.metrics_core.evaluation.spark.frames import (
    SparkTable,
    arrow_schema,
    column,
    is_spark,
    spark_table,
)
from concord.metrics_core.evaluation.spark.values import SparkData, SparkValues
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.evaluation.warnings.data import Lengths, none_relevant_warnings
from concord.metrics_core.evaluation.warnings.lists import evaluation_warnings
from concord.metrics_core.evaluation.warnings.sanity import list_sanity_warnings
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.results.evaluation import Evaluation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
) -> Evaluation:
    """Evaluate Spark DataFrames; see `metrics_core.evaluation.evaluate.evaluate`.

    Parameters
    ----------
    recs, truth, users, train, items, columns, policies
        As in `evaluate`.
    task : Task
        What is evaluated.

    Raises
    ------
    ValueError
        As `evaluate`; rows are named by their file or partition.
    """
    tables = {"recs": recs, "truth": truth, "users": users, "train": train}
    inputs = SparkInputs(task, parse_policies(policies or {}), check_columns(columns or {}))
    try:
        for name, data in tables.items():
            if data is not None:
                inputs.add(name, data)
        if items is not None:
            inputs.add_items(items)
    except InputError as error:
        if inputs.tables:
            raise InputError(inputs.problems(error.problems)) from None
        raise
    conventions = task.conventions.with_catalogue_size(inputs.count_items)
    inputs.task = replace(task, conventions=conventions)
    return inputs.evaluate()


@dataclass
class SparkInputs:
    """Tables that are added one after the other, and their evaluation."""

    task: Task
    policies: Policies
    columns: Columns
    tables: dict[str, SparkTable] = field(default_factory=dict)
    catalogue: Catalogue | None = None
    catalogue_name: str | None = None

    def add(self, name: str, data: Any) -> None:
        """Add lists, ground truth, users or train.

        Raises
        ------
        InputError
            If the table has not the columns that are needed.
        """
        frame = data if is_spark(data) else self._frame(name, data)
        table = table_of(name, frame, self.columns)
        self.tables[name] = spark_table(table, frame, self.policies.rank_base)

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
        session = self.tables["recs"].rows.sparkSession
        return session.createDataFrame(ids.rename_columns([user_column]))

    def add_items(self, items: Any) -> None:
        """Add the catalogue; raises as `add`."""
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

    def count_items(self, role: str) -> int:
        """Return the number of items of the table `items` or `train`."""
        if role == "items" and self.catalogue is not None:
            return len(self.catalogue.items)
        if role in self.tables:
            table = self.tables[role]
            return table.rows.select(column(table.table.original_name("item"))).distinct().count()
        raise missing_catalogue_error(role)

    def problems(self, others: Sequence[Problem]) -> Sequence[Problem]:
        """Return the problems of the lists, and of the first other table that has some.

        `others` are those of a table that was not added.
        """
        results = self._run(self._plan(scores=False))
        try:
            return self._first_problems(results.facts, others)
        finally:
            results.rows.unpersist()

    def _first_problems(self, facts: Facts, others: Sequence[Problem] = ()) -> Sequence[Problem]:
        lists, *of_tables = (self._problems(facts, name) for name in self.tables)
        return [*lists, *next(filter(None, [*of_tables, others]), ())]

    def _problems(self, facts: Facts, name: str) -> Sequence[Problem]:
        table = self.tables[name]
        if problems := facts.problems.get(name):
            return [with_row_names(each, table.row_name) for each in merge_problems(problems)]
        if facts.problems or name == "users":  # other rows are counted only if no bucket has any
            return ()
        if not facts.counts.get(f"rows of {name}"):
            may_be_empty = name == "recs" and self.policies.empty_lists == "keep"
            with in_memory() as connection:
                return problems_of(
                    lambda: read_source(connection, table.table, may_be_empty=may_be_empty)
                )
        if name == "truth" and not facts.counts["truth_left"]:
            return no_rows_left_error(table.table).problems
        return ()

    def _plan(self, *, scores: bool) -> Plan:
        tables, catalogue = self.tables, self.catalogue
        return Plan(
            {name: table.table for name, table in tables.items()},
            self.task,
            replace(self.policies, empty_lists="keep"),
            as_text=self._is_text("user"),
            catalogue=None
            if catalogue is None
            else pa.table({"item": catalogue.items["item"].cast(pl.String).to_arrow()}),
            scores=scores,
        )

    def _is_text(self, column_name: str) -> bool:
        """True if ids of a column are compared as text."""
        tables = [table for name, table in self.tables.items() if name != "train"]
        return any(table.kinds.get(column_name) == "text" for table in tables)

    def _run(self, plan: Plan) -> BucketResults:
        rows = sum(table.n_rows for table in self.tables.values())
        return evaluate_buckets(plan, [*self.tables.values()], bucket_count(rows))

    def evaluate(self) -> Evaluation:
        """Return the evaluation of the tables."""
        is_second_pass = self.task.needs_items or bool(self.task.numbers)  # after ids are matched
        plan = self._plan(scores=not is_second_pass)
        results = self._run(plan)
        try:
            raise_problems(self._first_problems(results.facts))
            id_match = self._check_ids(results)
            refuse_missing(self.task, has_train="train" in self.tables, catalogue=self.catalogue)
            if is_second_pass:
                task = with_item_columns(self.task, lambda: self.catalogue, lambda: None)
                plan = replace(plan, task=task, scores=True)
                if task.needs_items:
                    items = number_items(results, self.catalogue)
                    plan = replace(plan, task=replace(task, items=items))
                results.rows.unpersist()
                results = self._run(plan)
            raise_failures(results.facts.failures)
            warnings = self._warnings(results, id_match)
            return Evaluation(self.task.conventions, warnings, SparkValues(results))
        except BaseException:  # releases the rows that Spark keeps
            results.rows.unpersist()
            raise

    def _warnings(
        self, results: BucketResults, id_match: Mapping[str, Any]
    ) -> tuple[DataWarning, ...]:
        facts, conventions = results.facts, self.task.conventions
        config = EvaluationConfig.of_one_model(self.task.labels, conventions)
        data = SparkData.from_results(
            results, None if self.catalogue is None else self.catalogue.items
        )
        accumulator = EvaluationAccumulator(results.plan.task)
        accumulator.add(Part(pl.DataFrame(), {}, facts.counts, facts.lists))
        lengths = Lengths.from_counts(facts.users_by_length("lists"))
        quality = {
            "users": facts.counts["users_listed"],
            "duplicates": {
                "rows": facts.counts["copied_rows"],
                "users": facts.counts["copied_users"],
            },
            "order": facts.first["order"],
            "has_scores": "score" in self.tables["recs"].kinds,
            "list_length": {
                "min": lengths.shortest,
                "median": lengths.median,
                "max": lengths.longest,
            },
            **facts.rewritten_ids("recs"),
        }
        summary = {**accumulator.counts_content(), "id_match": id_match}
        no_rows, listed = pl.DataFrame(), results.items.filter(pl.col("listed"))
        result = ModelResult(no_rows, no_rows, listed.select(item="id"), summary, quality)
        overlap = data.train_overlap(of_requests=config.of_requests)
        return (
            *none_relevant_warnings(config, data),
            *list_sanity_warnings(config, {"recs": result}, data, None, overlap),
            *evaluation_warnings(config, {"recs": result}, data, overlap),
        )

    def _check_ids(self, results: BucketResults) -> dict[str, Any]:
        context = IdMatchContext(
            self.tables["recs"].table, self.catalogue_name, self.policies.unknown_items
        )
        kind = pl.String if self._is_text("item") else pl.Int64
        listed, known = (
            results.items.filter(pl.col(side)).select(item=pl.col("id").cast(kind))
            for side in ("listed", "known")
        )
        with in_memory() as connection:
            id_match = match_id_sets(SparkIds(connection, listed, known, results), context)
        if "users" in self.tables and not results.facts.counts["named"]:
            raise unknown_users_error()
        grade, settings = results.facts.highest, argument_names("truth")
        labels, conventions = self.task.labels, self.task.conventions
        raise_problems(err_grade_problems(grade, labels, conventions, "truth", settings))
        return id_match


def table_of(name: str, frame: "DataFrame", columns: Columns) -> InputTable:
    """Return the columns of a frame as a table without rows."""
    return open_table(name, pa.Table.from_batches([], arrow_schema(frame)), columns)
