"""Spark refuses the same inputs in the same words, and names the file or partition and the row."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import concord as cc
from tests.inputs.bad_arguments import LISTS, TRUTH
from tests.inputs.bad_inputs import BAD_INPUTS
from tests.inputs.inputs import BadInput
from tests.spark.tables import SPARK_MARKS, Tables, frame, on_one_machine, on_spark, tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = SPARK_MARKS

METRICS = ["nDCG@10", "P@5"]
TABLES = tables()
SAMPLED = (
    "score_is_missing",
    "space_before_id",
    "rank_has_fraction",
    "gap_between_ranks",
    "ranks_from_0",
    "ties_where_they_are_refused",
    "neither_rank_nor_score",
    "column_missing",
    "grade_is_-1",
    "grade_is_inf",
)
SAMPLE = [bad for bad in BAD_INPUTS if bad.id in SAMPLED]


def _set(table: pl.DataFrame, rows: list[int], **values: Any) -> pl.DataFrame:
    number = pl.int_range(pl.len())
    return table.with_columns(
        pl.when(number.is_in(rows)).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
        for name, value in values.items()
    )


def _ranked(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user")).drop("score")


Case = tuple[Callable[[Tables], tuple[pl.DataFrame, pl.DataFrame]], dict[str, Any]]
NAN = float("nan")
CASES: dict[str, Case] = {
    "several problems": (
        lambda t: (_set(_set(t.recs, [500, 800], item=None), [20], score=NAN), t.truth),
        {},
    ),
    "items stand twice": (lambda t: (_set(t.recs, [24, 25, 240, 241], item=7), t.truth), {}),
    "ranks repeat": (lambda t: (_set(_ranked(t.recs), [601, 1117], rank=1), t.truth), {}),
    "the truth lacks a column, the lists are wrong": (
        lambda t: (_set(t.recs, [9], score=NAN), t.truth.drop("item")),
        {},
    ),
    "judged twice": (lambda t: (t.recs, _set(t.truth, [50, 51, 52, 400, 401], item=3)), {}),
    "no common user": (lambda t: (t.recs, t.truth.with_columns(pl.col("user") + 10_000)), {}),
    "ids in another Unicode form": (
        lambda t: (
            t.recs.with_columns(user=pl.format("u\u0308{}", "user")),
            t.truth.with_columns(user=pl.format("\u00fc{}", "user")),
        ),
        {},
    ),
    "users without a list are refused": (lambda t: (t.recs, t.truth), {"user_no_recs": "error"}),
    "users of the lists alone are refused": (
        lambda t: (t.recs, t.truth),
        {"user_recs_only": "error"},
    ),
    "grades above the gain": (
        lambda t: (t.recs, _set(t.truth, [77, 80], grade=31.0)),
        {"gain": "exp2"},
    ),
    "a gain map without grades": (lambda t: (t.recs, t.truth), {"gain": {"map": {1: 1.0, 2: 3.0}}}),
}


ALWAYS = {
    "several problems",
    "items stand twice",
    "ranks repeat",
    "users without a list are refused",
}


def _refusal(evaluate: Callable[..., Any], *tables: Any, **options: Any) -> str:
    with pytest.raises(ValueError) as refused:
        evaluate(*tables, **{"metrics": METRICS, "conventions": "standard"} | options)
    return str(refused.value)


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=() if c in ALWAYS else pytest.mark.nightly) for c in CASES]
)
def test_the_same_words(spark: "SparkSession", case: str) -> None:
    created, options = CASES[case]
    items, conventions = created(TABLES), cc.preset("standard", **options)
    frames = (frame(spark, table).coalesce(1) for table in items)

    refused = _refusal(on_spark, *frames, conventions=conventions, buckets=3)

    assert refused == _refusal(on_one_machine, *items, conventions=conventions)


@pytest.mark.parametrize("bad", SAMPLE, ids=lambda bad: bad.id)
def test_bad_inputs_of_the_table(spark: "SparkSession", bad: BadInput) -> None:
    items = {"recs": LISTS, "truth": TRUTH}
    items[bad.table] = pl.read_csv(str(bad.content).encode(), schema_overrides={"item": pl.String})
    conventions = cc.preset("standard", **bad.conventions)
    frames = (frame(spark, table).coalesce(1) for table in items.values())

    refused = _refusal(on_spark, *frames, conventions=conventions, buckets=3)

    assert refused == _refusal(on_one_machine, *items.values(), conventions=conventions)


def test_rows_are_named_by_partition(spark: "SparkSession") -> None:
    recs = frame(spark, _set(TABLES.recs, [1400], score=NAN)).repartitionByRange(2, "user")

    refused = _refusal(on_spark, recs, frame(spark, TABLES.truth))

    assert re.search(r"recs: partition 1, row \d+, column 'score' \(user 116", refused)


def test_a_wrong_row_in_one_part_of_a_hundred(spark: "SparkSession", tmp_path: Path) -> None:
    folder = tmp_path / "lists of a model"
    folder.mkdir()
    for number in range(100):
        part = TABLES.recs[number : number + 1] if number < 99 else TABLES.recs[99:]
        if number in (73, 99):
            part = _set(part, [0], score=NAN)
        part.write_parquet(folder / f"part-{number:05}.parquet")

    refused = _refusal(on_spark, spark.read.parquet(str(folder)), frame(spark, TABLES.truth))

    assert "part-00073.parquet, row 1, column 'score'" in refused
    expected = _refusal(on_one_machine, folder, TABLES.truth)
    assert refused == expected.replace(str(folder), "recs")


def test_items_beyond_the_catalogue(spark: "SparkSession") -> None:
    items = TABLES.items.filter(pl.col("item") > 4)
    frames = (frame(spark, table) for table in (TABLES.recs, TABLES.truth))

    refused = _refusal(on_spark, *frames, items=items, buckets=3)

    assert refused == _refusal(on_one_machine, TABLES.recs, TABLES.truth, items=items)


def test_refusals_of_spark_alone(spark: "SparkSession") -> None:
    recs, truth, train = (frame(spark, t) for t in (TABLES.recs, TABLES.truth, TABLES.train))
    known = cc.preset("standard", propensity={"popularity": 0.5, "clip": 0.1, "fewest": 1})

    unknown_users = _refusal(on_spark, recs, truth, only_users=[99_999])
    another_kind = _refusal(on_spark, recs, TABLES.truth)
    weighed = _refusal(cc.evaluate, recs, truth, metrics=["R@5"], conventions=known, train=train)

    assert (
        "users to evaluate: none of them occurs in the recommendations or the ground truth"
        in unknown_users
    )
    assert "truth: is DataFrame, and other tables are Spark DataFrames" in another_kind
    assert "conventions.propensity: is given, and lists or truth" in weighed


def test_nothing_stays_kept_of_what_is_refused(spark: "SparkSession") -> None:
    spark.catalog.clearCache()

    refuse_users = cc.preset("standard", user_no_recs="error")
    _refusal(
        on_spark, frame(spark, TABLES.recs), frame(spark, TABLES.truth), conventions=refuse_users
    )

    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0
