"""The library reads what the pipeline reads and refuses what it refuses, in words for someone who holds a frame."""

import ast
import json
import math
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

import concord as cc
from concord.metrics_core.conventions.conventions import ConventionError
from tests.project import ROOT

RECS = pl.DataFrame({"user": ["u", "u", "v"], "item": ["a", "b", "b"], "score": [0.9, 0.5, 0.7]})
TRUTH = pl.DataFrame({"user": ["u", "v"], "item": ["b", "b"], "grade": [1.0, 1.0]})
RR = (1 / 2 + 1) / 2  # b at rank 2 of u, at rank 1 of v
LABELS = ["RR"]


def _rr(recs: Any, truth: Any, **more: Any) -> float:
    return cc.evaluate(recs, truth, metrics=LABELS, conventions="standard", **more)["RR"]


def _words(recs: Any, truth: Any, **more: Any) -> str:
    more = {"metrics": LABELS, "conventions": "standard"} | more
    with pytest.raises(ValueError) as refused:
        cc.evaluate(recs, truth, **more)
    said = str(refused.value)
    assert "\n  fix: " in said
    assert "params.yaml" not in said
    assert "the file is made" not in said
    return said


WHOLE = pl.DataFrame({"user": [1, 1, 2], "item": [10, 20, 20], "score": [0.9, 0.5, 0.7]})
WHOLE_TRUTH = pl.DataFrame({"user": [1, 2], "item": [20, 20]})
READ: dict[str, tuple[Any, Any]] = {
    "float ids": (WHOLE.cast({"user": pl.Float64, "item": pl.Float64}), WHOLE_TRUTH),
    "ids as text on one side": (WHOLE.cast({"user": pl.String, "item": pl.String}), WHOLE_TRUTH),
    "numpy integers in dicts": (
        {np.int64(1): [np.int32(10), np.int64(20)], np.int64(2): [np.int64(20)]},
        {np.int64(1): {np.int64(20): np.float32(1)}, np.int64(2): {np.int64(20): np.int8(1)}},
    ),
    "arrays as lists": ({"u": np.array(["a", "b"]), "v": pl.Series(["b"])}, TRUTH),
    "scores by item": ({"u": {"b": 0.5, "a": 0.9}, "v": {"b": 0.7}}, TRUTH),
    "text scores": (
        RECS.with_columns(score=pl.Series(["9.5", "10.5", "7"])).with_columns(
            item=pl.Series(["b", "a", "b"])
        ),
        TRUTH,
    ),
    "text grades": (RECS, TRUTH.with_columns(pl.col("grade").cast(pl.String))),
    "tuples as lists": ({"u": ("a", "b"), "v": ("b",)}, {"u": {"b"}, "v": frozenset("b")}),
    "categoricals": (RECS.cast({"item": pl.Categorical}), TRUTH),
    "a duckdb relation": (pa.table(RECS.to_arrow()), TRUTH.to_pandas()),
}


@pytest.mark.parametrize("name", READ)
def test_what_people_hold_is_read_rightly(name: str) -> None:
    assert _rr(*READ[name]) == RR


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow", "run", "jsonl"])
def test_every_format_of_the_pipeline_is_read(tmp_path: Path, ending: str) -> None:
    recs, truth = tmp_path / f"recs.{ending}", tmp_path / f"truth.{ending}"
    if ending == "parquet":
        RECS.write_parquet(recs), TRUTH.write_parquet(truth)
    elif ending == "csv":
        RECS.write_csv(recs), TRUTH.write_csv(truth)
    elif ending == "arrow":
        feather.write_feather(RECS.to_arrow(), recs), feather.write_feather(TRUTH.to_arrow(), truth)
    elif ending == "run":
        recs.write_text("u Q0 a 1 0.9 x\nu Q0 b 2 0.5 x\nv Q0 b 1 0.7 x\n")
        truth = tmp_path / "truth.qrels"
        truth.write_text("u 0 b 1\nv 0 b 1\n")
    else:
        recs.write_text('{"user": "u", "items": ["a", "b"]}\n{"user": "v", "items": ["b"]}\n')
        truth.write_text('{"user": "u", "items": ["b"]}\n{"user": "v", "items": ["b"]}\n')

    assert _rr(recs, str(truth)) == RR


