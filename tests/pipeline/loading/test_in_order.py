"""Lists that are passed on in one pass come out as those that are read into a table, ranked and sorted."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concord.metrics_core.checking.locked import in_memory
from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.reading import in_order as reading
from concord.metrics_core.reading import whole_lists
from concord.metrics_core.reading.formats.source import passing, unwatched
from concord.metrics_core.reading.given import table_given
from concord.metrics_core.reading.in_order import OutOfOrder, Passed, Wanted, in_order
from concord.metrics_core.reading.lists import read_lists
from concord.metrics_core.reading.loaded import InMemory, keep_lists
from concord.metrics_core.reading.quality import describe_lists
from concord.metrics_core.reading.rules.policies import policies_of
from tests.project import ROOT

Outcome = tuple[Any, Any]


@pytest.fixture(autouse=True)
def _few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(whole_lists, "ROWS", 4)
    monkeypatch.setattr(reading, "LISTS", 2)
    return iter([None])


def one_pass(frame: pl.DataFrame, **knobs: Any) -> Outcome:
    kept = InMemory()
    with in_memory() as connection:
        try:
            found = keep_lists(
                connection,
                table_given("recs", frame, {}),
                policies_of({}),
                preset("standard", **knobs),
                kept.keep,
            )
            return pl.DataFrame(kept.table), found()
        except InputError as error:
            return None, str(error)


def sorted_in_a_table(frame: pl.DataFrame, **knobs: Any) -> Outcome:
    pinned = preset("standard", **knobs)
    with in_memory() as connection:
        try:
            found = read_lists(
                connection, table_given("recs", frame, {}), policies_of({}), pinned.rankings
            )
            rows = connection.sql("SELECT * FROM ranked").to_arrow_table()
            return pl.DataFrame(rows), describe_lists(connection, found, pinned)
        except InputError as error:
            return None, str(error)


def passes(frame: pl.DataFrame, **knobs: Any) -> bool:
    """Is nothing read a second time?"""
    wanted, passed = Wanted(preset("standard", **knobs).rankings, policies_of({}), None), Passed()
    with (
        in_memory() as connection,
        passing(connection, table_given("recs", frame, {}), rank_base=1, watch=unwatched) as (
            source,
            batches,
        ),
    ):
        try:
            for _ in in_order(connection, source, batches, wanted, passed):
                pass
        except OutOfOrder:
            return False
    return True


TEXT = st.sampled_from(["a", "b", "b ", "c", "1.0", "", "ä"])
NUMBER = st.integers(0, 4)


@st.composite
def lists(draw: st.DrawFn) -> pl.DataFrame:
    """Mostly sound: some users' lists, in some order, and now and then a row that is not as it should be."""
    ids = draw(st.sampled_from([TEXT, NUMBER]))
    users = draw(st.lists(ids, min_size=1, max_size=5, unique=draw(st.booleans())))
    if draw(st.booleans()):
        users = sorted(users, key=str)
    rows: list[dict[str, Any]] = []
    for user in users:
        items = draw(st.lists(ids, min_size=1, max_size=4, unique=draw(st.integers(0, 9)) > 0))
        scores = sorted((draw(st.sampled_from([0.5, 1.0, 2.0, 3.0])) for _ in items), reverse=True)
        rows += [
            {"user": user, "item": item, "rank": rank, "score": score}
            for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1)
        ]
    columns = draw(st.sampled_from([["rank"], ["score"], ["rank", "score"]]))
    if draw(st.integers(0, 5)) == 0:
        row = draw(st.sampled_from(rows))
        row[draw(st.sampled_from(["user", "item", *columns]))] = draw(
            st.sampled_from([None, None, 2])
        )
    if draw(st.integers(0, 7)) == 0:
        rows = draw(st.permutations(rows))
    return pl.DataFrame(
        rows, schema_overrides={"rank": pl.Int64, "score": pl.Float64}, strict=False
    ).select("user", "item", *columns)


