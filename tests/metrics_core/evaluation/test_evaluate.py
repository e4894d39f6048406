"""The library reads frames, dicts and paths as the pipeline reads its files.

What it refuses stands in `tests/inputs`.
"""

import json
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb, format_exception
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyarrow import feather

import concord as cc
from concord.metrics_core.errors import InputError
from concord.typing import ConventionsLike, TableColumns
from tests.inputs.bad_arguments import LISTS, TRUTH

RR = (1 / 2 + 1) / 2  # b at rank 2 of u, at rank 1 of v
NUMBERED = pl.DataFrame({"user": [1, 1, 2], "item": [10, 20, 20], "score": [0.9, 0.5, 0.7]})
NUMBERED_TRUTH = pl.DataFrame({"user": [1, 2], "item": [20, 20]})
NUMPY = {np.int64(1): [np.int32(10), np.int64(20)], np.int64(2): [np.int64(20)]}
NUMPY_TRUTH = {np.int64(1): {np.int64(20): np.float32(1)}, np.int64(2): {np.int64(20): np.int8(1)}}
TEXT_SCORES = {"score": ["9.5", "10.5", "7"], "item": ["b", "a", "b"]}


def _rr(recs: Any, truth: Any, **options: Any) -> float:
    return cc.evaluate(recs, truth, metrics=["RR"], conventions="standard", **options)["RR"]


def _as(kind: Any) -> pl.DataFrame:
    return NUMBERED.cast({"user": kind, "item": kind})


@pytest.mark.parametrize(
    ("recs", "truth"),
    [
        (LISTS, TRUTH),
        (LISTS.lazy(), TRUTH.lazy()),
        (LISTS.to_arrow(), TRUTH.to_pandas()),
        (LISTS.to_pandas(), TRUTH.to_arrow()),
        (LISTS.cast({"item": pl.Categorical}), TRUTH),
        (LISTS.with_columns(**{n: pl.Series(v) for n, v in TEXT_SCORES.items()}), TRUTH),
        (LISTS, TRUTH.cast({"grade": pl.String})),
        ({"u": np.array(["a", "b"]), "v": pl.Series(["b"])}, TRUTH),
        ({"u": {"b": 0.5, "a": 0.9}, "v": {"b": 0.7}}, TRUTH),
        ({"u": ("a", "b"), "v": ("b",)}, {"u": {"b"}, "v": frozenset("b")}),
        (_as(pl.Float64), NUMBERED_TRUTH),
        (_as(pl.String), NUMBERED_TRUTH),  # ids are compared by their decimal text
        (NUMPY, NUMPY_TRUTH),
        (SimpleNamespace(__arrow_c_stream__=LISTS.__arrow_c_stream__), TRUTH),
    ],
)
def test_frames_and_dicts_give_the_same_value(recs: Any, truth: Any) -> None:
    assert _rr(recs, truth) == RR


@pytest.mark.parametrize("ending", ["json", "grades.json", "jsonl", "parquet", "frame"])
def test_empty_lists_of_the_ground_truth_are_counted(tmp_path: Path, ending: str) -> None:
    truth = {"p": [], "u": ["b"], "q": [], "v": ["b"], "w": []}
    path: Any = tmp_path / f"truth.{ending}"
    frame = pl.DataFrame({"user": list(truth), "item": list(truth.values())})
    if ending == "json":
        path.write_text(json.dumps(truth))
    elif ending == "grades.json":
        path.write_text(json.dumps({u: dict.fromkeys(items, 1) for u, items in truth.items()}))
    elif ending == "jsonl":
        frame.write_ndjson(path)
    elif ending == "parquet":
        frame.write_parquet(path)
    else:
        path = frame
    result = cc.evaluate(LISTS, path, metrics=["RR@10"])

    (warning,) = (each for each in result.warnings if each.code == "empty_truth")
    assert warning.details["lists"] == 3
    assert result["RR@10"] == RR


RANKS = {"stale": [3, 2, 1], "tied": [1, 1, 1], "gaps": [2, 5, 9], "from 0": [0, 1, 2]}