def test_conventions_are_given_by_name_as_a_dict_or_whole() -> None:
    pinned = cc.preset("standard")
    given: list[Any] = [
        "standard",
        pinned,
        {"preset": "standard", **pinned.knobs()},
        {"preset": "standard"},
    ]
    found = [cc.evaluate(RECS, TRUTH, metrics=LABELS, conventions=one)["RR"] for one in given]

    assert found == [RR] * 4


def test_columns_are_named_and_a_missing_grade_is_meant() -> None:
    recs = RECS.rename({"user": "userId", "score": "prediction"})
    truth = TRUTH.rename({"grade": "rating"}).with_columns(rating=pl.Series([0.0, 5.0]))
    named = {"recs": {"user": "userId", "score": "prediction"}}

    assert _rr(recs, truth, columns={**named, "truth": {"grade": "rating"}}) == 1
    assert _rr(recs, truth, columns={**named, "truth": {"grade": None}}) == RR
    said = _words(recs, truth, columns=named)
    assert "`columns={'truth': {'grade': 'rating'}}`" in said
    assert "`columns={'truth': {'grade': None}}`" in said


def test_policies_let_negative_grades_and_other_things_pass() -> None:
    negative = TRUTH.with_columns(grade=pl.Series([-1.0, 1.0]))
    twice = pl.concat([TRUTH, TRUTH])

    assert "`input={'negative_grade': …}`" in _words(RECS, negative)
    assert _rr(RECS, negative, input={"negative_grade": "zero"}) == 1
    assert "`input={'repeated_grade': …}`" in _words(RECS, twice)
    assert _rr(RECS, twice, input={"repeated_grade": "first"}) == RR
    assert "input: 'negative_grade'" not in _words(RECS, TRUTH, input={"nan_score": "first"})
    assert "choose 'error' | 'last'" in _words(RECS, TRUTH, input={"nan_score": "first"})
    assert "input: nan: is no policy" in _words(RECS, TRUTH, input={"nan": "last"})
    assert "columns: 'lists': is no table here" in _words(RECS, TRUTH, columns={"lists": {}})


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "no user in common": (RECS, {"w": ["b"]}, "recs: column 'user': no user of the lists stands in"),
    "ids in another Unicode form": (
        {"é": ["a"], "x": ["b"]}, {"e\u0301": ["a"], "x": ["b"]}, "in one Unicode form"),
    "a set as a list": ({"u": {"a", "b"}}, TRUTH, "recs['u']: is a set, which has no order"),
    "a text as a list": ({"u": "abc"}, TRUTH, "recs['u']: is 'abc', which is no list"),
    "a text as a truth": (RECS, {"u": "abc"}, "truth['u']: is 'abc', which is no list"),
    "one form for some": ({"u": ["a"], "v": {"b": 1}}, TRUTH, "some users have a list and some"),
    "tuples of item and score": ({"u": [("a", 0.5)]}, TRUTH, "{item: score}"),
    "an infinite grade": (RECS, {"u": {"a": math.inf}}, "is infinite"),
    "a missing grade": (RECS, {"u": {"a": None, "b": 1}}, "is missing"),
    "NaN as a score": (RECS.with_columns(score=math.nan), TRUTH, "is NaN"),
    "times as scores": (
        RECS.with_columns(score=pl.lit(datetime(2026, 1, 1, tzinfo=UTC))), TRUTH, "is of type timestamp"),
    "words as scores": (RECS.with_columns(score=pl.lit("much")), TRUTH, "'much' is no number"),
    "ids with a fraction": ({1.5: ["a"]}, TRUTH, "'1.5' is neither text nor a 64-bit integer"),
    "ids beyond 64 bits": ({2**70: ["a"]}, TRUTH, "recs: column 'user': holds integers beyond 64 bits"),
    "wide ids beyond 64 bits": (
        pl.DataFrame({"user": [2**70], "item": ["a"], "rank": [1]}, schema_overrides={"user": pl.Int128}),
        TRUTH, "recs: cannot be read as a table"),
    "true as an id": ({True: ["a"]}, TRUTH, "is of type bool"),
    "bytes as ids": ({b"u": [b"a"]}, TRUTH, "is of type binary"),
    "a mixed column of objects": (
        pd.DataFrame({"user": ["u", 1], "item": ["a", "b"], "rank": [1, 1]}), TRUTH,
        "recs: column 'user': holds values that do not make one column: int, str"),
    "a column twice": (
        pd.DataFrame([["u", "a", 1, 2]], columns=["user", "item", "rank", "rank"]), TRUTH,
        "recs: column 'rank': stands 2 times"),
    "a column of anything": (
        pl.DataFrame({"user": pl.Series([("u", 1)], dtype=pl.Object), "item": ["a"], "rank": [1]}), TRUTH,
        "recs: column 'user': holds values that do not make one column: tuple"),
    "scores beyond 64 bits": ({"u": {"a": 2**70, "b": 1}}, TRUTH, "column 'score': holds integers beyond 64 bits"),
    "no text": ("", TRUTH, "recs: is an empty text, which is no path"),
    "a series": (pl.Series(["a"]), TRUTH, "recs: Series is no frame, path or dict"),
    "a series of pandas": (pd.Series({"u": ["a"]}), TRUTH, "recs: Series is no frame, path or dict"),
    "a missing path": ("recs.parquet", TRUTH, "recs.parquet: there is no such file"),
    "the last ranks of 64 bits": (
        pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "rank": [2**63 - 1, 2**63 - 2]}), TRUTH,
        "recs: row 1, column 'rank' (user 'u', item 'a'): 9223372036854775807 is no place in a list"),
    "the first rank of 64 bits": (
        pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "rank": [-(2**63), 1]}), TRUTH,
        "-9223372036854775808 is no place in a list"),
    "the home of nobody": ("~no one/recs.csv", TRUTH, "~no one/recs.csv: there is no such file"),
    "an address": (
        "https://lists/recs.parquet", TRUTH, "https:/lists/recs.parquet: is an address, not a file of this machine"),
    "a number": (3, TRUTH, "int is no frame, path or dict"),
    "nothing": (None, TRUTH, "NoneType is no frame, path or dict"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_gives_no_right_number_is_refused(name: str) -> None:
    recs, truth, said = REFUSED[name]

    assert said in _words(recs, truth)


def test_a_path_may_begin_with_the_home_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "recs.csv").write_text("user,item,rank\nu,x,1\nu,a,2\n")

    assert _rr("~/recs.csv", TRUTH) == _rr(tmp_path / "recs.csv", TRUTH)


