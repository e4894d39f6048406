"""`concord.data.split`, against hand calculation and a reference in plain Python."""

import json
import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.analyses.split.rows import Repeats, SplitMethodName
from concord.metrics_core.errors import InputError
from tests.metrics_core.analyses.split import split_reference as reference
from tests.metrics_core.analyses.split.split_reference import Row

DAY = 86_400
NAMES = ["user", "item", "time", "grade"]
SHOP = [  # user, item, time, grade
    (1, 10, 1.0, 5.0),
    (1, 11, 2.0, 3.0),
    (1, 12, 3.0, 4.0),
    (2, 10, 2.0, 1.0),
    (2, 13, 4.0, 2.0),
    (3, 11, 5.0, 5.0),
]


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=NAMES, orient="row")


def rows_of(actual: pl.DataFrame) -> list[Row]:
    return actual.select(NAMES).rows()


def test_leave_last_out_by_hand() -> None:
    """User 1 leaves 12, user 2 leaves 13; user 3 has one interaction, which stays in train."""
    split = cc.data.split(frame(SHOP), "leave-last-out")

    assert rows_of(split.truth) == [(1, 12, 3.0, 4.0), (2, 13, 4.0, 2.0)]
    assert rows_of(split.train) == [SHOP[0], SHOP[1], SHOP[3], SHOP[5]]
    counts = split.manifest["counts"]
    assert counts["users_with_too_few"] == 1
    assert counts["truth_items_unknown_to_train"] == 2  # 12 and 13
    assert counts["train_rows_from_the_first_of_truth_on"] == 1  # that of user 3 at 5, from 3 on
    two = cc.data.split(frame(SHOP), "leave-last-out", last=2)
    assert rows_of(two.truth) == [SHOP[1], SHOP[2]]  # users 2 and 3 have two and one
    assert two.manifest["counts"]["users_with_too_few"] == 2


def test_global_time_with_a_gap_by_hand() -> None:
    """The truth begins at 4, train ends before 4 - 2 = 2; three rows at 2, 2 and 3 are excluded."""
    split = cc.data.split(frame(SHOP), "global-time", at=4, gap=2)

    assert rows_of(split.train) == [SHOP[0]]
    assert rows_of(split.truth) == [SHOP[4], SHOP[5]]
    assert split.manifest["excluded"] == {
        "duplicate": 0,
        "repeat": 0,
        "gap": 3,
        "repeat_in_truth": 0,
    }
    assert split.manifest["counts"]["truth_users_without_history"] == 2
    assert split.manifest["counts"]["train_rows_from_the_first_of_truth_on"] == 0


def test_a_share_includes_all_rows_of_its_first_time() -> None:
    """A sixth of 6 rows is 1, at 5; 0.6 of them are 4 from time 2, where two tie: 5 rows."""
    assert len(cc.data.split(frame(SHOP), "global-time", share=1 / 6).truth) == 1
    split = cc.data.split(frame(SHOP), "global-time", share=0.6)

    assert split.manifest["counts"]["truth_from"] == 2
    assert len(split.truth) == 5
    assert rows_of(split.train) == [SHOP[0]]


def test_the_last_share_of_each_user_by_hand() -> None:
    """Half of 3, rounded up, is 2; half of 2 is 1; of one interaction none is left out."""
    split = cc.data.split(frame(SHOP), "user-time", share=0.5)

    assert rows_of(split.truth) == [SHOP[1], SHOP[2], SHOP[4]]
    assert rows_of(split.train) == [SHOP[0], SHOP[3], SHOP[5]]
    assert split.manifest["counts"]["users_with_too_few"] == 1
    assert "1 user without ground truth: too few interactions" in split.summary


def test_random_pairs_by_hand() -> None:
    """SHA-256 of `0:1:11` and `0:1:12` start with d0 and bc: the others are below 80."""
    split = cc.data.split(frame(SHOP), "random", share=0.5)

    assert rows_of(split.train) == SHOP[1:3]
    assert rows_of(split.truth) == [SHOP[0], *SHOP[3:]]


def test_no_pair_changes_sides_when_data_grow() -> None:
    rows = [(user, item, 1.0, 1.0) for user in range(50) for item in range(8)]
    more = [*rows, *((user, item, 0.0, 1.0) for user in range(90) for item in range(8, 11))]
    before, after = (cc.data.split(frame(each), "random", share=0.2) for each in (rows, more))

    pairs = {*before.truth.select("user", "item").rows()}
    assert pairs == {row for row in after.truth.select("user", "item").rows() if row[1] < 8}
    assert 50 < len(pairs) < 110  # each of 400 with probability 0.2


