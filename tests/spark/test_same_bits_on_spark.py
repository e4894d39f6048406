"""Spark gives the bits of one machine for all buckets, partitions, row orders and types of ids."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.evaluation.spark.buckets import partition_keys
from tests.spark.tables import (
    ACCURACY,
    BEYOND_ACCURACY,
    SPARK_MARKS,
    assert_same,
    frame,
    on_one_machine,
    on_spark,
    tables,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = SPARK_MARKS


TABLES, COPIES = tables(), tables(copies=True)
EXCLUDED = TABLES.recs.select("user", "item").gather_every(3)
STANDARD = cc.preset("standard")
AS_FLOATS = (
    TABLES.recs.with_columns(pl.col("user").cast(pl.Float64)),
    TABLES.truth.with_columns(pl.col("user").cast(pl.Float64).cast(pl.String)),
)
NESTED = TABLES.recs.group_by("user", maintain_order=True).agg(items="item", scores="score")
STRUCTS = TABLES.recs.select("user", list=pl.struct("item", "score"))
STRUCTS = STRUCTS.group_by("user", maintain_order=True).agg(pl.all())
OWN_IDS = TABLES.recs.select("user", pl.col("user").alias("item"), score=9.0).unique()
OWN_IDS = pl.concat([TABLES.recs.with_columns(pl.col("item") + 200), OWN_IDS])


@pytest.mark.parametrize(
    ("recs", "truth", "options"),
    [
        pytest.param(TABLES.recs, TABLES.truth, {"buckets": 1}, id="1 bucket"),
        pytest.param(TABLES.recs, TABLES.truth, {"buckets": 3}, id="3 buckets"),
        pytest.param(
            TABLES.recs, TABLES.truth, {"buckets": 17}, marks=pytest.mark.nightly, id="17 buckets"
        ),
        pytest.param(tables(text=True).recs, tables(text=True).truth, {}, id="text as ids"),
        pytest.param(tables(text=True).recs, TABLES.truth, {}, id="text and integers as ids"),
        pytest.param(*AS_FLOATS, {}, id="floats as ids"),
        pytest.param(TABLES.recs, TABLES.truth, {"only_users": [3, 125, 4000]}, id="named users"),
        pytest.param(
            NESTED.rename({"user": "u id"}),
            TABLES.truth,
            {"columns": {"recs": {"user": "u id"}}},
            id="nested lists",
        ),
        pytest.param(OWN_IDS, TABLES.truth, {}, id="users list their own ids"),
        pytest.param(
            TABLES.recs.with_columns(score=0.5), TABLES.truth, {"buckets": 3}, id="constant scores"
        ),
        pytest.param(STRUCTS, TABLES.truth, {}, id="lists of structs", marks=pytest.mark.nightly),
    ],
)  # fmt: skip
def test_spark_gives_the_bits_of_one_machine(
    spark: "SparkSession", recs: pl.DataFrame, truth: pl.DataFrame, options: dict[str, Any]
) -> None:
    result = on_spark(frame(spark, recs), frame(spark, truth), ACCURACY, STANDARD, **options)

    options.pop("buckets", None)
    assert_same(result, on_one_machine(recs, truth, ACCURACY, STANDARD, **options))


def test_shuffled_rows_and_partitions_leave_no_trace(spark: "SparkSession") -> None:
    recs, truth = (
        frame(spark, table.sample(fraction=1.0, shuffle=True, seed=3)).repartition(5)
        for table in (TABLES.recs, TABLES.truth)
    )

    result = on_spark(recs, truth, ACCURACY, STANDARD)

    assert_same(result, on_one_machine(TABLES.recs, TABLES.truth, ACCURACY, STANDARD))


def test_hundreds_of_empty_partitions_are_few_tasks(spark: "SparkSession") -> None:
    """The session shuffles into two partitions."""
    recs, truth = (
        frame(spark, each).repartition(300, "user") for each in (TABLES.recs, TABLES.truth)
    )
    spark.sparkContext.setJobGroup("empty partitions", "")

    result = on_spark(recs, truth, ACCURACY, STANDARD)

    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("empty partitions")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    assert max(stage.numTasks for stage in stages if stage) <= 4
    assert_same(result, on_one_machine(TABLES.recs, TABLES.truth, ACCURACY, STANDARD))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"ties": "item_desc", "duplicates": "first"}, marks=pytest.mark.nightly),
        pytest.param({"ties": "input", "duplicates": "drop"}, marks=pytest.mark.nightly),
        {
            "ties": "average",
            "duplicates": "drop",
            "overrides": {
                name: {"ties": "item_asc"} for name in ("Kendall", "ERR", "RR", "AP", "RBP")
            },
        },
        pytest.param(
            {"duplicates": "keep", "precision_aggregate": "micro", "undefined": "zero"},
            marks=pytest.mark.nightly,
        ),
        {
            "duplicates": "keep",
            "user_no_recs": "drop",
            "user_empty_truth": "one",
            "relevance_threshold": 3,
            "exclude": cc.data.excluded_pairs(EXCLUDED),
        },
    ],
)  # fmt: skip
def test_ties_copies_and_policies(spark: "SparkSession", options: dict[str, Any]) -> None:
    conventions = cc.preset("standard", **options)
    recs, truth = (frame(spark, table).coalesce(1) for table in (COPIES.recs, COPIES.truth))

    result = on_spark(recs, truth, ACCURACY, conventions, buckets=4)

    assert_same(result, on_one_machine(COPIES.recs, COPIES.truth, ACCURACY, conventions))


@pytest.mark.parametrize("text", [False, True])
def test_items_that_match_nothing_have_the_same_example(spark: "SparkSession", text: bool) -> None:
    data = tables(text=text)
    item = pl.col("item")
    truth = data.truth.with_columns(item + "#" if text else item + 1_000_000)
    lists, relevant = frame(spark, data.recs), frame(spark, truth)

    result = on_spark(lists, relevant, ACCURACY, STANDARD)

    assert "no_common_item" in {each.code for each in result.warnings}
    assert_same(result, on_one_machine(data.recs, truth, ACCURACY, STANDARD))


def test_metrics_beyond_accuracy_with_train_and_items(spark: "SparkSession") -> None:
    recs, truth, train, items = (
        frame(spark, table) for table in (TABLES.recs, TABLES.truth, TABLES.train, TABLES.items)
    )
    metrics = [*ACCURACY, *BEYOND_ACCURACY]

    result = on_spark(recs, truth, metrics, STANDARD, buckets=5, train=train, items=items)

    background = {"train": TABLES.train, "items": TABLES.items}
    assert_same(result, on_one_machine(TABLES.recs, TABLES.truth, metrics, STANDARD, **background))


def test_ids_of_another_system(spark: "SparkSession") -> None:
    text = pl.col("item").cast(pl.String)
    tables: dict[str, Any] = {"recs": TABLES.recs.with_columns(item="sku-" + text)}
    tables |= {role: getattr(TABLES, role).with_columns(text) for role in ("truth", "train")}

    frames: dict[str, Any] = {name: frame(spark, table) for name, table in tables.items()}
    result = cc.evaluate(**frames, metrics=["R@5"])

    assert "foreign_ids" in {each.code for each in result.warnings}
    assert_same(result, cc.evaluate(**tables, metrics=["R@5"]))


METRICS = ["nDCG@3", "AP@2", "P@3", "RR"]
USERS, ITEMS = st.integers(0, 5), st.integers(0, 4)
ROWS = st.lists(
    st.tuples(USERS, ITEMS, st.sampled_from([0.0, 0.5, 1.0, math.nan, -0.0])),
    min_size=1,
    max_size=14,
)
JUDGED = st.lists(
    st.tuples(USERS, ITEMS, st.sampled_from([0.0, 1.0, 2.0, -1.0])), min_size=1, max_size=10
)
OPTIONS = st.fixed_dictionaries(
    {
        "ties": st.sampled_from(["item_asc", "item_desc", "input"]),
        "duplicates": st.sampled_from(["keep", "first", "drop", "error"]),
        "user_recs_only": st.sampled_from(["drop", "zero", "error"]),
        "undefined": st.sampled_from(["skip", "zero"]),
    }
)  # fmt: skip
POLICIES = st.fixed_dictionaries(
    {
        "nan_score": st.sampled_from(["error", "last"]),
        "negative_grade": st.sampled_from(["error", "zero", "unjudged", "pooled"]),
        "repeated_grade": st.sampled_from(["error", "first", "highest"]),
    }
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.tuples(ROWS, JUDGED),
    requested=st.tuples(OPTIONS, POLICIES),
    buckets=st.integers(1, 3),
)
def test_values_or_refusals(spark: "SparkSession", rows: Any, requested: Any, buckets: int) -> None:
    recs, truth = (
        pl.DataFrame(values, schema=["user", "item", value], orient="row")
        for values, value in zip(rows, ("score", "grade"), strict=True)
    )
    options, policies = requested
    how = METRICS, cc.preset("standard", **options)
    lists, judged = (frame(spark, table).coalesce(1) for table in (recs, truth))

    expected = _result_or_message(lambda: on_one_machine(recs, truth, *how, policies=policies))
    result = _result_or_message(
        lambda: on_spark(lists, judged, *how, policies=policies, buckets=buckets)
    )

    if isinstance(expected, str):
        assert result == expected
    else:
        assert_same(result, expected)


def _result_or_message(evaluate: Callable[[], Any]) -> Any:
    """Return the result, or the error's text."""
    try:
        return evaluate()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("role", ["items", "train"])
