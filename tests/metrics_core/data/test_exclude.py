"""`exclude: same_id` leaves the query itself out of its list and its ground truth."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from tests.pipeline.stages.load_project import loaded, loaded_truth, params_of

EXCLUDE = cc.preset("standard", exclude="same_id")
RUN = {"q1": {"q1": 9.0, "a": 2.0, "b": 1.0}, "q2": {"c": 1.0}, "q3": {"q3": 1.0}}
TRUTH = {"q1": {"q1": 1, "b": 1}, "q2": {"c": 1}, "q3": {"a": 1}}
RANKED = pl.DataFrame(
    [("1", 7, 1), ("1", 1, 2), ("1", 8, 3)], schema=["user", "item", "rank"], orient="row"
)


def test_ranks_close_up_and_the_ground_truth_lacks_the_query() -> None:
    """q1: b at rank 2 of 2, one relevant; q2: c at rank 1; q3: no list is left."""
    result = cc.evaluate(RUN, TRUTH, metrics=["RR@10", "R@10"], conventions=EXCLUDE)

    assert result["RR@10"] == (1 / 2 + 1 + 0) / 3
    assert result["R@10"] == (1 + 1 + 0) / 3
    kept = cc.evaluate(RUN, TRUTH, metrics=["RR@10"])
    assert kept["RR@10"] == (1 + 1 + 0) / 3
    assert EXCLUDE.fingerprint != cc.preset("standard").fingerprint


def test_ids_of_other_types_are_the_same_and_ranks_are_checked_first() -> None:
    options: dict[str, Any] = {"metrics": ["RR@10"], "conventions": EXCLUDE}

    assert cc.evaluate(RANKED, {"1": ["8"]}, **options)["RR@10"] == 1 / 2
    with pytest.raises(cc.InputError, match="rank 1 is followed by rank 3"):
        cc.evaluate(RANKED.filter(pl.col("rank") != 2), {"1": ["8"]}, **options)


@pytest.mark.parametrize("changes", [{}, {"ties": "average"}, {"duplicates": "drop"}])
def test_lists_that_lack_the_query_give_the_same_values(changes: Any) -> None:
    without = {user: {i: s for i, s in items.items() if i != user} for user, items in RUN.items()}
    truth = {user: {i: g for i, g in items.items() if i != user} for user, items in TRUTH.items()}
    plain = cc.preset("standard", **changes)
    excluding = cc.preset("standard", exclude="same_id", **changes)
    labels = ["RR@10", "nDCG@10", "AP@2", "P@1"]

    expected = cc.evaluate(without, truth, metrics=labels, conventions=plain)
    observed = cc.evaluate(RUN, TRUTH, metrics=labels, conventions=excluding)
    assert observed.per_user.rows() == expected.per_user.rows()


def test_in_sessions_the_item_with_the_id_of_the_user_is_left_out() -> None:
    """x is at rank 2 of y, x and the only item of the ground truth."""
    user = "a\\b/c"
    rows = [(user, "s/1", user, 1), (user, "s/1", "y", 2), (user, "s/1", "x", 3)]
    lists = pl.DataFrame(rows, schema=["user", "session", "item", "rank"], orient="row")
    truth = lists.filter(pl.col("item") != "y").drop("rank")
    conventions = cc.preset("standard", exclude="same_id", unit_mean="requests")

    result = cc.evaluate(
        lists,
        truth,
        metrics=["RR@10", "R@10"],
        conventions=conventions,
        unit=["user", "session"],
    )

    assert (result["RR@10"], result["R@10"]) == (1 / 2, 1)


def test_an_explanation_shows_the_list_without_the_query() -> None:
    value = cc.explain(RUN, TRUTH, user="q1", metric="RR@10", conventions=EXCLUDE).value
    assert value == 1 / 2


def test_the_stages_count_what_they_leave_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.csv").write_text("user,item,score\nq1,q1,9\nq1,a,2\nq2,c,1\n")
    Path("truth.csv").write_text("user,item,grade\nq1,q1,1\nq1,b,1\n")

    rows, quality = loaded("run.csv", exclude="same_id")
    assert rows == [("q1", "a", 1, 2.0), ("q2", "c", 1, 1.0)]
    assert quality["excluded"] == {"rows": 1, "users": 1, "policy": "same_id"}
    note = "1 row of 1 user: the item has the id of the user; `exclude: same_id` left it out"
    assert quality["notes"] == [note]
    rows, quality = loaded_truth("truth.csv", exclude="same_id")
    assert rows == [("q1", "b", 1.0)]
    assert quality["notes"] == [note]


def test_params_name_it_below_data_where_the_stages_that_load_see_it() -> None:
    assert params_of("a.csv", exclude="same_id").parsed_conventions.exclude == "same_id"
    with pytest.raises(ValueError, match="write it in the section data"):
        params_of("a.csv", conventions={"exclude": "same_id"})