@pytest.mark.parametrize("ranks", RANKS.values(), ids=RANKS)
def test_scores_order_trec_runs_and_frames_of_pyterrier(tmp_path: Path, ranks: list[int]) -> None:
    """c (3.0), then a and b (1.0) by id: b is before a under trec_eval, after it by default."""
    rows = [*zip("acb", ranks, [1.0, 3.0, 1.0], strict=True)]
    path = tmp_path / "stale.run"
    path.write_text("".join(f"q Q0 {item} {rank} {score} x\n" for item, rank, score in rows))
    frame = pl.DataFrame(rows, schema=["docno", "rank", "score"], orient="row")
    frame = frame.with_columns(qid=pl.lit("q"))

    for run in (path, frame):
        values = [
            cc.evaluate(run, {"q": ["b"]}, metrics=["RR@10"], conventions=name)["RR@10"]
            for name in ("pytrec_eval", "standard")
        ]
        assert values == [1 / 2, 1 / 3]


def test_a_rank_that_is_not_read_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "odd.run"
    path.write_text("q Q0 a - 1.0 x\nq Q0 b 1.5 2.0 x\n")
    frame = pl.DataFrame({"qid": "q", "docno": ["a", "b"], "rank": [None, 2], "score": [1.0, 2.0]})

    for run in (path, frame):
        assert cc.evaluate(run, {"q": ["b"]}, metrics=["RR@10"])["RR@10"] == 1


def test_tables_of_pyterrier_have_the_same_value_as_frame_and_file(tmp_path: Path) -> None:
    """Ranks are read if they are named."""
    rows = {"qid": ["q", "q"], "docno": ["a", "b"], "rank": [1, 2], "score": [1.0, 2.0]}
    frame, path = pl.DataFrame(rows), tmp_path / "run.parquet"
    frame.write_parquet(path)
    for columns, value in ((None, 1), ({"recs": {"rank": "rank"}}, 1 / 2)):
        for run in (frame, path):
            options: Any = {"metrics": ["RR@10"], "columns": columns}
            assert cc.evaluate(run, {"q": ["b"]}, **options)["RR@10"] == value


def test_frames_of_pyterrier_need_no_names_and_no_first_rank() -> None:
    run = pl.DataFrame(
        {"qid": ["1", "1"], "docid": [7, 8], "docno": ["a", "b"], "score": [2.0, 1.0]}
    ).with_columns(rank=pl.Series([0, 1]))
    qrels = pl.DataFrame({"qid": ["1"], "docno": ["b"], "label": [1]})

    assert cc.evaluate(run, qrels, metrics=["RR@10"])["RR@10"] == 1 / 2
    assert cc.explain(run, qrels, user="1", metric="RR@10").value == 1 / 2


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow", "run", "jsonl"])
def test_files_give_the_same_value(tmp_path: Path, ending: str) -> None:
    recs, truth = tmp_path / f"recs.{ending}", tmp_path / f"truth.{ending}"
    if ending == "parquet":
        LISTS.write_parquet(recs), TRUTH.write_parquet(truth)
    elif ending == "csv":
        LISTS.write_csv(recs), TRUTH.write_csv(truth)
    elif ending == "arrow":
        (
            feather.write_feather(LISTS.to_arrow(), recs),
            feather.write_feather(TRUTH.to_arrow(), truth),
        )
    elif ending == "run":
        recs.write_text("u Q0 a 1 0.9 x\nu Q0 b 2 0.5 x\nv Q0 b 1 0.7 x\n")
        truth = tmp_path / "truth.qrels"
        truth.write_text("u 0 b 1\nv 0 b 1\n")
    else:
        recs.write_text('{"user": "u", "items": ["a", "b"]}\n{"user": "v", "items": ["b"]}\n')
        truth.write_text('{"user": "u", "items": ["b"]}\n{"user": "v", "items": ["b"]}\n')

    assert _rr(recs, str(truth)) == RR


def test_path_may_begin_with_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    LISTS.write_csv(tmp_path / "recs.csv")
    assert _rr("~/recs.csv", TRUTH) == RR


def test_conventions_by_name_as_dict_or_whole() -> None:
    standard = cc.preset("standard")
    of_options: Any = {"preset": "standard", **standard.preset_values()}
    forms: tuple[ConventionsLike, ...] = (standard, of_options, {"preset": "standard"})
    for conventions in forms:
        assert cc.evaluate(LISTS, TRUTH, metrics=["RR"], conventions=conventions)["RR"] == RR
    with pytest.raises(InputError, match="is not a convention"):
        cc.evaluate(LISTS, TRUTH, metrics=["RR"], conventions={"preset": "standard", 1: 2})  # type: ignore[arg-type]


def test_conventions_are_standard_unless_named() -> None:
    result = cc.evaluate(LISTS, TRUTH, metrics=["RR"])
    standard = cc.preset("standard")
    assert result.conventions == standard
    assert repr(result).startswith(f"2 users, conventions standard {standard.fingerprint}\n")


