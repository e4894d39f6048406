"""Methods of a Comparison: the analyses of its inputs, which must not have changed."""

import pickle
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pandas as pd
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.decision.replay import replay
from concord.metrics_core.results.stored import to_json

DEMO = cc.datasets.load_demo()
MODELS = {name: DEMO.models[name] for name in ("ease", "als")}
OPTIONS: dict[str, Any] = {"metrics": ["nDCG@10", "R@20"], "panel": False}


@pytest.fixture(scope="module")
def comparison() -> cc.results.Comparison:
    """Return a comparison with side data, of frames."""
    return cc.compare(MODELS, DEMO.truth, train=DEMO.train, items=DEMO.items, **OPTIONS)


def test_methods_give_what_the_functions_give(comparison: cc.results.Comparison) -> None:
    user = DEMO.truth["user"][0]
    tables: dict[str, Any] = {"train": DEMO.train, "items": DEMO.items}

    assert comparison.cases("ease", "als", worst=2) == cc.cases(
        MODELS, DEMO.truth, model="ease", versus="als", worst=2, metrics=["nDCG@10"], **tables
    )
    derivation = cc.explain(MODELS["als"], DEMO.truth, user=user, metric="R@20", **tables)
    assert comparison.explain(user, "R@20", "als") == derivation
    assert comparison.audit() == cc.audit(MODELS, DEMO.truth, metrics=["nDCG@10"], **tables)
    assert comparison.plan(power=0.9) == cc.plan(comparison, power=0.9)
    assert comparison.reconcile("0.1939", "als") == cc.reconcile(
        MODELS["als"], DEMO.truth, value="0.1939", metric="nDCG@10"
    )
    assert (
        comparison.judge(next=3).to_dict()
        == cc.search.judge(
            MODELS, DEMO.truth, metrics=["nDCG@10"], next=3, items=DEMO.items, baseline="als"
        ).to_dict()
    )


def test_with_segments_compares_again(comparison: cc.results.Comparison) -> None:
    segments = {"activity": {"by": "activity", "edges": [0, 20]}}
    again = comparison.with_segments(segments)

    expected = cc.compare(
        MODELS, DEMO.truth, train=DEMO.train, items=DEMO.items, segments=segments, **OPTIONS
    )
    assert to_json(again) == to_json(expected)
    assert again.with_segments({}).segments == ()


def test_filters_and_names_of_columns_are_remembered() -> None:
    """One table of all models: each method reads the rows of its model."""
    table = pl.concat(
        lists.select("user", "item", "score").with_columns(algorithm=pl.lit(name))
        for name, lists in MODELS.items()
    ).rename({"item": "product"})
    columns = {"ease": {"item": "product"}, "als": {"item": "product"}}
    whole = cc.compare(
        table, DEMO.truth, model="algorithm", baseline="als", columns=columns, **OPTIONS
    )
    user = DEMO.truth["user"][0]

    expected = cc.explain(MODELS["ease"], DEMO.truth, user=user, metric="R@20")
    assert whole.explain(user, "R@20", "ease").to_dict()["value"] == expected.to_dict()["value"]
    single = cc.compare(MODELS, DEMO.truth, **OPTIONS).cases("ease", "als")
    assert whole.cases("ease", "als").to_dict() == single.to_dict()


def test_a_replicate_has_its_own_lists_and_ground_truth() -> None:
    halves = {1: {"u": ["a"], "v": ["b"]}, 2: {"u": ["c"], "v": ["b"]}}
    lists = {"replicates": {1: {"u": ["a"], "v": ["x"]}, 2: {"u": ["x", "c"], "v": ["b"]}}}
    folds: Any = {"replicates": halves}
    models: Any = {"one": lists, "two": lists}
    comparison = cc.compare(models, folds, metrics=["RR"], paired_replicates=True, panel=False)

    assert comparison.explain("u", "RR", "one-2").to_dict()["value"] == 1 / 2
    with pytest.raises(cc.InputError, match=r"'one' has no lists of its own"):
        comparison.explain("u", "RR", "one")


def _changed(kind: str, folder: Path) -> tuple[Any, Any]:
    """Return lists, and a function that changes them."""
    if kind == "file":
        path = folder / "lists.csv"
        MODELS["ease"].write_csv(path)
        return path, lambda: MODELS["ease"].head(100).write_csv(path)
    if kind == "dict":
        lists = {"u": ["a"], "v": ["b"]}
        return lists, lambda: lists.update(u=["b"])
    frame = pd.DataFrame({"user": ["u", "v"], "item": ["a", "b"], "rank": [1, 1]})
    return frame, lambda: frame.__setitem__("item", ["b", "a"])


