"""Spark gives the bits of one machine, whatever the buckets, the partitions, the order of the rows and the types of ids."""

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import concord as cc
from tests.spark.tables import (
    ACCURACY,
    BEYOND,
    assert_same,
    frame,
    on_one_machine,
    on_spark,
    tables,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.whole,
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.mark.parametrize("buckets", [1, 3, pytest.param(17, marks=pytest.mark.nightly)])
def test_any_number_of_buckets_gives_the_same_bits(spark: "SparkSession", buckets: int) -> None:
    given = tables()
    how = ACCURACY, cc.preset("standard")

    found = on_spark(frame(spark, given.recs), frame(spark, given.truth), *how, buckets=buckets)

    assert_same(found, on_one_machine(given.recs, given.truth, *how))


def test_shuffled_rows_and_partitions_leave_no_trace(spark: "SparkSession") -> None:
    given = tables()
    how = ACCURACY, cc.preset("standard")
    recs, truth = [
        frame(spark, t.sample(fraction=1.0, shuffle=True, seed=3)).repartition(5)
        for t in (given.recs, given.truth)
    ]

    assert_same(on_spark(recs, truth, *how), on_one_machine(given.recs, given.truth, *how))


@pytest.mark.parametrize(("lists", "judged"), [(True, True), (True, False)])
def test_ids_of_any_type_meet(spark: "SparkSession", lists: bool, judged: bool) -> None:
    recs, truth = tables(text=lists).recs, tables(text=judged).truth
    how = ACCURACY, cc.preset("standard")

    assert_same(
        on_spark(frame(spark, recs), frame(spark, truth), *how), on_one_machine(recs, truth, *how)
    )


def test_ids_that_a_float_wrote_meet(spark: "SparkSession") -> None:
    given = tables()
    recs = given.recs.with_columns(pl.col("user").cast(pl.Float64))
    truth = given.truth.with_columns(pl.col("user").cast(pl.Float64).cast(pl.String))
    how = ACCURACY, cc.preset("standard")

    assert_same(
        on_spark(frame(spark, recs), frame(spark, truth), *how), on_one_machine(recs, truth, *how)
    )


@pytest.mark.parametrize(
    "knobs",
    [
        pytest.param({"ties": "item_desc", "duplicates": "first"}, marks=pytest.mark.nightly),
        pytest.param({"ties": "input", "duplicates": "drop"}, marks=pytest.mark.nightly),
        {"ties": "average", "duplicates": "drop", "overrides": {"Kendall": {"ties": "item_asc"}, "ERR": {"ties": "item_asc"}, "RR": {"ties": "item_asc"}, "AP": {"ties": "item_asc"}, "RBP": {"ties": "item_asc"}}},
        pytest.param({"duplicates": "keep", "precision_aggregate": "micro", "undefined": "zero"}, marks=pytest.mark.nightly),
        {"duplicates": "keep", "user_no_recs": "drop", "user_empty_truth": "one", "relevance_threshold": 3},
    ],
)  # fmt: skip
def test_ties_copies_and_policies(spark: "SparkSession", knobs: dict[str, Any]) -> None:
    given = tables(copies=True)
    how = ACCURACY, cc.preset("standard", **knobs)
    recs, truth = (frame(spark, t).coalesce(1) for t in (given.recs, given.truth))

    assert_same(
        on_spark(recs, truth, *how, buckets=4), on_one_machine(given.recs, given.truth, *how)
    )


def test_metrics_beyond_accuracy_with_train_and_items(spark: "SparkSession") -> None:
    given = tables()
    how = [*ACCURACY, *BEYOND], cc.preset("standard")
    held: Any = {"train": frame(spark, given.train), "items": frame(spark, given.items)}

    found = on_spark(frame(spark, given.recs), frame(spark, given.truth), *how, buckets=5, **held)

    expected = on_one_machine(given.recs, given.truth, *how, train=given.train, items=given.items)
    assert_same(found, expected)


def test_users_who_are_named(spark: "SparkSession") -> None:
    given = tables()
    how = ACCURACY, cc.preset("standard")
    users = [3, 5, 7, 125, 4000]

    found = on_spark(frame(spark, given.recs), frame(spark, given.truth), *how, users=users)

    assert_same(found, on_one_machine(given.recs, given.truth, *how, users=users))


def test_lists_within_rows_and_columns_of_other_names(spark: "SparkSession") -> None:
    given = tables()
    lists = (
        given.recs.sort("user", "score")
        .group_by("user", maintain_order=True)
        .agg("item")
        .rename({"user": "u id", "item": "items"})
    )
    how = ACCURACY, cc.preset("standard")
    named = {"recs": {"user": "u id"}}

    found = on_spark(frame(spark, lists), frame(spark, given.truth), *how, columns=named)

    assert_same(found, on_one_machine(lists, given.truth, *how, columns=named))


def test_the_library_takes_spark_frames(spark: "SparkSession") -> None:
    given = tables()
    how: dict[str, Any] = {
        "metrics": ["nDCG@10"],
        "conventions": "standard",
        "input": {"negative_grade": "zero"},
    }

    found = cc.evaluate(frame(spark, given.recs), frame(spark, given.truth), **how)

    assert found["nDCG@10"] == cc.evaluate(given.recs, given.truth, **how)["nDCG@10"]
