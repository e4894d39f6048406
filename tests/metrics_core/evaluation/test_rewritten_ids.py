"""Ids that are integers with `.0`: read without it, with a warning, and never merged."""

from typing import Any

import polars as pl
import pytest

import concord as cc

OPTIONS: dict[str, Any] = {"metrics": ["P@1"], "conventions": "standard"}
FIX = "write each id in one form; if they are two ids, rename one of them in all tables"


@pytest.mark.parametrize(
    ("tables", "where"),
    [
        ({"truth": {"u": {"1": 1}, "v": {"1.0": 1}}}, "truth: column 'item'"),
        ({"recs": {"u": ["1.0"], "v": ["1"]}}, "recs: column 'item'"),
        ({"train": {"u": ["1.0", "1"]}}, "train: column 'item'"),
        ({"items": {"1.0": ["a"], "1": ["b"]}}, "items: column 'item'"),
        ({"truth": {"u": ["1"], "7": ["1"], "7.0": []}}, "users: column 'user'"),
    ],
)
def test_two_ids_side_by_side_are_never_one(tables: dict[str, Any], where: str) -> None:
    inputs = {"recs": {"u": ["1.0"], "v": ["2"]}, "truth": {"u": ["1"], "v": ["1"]}, **tables}
    with pytest.raises(ValueError, match="so they would become one id") as refused:
        cc.evaluate(**inputs, **OPTIONS)
    one, other = ("7.0", "7") if "user" in where else ("1.0", "1")
    assert str(refused.value).startswith(f"{where}: contains both {one!r} and {other!r}; ")
    assert str(refused.value).endswith(f"fix: {FIX}")


def test_all_pairs_of_a_column_are_counted_and_the_shortest_is_named() -> None:
    recs = {"u": ["10.0", "10", "9.0", "9", "8.0"]}
    with pytest.raises(
        ValueError, match=r"contains both '9\.0' and '9' \(and 1 id more in both forms\)"
    ):
        cc.evaluate(recs, {"u": ["9"]}, **OPTIONS)


def test_ids_that_were_rewritten_are_a_warning_of_evaluate() -> None:
    result = cc.evaluate(
        {"u": ["1.0"], "v": ["2"]}, {"u": ["1"], "v.0": ["1"], "3.0": ["1"]}, **OPTIONS
    )
    (warning,) = (each for each in result.warnings if each.code == "ids_rewritten")
    assert warning.severity == "notice"
    assert warning.models == ("recs",)
    words = "such as '3.0' as '3': user in 1 row of the ground truth and item in 1 row of recs."
    assert words in warning.sentence.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("recs", [{"u": ["1"]}, {"u": [1.0]}, {"u": ["v1.0"], "v": ["1.10"]}])
def test_ids_that_are_read_as_they_are_written_give_no_warning(recs: dict[str, Any]) -> None:
    result = cc.evaluate(recs, {"u": ["1"], "v": ["v1.0"]}, **OPTIONS)
    assert "ids_rewritten" not in {each.code for each in result.warnings}


def test_warning_of_compare_names_the_models_and_the_truth() -> None:
    models = {"pop": {"u": ["1"], "v": ["2"]}, "als": {"u": ["1.0"], "v": ["2.0"]}}
    truth = pl.DataFrame({"user": ["u", "v"], "item": ["1.0", "x"]})
    comparison = cc.compare(models, truth, baseline="pop", **OPTIONS)
    (warning,) = (each for each in comparison.warnings if each.code == "ids_rewritten")
    assert warning.models == ("als",)
    words = "item in 1 row of the ground truth and item in 2 rows of als"
    assert words in warning.sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert comparison.leaderboard.filter(pl.col("model") == "als")["mean"].to_list() == [1 / 2]
