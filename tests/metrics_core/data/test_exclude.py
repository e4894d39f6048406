"""`exclude` leaves the query itself, or pairs of a table, out of lists and ground truth."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.data.quality import describe_folds
from concord.pipeline.running.outputs import write_json
from tests.pipeline.refusals import refusal_of
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


@pytest.mark.parametrize("changes", [{}, {"ties": "average"}, {"duplicates": "first"}])
def test_lists_that_lack_the_pairs_give_the_same_values(changes: Any) -> None:
    """q1 loses a and b, its relevant item; q3 its only item; the pair of q9 has no effect."""
    excluded = {"q1": ["a", "b", "z"], "q3": ["q3"], "q9": ["c"]}

    def without(table: Any) -> Any:
        return {
            user: {item: items[item] for item in items if item not in excluded.get(user, ())}
            for user, items in table.items()
        }

    plain = cc.preset("standard", **changes)
    excluding = cc.preset("standard", exclude=cc.data.excluded_pairs(excluded), **changes)
    labels = ["RR@10", "nDCG@10", "AP@2", "P@1"]

    expected = cc.evaluate(without(RUN), without(TRUTH), metrics=labels, conventions=plain)
    observed = cc.evaluate(RUN, TRUTH, metrics=labels, conventions=excluding)
    assert observed.per_user.rows() == expected.per_user.rows()


def test_pairs_are_named_by_their_content_in_any_order_type_and_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("query-id\tcorpus-id\n2\t7\n1\t8\n1\t8\n")
    pairs = cc.data.excluded_pairs({"1": ["8"], "2": ["7"]})
    numbers = pl.DataFrame({"user": [2, 1], "item": [7, 8]})

    assert pairs == cc.data.excluded_pairs(path) == cc.data.excluded_pairs(numbers)
    renamed = numbers.rename({"item": "doc"})
    assert pairs == cc.data.excluded_pairs(renamed, columns={"pairs": {"item": "doc"}})
    assert pairs != cc.data.excluded_pairs({"1": ["8"], "27": ["7"]})
    assert cc.data.excluded_pairs({"1": ["12"]}) != cc.data.excluded_pairs({"11": ["2"]})
    conventions = cc.preset("standard", exclude=pairs)
    assert conventions.fingerprint != EXCLUDE.fingerprint
    result = cc.evaluate(RANKED, {"1": ["8", "1"]}, metrics=["RR@10"], conventions=conventions)
    assert result["RR@10"] == 1 / 2


def test_stored_conventions_have_the_name_of_pairs_and_are_refused_without_the_pairs() -> None:
    conventions = cc.preset("standard", exclude=cc.data.excluded_pairs({"q1": ["a"]}))
    stored = cc.metrics.Conventions.from_mapping(json.loads(json.dumps(conventions.as_dict())))

    assert type(conventions.as_dict()["exclude"]) is str
    assert stored == conventions
    assert stored.fingerprint == conventions.fingerprint
    for copied in (pickle.loads(pickle.dumps(conventions)), copy.deepcopy(conventions)):
        assert cc.evaluate(RUN, TRUTH, metrics=["P@2"], conventions=copied)["P@2"] == 1 / 2
    with pytest.raises(
        cc.InputError, match=r"a stored hash without the pairs\n  fix: set it to concord"
    ):
        cc.evaluate(RUN, TRUTH, metrics=["P@2"], conventions=stored)
    with pytest.raises(
        ValueError, match=r"choose one of: same_id \| concord\.data\.excluded_pairs\("
    ):
        cc.preset("standard", exclude="pairs.tsv")  # type: ignore[arg-type]
    with pytest.raises(cc.InputError, match="pairs: row 1, column 'item'"):
        cc.data.excluded_pairs(pl.DataFrame({"user": ["q1"], "item": [None]}))


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
    note = "1 row of 1 user: the item does not count for the user; `exclude: same_id` left it out"
    assert quality["notes"] == [note]
    rows, quality = loaded_truth("truth.csv", exclude="same_id")
    assert rows == [("q1", "b", 1.0)]
    assert quality["notes"] == [note]


def test_params_name_it_below_data_where_the_stages_that_load_see_it() -> None:
    assert params_of("a.csv", exclude="same_id").parsed_conventions.exclude == "same_id"
    with pytest.raises(ValueError, match=r"write same_id, or {path: FILE}"):
        params_of("a.csv", exclude="../pairs.tsv")
    with pytest.raises(ValueError, match=r"write same_id, or {path: FILE}"):
        params_of("a.csv", exclude={"columns": {"user": "topic"}})
    with pytest.raises(ValueError, match="write it in the section data"):
        params_of("a.csv", conventions={"exclude": "same_id"})


def test_the_stages_read_pairs_of_a_file_and_name_them_as_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.csv").write_text("user,item,score\nq1,q1,9\nq1,a,2\nq2,c,1\n")
    Path("truth.csv").write_text("user,item,grade\nq1,a,1\nq1,b,1\n")
    Path("pairs.csv").write_text("topic,doc\nq1,a\n")
    columns = {"user": "topic", "item": "doc"}
    exclude = {"path": "pairs.csv", "columns": columns}
    pairs = cc.data.excluded_pairs({"q1": ["a"]})

    rows, quality = loaded("run.csv", exclude=exclude)
    assert rows == [("q1", "q1", 1, 9.0), ("q2", "c", 1, 1.0)]
    assert quality["excluded"] == {"rows": 1, "users": 1, "policy": pairs}
    rows, _ = loaded_truth("truth.csv", exclude=exclude)
    assert rows == [("q1", "b", 1.0)]
    Path("pairs.csv").write_text("topic,doc\nQ1,A\n")
    _, quality = loaded_truth("truth.csv", exclude=exclude)
    (note,) = quality["notes"]
    assert note.startswith("0 rows of 0 users: the item does not count for the user; `exclude: p")
    Path("pairs.csv").write_text("topic,doc\nq1,a\n")
    loaded_truth("truth.csv", exclude=exclude)
    params = params_of("run.csv", exclude=exclude)
    assert params.resolved_conventions.exclude == pairs
    quality = json.loads(Path("results/quality/truth.json").read_text())
    write_json(Path("results/quality/truth.json"), describe_folds({"1": quality, "2": quality}))
    assert params.resolved_conventions.exclude == pairs
    Path("pairs.csv").write_text("topic,doc\nq1,\n")
    message = refusal_of(lambda: loaded("run.csv", exclude=exclude))
    assert message.startswith("pairs.csv: line 2, column 'doc'")
