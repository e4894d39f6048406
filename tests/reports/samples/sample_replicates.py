"""Small comparisons of models with replicates."""

import random
from collections.abc import Sequence
from functools import cache

import polars as pl

import concord as cc
from concord.metrics_core.results.comparison import Comparison

USERS = [f"u{i}" for i in range(60)]


@cache
def replicate_sample(
    trainings: tuple[int, int, int] = (3, 4, 1),
    names: tuple[str, str, str] = ("als", "ease", "pop"),
    *,
    paired: bool = False,
) -> Comparison:
    """Return a comparison of three models with falling hit rates; the last is the baseline.

    Parameters
    ----------
    trainings : tuple of int
        Number of trainings of each model.
    """
    chance = random.Random(7)
    hits = (0.8, 0.72, 0.4)
    models = {
        name: {"replicates": {seed: _lists(chance, rate) for seed in range(1, n + 1)}}
        if n > 1
        else _lists(chance, rate)
        for name, n, rate in zip(names, trainings, hits, strict=True)
    }
    return cc.compare(
        models,
        {user: ["a", "b"] for user in USERS},
        metrics=["nDCG@3", "R@3", "Coverage@3"],
        items=pl.DataFrame(
            {"item": [*"abc", *(f"{item}{user}" for user in USERS for item in "abc")]}
        ),
        baseline=names[2],
        primary=["nDCG@3", "R@3"],
        conventions=cc.preset("standard"),
        resamples=99,
        panel=False,
        paired_replicates=paired,
    )


def _lists(chance: random.Random, hits: float) -> dict[str, Sequence[str]]:
    """Return the lists of one training, whose hit rate differs at random from the model's."""
    rate = hits + chance.uniform(-0.08, 0.08)
    return {
        user: [item if chance.random() < rate else f"{item}{user}" for item in "abc"]
        for user in USERS
    }