def test_columns_are_named() -> None:
    recs = LISTS.rename({"user": "userId", "score": "prediction"})
    truth = TRUTH.rename({"grade": "rating"}).with_columns(rating=pl.Series([0.0, 5.0]))
    columns = {"recs": {"user": "userId", "score": "prediction"}}

    assert _rr(recs, truth, columns={**columns, "truth": {"grade": "rating"}}) == 1
    assert _rr(recs, truth, columns={**columns, "truth": {"grade": None}}) == RR
    names: Any = {"score": "prediction", "grade": "rating", "recs": {"user": "userId"}}
    assert _rr(recs, truth, columns=names) == 1


def test_names_of_user_and_item_hold_for_all_tables_unless_a_table_has_its_own() -> None:
    names: Any = {"user": "userId", "item": "movieId"}
    recs, truth = LISTS.rename(names), TRUTH.rename(names)
    arguments: dict[str, Any] = {"metrics": ["Coverage@2", "RR"]}
    items = LISTS.select(movieId="item").unique()

    result = cc.evaluate(recs, truth, **arguments, items=items, columns=names)
    with_own_names: Any = {**names, "recs": {"user": "user", "item": "item"}}
    own = cc.evaluate(LISTS, truth, **arguments, items=items, columns=with_own_names)
    from_dict = cc.evaluate(recs, {"u": {"a": 1}}, metrics=["RR"], only_users=["u"], columns=names)

    expected = cc.evaluate(LISTS, TRUTH, **arguments, items=LISTS.select("item").unique())
    assert result.to_dict() == own.to_dict() == expected.to_dict()
    assert from_dict.per_user["user"].to_list() == ["u"]


def test_users_choose_who_is_evaluated() -> None:
    assert _rr(LISTS, TRUTH, only_users=["u"]) == 1 / 2
    assert _rr(LISTS, TRUTH, only_users=pl.DataFrame({"user": ["u", "u"]})) == 1 / 2
    assert _rr(NUMBERED, NUMBERED_TRUTH, only_users=range(1, 2)) == 1 / 2
    assert _rr(NUMBERED.lazy(), NUMBERED_TRUTH, only_users=pl.LazyFrame({"user": [1]})) == 1 / 2

    lists, truth = {"a": ["x"], "b": ["y"]}, {"a": ["x"], "c": ["z"]}
    users = ["a", "b", "c"]
    result = cc.evaluate(lists, truth, metrics=["RR"], conventions="standard", only_users=users)
    assert result.per_user["user"].to_list() == users
    assert result["RR"] == (1 + 0) / 2  # b has nothing relevant: undefined, skipped
    assert result.to_frame().row(0)[4:] == (2, 1)


def test_results_have_the_labels_of_the_catalogue_and_read_any_name() -> None:
    result = cc.evaluate(LISTS, TRUTH, metrics=["ndcg_cut_10", "MRR"], conventions="standard")
    assert list(result.summaries) == ["nDCG@10", "RR"]
    assert result.per_user.columns == ["user", "nDCG@10", "RR"]
    assert result["recip_rank"] == result["RR"]


@pytest.mark.parametrize(
    ("label", "problem", "fix"),
    [
        (
            "Faithfulness",
            "'Faithfulness' is unknown",
            "choose one of `concord metrics` or docs/reference/metrics; `compare_values` compares "
            "scores of other tools, such as Ragas",
        ),
        ("MRR@0", "cutoffs start at 1", "write a label such as nDCG@10, RBP(p=0.8)@20 or Rprec"),
    ],
)
def test_an_invalid_label_is_refused_with_the_fix(label: str, problem: str, fix: str) -> None:
    with pytest.raises(InputError) as refused:
        cc.evaluate({"u1": ["a"]}, {"u1": ["a"]}, metrics=[label])
    assert str(refused.value) == f"metrics: metric {label!r}: {problem}\n  fix: {fix}"


def test_unknown_label_of_a_result_is_refused() -> None:
    result = cc.evaluate(LISTS, TRUTH, metrics=["RR"], conventions="standard")
    with pytest.raises(ValueError, match="P@5: was not evaluated; there are RR"):
        result["P@5"]


