"""Comparisons of models that were trained several times, small enough to be compared in a test."""

import random
from collections.abc import Sequence
from functools import cache

import polars as pl

import concord as cc
from concord.metrics_core.results.comparison import Comparison

USERS = [f"u{i}" for i in range(60)]


@cache
def trained(
    trainings: tuple[int, int, int] = (3, 4, 1),
    names: tuple[str, str, str] = ("als", "ease", "pop"),
    *,
    paired: bool = False,
) -> Comparison:
    """Three models that hit less and less often, by the number of their trainings; the last is the baseline."""
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
    """Of one training: it is luckier or unluckier than the model is in the mean."""
    rate = hits + chance.uniform(-0.08, 0.08)
    return {
        user: [item if chance.random() < rate else f"{item}{user}" for item in "abc"]
        for user in USERS
    }
