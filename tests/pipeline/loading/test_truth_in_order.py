"""A truth that is passed on in one pass comes out as one that is read into a table and sorted."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concord.metrics_core.checking.locked import in_memory
from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.reading import in_order as reading
from concord.metrics_core.reading import judgements_in_order, loaded, whole_lists
from concord.metrics_core.reading.given import table_given
from concord.metrics_core.reading.loaded import InMemory, keep_truth, order_counts
from concord.metrics_core.reading.rules.policies import policies_of

Outcome = tuple[Any, Any]
BY_TIME = {"ideal": "truth_given_order_at_k"}


@pytest.fixture(autouse=True)
def _few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(whole_lists, "ROWS", 4)
    monkeypatch.setattr(reading, "LISTS", 2)
    return iter([None])


def kept(frame: pl.DataFrame, policies: dict[str, str], **knobs: Any) -> Outcome:
    """The rows and what was found in them; nothing and the refusal."""
    rows, timed = InMemory(), {"time": "time"} if "time" in frame.columns else {}
    with in_memory() as connection:
        try:
            found = keep_truth(
                connection,
                table_given("truth", frame, {"truth": timed}),
                policies_of(policies),
                rows.keep,
                place=order_counts(preset("standard", **knobs)),
            )
            return pl.DataFrame(rows.table), found()
        except InputError as error:
            return None, str(error)


def sorted_in_a_table(frame: pl.DataFrame, policies: dict[str, str], **knobs: Any) -> Outcome:
    with patch.object(loaded, "_passed_on", return_value=None):
        return kept(frame, policies, **knobs)


def passes(frame: pl.DataFrame, **knobs: Any) -> bool:
    """Is nothing read into a table?"""
    with patch.object(loaded, "read_truth", side_effect=AssertionError):
        try:
            kept(frame, {}, **knobs)
        except AssertionError:
            return False
    return True


TEXT = st.sampled_from(["a", "b", "b ", "c", "1.0", "", "ä"])
NUMBER = st.integers(0, 4)
GRADE = st.sampled_from([0.0, 1.0, 1.0, 2.5, 3.0])
ODD = st.sampled_from([None, -1.0, -0.0, float("nan"), float("inf"), 2.0**60])


@st.composite
def truths(draw: st.DrawFn) -> pl.DataFrame:
    """Mostly sound: some users' judgements, in some order, and now and then a row that is not as it should be."""
    ids = draw(st.sampled_from([TEXT, NUMBER]))
    users = draw(st.lists(ids, min_size=1, max_size=5, unique=draw(st.booleans())))
    if draw(st.booleans()):
        users = sorted(users, key=str)
    rows: list[dict[str, Any]] = []
    for user in users:
        items = draw(st.lists(ids, min_size=1, max_size=4, unique=draw(st.integers(0, 9)) > 0))
        rows += [
            {"user": user, "item": item, "grade": draw(GRADE), "time": draw(st.integers(0, 9))}
            for item in items
        ]
    columns = draw(st.sampled_from([[], ["grade"], ["time"], ["grade", "time"]]))
    if columns and draw(st.integers(0, 3)) == 0:
        draw(st.sampled_from(rows))[draw(st.sampled_from(columns))] = draw(ODD)
    if draw(st.integers(0, 7)) == 0:
        rows = draw(st.permutations(rows))
    numbers: Any = draw(st.sampled_from([pl.Float64, pl.Float32, pl.Int64]))
    as_given = {"grade": pl.Float64, "time": pl.Float64}
    frame = pl.DataFrame(rows, schema_overrides=as_given, strict=False)
    typed = frame.cast({"grade": numbers, "time": numbers}, strict=False)
    return typed.select("user", "item", *columns)


@given(
    truths(),
    st.sampled_from(["error", "zero", "unjudged"]),
    st.sampled_from(["error", "first", "highest"]),
    st.sampled_from([{}, BY_TIME]),
)
def test_rows_findings_and_refusals_are_the_same(
    frame: pl.DataFrame, negative: str, repeated: str, knobs: dict[str, str]
) -> None:
    policies = {"negative_grade": negative, "repeated_grade": repeated}
    (rows, found), (others, expected) = (
        read(frame, policies, **knobs) for read in (kept, sorted_in_a_table)
    )

    assert found == expected
    if expected is not None and others is not None:
        assert rows.equals(others, null_equal=True)
        assert rows.schema == others.schema
        assert list(found) == list(expected)  # as the quality file is written


SOUND = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3],
        "item": [9, 7, 8, 7, 9, 8],
        "grade": [1.0, 3.0, 1.0, 0.0, 5.0, 1.0],
        "time": [10, 11, 12, 13, 14, 15],
    }
)


def test_a_users_judgements_are_sorted_by_falling_grade_and_item() -> None:
    rows, _ = kept(SOUND, {})

    assert rows.rows() == [
        (1, 7, 3.0, 11.0),
        (1, 8, 1.0, 12.0),
        (1, 9, 1.0, 10.0),
        (2, 9, 5.0, 14.0),
        (2, 7, 0.0, 13.0),
        (3, 8, 1.0, 15.0),
    ]


@pytest.mark.parametrize("knobs", [{}, BY_TIME])
@pytest.mark.parametrize("columns", [[], ["grade"], ["time"], ["grade", "time"]])
def test_a_truth_whose_users_stand_together_is_read_once(
    columns: list[str], knobs: dict[str, str]
) -> None:
    frame = SOUND.select("user", "item", *columns)

    assert passes(frame, **knobs)
    assert passes(frame.cast({"user": pl.String, "item": pl.String}), **knobs)
    assert passes(frame[[3, 4, 5, 2, 0, 1]], **knobs)


@pytest.mark.parametrize(
    "change",
    [
        {"item": [9, 7, 7, 7, 9, 8]},
        {"user": [1, 1, 2, 1, 3, 3]},
        {"grade": [1.0, -1.0, 0.0, 0.0, 0.0, 0.0]},
        {"grade": [1.0, float("nan"), 0.0, 0.0, 0.0, 0.0]},
        {"time": [1.0, float("nan"), 0.0, 0.0, 0.0, 0.0]},
    ],
)
def test_what_is_not_sound_is_read_into_a_table(change: dict[str, list[Any]]) -> None:
    assert not passes(SOUND.with_columns(**{name: pl.Series(of) for name, of in change.items()}))


def test_grades_of_many_values_are_counted_in_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"user": range(30), "item": [1] * 30, "grade": [n / 8 for n in range(30)]})
    assert passes(frame)
    monkeypatch.setattr(judgements_in_order, "MOST_GRADES", 29)

    assert not passes(frame)
    assert kept(frame, {})[1]["notes"] == ["30 different grades"]