def test_explain_reads_as_evaluate(tmp_path: Path) -> None:
    LISTS.rename({"user": "who"}).write_csv(tmp_path / "recs.csv")
    options: dict[str, Any] = {"metric": "RR", "conventions": "standard"}
    columns: TableColumns = {"recs": {"user": "who"}}

    of_file = cc.explain(tmp_path / "recs.csv", TRUTH, user="u", columns=columns, **options)
    assert of_file.value == 0.5
    for user in (1.0, "1"):
        assert cc.explain(_as(pl.Float64), NUMBERED_TRUTH, user=user, **options).value == 0.5
    with pytest.raises(ValueError, match="must be a text such as"):
        cc.explain(LISTS, TRUTH, user="u", **options | {"metric": 5})


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
def test_categories_of_a_catalogue(items: Any) -> None:
    options: dict[str, Any] = {"metrics": ["ILD@2"], "conventions": "standard", "items": items}
    result = cc.evaluate({"u": ["a", "b"]}, {"u": ["a"]}, **options)
    assert result["ILD@2"] == pytest.approx(1 - 1 / math.sqrt(2))  # cosine of (1, 1) and (0, 1)


@pytest.mark.parametrize("none", [None, "", " ", []])
def test_item_without_category(none: Any) -> None:
    lists = {"a": ["x", "y"], "b": [], "c": ["x"]}
    items = {"a": "x|y", "b": none, "c": "x"} if none != [] else lists | {"b": None}
    options: dict[str, Any] = {"metrics": ["ILD@3"], "conventions": "standard"}

    diversity, same = (
        cc.evaluate({"u": ["a", "b", "c"]}, {"u": ["a"]}, items=table, **options)["ILD@3"]
        for table in (items, lists)
    )
    assert diversity == same > 0


def test_sets_give_the_same_value_for_every_hash_seed() -> None:
    script = (
        "import concord as cc; own = cc.preset('standard', ideal='truth_given_order_at_k', "
        "truth_visible='all')\ntruth = {'u': {'aa', 'bb', 'cc', 'dd', 'ee'}}\n"
        "print(repr(cc.evaluate({'u': ['cc', 'x', 'aa']}, truth, metrics=['nDCG@3'], "
        "conventions=own)['nDCG@3']))"
    )
    printed = {
        subprocess.check_output([sys.executable, "-c", script], env={"PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_whole_floats_match_ids_of_other_tables() -> None:
    """Each table would read its ids otherwise if all of them had to be whole numbers."""
    lists, truth = {"1.0": ["1.0", "2.0"]}, {"1.0": ["1.0"], "x": ["x"]}
    train = {"1.0": ["1.0"], "2.0": ["2.0"], "guest": ["1.0", "2.1"]}
    items = {"1.0": ["a"], "2.0": ["b"], "2.1": ["a"]}
    options: dict[str, Any] = {"conventions": "standard", "train": train, "items": items}

    assert _rr(lists, truth) == 1 / 2  # x has no list
    assert _rr(lists, truth, only_users=["1.0"]) == 1
    assert _rr({"u": ["python 3.0"]}, {"u": ["python 3"]}) == 0
    result = cc.evaluate(lists, truth, metrics=["ARP@2", "Coverage@2", "Calibration@1"], **options)
    assert result["ARP@2"] == (2 + 1) / 2
    assert result["Coverage@2"] == 2 / 3
    assert result["Calibration@1"] == 0


def test_user_without_items_changes_nobody_else() -> None:
    lists, truth = {"1": ["1"], "2": ["3"]}, {"1": {"1": 1}, "2": {"3": -1}}
    options: dict[str, Any] = {
        "metrics": ["nDCG@2"],
        "conventions": "ir_measures",
        "input": {"negative_grade": "unjudged"},
    }
    assert cc.evaluate(lists, truth, **options)["nDCG@2"] == 1
    assert cc.evaluate(lists, truth | {"9": {}}, **options)["nDCG@2"] == 1 / 2


def test_dict_has_no_rank_base() -> None:
    ranked = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "rank": [0, 1]})
    for lists in ({"u": ["a", "b"]}, ranked):
        assert _rr(lists, {"u": ["b"]}, input={"rank_base": 0}) == 1 / 2


def test_later_key_in_other_capitals_is_a_column(tmp_path: Path) -> None:
    (tmp_path / "recs.jsonl").write_text('{"user": "u", "item": "b", "Rank": 3}\n')
    assert _rr(tmp_path / "recs.jsonl", TRUTH, columns={"recs": {"score": "Rank"}}) == 1 / 2


def test_grades_of_trec_may_be_ignored(tmp_path: Path) -> None:
    path = tmp_path / "truth.qrels"
    path.write_text("u 0 a 0\nv 0 b 1\n")
    ignored = {"truth": {"grade": None}}
    options: dict[str, Any] = {"metrics": ["R"], "conventions": "standard", "columns": ignored}

    assert _rr(LISTS, path) == _rr(LISTS, path, columns=ignored) == 1
    assert cc.evaluate(LISTS, path, **options).to_frame()["n_undefined"].to_list() == [0]


def test_grades_in_later_lines_of_json_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "truth.jsonl"
    for key in ("rating", "Grade", " weights"):
        path.write_text(f'{{"user": "u", "item": "a"}}\n{{"user": "v", "item": "b", "{key}": 0}}\n')
        with pytest.raises(
            ValueError, match="line 2: has a key that may hold the grade, which the"
        ):
            _rr(LISTS, path)
    path.write_text(
        '{"user": "u", "item": "b"}\n{"user": "v", "item": "b", "about": {"rating": 1}}\n'
    )
    assert _rr(LISTS, path) == RR


UNTYPED: Any = cc
REFUSED: dict[str, Callable[[], object]] = {
    "input": lambda: _rr({"u": [1.5]}, TRUTH),
    "metric": lambda: cc.evaluate(LISTS, TRUTH, metrics=["nDGC@10"], conventions="standard"),
    "preset": lambda: UNTYPED.preset("standrd"),
    "comparison": lambda: cc.compare(
        {}, TRUTH, metrics=["RR"], baseline="a", conventions="standard"
    ),
    "signature": lambda: UNTYPED.evaluate(LISTS),
    "argument": lambda: UNTYPED.plan(sdd=1),
}


@pytest.mark.parametrize("refused", REFUSED)
def test_a_refusal_ends_at_the_call(refused: str) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        REFUSED[refused]()

    assert {frame.filename for frame in extract_tb(raised.value.__traceback__)} == {__file__}
    recommended = "".join(format_exception(raised.value))
    assert "metrics_core/evaluation/evaluate.py" not in recommended


def test_a_missing_argument_is_shown_by_an_example() -> None:
    with pytest.raises(TypeError, match="missing 1 required") as raised:
        UNTYPED.evaluate(LISTS, TRUTH)

    assert str(raised.value).endswith('\n  fix: add metrics=["nDCG@10", "R@20"]')


def test_an_error_of_a_library_below_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "concord.metrics_core.evaluation.evaluate.parse_labels",
        lambda _: np.arange(3).reshape(2, 2),
    )

    with pytest.raises(ValueError) as raised:
        cc.evaluate(LISTS, TRUTH, metrics=["P@1"], conventions="standard")

    assert len(extract_tb(raised.value.__traceback__)) > 2