def test_text_frame_and_dict_show_sides_and_excluded_rows() -> None:
    split = cc.data.split(frame(SHOP), "global-time", at=4, gap=2)

    assert split.summary.splitlines() == [
        "side   rows  users  items  from  to",
        "train  1     1      1      1     1",
        "truth  2     2      2      4     5",
        "",
        "3 rows left out: in the gap between training set and ground truth",
        "2 users of the ground truth (2 rows) are not in the training set: kept",
        "2 items of the ground truth (2 rows) are not in the training set: kept",
    ]
    assert split._repr_html_().count("<tr>") == 3
    assert split.to_frame().rows() == [
        ("train", 1, 1, 1, 1.0, 1.0),
        ("truth", 2, 2, 2, 4.0, 5.0),
    ]
    content = json.loads(json.dumps(split.to_dict()))
    assert content["truth"][0] == {"user": 2, "item": 13, "time": 4.0, "grade": 2.0}


def test_a_share_may_be_a_numpy_number() -> None:
    assert len(cc.data.split(frame(SHOP), "global-time", share=np.float64(1 / 6)).truth) == 1


def test_interactions_may_have_a_column_of_predictions() -> None:
    rows = frame(SHOP).rename({"grade": "predicted"})
    assert cc.data.split(rows, "leave-last-out").truth["item"].to_list() == [12, 13]


def test_duplicates_and_repeats_by_hand() -> None:
    """Item 10 at three times, one of them twice: the truth {10, 10} has its first time."""
    rows = [
        (1, 9, 0.0, 1.0),
        (1, 10, 1.0, 1.0),
        (1, 10, 1.0, 3.0),
        (1, 10, 2.0, 2.0),
        (1, 10, 3.0, 1.0),
    ]
    split = cc.data.split(frame(rows), "leave-last-out", last=2, repeats="keep")
    first = cc.data.split(frame(rows), "leave-last-out")

    assert rows_of(split.train) == [(1, 9, 0.0, 1.0), (1, 10, 1.0, 3.0)]
    assert rows_of(split.truth) == [(1, 10, 2.0, 2.0)]
    assert split.manifest["excluded"] == {"duplicate": 1, "repeat_in_truth": 1}
    assert split.manifest["counts"]["truth_pairs_taken_before"] == 1
    assert rows_of(first.truth) == [(1, 10, 1.0, 3.0)]
    assert first.manifest["excluded"] == {"duplicate": 1, "repeat": 2, "repeat_in_truth": 0}


def test_ties_are_ordered_by_item_for_numbers_and_text() -> None:
    """The shorter id comes first: 9 < 10 also as text."""
    tied = [(1, 10, 1.0, 1.0), (1, 9, 1.0, 1.0), (1, 100, 1.0, 1.0)]
    split = cc.data.split(frame(tied), "leave-last-out", last=1)
    as_text = frame(tied).with_columns(pl.col("item").cast(pl.String))
    text = cc.data.split(as_text, "leave-last-out", last=1)

    assert split.truth["item"].to_list() == [100]
    assert split.train["item"].to_list() == [9, 10]
    assert text.truth["item"].to_list() == ["100"]
    assert split.manifest["counts"]["users_tied_at_the_cut"] == 1


TIMES = st.sampled_from([-1.0, -0.0, 0.0, 1.0, 2.0, 2.5, 3.0])
ROWS = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(-2, 12), TIMES, st.sampled_from([-0.0, 0.0, 1.0, 5.0])
    ),
    min_size=1,
    max_size=40,
)
SHARES = st.sampled_from([0.1, 0.3, 1 / 3, 0.5, 0.9])
METHODS = st.one_of(
    st.fixed_dictionaries({"method": st.just("leave-last-out"), "last": st.integers(1, 4)}),
    st.fixed_dictionaries(
        {"method": st.just("global-time"), "at": TIMES, "gap": st.sampled_from([0.0, 0.5, 2.0])}
    ),
    st.fixed_dictionaries({"method": st.just("global-time"), "share": SHARES}),
    st.fixed_dictionaries(
        {"method": st.just("random"), "share": SHARES, "seed": st.integers(0, 3)}
    ),
    st.fixed_dictionaries({"method": st.just("user-time"), "share": SHARES}),
)


