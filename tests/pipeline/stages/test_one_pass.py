"""Lists and truth read in one pass equal those that are read into a table and sorted."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.data import list_batches as batches
from concord.metrics_core.data import load_tables, sorted_reader
from concord.metrics_core.data.arguments import open_table
from concord.metrics_core.data.load_tables import (
    InMemorySink,
    load_ground_truth,
    load_recommendations,
    needs_file_order,
)
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.errors import InputError
from tests.project import ROOT

Outcome = tuple[pl.DataFrame | None, Any]  # rows and quality, or nothing and the refusal
ROWS = {
    "user": [1, 1, 1, 2, 2, 3],
    "item": [7, 8, 9, 7, 9, 8],
    "rank": [1, 2, 3, 1, 2, 1],
    "score": [9.0, 8.0, 8.0, 5.0, 4.0, 1.0],
}
LISTS = pl.DataFrame(ROWS)
TRUTH = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3],
        "item": [9, 7, 8, 7, 9, 8],
        "grade": [1.0, 3.0, 1.0, 0.0, 5.0, 1.0],
        "time": [10.0, 11.0, 12.0, 13.0, 14.0, 15.0],
    }
)
BY_TIME = {"ideal": "truth_given_order_at_k"}
NAN = float("nan")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MIN_ROWS", 4)


def read_outcome(
    table: str, frame: pl.DataFrame, policies: Mapping[str, str] | None = None, **conventions: Any
) -> Outcome:
    remaining, selected = InMemorySink(), preset("standard", **conventions)
    columns = {"truth": {"time": "time"}} if "time" in frame.columns else {}
    with in_memory() as connection:
        inputs = connection, open_table(table, frame, columns), parse_policies(policies or {})
        try:
            if table == "recs":
                result = load_recommendations(*inputs, selected, remaining.collect)
            else:
                result = load_ground_truth(
                    *inputs, remaining.collect, with_place=needs_file_order(selected)
                )
            return pl.DataFrame(remaining.table), result.describe()
        except InputError as error:
            return None, str(error)


def read_into_a_table(*arguments: Any, **options: Any) -> Outcome:
    with patch.object(load_tables, "_load_sorted", return_value=None):
        return read_outcome(*arguments, **options)


def is_one_pass(table: str, frame: pl.DataFrame, **conventions: Any) -> bool:
    reader = "read_lists" if table == "recs" else "read_truth"
    with patch.object(load_tables, reader, side_effect=AssertionError):
        try:
            read_outcome(table, frame, **conventions)
        except AssertionError:
            return False
    return True


def assert_same_outcome(one_pass: Outcome, sorted_in_a_table: Outcome) -> None:
    (rows, quality), (others, expected) = one_pass, sorted_in_a_table
    assert quality == expected
    if rows is not None and others is not None:
        assert rows.equals(others, null_equal=True)
        assert rows.schema == others.schema
        assert list(quality) == list(expected)  # as the quality file is written


TEXT = st.sampled_from(["a", "b", "b ", "c", "1.0", "", "ä"])
NUMBER = st.integers(0, 4)


@st.composite
def tables(draw: st.DrawFn, values: dict[str, st.SearchStrategy[Any]]) -> pl.DataFrame:
    """Draw rows of users, mostly valid; some have an invalid value or are shuffled."""
    ids = draw(st.sampled_from([TEXT, NUMBER]))
    users = draw(st.lists(ids, min_size=1, max_size=5, unique=draw(st.booleans())))
    if draw(st.booleans()):
        users = sorted(users, key=str)
    rows: list[dict[str, Any]] = []
    for user in users:
        items = draw(st.lists(ids, min_size=1, max_size=4, unique=draw(st.integers(0, 9)) > 0))
        scores = sorted((draw(st.sampled_from([0.5, 1.0, 2.0, 3.0])) for _ in items), reverse=True)
        for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1):
            drawn = {name: draw(value) for name, value in values.items()}
            rows.append({"user": user, "item": item, "rank": rank, "score": score} | drawn)
    names = draw(st.sampled_from([["grade"], ["time"], ["grade", "time"], []]))
    if "grade" not in values:
        names = draw(st.sampled_from([["rank"], ["score"], ["rank", "score"]]))
    if draw(st.integers(0, 4)) == 0:
        name = draw(st.sampled_from(["user", "item", *names]))
        unusual = (
            [None, 2] if name in ("user", "item") else [None, 2, -1.0, NAN, float("inf"), 2.0**60]
        )
        draw(st.sampled_from(rows))[name] = draw(st.sampled_from(unusual))
    if draw(st.integers(0, 7)) == 0:
        rows = draw(st.permutations(rows))
    numbers = dict.fromkeys(("score", *values), pl.Float64)
    frame = pl.DataFrame(rows, schema_overrides={"rank": pl.Float64, **numbers}, strict=False)
    narrow: Any = draw(st.sampled_from([pl.Float64, pl.Float32, pl.Int64]))
    typed = frame.cast(dict.fromkeys(values, narrow), strict=False)
    whole = typed["rank"].drop_nulls().is_finite().all()
    return (typed.cast({"rank": pl.Int64}) if whole else typed).select("user", "item", *names)


@given(
    tables({}),
    st.sampled_from(["item_asc", "input", "item_desc", "average"]),
    st.sampled_from(["error", "first", "keep"]),
)
def test_lists_and_refusals_are_the_same(frame: pl.DataFrame, ties: str, duplicates: str) -> None:
    conventions: dict[str, Any] = {"ties": ties, "duplicates": duplicates}
    assert_same_outcome(
        read_outcome("recs", frame, **conventions), read_into_a_table("recs", frame, **conventions)
    )


@given(
    tables({"grade": st.sampled_from([0.0, 1.0, 1.0, 2.5, -0.0]), "time": st.integers(0, 9)}),
    st.sampled_from(["error", "zero", "unjudged", "pooled"]),
    st.sampled_from(["error", "first", "highest"]),
    st.sampled_from([{}, BY_TIME]),
)
def test_truth_and_refusals_are_the_same(
    frame: pl.DataFrame, negative: str, repeated: str, conventions: dict[str, Any]
) -> None:
    policies = {"negative_grade": negative, "repeated_grade": repeated}
    one_pass = read_outcome("truth", frame, policies, **conventions)
    assert_same_outcome(one_pass, read_into_a_table("truth", frame, policies, **conventions))


@pytest.mark.parametrize("columns", [["rank"], ["score"], ["rank", "score"]])
def test_sorted_lists_are_read_in_one_pass(columns: list[str]) -> None:
    frame = LISTS.select("user", "item", *columns)
    assert is_one_pass("recs", frame)
    assert is_one_pass("recs", frame.cast({"user": pl.String, "item": pl.String}))
    assert is_one_pass("recs", frame.cast({"user": pl.Float32}))


@pytest.mark.parametrize("conventions", [{}, BY_TIME])
@pytest.mark.parametrize("columns", [[], ["grade"], ["time"], ["grade", "time"]])
def test_truth_in_any_order_of_users_is_read_in_one_pass(
    columns: list[str], conventions: dict[str, str]
) -> None:
    frame = TRUTH.select("user", "item", *columns)
    assert is_one_pass("truth", frame, **conventions)
    assert is_one_pass("truth", frame.cast({"user": pl.String, "item": pl.String}), **conventions)
    assert is_one_pass("truth", frame[[3, 4, 5, 2, 0, 1]], **conventions)


def test_single_precision_scores_that_overflow_are_read_into_a_table() -> None:
    frame = pl.DataFrame(pa.table({"user": ["u", "u"], "item": ["a", "b"], "score": [2.0, 1.0]}))
    assert is_one_pass("recs", frame)
    assert not is_one_pass("recs", frame, score_dtype="float32")


def test_places_of_ties_are_columns_where_no_list_has_ties() -> None:
    frame = pl.DataFrame(ROWS | {"score": [9.0, 8.0, 7.0, 5.0, 4.0, 1.0]}).drop("rank")
    result = read_outcome("recs", frame, ties="average")
    assert_same_outcome(result, read_into_a_table("recs", frame, ties="average"))
    assert result[0] is not None
    assert {"tie_first", "tie_last"} <= set(result[0].columns)


def test_many_different_grades_are_counted_in_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"user": range(30), "item": [1] * 30, "grade": [n / 8 for n in range(30)]})
    assert is_one_pass("truth", frame)
    monkeypatch.setattr(sorted_reader, "MAX_GRADES", 29)
    assert not is_one_pass("truth", frame)
    assert read_outcome("truth", frame)[1]["notes"] == ["30 different grades"]


_STAGES = """
import sys
import concord as cc
import polars as pl
from concord.metrics_core.data.relations import (in_memory)
from concord.pipeline.stages.evaluate import evaluate
from concord.pipeline.stages.load import load
from concord.pipeline.stages.load import load_truth
from tests.pipeline.stages.load_project import params_of

for path in ("integers.parquet", "text.parquet"):
    params = params_of(path)
    with in_memory() as connection:
        load(connection, params, "m")
    with in_memory() as connection:
        load_truth(connection, params)
    print(evaluate(params, "m"), "pandas" in sys.modules)
lists = pl.read_parquet("integers.parquet").drop("grade")
cc.evaluate(lists, lists.select("user", "item"), metrics=["P@1"], conventions="standard")
print("pandas" in sys.modules)
"""


def test_no_stage_imports_pandas(tmp_path: Path) -> None:
    frame = LISTS.with_columns(grade=pl.lit(1.0))
    frame.write_parquet(tmp_path / "integers.parquet")
    frame.cast({"user": pl.String, "item": pl.String}).write_parquet(tmp_path / "text.parquet")
    done = subprocess.run(
        [sys.executable, "-c", _STAGES],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = "1 metrics for 3 users False\n" * 2 + "False\n"
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