def test_a_refusal_keeps_its_traceback_for_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONCORD_DEBUG", "1")
    with pytest.raises(ValueError, match="preset") as raised:
        UNTYPED.preset("standrd")

    assert extract_tb(raised.value.__traceback__)[-1].filename.endswith("presets.py")


def test_a_public_function_is_found_by_pickle() -> None:
    assert pickle.loads(pickle.dumps(cc.evaluate)) is cc.evaluate


def test_missing_column_with_two_meanings_is_one_problem() -> None:
    items = pl.DataFrame({"item": ["a"]})
    names: TableColumns = {"items": {"title": "absent", "categories": "absent"}}

    with pytest.raises(InputError) as error:
        cc.evaluate(
            {"u": ["a"]},
            {"u": ["a"]},
            metrics=["ILD@1"],
            conventions="standard",
            items=items,
            columns=names,
        )

    missing = [p for p in error.value.problems if p.message.startswith("is missing")]
    assert len(missing) == 1


def test_a_golden_set_is_a_frame_or_becomes_a_dict() -> None:
    golden: Any = [{"id": "q1", "question": "reset", "relevant_ids": ["d1"]}]
    lists = {"q1": ["d2", "d1"]}
    names: Any = {"truth": {"user": "id", "item": "relevant_ids"}}

    assert cc.evaluate(lists, pl.DataFrame(golden), metrics=["RR@10"], columns=names)["RR@10"] == (
        1 / 2
    )
    message = r"(?s)^truth: is a list of dicts with the keys id, question, relevant_ids.*fix: "
    with pytest.raises(cc.InputError, match=message):
        cc.evaluate(lists, golden, metrics=["RR@10"])


def test_a_table_of_users_is_that_of_a_propensity() -> None:
    with pytest.raises(cc.InputError, match=r"users: changes no value.*\n.*`only_users=`"):
        cc.evaluate(LISTS, TRUTH, metrics=["RR"], users=["u"])  # type: ignore[arg-type]