@given(ROWS, METHODS, st.sampled_from(["keep", "first"]), st.booleans(), st.randoms())
def test_split_equals_the_reference(
    rows: list[Row], arguments: dict[str, Any], repeats: Repeats, text: bool, rng: random.Random
) -> None:
    if text:
        rows = [(f"u{user}", str(item), time, grade) for user, item, time, grade in rows]
    method = arguments["method"]
    options = {name: value for name, value in arguments.items() if name != "method"}
    sides, excluded = reference.split(rows, method, options, repeats)
    shuffled = rng.sample(rows, len(rows))
    if not sides["train"] or not sides["truth"]:
        with pytest.raises(InputError, match="leaves no rows for"):
            cc.data.split(frame(shuffled), method, repeats=repeats, **options)
        return
    split = cc.data.split(frame(shuffled), method, repeats=repeats, **options)

    assert rows_of(split.train) == sides["train"]
    assert rows_of(split.truth) == sides["truth"]
    assert {name: n for name, n in split.manifest["excluded"].items() if n} == +excluded
    assert _all_rows(split) == len(rows)
    assert _counts_hold(split)
    sorted_split = cc.data.split(frame(sorted(rows)), method, repeats=repeats, **options)
    assert sorted_split.train.equals(split.train)
    assert _text(sorted_split) == _text(split)  # 0.0 and -0.0 are equal, but have different bytes
    if method == "global-time":
        assert not _leaks(split)


def _all_rows(actual: cc.results.Split) -> int:
    sides = actual.manifest["files"].values()
    return sum(each["rows"] for each in sides) + sum(actual.manifest["excluded"].values())


def _text(actual: cc.results.Split) -> str:
    return repr(rows_of(actual.train) + rows_of(actual.truth))


def _leaks(actual: cc.results.Split) -> list[Row]:
    """Return the rows of train that are as late as the first of the truth."""
    first = min(row[2] for row in rows_of(actual.truth))
    return [row for row in rows_of(actual.train) if row[2] >= first]


def _counts_hold(actual: cc.results.Split) -> bool:
    train, truth = rows_of(actual.train), rows_of(actual.truth)
    users, items = {row[0] for row in train}, {row[1] for row in train}
    previous = {row[:2] for row in train}
    counts = actual.manifest["counts"]
    cold = [row for row in truth if row[1] not in items]
    without_history = [row for row in truth if row[0] not in users]
    assert counts["truth_rows_of_these_items"] == len(cold)
    assert counts["truth_items_unknown_to_train"] == len({row[1] for row in cold})
    assert counts["truth_rows_of_these_users"] == len(without_history)
    assert counts["truth_users_without_history"] == len({row[0] for row in without_history})
    assert counts["truth_pairs_taken_before"] == sum(row[:2] in previous for row in truth)
    assert counts["train_rows_from_the_first_of_truth_on"] == len(_leaks(actual))
    for name, side in (("train", train), ("truth", truth)):
        file = actual.manifest["files"][f"{name}.parquet"]
        assert file["rows"] == len(side)
        assert file["users"] == len({row[0] for row in side})
        assert file["items"] == len({row[1] for row in side})
        assert file["first"] == min(row[2] for row in side)
        assert file["last"] == max(row[2] for row in side)
    return True


