"""A leak that was made on purpose, on MovieLens: models are trained on a train that holds the truth of a quarter of the users."""

import sys
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

import concord as cc
from tests.metrics_core.defined import defined
from tests.project import ROOT, movielens

sys.path.insert(0, str(ROOT / "data" / "demo"))
from recommenders import item_knn, popularity

Floats = NDArray[np.float64]
LENGTH, FEWEST = 10, 10
COLUMNS = {"truth": {"grade": "rating", "time": "timestamp"}, "train": {"time": "timestamp"}}


def repeat(weights: Floats) -> Floats:
    """What the user had, the most popular first; then what is popular."""
    return popularity(weights) + len(weights) * (weights > 0)


MODELS: dict[str, Callable[[Floats], Floats]] = {
    "popularity": popularity,
    "item-knn": item_knn,
    "repeat": repeat,
}


def top(train: pl.DataFrame, had: pl.DataFrame, model: Callable[[Floats], Floats]) -> pl.DataFrame:
    """user, item, rank: of a model that learned from `train` and leaves out what users had, as far as `had` knows."""
    known = train.filter(pl.len().over("item") >= FEWEST)
    users, items = (known[name].unique().sort() for name in ("user", "item"))
    weights = np.zeros((len(users), len(items)))
    weights[users.search_sorted(known["user"]), items.search_sorted(known["item"])] = 1.0
    scores = model(weights)
    had = had.filter(pl.col("item").is_in(items.implode()))
    scores[users.search_sorted(had["user"]), items.search_sorted(had["item"])] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :LENGTH]
    return pl.DataFrame(
        {
            "user": np.repeat(users.to_numpy(), LENGTH),
            "item": items.to_numpy()[best.ravel()],
            "rank": np.tile(np.arange(1, LENGTH + 1), len(users)),
        }
    )


def test_truth_in_train_is_found_with_its_effect_and_the_ranking_that_changes() -> None:
    """Of the first 300 users, so that training takes seconds."""
    train, truth = (
        pl.read_parquet(movielens() / f"{name}.parquet").filter(pl.col("user") <= 300)
        for name in ("train", "test")
    )
    moved = truth.filter(pl.col("user") % 4 == 0)
    leaking = pl.concat([train, moved])
    lists, clean = (
        {name: top(learned, train, model) for name, model in MODELS.items()}
        for learned in (leaking, train)
    )

    audit = cc.audit(lists, truth, train=leaking, metrics=["nDCG@10"], conventions="standard", columns=COLUMNS)  # fmt: skip
    finding = audit["truth_in_train"]

    assert finding.count.severity == "serious"
    assert (finding.count.rows, finding.count.users) == (len(moved), moved["user"].n_unique())
    reported = {effect.model: effect for effect in finding.effects}
    for model in ("item-knn", "repeat"):  # what learned the answer falls without it, surely
        assert defined(reported[model].shift) < defined(reported[model].ci_high) < 0
    remainder, selected = truth.join(moved, on="user", how="anti"), {"truth": COLUMNS["truth"]}
    known = {
        model: cc.evaluate(recs, remainder, metrics=["nDCG@10"], conventions="standard", columns=selected)["nDCG@10"]
        for model, recs in clean.items()
    }  # fmt: skip
    for model, effect in reported.items():  # and comes near to what it is worth with a clean train
        assert effect.mean is not None
        assert abs(defined(effect.mean_without) - known[model]) <= 0.02
    (reversal,) = (each for each in finding.reversals if {each.a, each.b} == {"item-knn", "repeat"})
    assert reversal.sure
    assert reversal.difference < 0 < reversal.difference_without
    assert known["item-knn"] > known["repeat"]
    assert f"nDCG@10: without {finding.count.users} of " in audit.summary
    assert "the ranking of the models changes: repeat is ahead of " in audit.summary
    assert "neither interval contains 0" in audit.summary