def test_users_and_labels_are_lists() -> None:
    assert "users: is 'u', which is no list" in _words(RECS, TRUTH, users="u")
    assert "metrics: 'RR' is no list" in _words(RECS, TRUTH, metrics="RR")
    assert _rr(RECS, TRUTH, users=["u"]) == 1 / 2
    assert _rr(RECS, TRUTH, users=pl.DataFrame({"user": ["u", "u"]})) == 1 / 2


def test_a_label_that_was_not_asked_for_is_named() -> None:
    result = cc.evaluate(RECS, TRUTH, metrics=LABELS, conventions="standard")

    with pytest.raises(ValueError, match="P@5: was not evaluated; there are RR"):
        result["P@5"]


def test_conventions_that_are_none_are_refused() -> None:
    assert "int says no conventions" in _words(RECS, TRUTH, conventions=3)
    with pytest.raises(ValueError, match='add "preset": "standard"'):
        cc.evaluate(RECS, TRUTH, metrics=LABELS, conventions={"relevance_threshold": 4})
    strict: Any = {"preset": "standard", "relevance_threshold": 2}
    assert math.isnan(cc.evaluate(RECS, TRUTH, metrics=LABELS, conventions=strict)["RR"])


def test_a_number_to_reconcile_is_given_as_it_was_printed() -> None:
    with pytest.raises(
        ValueError,
        match=r"0\.75 is no text: write the number as text as it was printed, such as '0\.330'",
    ):
        cc.reconcile(RECS, TRUTH, value=0.75, metric="RR", conventions="standard")  # type: ignore[arg-type]
    found = cc.reconcile(RECS, TRUTH, value="0.75", metric="RR", conventions="standard")
    assert found[0].matches


def test_explain_reads_as_evaluate_does(tmp_path: Path) -> None:
    RECS.rename({"user": "who"}).write_csv(tmp_path / "recs.csv")
    named = {"recs": {"user": "who"}}
    found = cc.explain(
        tmp_path / "recs.csv", TRUTH, user="u", metric="RR", conventions="standard", columns=named
    )

    assert found.value == 1 / 2