def test_dates_and_durations_are_in_seconds_since_1970() -> None:
    days = [date(2026, 5, day) for day in range(1, 31)]
    table = pl.DataFrame({"user": [1] * 30, "item": range(30), "time": days})
    arguments: list[tuple[Any, Any]] = [
        ("2026-05-21", "7d"),
        (date(2026, 5, 21), timedelta(days=7)),
        (datetime(2026, 5, 21, 2, tzinfo=UTC) - timedelta(hours=2), "1w"),
        ("2026-05-21T02:00+02:00", 7 * DAY),
    ]
    results = [cc.data.split(table, "global-time", at=at, gap=gap) for at, gap in arguments]

    assert all(each.manifest["method"] == results[0].manifest["method"] for each in results)
    assert results[0].train["item"].to_list() == list(range(13))  # the 1st to the 13th
    assert results[0].truth["item"].to_list() == list(range(20, 30))
    assert results[0].manifest["excluded"]["gap"] == 7


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (
            "leave-last",
            {},
            "method: 'leave-last' is not a split method\n  fix: did you mean 'leave-last-out'?",
        ),
        ("leave-last-out", {"last": 0}, "last: is 0\n  fix: write a whole number, 1 or more"),
        (
            "leave-last-out",
            {"share": 0.1},
            "share: is not an option of leave-last-out\n"
            "  fix: remove it; the options of leave-last-out are: last",
        ),
        ("random", {}, "share: is missing: random requires it"),
        ("random", {"share": 1.0}, "share: is 1.0\n  fix: write a number between 0 and 1"),
        ("random", {"share": 0.1, "seed": 1.5}, "seed: is 1.5"),
        ("user-time", {"share": float("nan")}, "share: is nan"),
        (
            "global-time",
            {},
            "at: is missing, and so is share\n  fix: set `at` to a time such as 2026-05-30, or",
        ),
        (
            "global-time",
            {"at": 3, "share": 0.1},
            "at: cannot be combined with share\n  fix: remove one of them",
        ),
        ("global-time", {"at": "tomorrow"}, "at: is 'tomorrow'"),
        ("global-time", {"at": "nan"}, "at: is 'nan'"),
        ("global-time", {"at": 3, "gap": -1}, "gap: is -1"),
        ("global-time", {"at": 3, "gap": "7 days"}, "gap: is '7 days'"),
        (
            "global-time",
            {"at": "2026-05-30"},
            "at: '2026-05-30' requires times in seconds since 1970, but the latest time is 5",
        ),
        ("global-time", {"at": 3, "gap": "7d"}, "gap: '7d' requires times in seconds since 1970"),
        (
            "global-time",
            {"at": 0.5},
            "interactions: global-time leaves no rows for train\n  fix: choose another cut",
        ),
        ("global-time", {"at": 6}, "interactions: global-time leaves no rows for truth"),
        (
            "leave-last-out",
            {"last": 3},
            "leave-last-out leaves no rows for truth\n  fix: choose another cut; leave-last-out",
        ),
    ],
)
def test_invalid_arguments_are_refused(
    method: SplitMethodName, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as refused:
        cc.data.split(frame(SHOP), method, **options)

    assert message in str(refused.value)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(InputError) as refused:
        cc.data.split(frame(SHOP), "random", last=0, seed="x", at=1, repeats="never")  # type: ignore[arg-type]

    assert {each.where for each in refused.value.problems} == {
        "last",
        "seed",
        "at",
        "repeats",
        "share",
    }


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("time", pl.lit(None).cast(pl.Float64), "column 'time' (user 1, item 10): is missing"),
        ("time", pl.lit(float("inf")), "column 'time' (user 1, item 10): is infinite"),
        ("time", pl.lit("soon"), "'soon' is neither a number nor a time such as"),
        ("grade", pl.lit(float("nan")), "column 'grade' (user 1, item 10): is NaN"),
        ("user", pl.lit(None).cast(pl.Int64), "column 'user' (item 10): is missing"),
    ],
)
def test_invalid_rows_are_refused(column: str, value: pl.Expr, message: str) -> None:
    with pytest.raises(InputError) as refused:
        cc.data.split(frame(SHOP).with_columns(value.alias(column)), "leave-last-out")

    assert message in str(refused.value)


def test_grades_may_be_negative_or_none() -> None:
    low = cc.data.split(frame([(1, 1, 1.0, -3.0), (1, 2, 2.0, -4.5)]), "leave-last-out")
    none = cc.data.split(frame(SHOP).drop("grade"), "leave-last-out")

    assert low.truth["grade"].to_list() == [-4.5]
    assert none.truth.columns == ["user", "item", "time"]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("leave-last-out", {}),
        ("global-time", {"share": 0.2}),
        ("random", {"share": 0.2}),
        ("user-time", {"share": 0.2}),
    ],
)
def test_defaults_cause_no_serious_warning(
    method: SplitMethodName, options: dict[str, Any]
) -> None:
    rng = random.Random(3)
    rows = [(u, int(20 * rng.random() ** 2), rng.random(), 1.0) for u in range(60) for _ in "9" * 9]
    split = cc.data.split(frame(rows), method, **options)
    ranked = [*range(20)]

    evaluated = cc.evaluate(
        dict.fromkeys(split.truth["user"].unique().to_list(), ranked),
        split.truth.drop("time"),
        train=split.train.drop("time"),
        metrics=["nDCG@10"],
        conventions="standard",
    )

    assert len(rows) > len({(user, item) for user, item, *_ in rows})
    assert [each.code for each in evaluated.warnings if each.severity == "serious"] == []
