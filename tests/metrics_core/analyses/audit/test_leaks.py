"""An artificial leak on MovieLens: train includes the truth of a quarter of the users."""

import sys
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

import concord as cc
from concord.typing import TableColumns
from tests.metrics_core.defined import defined
from tests.project import ROOT, movielens

sys.path.insert(0, str(ROOT / "data" / "demo"))
from recommenders import item_knn, popularity

Floats = NDArray[np.float64]
LENGTH, MIN_INTERACTIONS = 10, 10
COLUMNS: TableColumns = {
    "truth": {"grade": "rating", "time": "timestamp"},
    "train": {"time": "timestamp"},
}


def repeat(weights: Floats) -> Floats:
    """Return scores that rank the user's own items first, then others, by popularity."""
    return popularity(weights) + len(weights) * (weights > 0)


MODELS: dict[str, Callable[[Floats], Floats]] = {
    "popularity": popularity,
    "item-knn": item_knn,
    "repeat": repeat,
}


def recommend(
    train: pl.DataFrame, excluded: pl.DataFrame, model: Callable[[Floats], Floats]
) -> pl.DataFrame:
    """Return user, item and rank of a model trained on `train`, without the excluded rows."""
    train = train.filter(pl.len().over("item") >= MIN_INTERACTIONS)
    users, items = (train[name].unique().sort() for name in ("user", "item"))
    weights = np.zeros((len(users), len(items)))
    weights[users.search_sorted(train["user"]), items.search_sorted(train["item"])] = 1.0
    scores = model(weights)
    excluded = excluded.filter(pl.col("item").is_in(items.implode()))
    scores[users.search_sorted(excluded["user"]), items.search_sorted(excluded["item"])] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :LENGTH]
    return pl.DataFrame(
        {
            "user": np.repeat(users.to_numpy(), LENGTH),
            "item": items.to_numpy()[best.ravel()],
            "rank": np.tile(np.arange(1, LENGTH + 1), len(users)),
        }
    )


def test_truth_in_train_is_reported_with_its_effect_and_the_reversed_models() -> None:
    """Only the first 300 users, so that training takes seconds."""
    train, truth = (
        pl.read_parquet(movielens() / f"{name}.parquet").filter(pl.col("user") <= 300)
        for name in ("train", "test")
    )
    leaked = truth.filter(pl.col("user") % 4 == 0)
    leaking_train = pl.concat([train, leaked])
    lists, clean_lists = (
        {name: recommend(each, train, model) for name, model in MODELS.items()}
        for each in (leaking_train, train)
    )

    audit = cc.audit(
        lists,
        truth,
        train=leaking_train,
        metrics=["nDCG@10"],
        conventions="standard",
        columns=COLUMNS,
    )
    check = audit["truth_in_train"]

    assert check.count.severity == "serious"
    assert (check.count.rows, check.count.users) == (len(leaked), leaked["user"].n_unique())
    effects = {effect.model: effect for effect in check.effects}
    for model in ("item-knn", "repeat"):  # models that learned the truth are worse without it
        assert defined(effects[model].shift) < defined(effects[model].ci_high) < 0
    clean_truth = truth.join(leaked, on="user", how="anti")
    clean_means = {
        model: cc.evaluate(
            recs,
            clean_truth,
            metrics=["nDCG@10"],
            conventions="standard",
            columns={"truth": COLUMNS["truth"]},
        )["nDCG@10"]
        for model, recs in clean_lists.items()
    }
    for model, effect in effects.items():  # close to the mean of a model with a clean train
        assert effect.mean is not None
        assert abs(defined(effect.mean_without) - clean_means[model]) <= 0.02
    (reversal,) = (each for each in check.reversals if {each.a, each.b} == {"item-knn", "repeat"})
    assert reversal.is_significant
    assert reversal.difference < 0 < reversal.difference_without
    assert clean_means["item-knn"] > clean_means["repeat"]
    assert f"nDCG@10: without {check.count.users} of " in audit.summary
    assert "the ranking of the models changes: repeat is ahead of " in audit.summary
    assert "neither interval contains 0" in audit.summary
