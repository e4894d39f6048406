"""What `compare` chooses if its metrics are not named: as `concord init`."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML

import concord as cc
from tests.project import run

DEMO = cc.datasets.load_demo()
MODELS = {name: DEMO.models[name] for name in ("ease", "als")}


def test_the_last_model_is_the_baseline() -> None:
    comparison = cc.compare(MODELS, DEMO.truth, metrics=["RR"], panel=False)

    assert (comparison.baseline, comparison.chosen) == ("als", ())
    assert "Chosen" not in str(comparison)


def test_all_that_is_not_given_is_chosen_as_by_init(tmp_path: Path) -> None:
    """The files of `init`, and the same tables in memory, get the same choices."""
    for name, table in {**MODELS, "truth": DEMO.truth}.items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    run(tmp_path, "concord", "init", "--no-dvc")
    params = YAML(typ="safe").load(next(tmp_path.rglob("params.yaml")))

    comparison = cc.compare(MODELS, DEMO.truth)

    evaluation = params["evaluation"]
    assert comparison.chosen == ("metrics", "primary", "min_effect", "conventions")
    assert comparison.ks == tuple(evaluation["ks"])
    assert {metric.label.partition("@")[0] for metric in comparison.metrics} == {
        *evaluation["metrics"]
    }
    assert [*comparison.primary] == params["comparison"]["primary"]
    assert comparison.metric("nDCG@10").min_effect == params["comparison"]["min_effect"]
    values = {each.name: each.value for each in comparison.conventions.values}
    for name in ("relevance_threshold", "err_max_grade"):
        assert values[name] == params["conventions"][name]
    assert "Chosen as by `concord init`: cutoffs 5, 10 and 20, nDCG@10 decides" in str(comparison)


def test_lists_of_trec_have_the_cutoffs_of_their_length(tmp_path: Path) -> None:
    names = {name: f"{name}.run" for name in MODELS}
    for path in names.values():
        lines = (f"q{q} Q0 d{d} {d} {11 - d} x\n" for q in range(9) for d in range(1, 11))
        (tmp_path / path).write_text("".join(lines))
    (tmp_path / "t.qrels").write_text("".join(f"q{q} 0 d{q + 1} 1\n" for q in range(9)))

    text = run(tmp_path, "concord", "compare", *names.values(), "--truth", "t.qrels", "--json")

    paths = {name: tmp_path / path for name, path in names.items()}
    comparison = cc.compare(paths, tmp_path / "t.qrels")
    assert comparison.ks == (10,)
    assert [each["label"] for each in json.loads(text)["metrics"]] == [*comparison.labels]


def test_ratings_from_four_stars_count_as_relevant() -> None:
    truth = pl.DataFrame({"user": ["u", "u", "v"], "item": ["a", "b", "a"], "rating": [5, 3, 4]})
    lists = {"u": ["b", "a"], "v": ["a"]}
    comparison = cc.compare(
        {"new": lists, "old": lists}, truth, columns={"truth": {"grade": "rating"}}, panel=False
    )

    assert comparison.score("new", "RR@1").mean == 1 / 2
    assert "grades from 4 count as relevant" in str(comparison)


def test_the_unit_is_that_of_the_lists() -> None:
    rows = [(user, session, f"i{n}", n) for user in "uv" for session in (1, 2) for n in (1, 2)]
    lists = pl.DataFrame(rows, schema=["user", "session_id", "item", "rank"], orient="row")
    comparison = cc.compare({"new": lists, "old": lists}, lists.drop("rank"), panel=False)

    assert comparison.unit is not None
    assert comparison.unit.columns == ("user", "session_id")


def test_what_is_given_is_not_chosen() -> None:
    conventions: Any = {"preset": "standard", "relevance_threshold": 2}
    comparison = cc.compare(
        MODELS, DEMO.truth, primary=["R@5"], min_effect=0.01, conventions=conventions, panel=False
    )

    assert comparison.chosen == ("metrics",)
    assert comparison.primary == ("R@5",)
    assert comparison.metric("R@5").min_effect == "0.01"


def test_a_table_that_cannot_be_read_has_its_own_message() -> None:
    with pytest.raises(cc.InputError, match=r"new: column 'item'"):
        cc.compare({"new": pl.DataFrame({"user": [1]}), "old": MODELS["als"]}, DEMO.truth)


def test_one_table_of_all_models_needs_a_baseline() -> None:
    table = MODELS["als"].with_columns(model=pl.lit("als"))
    with pytest.raises(cc.InputError, match="baseline"):
        cc.compare(table, DEMO.truth, model="model", metrics=["RR"])


def test_an_unknown_argument_has_a_suggestion() -> None:
    with pytest.raises(cc.InputError, match=r"panels: is not an argument.*\n.*panel"):
        cc.compare(MODELS, DEMO.truth, metrics=["RR"], panels=False)  # type: ignore[call-arg]


def test_fields_and_options_are_the_same_thing() -> None:
    options = cc.Options(confidence=0.9, panel=False)
    given = cc.compare(MODELS, DEMO.truth, metrics=["RR"], options=options)
    fields = cc.compare(MODELS, DEMO.truth, metrics=["RR"], confidence=0.9, panel=False)

    assert given.to_dict() == fields.to_dict()
    with pytest.raises(cc.InputError, match=r"options: is not `concord\.Options`"):
        cc.compare(MODELS, DEMO.truth, metrics=["RR"], options={"panel": False})  # type: ignore[arg-type]


def test_models_that_are_none_are_the_only_problem() -> None:
    with pytest.raises(cc.InputError, match=r"^models: ") as refused:
        cc.compare({}, DEMO.truth)
    assert "metrics" not in str(refused.value)
