"""Lists and truth with every case that a convention decides."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.evaluation.evaluate import (
    evaluate,
    parse_conventions,
    parse_labels,
)
from concord.metrics_core.evaluation.spark import evaluate as spark_evaluate
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.results.evaluation import Evaluation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPARK_MARKS = [
    pytest.mark.whole,
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
USERS, LENGTH, ITEMS = 120, 12, 50
ACCURACY = ["nDCG@10", "AP@10", "P@5", "R@10", "RR", "ERR@10", "RBP(p=0.8)@10", "Kendall@10"]
BEYOND_ACCURACY = ["Coverage@10", "Gini@10", "Entropy@5", "Novelty@10", "Serendipity@10", "ILD@5"]


@dataclass(frozen=True)
class Tables:
    recs: pl.DataFrame
    truth: pl.DataFrame
    train: pl.DataFrame
    items: pl.DataFrame


def tables(seed: int = 0, *, text: bool = False, copies: bool = False) -> Tables:
    """Return tables with tied scores and unmatched users; `copies` repeats items in lists."""
    rng = np.random.default_rng(seed)
    users = np.arange(USERS)
    listed = [rng.choice(ITEMS, LENGTH, replace=copies) for _ in users]
    recs = pl.DataFrame(
        {
            "user": np.repeat(users, LENGTH),
            "item": np.concatenate(listed),
            "score": np.round(rng.random(USERS * LENGTH), 1),
        }
    )
    judged = [rng.choice(ITEMS, 5, replace=False) for _ in users]
    truth = pl.DataFrame(
        {
            "user": np.repeat(users + 9, 5),
            "item": np.concatenate(judged),
            "grade": rng.integers(0, 5, USERS * 5).astype(float),
        }
    )
    train = pl.DataFrame(
        {"user": rng.integers(0, USERS, 900), "item": rng.integers(0, ITEMS + 9, 900)}
    )
    items = pl.DataFrame(
        {
            "item": np.arange(ITEMS + 20),
            "categories": [f"c{n % 7}|d{n % 3}" for n in range(ITEMS + 20)],
        }
    )
    results = [recs, truth, train, items]
    if text:
        results = [t.with_columns(pl.col("^user|item$").cast(pl.String)) for t in results]
    return Tables(*results)


def frame(spark: "SparkSession", table: pl.DataFrame) -> "DataFrame":
    return spark.createDataFrame(table.to_arrow())


def on_spark(
    recs: Any,
    truth: Any,
    metrics: list[str],
    conventions: ConventionsLike,
    *,
    buckets: int | None = None,
    **how: Any,
) -> Evaluation:
    """Return the result of `evaluate` with a number of buckets."""
    users = how.pop("only_users", None)
    task = Task(parse_labels(metrics), parse_conventions(conventions), only_known=users is not None)
    with pytest.MonkeyPatch.context() as patch:
        if buckets is not None:
            patch.setattr(spark_evaluate, "bucket_count", lambda _: buckets)
        return spark_evaluate.evaluate_frames(recs, truth, task, users=users, **how)


def on_one_machine(
    recs: Any, truth: Any, metrics: list[str], conventions: ConventionsLike, **how: Any
) -> Evaluation:
    how["input"] = how.pop("policies", None)
    return evaluate(recs, truth, metrics=metrics, conventions=conventions, **how)


def assert_same(actual: Evaluation, expected: Evaluation) -> None:
    """Assert that all values (bit by bit), summaries and warnings are equal."""
    values = pl.from_arrow(actual.per_user.toArrow())
    assert isinstance(values, pl.DataFrame)
    assert _bits(values.sort("user")) == _bits(expected.per_user)
    assert actual.to_frame().equals(expected.to_frame(), null_equal=True)
    assert actual.warnings == expected.warnings
    assert repr(actual) == repr(expected)


def _bits(values: pl.DataFrame) -> list[tuple[Any, ...]]:
    return [
        (name, *(v.hex() if isinstance(v, float) else v for v in values[name].to_list()))
        for name in values.columns
    ]
