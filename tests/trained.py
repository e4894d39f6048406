"""Two models that depend on a seed, trained on a table of interactions: top lists of each training."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tests.project import ROOT

sys.path.insert(0, str(ROOT / "data" / "demo"))
from recommenders import als

Floats = NDArray[np.float64]
FACTORS, EPOCHS, BATCH, RATE, PENALTY = 16, 12, 512, 0.05, 0.002
LENGTH = 50


def bpr(weights: Floats, rng: np.random.Generator) -> Floats:
    """Matrix factorisation by pairwise ranking, in small batches (Rendle et al. 2009)."""
    users, items = np.nonzero(weights)
    of_users = 0.1 * rng.normal(size=(weights.shape[0], FACTORS))
    of_items = 0.1 * rng.normal(size=(weights.shape[1], FACTORS))
    for _ in range(EPOCHS):
        for rows in np.array_split(rng.permutation(len(users)), len(users) // BATCH + 1):
            u, i, j = users[rows], items[rows], rng.integers(weights.shape[1], size=len(rows))
            gap = of_items[i] - of_items[j]
            slope = RATE / (1 + np.exp((of_users[u] * gap).sum(axis=1)))[:, None]
            taste = of_users[u].copy()
            np.add.at(of_users, u, slope * gap - RATE * PENALTY * taste)
            np.add.at(of_items, i, slope * taste - RATE * PENALTY * of_items[i])
            np.add.at(of_items, j, -slope * taste - RATE * PENALTY * of_items[j])
    scores: Floats = of_users @ of_items.T
    return scores


MODELS: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {"als": als, "bpr": bpr}


def train(train: pl.DataFrame, model: str, seed: int, *, fewest: int = 10) -> pl.DataFrame:
    """user, item, rank: the best items that the user has not had; rare items are never recommended."""
    known = train.filter(pl.len().over("item") >= fewest)
    users, items = (known[name].unique().sort() for name in ("user", "item"))
    weights = np.zeros((len(users), len(items)))
    weights[users.search_sorted(known["user"]), items.search_sorted(known["item"])] = 1.0
    scores = MODELS[model](weights, np.random.default_rng(seed))
    scores[weights > 0] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :LENGTH]
    return pl.DataFrame(
        {
            "user": np.repeat(users.to_numpy(), LENGTH),
            "item": items.to_numpy()[best.ravel()],
            "rank": np.tile(np.arange(1, LENGTH + 1), len(users)),
        }
    )


def train_all(train_file: Path, folder: Path, seeds: range) -> None:
    """`als-1.parquet`, `bpr-1.parquet`, … in the folder."""
    folder.mkdir(exist_ok=True)
    known = pl.read_parquet(train_file)
    for model in MODELS:
        for seed in seeds:
            train(known, model, seed).write_parquet(folder / f"{model}-{seed}.parquet")