def test_ragged_lines_of_a_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "recs.csv").write_text("user,item,rank\nu,a,1\nu,b\n")

    assert "line 3: has 2 values, but the header names 3" in _words(tmp_path / "recs.csv", TRUTH)


CATALOGUE = {"a": "Drama | Comedy", "b": "Comedy", "c": "Horror"}


@pytest.mark.parametrize(
    "items",
    [
        CATALOGUE,
        {item: text.split(" | ") for item, text in CATALOGUE.items()},
        pl.DataFrame({"item": list(CATALOGUE), "categories": list(CATALOGUE.values())}),
    ],
    ids=["text", "lists", "frame"],
)
def test_categories_of_a_catalogue_are_words(items: Any) -> None:
    result = cc.evaluate(
        {"u": ["a", "b"]}, {"u": ["a"]}, metrics=["ILD@2"], conventions="standard", items=items
    )

    assert result["ILD@2"] == pytest.approx(1 - 1 / math.sqrt(2))  # cosine of (1, 1) and (0, 1)


def test_coverage_counts_what_the_catalogue_holds() -> None:
    recs, truth = {"u": ["a", "x", "y"]}, {"u": ["a"]}
    how: dict[str, Any] = {
        "metrics": ["Coverage@3"],
        "conventions": "standard",
        "items": ["a", "b"],
    }
    how["items"] = {"a": [], "b": []}

    assert "2 items in 2 rows of 1 user not in items, such as 'x' (user 'u')" in _words(
        recs, truth, **how
    )
    kept = cc.evaluate(recs, truth, **how, input={"unknown_items": "keep"})
    assert kept["Coverage@3"] == 1 / 2  # a of a and b


