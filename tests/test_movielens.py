"""All stages on real ratings and five real models, against pytrec_eval and ir_measures."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import ir_measures
import polars as pl
import pytest
import pytrec_eval

import concord as cc
from concord.metrics_core.comparison.stored import to_json
from concord.metrics_core.metrics.catalogue import parse
from tests.library import compared_as_pinned
from tests.movielens import FILES, KS
from tests.project import movielens

pytestmark = pytest.mark.whole

Run = dict[str, dict[str, float]]


def _run_of(name: str) -> Run:
    """The lists as the library wants them, read without Concord; padded ids sort as text like numbers."""
    folder = movielens()
    lists: Run = {}

    def put(user: object, item: object, score: float) -> None:
        lists.setdefault(str(user), {})[f"{int(str(item)):09d}"] = score

    if name == "popularity":
        with (folder / FILES[name]).open() as file:
            for row in csv.DictReader(file):
                put(row["user"], row["item"], -float(row["rank"]))
    elif name == "als":
        for line in (folder / FILES[name]).read_text().splitlines():
            content = json.loads(line)
            for rank, item in enumerate(content["items"]):
                put(content["user"], item, -rank)
    elif name == "bpr":
        for line in (folder / FILES[name]).read_text().splitlines():
            user, _, item, place, _, _ = line.split()
            put(user, item, -float(place))
    else:
        for row in pl.read_parquet(folder / FILES[name]).iter_rows(named=True):
            put(row["user"], row["item"], -row["rank"] if "rank" in row else row["score"])
    return lists


def _without_ties(lists: Run) -> Run:
    """The same order in strictly falling scores: the reciprocal rank of ir_measures breaks ties by item ascending."""
    ordered = {
        user: sorted(of.items(), key=lambda pair: pair[::-1])[::-1] for user, of in lists.items()
    }
    return {
        user: {item: -rank for rank, (item, _) in enumerate(of)} for user, of in ordered.items()
    }


def _qrels() -> dict[str, dict[str, int]]:
    """Grades of test.qrels: twice the rating, so that they are whole numbers."""
    qrels: dict[str, dict[str, int]] = {}
    for line in (movielens() / "test.qrels").read_text().splitlines():
        user, _, item, grade = line.split()
        qrels.setdefault(user, {})[f"{int(item):09d}"] = int(grade)
    return qrels


def _means(project: Path, name: str) -> dict[str, float]:
    means: dict[str, float] = json.loads((project / f"results/metrics/{name}.json").read_text())
    return means


@pytest.mark.parametrize("name", FILES)
def test_means_equal_pytrec_eval(movielens_project: Path, name: str) -> None:
    cuts = ",".join(map(str, KS))
    theirs = {"P": "P", "R": "recall", "AP": "map_cut", "Hit": "success"}
    at_8 = pytrec_eval.RelevanceEvaluator(
        _qrels(), {f"{word}.{cuts}" for word in theirs.values()} | {"Rprec"}, relevance_level=8
    ).evaluate(_run_of(name))
    graded = pytrec_eval.RelevanceEvaluator(_qrels(), {f"ndcg_cut.{cuts}"}).evaluate(_run_of(name))
    n = len(_qrels())  # users without a list count as 0
    expected = {
        f"{ours}@{k}": sum(user[f"{word}_{k}"] for user in at_8.values()) / n
        for ours, word in theirs.items()
        for k in KS
    }
    expected |= {f"nDCG@{k}": sum(u[f"ndcg_cut_{k}"] for u in graded.values()) / n for k in KS}
    expected["Rprec"] = sum(user["Rprec"] for user in at_8.values()) / n

    means = _means(movielens_project, name)

    assert {label: means[label] for label in expected} == pytest.approx(expected, abs=1e-9)
    assert means["nDCG@10"] > 0.01


@pytest.mark.parametrize("name", FILES)
def test_means_equal_ir_measures(movielens_project: Path, name: str) -> None:
    labels = {f"RR@{k}": f"RR(rel=8)@{k}" for k in KS}
    labels |= {f"{m}@{k}": f"{m}(rel=8)@{k}" for m in ("P", "R", "AP") for k in KS}
    measures = {ours: ir_measures.parse_measure(theirs) for ours, theirs in labels.items()}
    values = ir_measures.calc_aggregate(measures.values(), _qrels(), _without_ties(_run_of(name)))
    expected = {ours: values[measure] for ours, measure in measures.items()}

    means = _means(movielens_project, name)

    assert {label: means[label] for label in expected} == pytest.approx(expected, abs=1e-9)


def test_ids_are_compared_as_ir_measures_compares_them() -> None:
    """Lists with ties and integers as ids, which are text to ir_measures: 10 stands before 2."""
    lists = pl.read_parquet(movielens() / FILES["item-knn"])
    qrels = {
        user: {str(int(item)): grade for item, grade in held.items()}
        for user, held in _qrels().items()
    }
    run: Run = {}
    for user, item, score in lists.select("user", "item", "score").iter_rows():
        run.setdefault(str(user), {})[str(item)] = score
    truth = {
        int(user): {int(item): grade for item, grade in held.items()}
        for user, held in qrels.items()
    }
    labels = ["nDCG@100", "AP@100", "AP", "RR@10", "RR", "P@10"]
    measures = [ir_measures.parse_measure(label) for label in labels]
    theirs = ir_measures.calc_aggregate(measures, qrels, run)

    ours = cc.evaluate(lists, truth, metrics=labels, conventions=cc.preset("ir_measures"))

    assert [ours[label] for label in labels] == pytest.approx(
        [theirs[measure] for measure in measures], abs=1e-12
    )
    assert f"{ours['nDCG@100']:.7f}" == "0.1869700"  # compared as numbers: 0.1869697


def _panel(project: Path, label: str) -> dict[str, Any]:
    comparison = json.loads((project / "results/comparison/comparison.json").read_text())
    found: dict[str, Any] = next(p for p in comparison["panel"] if p["metric"] == label)
    return found


@pytest.mark.parametrize("label", ["nDCG@10", "R@20"])
def test_the_panel_says_what_each_library_would_report(movielens_project: Path, label: str) -> None:
    truth = pl.read_parquet(movielens_project / "results/data/truth.parquet")
    metric = label.partition("@")[0]
    threshold = 0.5 if metric == "nDCG" else 4  # as pinned: the scale of the grades is the data's
    compared = 0
    for model in ("als", "popularity"):
        lists = pl.read_parquet(movielens_project / f"results/lists/{model}.parquet")
        for definition in _panel(movielens_project, label)["definitions"]:
            for name in definition["presets"]:
                own = cc.preset(name)
                own = replace(parse(label).conventions(own), ties="given", duplicates="error")
                if own.relevance_threshold is not None:
                    own = replace(own, relevance_threshold=threshold)
                result = cc.evaluate(lists, truth, metrics=[label], conventions=own)
                assert definition["values"][model] == result[label], (model, name)
                compared += 1

    assert compared > 40


def test_the_panel_shows_how_far_the_definitions_lie_apart(movielens_project: Path) -> None:
    panel = _panel(movielens_project, "nDCG@10")
    of_als = [definition["values"]["als"] for definition in panel["definitions"]]

    assert max(of_als) > 2 * min(of_als)
    assert f"of {len(panel['definitions'])} definitions" in panel["sentence"]


def test_metrics_beyond_accuracy_equal_their_definitions(movielens_project: Path) -> None:
    train = pl.read_parquet(movielens() / "train.parquet")
    n_users = train["user"].n_unique()
    had = dict(train.group_by("item").agg(pl.col("user").n_unique()).iter_rows())
    lists = pl.read_parquet(movielens_project / "results/lists/bpr.parquet").filter(
        pl.col("rank") <= 10
    )
    items = lists["item"].to_list()
    of_item = [-math.log2(max(had.get(int(item), 0), 1) / n_users) for item in items]
    per_user = pl.DataFrame({"user": lists["user"], "novelty": of_item}).group_by("user").mean()
    catalogue = len(pl.read_parquet(movielens() / "items.parquet"))

    means = _means(movielens_project, "bpr")

    assert means["Novelty@10"] == pytest.approx(per_user["novelty"].mean(), abs=1e-9)
    assert means["Coverage@10"] == lists["item"].n_unique() / catalogue
    assert 0 < means["ILD@10"] < 1


def test_the_report_and_the_runs_are_there(movielens_project: Path) -> None:
    page = (movielens_project / "results/report/report.html").read_text()
    receipt = json.loads((movielens_project / "results/mlflow/receipt.json").read_text())

    assert all(name in page for name in FILES)
    assert sorted(receipt["fingerprints"]) == sorted(FILES)
    assert (movielens_project / "mlflow.db").exists()


def test_the_library_gives_the_same_comparison(
    movielens_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(movielens_project)
    stored = movielens_project / "results" / "comparison" / "comparison.json"

    assert to_json(compared_as_pinned(movielens_project)) == stored.read_text(encoding="utf-8")