def test_the_catalogue_is_counted_in_a_table(
    spark: "SparkSession", role: Literal["items", "train"]
) -> None:
    truth = TABLES.recs.unique("user", maintain_order=True).select("user", "item")
    tables_read: dict[str, Any] = {
        "recs": TABLES.recs,
        "truth": truth,
        role: getattr(TABLES, role),
    }
    arguments: dict[str, Any] = {
        "metrics": ["R@5"],
        "conventions": cc.preset(
            "standard", candidates={"negatives": 11, "catalogue": role, "sampling": "uniform"}
        ),
    }

    frames: dict[str, Any] = {name: frame(spark, table) for name, table in tables_read.items()}
    evaluation = cc.evaluate(**frames, **arguments)

    expected = cc.evaluate(**tables_read, **arguments)
    assert_same(evaluation, expected)
    assert evaluation.conventions == expected.conventions


@pytest.mark.parametrize("buckets", [1, 14])
def test_no_two_buckets_meet_in_a_task(spark: "SparkSession", buckets: int) -> None:
    from pyspark.sql import functions as sf

    keys = partition_keys(spark, buckets)
    rows = spark.createDataFrame([(key,) for key in keys], "bucket int")

    placed = rows.repartition(buckets, "bucket").select("bucket", sf.spark_partition_id())

    assert sorted(map(tuple, placed.collect())) == sorted(zip(keys, range(buckets), strict=True))