@pytest.mark.parametrize("kind", ["file", "dict", "pandas"])
def test_a_table_that_changed_is_refused(kind: str, tmp_path: Path) -> None:
    lists, change = _changed(kind, tmp_path)
    truth: Any = DEMO.truth if kind == "file" else {"u": ["a"], "v": ["b"]}
    comparison = cc.compare({"new": lists, "old": lists}, truth, metrics=["RR"], panel=False)
    comparison.cases("new", "old")

    change()

    with pytest.raises(cc.InputError, match="new: has changed since the comparison"):
        comparison.explain("u", "RR", "new")


def test_results_that_were_read_say_what_needs_the_inputs(
    comparison: cc.results.Comparison, tmp_path: Path
) -> None:
    (tmp_path / "comparison.json").write_text(to_json(comparison), encoding="utf-8")
    for stored in (cc.load(tmp_path), pickle.loads(pickle.dumps(comparison))):
        assert to_json(stored) == to_json(comparison)
        assert stored.plan() == comparison.plan()
        with pytest.raises(cc.InputError, match=r"comparison\.cases: needs the lists and tables"):
            stored.cases("ease", "als")


def test_values_of_another_tool_have_no_lists(tmp_path: Path) -> None:
    values = {name: {"AP": {u: u / (n + 40) for u in range(40)}} for n, name in enumerate("ab")}
    comparison = cc.compare_values(values, baseline="b")

    for call in (lambda: comparison.cases("a", "b"), lambda: comparison.explain(1, "AP", "a")):
        with pytest.raises(cc.InputError, match="needs lists, and this comparison has values"):
            call()
    assert comparison.plan() == cc.plan(comparison)
    assert to_json(cc.load(comparison.save(tmp_path / "d.concord"))) == to_json(comparison)


def test_an_analysis_without_requests_refuses_them() -> None:
    lists = pl.DataFrame({"user": ["u", "u"], "s": [1, 2], "item": ["a", "b"], "rank": [1, 1]})
    conventions: Any = {"preset": "standard", "unit_mean": "requests"}
    comparison = cc.compare(
        {"new": lists, "old": lists},
        lists.drop("rank"),
        metrics=["RR"],
        unit=["user", "s"],
        conventions=conventions,
        panel=False,
    )

    with pytest.raises(cc.InputError, match=r"comparison\.judge: needs users as the unit"):
        comparison.judge()


def test_a_saved_comparison_is_replayed_with_what_was_chosen(tmp_path: Path) -> None:
    path = cc.compare(MODELS, DEMO.truth).save(tmp_path / "new" / "d.concord")

    assert replay(path).outcome == "inputs_not_seen"


def test_a_suspicious_comparison_is_replayed_as_suspicious(tmp_path: Path) -> None:
    models = {"leak": DEMO.truth.select("user", "item", score="grade"), "als": MODELS["als"]}
    comparison = cc.compare(models, DEMO.truth, gate={"guardrails": {"nDCG@10": "2%"}}, **OPTIONS)

    answer = replay(comparison.save(tmp_path / "d.concord")).answer

    assert answer == comparison.headline == "Gate suspicious: leak."


def test_another_answer_than_that_of_the_comparison_is_different(
    comparison: cc.results.Comparison, tmp_path: Path
) -> None:
    path, forged = comparison.save(tmp_path / "d.concord"), tmp_path / "forged.concord"
    with ZipFile(path) as archive, ZipFile(forged, "w") as other:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "answer.txt":
                content = content.replace(b"ease beats als", b"als beats ease")
            other.writestr(name, content)

    different = [each for each in replay(forged).parts if each.outcome == "different"]
    assert [each.name for each in different] == ["answer.txt"]


def test_an_audit_needs_train() -> None:
    with pytest.raises(cc.InputError, match="train: is missing, and an audit compares"):
        cc.compare(MODELS, DEMO.truth, **OPTIONS).audit()


def test_changes_of_arguments_have_no_effect_on_the_result(tmp_path: Path) -> None:
    metrics, models = ["RR"], dict(MODELS)
    conventions: Any = {"preset": "standard", "relevance_threshold": 1}
    comparison = cc.compare(models, DEMO.truth, metrics=metrics, conventions=conventions)
    before = comparison.cases("ease", "als").to_dict()

    metrics[0], conventions["relevance_threshold"] = "R@5", 3
    del models["ease"]

    assert comparison.cases("ease", "als").to_dict() == before
    assert replay(comparison.save(tmp_path / "d.concord")).outcome == "inputs_not_seen"


def test_users_of_a_dict_without_items_are_inputs() -> None:
    truth: Any = {"u": ["a"], "v": ["b"]}
    comparison = cc.compare({"a": truth, "b": truth}, truth, metrics=["RR"], panel=False)
    truth["w"] = []

    with pytest.raises(cc.InputError, match="users of the truth: has changed"):
        comparison.cases("a", "b")