@given(
    lists(),
    st.sampled_from(["item_asc", "input", "item_desc", "average"]),
    st.sampled_from(["error", "first", "keep"]),
)
def test_rows_findings_and_refusals_are_the_same(
    frame: pl.DataFrame, ties: str, duplicates: str
) -> None:
    (rows, found), (others, expected) = (
        read(frame, ties=ties, duplicates=duplicates) for read in (one_pass, sorted_in_a_table)
    )

    assert found == expected
    if expected is not None and others is not None:
        assert rows.equals(others, null_equal=True)
        assert rows.schema == others.schema


USERS, ITEMS = [1, 1, 1, 2, 2, 3], [7, 8, 9, 7, 9, 8]
SOUND = {
    "user": USERS,
    "item": ITEMS,
    "rank": [1, 2, 3, 1, 2, 1],
    "score": [9.0, 8.0, 8.0, 5.0, 4.0, 1.0],
}


@pytest.mark.parametrize("columns", [["rank"], ["score"], ["rank", "score"]])
def test_lists_in_order_are_read_once(columns: list[str]) -> None:
    frame = pl.DataFrame(SOUND).select("user", "item", *columns)

    assert passes(frame)
    assert passes(frame.with_columns(pl.col("user", "item").cast(pl.String)))
    assert passes(frame.with_columns(pl.col("user").cast(pl.Float32)))


@pytest.mark.parametrize(
    "change",
    [
        {"item": [7, 8, 8, 7, 9, 8]},
        {"item": [7, 8, None, 7, 9, 8]},
        {"user": [1, 1, 1, 3, 3, 2]},
        {"user": [1, 1, 2, 1, 1, 3]},
        {"rank": [1, 2, 4, 1, 2, 1]},
        {"rank": [0, 1, 2, 0, 1, 0]},
        {"score": [9.0, 8.0, float("nan"), 5.0, 4.0, 1.0]},
    ],
)
def test_what_is_not_sound_or_not_in_order_is_read_in_another_way(
    change: dict[str, list[Any]],
) -> None:
    assert not passes(pl.DataFrame(SOUND | change))


def test_users_in_any_order_are_put_in_order() -> None:
    frame = pl.DataFrame(SOUND)
    blocks = pl.concat([frame.filter(pl.col("user") == user) for user in (3, 1, 2)])

    assert one_pass(blocks)[0].equals(one_pass(frame)[0])


def test_an_overflowing_single_precision_score_is_left_to_the_table() -> None:
    table = pa.table({"user": ["u", "u"], "item": ["a", "b"], "score": pa.array([2.0, 1.0])})
    frame = pl.DataFrame(table)

    assert passes(frame)
    assert not passes(frame, score_dtype="float32")


def test_the_places_of_ties_are_marked_where_no_list_has_any() -> None:
    frame = pl.DataFrame(SOUND | {"score": [9.0, 8.0, 7.0, 5.0, 4.0, 1.0]}).drop("rank")

    rows, found = one_pass(frame, ties="average")
    others, expected = sorted_in_a_table(frame, ties="average")

    assert {"tie_first", "tie_last"} <= set(rows.columns)
    assert rows.equals(others)
    assert found == expected


_STAGES = """
import sys
from concord.pipeline.evaluating.evaluate import evaluate
from concord.pipeline.loading.load import load
from concord.pipeline.loading.load_truth import load_truth
from concord.pipeline.running.connections import workspace
from tests.pipeline.loading.load_project import params_of

params = params_of("a.parquet")
for stage in (lambda c: load(c, params, "m"), lambda c: load_truth(c, params)):
    with workspace() as connection:
        stage(connection)
print(evaluate(params, "m"), "pandas" in sys.modules)
"""


@pytest.mark.parametrize("ids", [pl.Int64, pl.String])
def test_no_stage_imports_pandas_for_numbers(ids: type[pl.DataType], tmp_path: Path) -> None:
    frame = pl.DataFrame(SOUND | {"grade": [1.0] * 6})
    frame.cast({"user": ids, "item": ids}).write_parquet(tmp_path / "a.parquet")
    done = subprocess.run(
        [sys.executable, "-c", _STAGES],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "1 metrics for 3 users False\n"), done.stderr
