"""All stages on real ratings and five real models, against pytrec_eval and ir_measures."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest
import pytrec_eval

from tests.library import assert_library_gives_the_same
from tests.movielens import FILES, KS
from tests.project import movielens

pytestmark = pytest.mark.whole

Run = dict[str, dict[str, float]]


def load_run(name: str) -> Run:
    """Return the lists for the library, read without Concord; padded ids sort like numbers."""
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
            for item, score in zip(content["items"], content["scores"], strict=True):
                put(content["user"], item, score)
    elif name == "bpr":
        for line in (folder / FILES[name]).read_text().splitlines():
            user, _, item, position, _, _ = line.split()
            put(user, item, -float(position))
    else:
        for row in pl.read_parquet(folder / FILES[name]).iter_rows(named=True):
            put(row["user"], row["item"], -row["rank"] if "rank" in row else row["score"])
    return lists


def load_qrels() -> dict[str, dict[str, int]]:
    """Return the grades of test.qrels: twice the rating, so that they are integers."""
    qrels: dict[str, dict[str, int]] = {}
    for line in (movielens() / "test.qrels").read_text().splitlines():
        user, _, item, grade = line.split()
        qrels.setdefault(user, {})[f"{int(item):09d}"] = int(grade)
    return qrels


def means_by_label(project: Path, name: str) -> dict[str, float]:
    means: dict[str, float] = json.loads((project / f"results/metrics/{name}.json").read_text())
    return means


@pytest.mark.parametrize("name", FILES)
def test_means_equal_pytrec_eval(movielens_project: Path, name: str) -> None:
    cuts = ",".join(map(str, KS))
    measures = {"P": "P", "R": "recall", "AP": "map_cut", "Hit": "success"}
    at_8 = pytrec_eval.RelevanceEvaluator(
        load_qrels(),
        {f"{word}.{cuts}" for word in measures.values()} | {"Rprec"},
        relevance_level=8,
    ).evaluate(load_run(name))
    graded = pytrec_eval.RelevanceEvaluator(load_qrels(), {f"ndcg_cut.{cuts}"}).evaluate(
        load_run(name)
    )
    n = len(load_qrels())  # users without a list count as 0
    expected = {
        f"{metric}@{k}": sum(user[f"{word}_{k}"] for user in at_8.values()) / n
        for metric, word in measures.items()
        for k in KS
    }
    expected |= {f"nDCG@{k}": sum(u[f"ndcg_cut_{k}"] for u in graded.values()) / n for k in KS}
    expected["Rprec"] = sum(user["Rprec"] for user in at_8.values()) / n

    means = means_by_label(movielens_project, name)

    assert {label: means[label] for label in expected} == pytest.approx(expected, abs=1e-9)
    assert means["nDCG@10"] > 0.01


def test_the_library_gives_the_same_comparison(movielens_project: Path) -> None:
    assert_library_gives_the_same(movielens_project)
