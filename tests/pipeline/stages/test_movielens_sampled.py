"""MovieLens: lists of sampled candidates from full rankings, in library and pipeline."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.conventions.option_types import CandidatesOptions
from tests.library import assert_library_gives_the_same, evaluated_project
from tests.project import ROOT, attempt, change_params, movielens, run

sys.path.insert(0, str(ROOT / "data" / "demo"))
from recommenders import als

Frames = dict[str, pl.DataFrame]
NEGATIVES, DRAWS = 100, 2
LABELS = ["nDCG@10", "Hit@10", "AP@10", "RR"]
FEWEST = 10  # users of an item that is ranked


@pytest.fixture(scope="module")
def rankings() -> tuple[Frames, pl.DataFrame, int]:
    """Return rankings of unseen items by model, a liked item per user, and the number of items."""
    train = pl.read_parquet(movielens() / "train.parquet").filter(pl.len().over("item") >= FEWEST)
    users, items = (train[name].unique().sort() for name in ("user", "item"))
    weights = np.zeros((len(users), len(items)))
    weights[users.search_sorted(train["user"]), items.search_sorted(train["item"])] = 1.0
    liked = pl.read_parquet(movielens() / "test.parquet").filter(pl.col("rating") >= 4)
    liked = liked.filter(
        pl.col("user").is_in(users.to_list()), pl.col("item").is_in(items.to_list())
    )
    truth = liked.sort("user", "timestamp", "item").group_by("user", maintain_order=True).first()
    popular = np.tile(weights.sum(axis=0), (len(users), 1))
    scores = {"als": als(weights, np.random.default_rng(1)), "popularity": popular}
    catalogue = round(float((weights == 0).sum(axis=1).mean()))
    ranked = {
        model: _ranked(each, weights, users, items).join(truth, on="user", how="semi")
        for model, each in scores.items()
    }
    return ranked, truth.select("user", "item", grade="rating"), catalogue


def _ranked(
    scores: np.ndarray, known: np.ndarray, users: pl.Series, items: pl.Series
) -> pl.DataFrame:
    order = np.argsort(-np.where(known > 0, -np.inf, scores), axis=1, kind="stable")
    frame = pl.DataFrame(
        {
            "user": np.repeat(users.to_numpy(), len(items)),
            "item": items.to_numpy()[order.ravel()],
            "rank": np.tile(np.arange(1, len(items) + 1), len(users)),
        }
    )
    lengths = pl.DataFrame({"user": users, "length": (known == 0).sum(axis=1)})
    possible = frame.join(lengths, on="user").filter(pl.col("rank") <= pl.col("length"))
    return possible.drop("length")


def _sampled(ranked: Frames, truth: pl.DataFrame, seed: int) -> Frames:
    """Return the relevant item and NEGATIVES others, the same for all, as each model ranks them."""
    relevant = truth.select("user", "item", wanted=True)
    (first, *_) = ranked.values()
    others = first.join(relevant, on=["user", "item"], how="anti").sort("user", "item")
    drawn = others.filter(
        pl.int_range(pl.len()).shuffle(seed=seed).over("user") < NEGATIVES
    ).select("user", "item")
    candidates = pl.concat([drawn, truth.select("user", "item")])
    return {
        model: frame.join(candidates, on=["user", "item"])
        .sort("user", "rank")
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
        for model, frame in ranked.items()
    }


def _conventions(catalogue: int | None) -> cc.metrics.Conventions:
    candidates = None if catalogue is None else _candidates(catalogue)
    return cc.preset("standard", relevance_threshold=4, err_max_grade=5, candidates=candidates)


def _candidates(catalogue: int) -> CandidatesOptions:
    return {"negatives": NEGATIVES, "catalogue": catalogue, "sampling": "uniform"}


def _means(
    lists: Frames, truth: pl.DataFrame, catalogue: int | None
) -> dict[tuple[str, str], float]:
    known = _conventions(catalogue)
    results = {
        model: cc.evaluate(frame, truth, metrics=LABELS, conventions=known)
        for model, frame in lists.items()
    }
    return {(model, label): results[model][label] for model in lists for label in LABELS}


def test_corrected_means_are_nearer_to_those_of_full_rankings(
    rankings: tuple[Frames, pl.DataFrame, int],
) -> None:
    ranked, truth, catalogue = rankings
    full = _means(ranked, truth, None)
    samples = [_sampled(ranked, truth, seed) for seed in range(DRAWS)]
    plain = [_means(each, truth, None) for each in samples]
    corrected = [_means(each, truth, catalogue) for each in samples]

    for key, true in full.items():
        off = [abs(each[key] - true) for each in plain]
        remaining = [abs(each[key] - true) for each in corrected]
        assert max(remaining) < min(off) / 4, key
        assert np.mean([each[key] for each in corrected]) == pytest.approx(true, rel=0.6), key


@pytest.mark.whole
def test_stages_equal_the_librarys_comparison(
    rankings: tuple[Frames, pl.DataFrame, int], tmp_path: Path
) -> None:
    ranked, truth, catalogue = rankings
    changes = {
        "evaluation.metrics": ["nDCG", "Hit"],
        "evaluation.ks": [10],
        "comparison.primary": ["nDCG@10"],
        "comparison.min_effect": 0.0,
        "conventions.relevance_threshold": 4,
        "conventions.err_max_grade": 5,
        "conventions.candidates": _candidates(catalogue),
    }
    tables = {**_sampled(ranked, truth, 1), "truth": truth}
    project = evaluated_project(tmp_path, tables, changes)

    assert_library_gives_the_same(project)
    page = (project / "results/report/report.html").read_text(encoding="utf-8")
    assert "is not identifiable from 100 sampled negatives" in page

    user = str(truth["user"][0])
    output = run(project, "concord", "explain", user, "nDCG@10", "--model", "als")
    assert f"among 100 of {catalogue - 1:,} others" in output
    actual = run(
        project, "concord", "explain", user, "Hit@10", "--model", "als", "--versus", "ir_measures"
    )
    assert actual.count("sampled rank ") >= 2

    change_params(project, {"conventions.candidates": None})
    refused = attempt(project, "concord", "stage", "compare")
    assert refused.returncode == 2
    assert "and is None" in refused.stderr