def test_sets_give_one_number_whatever_the_hash_seed() -> None:
    script = (
        "import concord as cc; own = cc.preset('standard', ideal='truth_given_order_at_k', truth_visible='all')\n"
        "truth = {'u': {'aa', 'bb', 'cc', 'dd', 'ee'}}\n"
        "print(repr(cc.evaluate({'u': ['cc', 'x', 'aa']}, truth, metrics=['nDCG@3'], conventions=own)['nDCG@3']))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip

    assert len(said) == 1


def test_all_wrong_labels_are_told_at_once_and_one_is_needed() -> None:
    with pytest.raises(ValueError, match=r"'foo'.*\n.*'bar'"):
        cc.evaluate(RECS, TRUTH, metrics=["foo", "bar"], conventions="standard")
    assert "metrics: there is none" in _words(RECS, TRUTH, metrics=[])


WRONG_WORDS: dict[str, tuple[dict[str, Any], str]] = {
    "input is text": ({"input": "zero"}, "input: 'zero' is no dict"),
    "columns are text": ({"columns": "zero"}, "columns: is no dict of dicts"),
    "a column is text": ({"columns": {"recs": "user"}}, "columns: is no dict of dicts"),
    "an unknown column": ({"columns": {"recs": {"usr": "x"}}}, "'usr': is no column of ours"),
    "a column without name": ({"columns": {"recs": {"user": None}}}, "None names no column"),
    "nobody": ({"users": ["zz"]}, "users: none of them is in the lists or in the truth"),
    "no users": ({"users": []}, "users: none of them is in the lists or in the truth"),
}


@pytest.mark.parametrize("name", WRONG_WORDS)
def test_arguments_are_what_they_should_be(name: str) -> None:
    given, said = WRONG_WORDS[name]

    assert said in _words(RECS, TRUTH, **given)


@pytest.mark.parametrize("wrong", [None, 5, [None]])
def test_labels_are_texts(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"no list|there is none|is no text such as"):
        cc.evaluate(RECS, TRUTH, metrics=wrong, conventions="standard")
    with pytest.raises(ValueError, match="is no text such as"):
        cc.explain(RECS, TRUTH, user="u", metric=wrong, conventions="standard")


def test_pairs_are_no_ids() -> None:
    pairs: Any = {"u": [(9, 8), (10, 7)]}
    train = {"metrics": ["ARP@1"], "train": pairs}

    assert "(9, 8), which is no id" in _words(RECS, TRUTH, **train)
    assert "{item: score}" in _words(pairs, TRUTH)


def test_users_may_be_any_ids_and_are_explained_as_they_are_evaluated() -> None:
    floats = WHOLE.cast({"user": pl.Float64})
    how: dict[str, Any] = {"metric": "RR", "conventions": "standard"}

    assert _rr(WHOLE, WHOLE_TRUTH, users=range(1, 2)) == 1 / 2
    assert _rr(WHOLE.lazy(), WHOLE_TRUTH, users=pl.LazyFrame({"user": [1]})) == 1 / 2
    assert cc.explain(floats, WHOLE_TRUTH, user=1.0, **how).value == 1 / 2
    assert cc.explain(floats, WHOLE_TRUTH, user="1", **how).value == 1 / 2


def test_whole_numbers_meet_whatever_stands_beside_them() -> None:
    """Each table would read its ids otherwise if all of them had to be whole numbers."""
    lists, truth = {"1.0": ["1.0", "2.0"]}, {"1.0": ["1.0"], "x": ["x"]}
    train = {"1.0": ["1.0"], "2.0": ["2.0"], "guest": ["1.0", "2.1"]}
    shelf = {"1.0": ["a"], "2.0": ["b"], "2.1": ["a"]}
    how: dict[str, Any] = {"conventions": "standard", "train": train, "items": shelf}

    assert _rr(lists, truth) == 1 / 2  # x has no list
    assert _rr(lists, truth, users=["1.0"]) == 1
    found = cc.evaluate(lists, truth, metrics=["ARP@2", "Coverage@2", "Calibration@1"], **how)
    assert found["ARP@2"] == (2 + 1) / 2
    assert found["Coverage@2"] == 2 / 3
    assert found["Calibration@1"] == 0


def test_digits_that_a_float_cannot_hold_are_refused_without_their_zero() -> None:
    long = 12345678901234567
    here, there = {"u": [f"{long}.0"]}, {"u": [f"{long}", "x"]}

    assert f"without `.0`: '{long}.0' here, '{long}' there" in _words(here, there)
    assert _rr({"u": ["python 3.0"]}, {"u": ["python 3"]}) == 0


def test_a_user_without_items_changes_nobody_else() -> None:
    lists, truth = {"1": ["1"], "2": ["3"]}, {"1": {"1": 1}, "2": {"3": -1}}
    how: dict[str, Any] = {
        "metrics": ["nDCG@2"], "conventions": "ir_measures", "input": {"negative_grade": "unjudged"}}  # fmt: skip

    assert cc.evaluate(lists, truth, **how)["nDCG@2"] == 1
    assert cc.evaluate(lists, truth | {"9": {}}, **how)["nDCG@2"] == 1 / 2


def test_a_dict_has_no_ranks_that_could_begin_at_0() -> None:
    assert _rr({"u": ["a", "b"]}, {"u": ["b"]}, input={"rank_base": 0}) == 1 / 2
    ranked = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "rank": [0, 1]})
    assert _rr(ranked, {"u": ["b"]}, input={"rank_base": 0}) == 1 / 2


@pytest.mark.parametrize("none", [None, "", " ", []])
def test_an_item_may_be_without_a_category(none: Any) -> None:
    held = {"a": "x|y", "b": none, "c": "x"}
    lists = {"a": ["x", "y"], "b": [], "c": ["x"]}
    shelf = held if none != [] else lists | {"b": None}
    how: dict[str, Any] = {"metrics": ["ILD@3"], "conventions": "standard"}

    found = cc.evaluate({"u": ["a", "b", "c"]}, {"u": ["a"]}, items=shelf, **how)
    same = cc.evaluate({"u": ["a", "b", "c"]}, {"u": ["a"]}, items=lists, **how)
    assert found["ILD@3"] == same["ILD@3"] > 0


def test_two_columns_of_ours_are_not_one_of_theirs() -> None:
    both = "recs: column 'item': would be 'user' and 'item' at once"
    assert both in _words(RECS, TRUTH, columns={"recs": {"user": "item"}})
    graded = TRUTH.with_columns(rank=pl.lit(1))
    ranked = "recs: column 'rank': would be 'rank' and 'score' at once"
    assert ranked in _words(graded, TRUTH, columns={"recs": {"score": "rank"}})
    same = "truth: column 'item': would be 'item' and 'grade' at once"
    assert same in _words(RECS, TRUTH, columns={"truth": {"grade": "item"}})


