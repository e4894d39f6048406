"""Whatever a few users' lists and truth are, Spark says what one machine says: the values, or why there are none."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import concord as cc
from tests.spark.tables import MARKS, assert_same, frame, on_one_machine, on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = MARKS

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
KNOBS = st.fixed_dictionaries(
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
        "negative_grade": st.sampled_from(["error", "zero", "unjudged"]),
        "repeated_grade": st.sampled_from(["error", "first", "highest"]),
    }
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.tuples(ROWS, JUDGED), asked=st.tuples(KNOBS, POLICIES), buckets=st.integers(1, 3))
def test_values_or_refusals(spark: "SparkSession", rows: Any, asked: Any, buckets: int) -> None:
    recs, truth = (
        pl.DataFrame(held, schema=["user", "item", value], orient="row")
        for held, value in zip(rows, ("score", "grade"), strict=True)
    )
    knobs, policies = asked
    how = METRICS, cc.preset("standard", **knobs)
    lists, judged = (frame(spark, table).coalesce(1) for table in (recs, truth))

    expected = _told(lambda: on_one_machine(recs, truth, *how, policies=policies))
    found = _told(lambda: on_spark(lists, judged, *how, policies=policies, buckets=buckets))

    if isinstance(expected, str):
        assert found == expected
    else:
        assert_same(found, expected)


def _told(evaluate: Callable[[], Any]) -> Any:
    """The result, or why there is none."""
    try:
        return evaluate()
    except ValueError as error:
        return str(error)
