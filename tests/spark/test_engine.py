"""The pipeline's engine `spark` gives the same values, exposures and refusals as the others."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.conventions.option_types import PropensityOptions
from concord.metrics_core.evaluation.accumulator import build_panels, build_task
from concord.metrics_core.evaluation.evaluate import parse_labels
from concord.metrics_core.evaluation.evaluate_block import Part
from concord.metrics_core.evaluation.executors import execute_by_ranges
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics import custom_metric
from concord.metrics_core.metrics.exposure import Exposure
from concord.pipeline.running.connections import read_only_connection
from concord.pipeline.stages.spark_executor import execute_on_spark
from tests.metrics_core.metrics.test_own_metrics import REVENUE
from tests.spark.tables import ACCURACY, BEYOND_ACCURACY, SPARK_MARKS, tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = SPARK_MARKS


def _files(folder: Path, *, text: bool) -> tuple[Path, Path]:
    actual = tables(text=text)
    ranked = actual.recs.sort("user", "score", "item").with_columns(
        rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("user")
    )
    ranked.write_parquet(folder / "lists.parquet", row_group_size=300)
    subtopic = pl.struct(name=pl.col("item").cast(pl.String).str.slice(-1), grade="grade")
    truth = actual.truth.with_columns(subtopics=pl.concat_list(subtopic))
    truth.sort("user", "item").write_parquet(folder / "truth.parquet")
    actual.train.unique(["user", "item"]).write_parquet(folder / "train.parquet")
    items = actual.items.with_columns(pl.col("categories").str.split("|"))
    items.write_parquet(folder / "items.parquet")
    return folder / "lists.parquet", folder / "truth.parquet"


def _data(files: tuple[Path, Path], **side_data: Any) -> tuple[Path, EvaluationData]:
    lists, truth = files
    return lists, EvaluationData(truth=truth, connect=read_only_connection, **side_data)


def _whole(parts: list[Part]) -> tuple[pl.DataFrame, dict[str, list[int]]]:
    exposed: dict[str, Exposure] = {}
    for part in parts:
        for label, exposure in part.exposures.items():
            exposed[label] = exposure if label not in exposed else exposed[label] + exposure
    counts = {label: [*each.counts.tolist(), each.n_users] for label, each in exposed.items()}
    return pl.concat([part.values for part in parts]), counts


def _assert_as_duckdb(files: tuple[Path, Path], task: Task, **side_data: Path) -> list[Part]:
    """Return the parts that Spark gives, after they were compared with those of DuckDB."""
    parts = list(execute_on_spark(*_data(files, **side_data), task, 500))
    values, exposures = _whole(parts)
    expected, exposed = _whole(list(execute_by_ranges(*_data(files, **side_data), task, 500)))

    assert values.cast(expected.schema).equals(expected, null_equal=True)
    assert exposures == exposed
    return parts


@pytest.mark.parametrize("text", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_the_values_of_labels_and_panel(spark: "SparkSession", tmp_path: Path, text: bool) -> None:
    files = _files(tmp_path, text=text)
    subtopics = ["StRecall@5", "alpha_nDCG@5", "NRBP"]
    labels = parse_labels([*ACCURACY, *BEYOND_ACCURACY, *subtopics])
    pinned = cc.preset("standard")
    task = build_task(labels, pinned, build_panels(labels, ["nDCG@10"], pinned))
    side_data = {name: tmp_path / f"{name}.parquet" for name in ("train", "items")}

    assert len(_assert_as_duckdb(files, task, **side_data)) > 2


def test_other_orders_of_equal_scores(spark: "SparkSession", tmp_path: Path) -> None:
    files = _files(tmp_path, text=False)
    rounded = pl.read_parquet(files[0]).with_columns(score=-((pl.col("rank") - 1) // 3).cast(float))
    rounded.write_parquet(files[0])
    labels = parse_labels(["RR@5", "nDCG@10"])
    task = Task(labels, cc.preset("standard"), has_equal_scores=True)

    values, _ = _whole(_assert_as_duckdb(files, task))
    assert values["#low:nDCG@10"].count() > 10


def test_requests_use_the_train_of_their_user(spark: "SparkSession", tmp_path: Path) -> None:
    """Each user is a request; five requests have one user, whose id ends as an escape would."""
    user = pl.col("user").cast(pl.Int64)
    owner = pl.format("{}\\\\", user // 5)
    for path in _files(tmp_path, text=False):
        unit = pl.format("{}/{}", owner, user).alias("user")
        position = "rank" if path.stem == "lists" else "item"
        pl.read_parquet(path).with_columns(unit).sort("user", position).write_parquet(path)
    train = pl.read_parquet(tmp_path / "train.parquet")
    train.with_columns(pl.format("{}\\", user // 5).alias("user")).unique(
        ["user", "item"]
    ).write_parquet(tmp_path / "train.parquet")
    files = tmp_path / "lists.parquet", tmp_path / "truth.parquet"
    task = Task(
        parse_labels([*ACCURACY, *BEYOND_ACCURACY]), cc.preset("standard", unit_mean="users")
    )
    side_data = {name: tmp_path / f"{name}.parquet" for name in ("train", "items")}

    _assert_as_duckdb(files, task, **side_data)


def test_weights_of_items_and_users_on_spark(spark: "SparkSession", tmp_path: Path) -> None:
    files = _files(tmp_path, text=False)
    known: PropensityOptions = {
        "popularity": 0.5,
        "clip": 0.1,
        "fewest": 1,
        "normalised": "over_all",
    }
    labels, pinned = parse_labels(["R@10", "DCG@5"]), cc.preset("standard", propensity=known)
    task = build_task(labels, pinned, build_panels(labels, ["R@10"], pinned))
    side_data = {"train": tmp_path / "train.parquet"}

    assert "#counts>=1" in _assert_as_duckdb(files, task, **side_data)[0].values.columns


@pytest.mark.parametrize("has_users", [False, True])
def test_users_of_whom_nothing_was_observed(
    spark: "SparkSession", tmp_path: Path, *, has_users: bool
) -> None:
    """Users from 60 on have no row in the truth; requested users beyond 128 have no list either."""
    files, users = _files(tmp_path, text=False), tmp_path / "users.parquet"
    pl.read_parquet(files[1]).filter(pl.col("user") < 60).write_parquet(files[1])
    pl.DataFrame({"tier": ["a"] * 130, "user": range(10, 140)}).write_parquet(users)
    known: PropensityOptions = {"popularity": 0.5, "clip": 0.1, "fewest": 1}
    labels, pinned = (
        parse_labels(["P@10", "R@10", "nDCG@5"]),
        cc.preset("standard", propensity=known),
    )
    task = build_task(labels, pinned, {}, has_users=has_users)
    side_data = {"train": tmp_path / "train.parquet"} | ({"users": users} if has_users else {})

    values, _ = _whole(_assert_as_duckdb(files, task, **side_data))

    assert values["P@10"].null_count() == 0
    assert values["R@10"].null_count() > 0


def test_users_whom_the_conventions_refuse(spark: "SparkSession", tmp_path: Path) -> None:
    files = _files(tmp_path, text=False)
    task = Task(parse_labels(ACCURACY), cc.preset("standard", user_no_recs="error"))
    with pytest.raises(ValueError) as expected:
        list(execute_by_ranges(*_data(files), task, 10_000_000))

    path = tmp_path / "a [1]* {b}"  # to Spark a pattern
    path.mkdir()
    files = _files(path, text=False)
    with pytest.raises(ValueError) as refused:
        list(execute_on_spark(*_data(files), task, 300))

    assert str(refused.value) == str(expected.value)


def test_an_own_metric_that_raises_is_reported_once_with_its_file(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custom_metric, "_registry", custom_metric.Registry())
    code = tmp_path / "m.py"
    code.write_text(
        "import concord\n@concord.metric()\ndef f(lists, k):\n    'f@k'\n    return 1 / 0\n",
        encoding="utf-8",
    )
    files = _files(tmp_path, text=False)
    task = Task(parse_labels([f"{code}:f@3"]), cc.preset("standard"))

    with pytest.raises(cc.InputError) as refused:
        list(execute_on_spark(*_data(files), task, 300))

    (problem,) = refused.value.problems
    assert problem.where == str(code)
    assert problem.message == "f raises ZeroDivisionError: division by zero, line 5"


def test_groups_of_items(spark: "SparkSession", tmp_path: Path) -> None:
    table, files = tables(text=False), _files(tmp_path, text=False)
    items = table.items.select("item", group=pl.format("g{}", pl.int_range(pl.len()) % 7))
    items.write_parquet(tmp_path / "items.parquet")
    labels = ["AWRF@10", "EED@10", "EEL@5"]
    pinned = cc.preset("standard", fairness_target="relevant")
    task, side_data = Task(parse_labels(labels), pinned), {"items": tmp_path / "items.parquet"}

    lists, truth = (spark.read.parquet(path.as_posix()) for path in files)
    how: dict[str, Any] = {
        "metrics": labels,
        "conventions": pinned,
        "items": items,
        "columns": {"items": {"group": "group"}},
        "input": {"unknown_items": "keep"},
    }

    _assert_as_duckdb(files, task, **side_data)
    result = cc.evaluate(lists.drop("score"), truth, **how)
    alone = cc.evaluate(files[0], files[1], **how)
    assert {label: result[label] for label in labels} == {label: alone[label] for label in labels}


def test_metrics_of_ones_own_reach_the_workers(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custom_metric, "_registry", custom_metric.Registry())
    table, files = tables(text=False), _files(tmp_path, text=False)
    items = table.items.select("item", price=(pl.int_range(pl.len()) % 13) / 3)
    items.write_parquet(tmp_path / "items.parquet")
    (tmp_path / "my_metrics.py").write_text(REVENUE, encoding="utf-8")
    labels = ["nDCG@10", f"{tmp_path / 'my_metrics.py'}:revenue@5"]
    how: dict[str, Any] = {
        "metrics": labels,
        "conventions": "standard",
        "items": items,
        "columns": {"items": {"price": "price"}},
        "input": {"unknown_items": "keep"},
    }
    lists, truth = (spark.read.parquet(path.as_posix()) for path in files)

    result, alone = cc.evaluate(lists.drop("score"), truth, **how), cc.evaluate(*files, **how)
    task = Task(parse_labels(["revenue@5"]), cc.preset("standard"))
    side_data = {"items": tmp_path / "items.parquet"}

    assert alone["revenue@5"] > 0
    assert result["revenue@5"] == alone["revenue@5"]
    _assert_as_duckdb(files, task, **side_data)