@pytest.mark.parametrize(
    "conventions", [{"preset": None}, {"preset": 5}, {"preset": ["a"]}, {1: 2}, {}]
)
def test_conventions_of_odd_types_are_refused(conventions: Any) -> None:
    with pytest.raises(ConventionError, match=r"preset|is not a convention"):
        cc.evaluate(RECS, TRUTH, metrics=LABELS, conventions=conventions)


def test_the_content_of_a_file_is_no_path() -> None:
    said = _words("user,item,rank\n" + "u,a,1\n" * 500, TRUTH)
    assert "cannot be a path: File name too long" in said
    assert len(said) < 300


def test_lists_in_a_catalogue_are_no_ids(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"item": ["1", "2"], "categories": ["a", "b"]}\n')
    said = _words(RECS, TRUTH, items=tmp_path / "items.jsonl")
    assert "is neither text nor a 64-bit integer" in said


def test_a_key_that_comes_late_may_be_a_column_in_other_capitals(tmp_path: Path) -> None:
    (tmp_path / "recs.jsonl").write_text('{"user": "u", "item": "b", "Rank": 3}\n')
    assert _rr(tmp_path / "recs.jsonl", TRUTH, columns={"recs": {"score": "Rank"}}) == 1 / 2


def test_a_truth_of_trec_counts_every_row_alike_where_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text("u 0 a 0\nv 0 b 1\n")
    named = {"truth": {"grade": None}}

    assert "has no column names" in _words(
        RECS, tmp_path / "truth.qrels", columns={"truth": {"user": "x"}}
    )
    assert _rr(RECS, tmp_path / "truth.qrels") == 1
    assert _rr(RECS, tmp_path / "truth.qrels", columns=named) == 1
    assert cc.evaluate(
        RECS, tmp_path / "truth.qrels", metrics=["R"], conventions="standard", columns=named
    ).summary["n_undefined"].to_list() == [0]


def test_likely_grades_are_seen_in_every_shape(tmp_path: Path) -> None:
    listed = pl.DataFrame({"user": ["u"], "items": [["a"]], "rating": [0.0]})
    (tmp_path / "truth.jsonl").write_text(
        '{"user": "u", "item": "a"}\n{"user": "v", "item": "b", "rating": 0}\n'
    )

    assert "may hold the grades" in _words(RECS, listed)
    late = "line 2: has a key that may hold the grade, which the first line has not"
    assert late in _words(RECS, tmp_path / "truth.jsonl")


@pytest.mark.parametrize(
    "name", ["Grade", "grades", "GRADES", " grade", "Ratings", "weights", "user_rating"]
)
def test_grades_are_seen_under_names_that_are_near(name: str, tmp_path: Path) -> None:
    truth = TRUTH.rename({"grade": name})
    lists = pl.DataFrame({"user": ["u"], "items": [["a"]], name.strip() + "s": [[0]]})
    late = json.dumps({"user": "v", "item": "b", name: 0})
    (tmp_path / "truth.jsonl").write_text('{"user": "u", "item": "a"}\n' + late)
    (tmp_path / "other.jsonl").write_text(
        '{"user": "u", "item": "b"}\n{"user": "v", "item": "b", "about": {"rating": 1}}\n'
    )

    assert f"column {name!r}: may hold the grades" in _words(RECS, truth)
    if not name.endswith(("s", "S")):
        assert name.startswith(" ") or "may hold the grades" in _words(RECS, lists)
    assert "may hold the grade" in _words(RECS, tmp_path / "truth.jsonl")
    assert _rr(RECS, truth, columns={"truth": {"grade": name}}) == RR
    assert _rr(RECS, tmp_path / "other.jsonl") == RR


def test_types_of_the_public_names_stand_where_the_names_are_taken_from() -> None:
    stub = ast.parse((ROOT / "concord" / "__init__.pyi").read_text(encoding="utf-8"))
    found = {
        alias.asname: f"{each.module}.{alias.name}"
        for each in stub.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }

    rooms = vars(cc)["_ROOMS"]
    assert found == {name: f"concord.metrics_core.{rooms[name]}.{name}" for name in rooms}  # fmt: skip
