"""Several trainings of each model: does a new training reverse the order as often as reported?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

import concord as cc
from benchmarks.simulated import Floats
from benchmarks.tabulated import Row, generator, markdown_table
from concord.metrics_core.results.comparison import Comparison

USERS, MODELS, RUNS, AGAIN = 200, 10, 24, 400
OF_TRAININGS = 0.03  # standard deviation; chance of users adds as much to the mean of a training
WIDE, SMALL = 0.15, 0.01  # standard deviation of true means; the one true difference
BINS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
LABEL = "R@1"


@dataclass(frozen=True)
class _World:
    name: str
    trainings: int
    wide: bool = True
    paired: bool = False
    once: bool = False  # are the models of odd numbers trained once?


@dataclass(frozen=True)
class _Pair:
    """Reported probability, that of the trainings' variance alone, and the true one."""

    probability: float
    alone: float
    true: float


WORLDS = (
    _World("wide, 3 trainings", 3),
    _World("wide, 5 trainings", 5),
    _World("wide, 5 paired trainings", 5, paired=True),
    _World("wide, 5 trainings against one", 5, once=True),
    _World(f"all {SMALL:g}, 3 trainings", 3, wide=False),
    _World(f"all {SMALL:g}, 5 trainings", 5, wide=False),
)


def chance_of_a_turn() -> list[str]:
    """Reported probability in bins, beside how often a new training reverses the order."""
    rows = [row for number, world in enumerate(WORLDS) for row in _rows(number, world)]
    head = (
        "true differences",
        "told",
        "pairs",
        "told, mean",
        "order turns",
        "told of the trainings' variance alone",
    )
    return [
        "## The chance that another training turns the order",
        "",
        f"{MODELS} models, {USERS} users, one relevant item each, {LABEL}; a training's own "
        "effect and the chance of users add as much",
        f"to its mean. {RUNS} runs a world through `concord.compare`, 25 pairs each. `told`: the "
        "chance in the report. `order turns`: in",
        f"{AGAIN} new trainings of each model for the same users, how often the order was "
        "another. Where true differences spread",
        "widely, the told chance is right, or some points too high. Where all are small, it is "
        "told too low: what is seen as a clear",
        "lead is mostly luck, and the prediction, which takes all true differences as equally "
        "likely, cannot know it. The last column",
        "takes the trainings' variance alone, without what chance of users adds, and the normal "
        "distribution.",
        "",
        *markdown_table(head, rows, text_columns=2),
    ]


def _rows(number: int, world: _World) -> Iterator[Row]:
    pairs = [pair for run in range(RUNS) for pair in _pairs(generator(31, number, run), world)]
    for low, high in pairwise(BINS):
        selected = [pair for pair in pairs if low < pair.probability <= high]
        if selected:
            means = np.mean(
                [(each.probability, each.true, each.alone) for each in selected], axis=0
            )
            cells = (f"{mean:.1%}" for mean in means)
            yield world.name, f"{low:.0%} to {high:.0%}", f"{len(selected):,}", *cells


def _pairs(rng: np.random.Generator, world: _World) -> Iterator[_Pair]:
    users = rng.uniform(0.2, 0.5, USERS)
    is_odd = np.arange(MODELS) % 2
    skills = np.asarray(
        WIDE * rng.normal(size=MODELS) if world.wide else SMALL * is_odd, np.float64
    )
    trained = _trained(rng, world, users, skills, world.trainings)
    if world.once:
        trained = [each if m % 2 == 0 else each[:1] for m, each in enumerate(trained)]
    comparison = _compared(trained, paired=world.paired)
    new = [each.mean(axis=1) for each in _trained(rng, world, users, skills, AGAIN)]
    for a in range(0, MODELS, 2):
        for b in range(1, MODELS, 2):
            after = new[a] - (trained[b].mean() if world.once else new[b])
            yield from _pair(comparison, f"m{a}", f"m{b}", after)


def _pair(comparison: Comparison, a: str, b: str, after: Floats) -> Iterator[_Pair]:
    pair, replicates = comparison.retrained(a, b, LABEL), comparison.replicates
    assert pair is not None
    assert replicates is not None
    if pair.chance is None or not pair.difference:
        return
    scores = [score for m in (a, b) if (score := replicates.score(m, LABEL))]
    of_one = math.fsum((score.sd_replicates or 0.0) ** 2 for score in scores)
    alone = math.erfc(abs(pair.difference) / math.sqrt(2 * of_one)) / 2 if of_one else 0.0
    yield _Pair(pair.chance, alone, float((after * pair.difference < 0).mean()))


def _trained(
    rng: np.random.Generator, world: _World, users: Floats, skills: Floats, trainings: int
) -> list[Floats]:
    """Return (trainings, users) hits by model; paired seeds share an effect that cancels."""
    shared = OF_TRAININGS * rng.normal(size=(trainings, 1)) if world.paired else 0.0
    return [
        (
            rng.random((trainings, USERS))
            < users + skill + shared + OF_TRAININGS * rng.normal(size=(trainings, 1))
        ).astype(float)
        for skill in skills
    ]


def _compared(trained: list[Floats], *, paired: bool) -> Comparison:
    truth = pl.DataFrame({"user": np.arange(USERS), "item": np.zeros(USERS, dtype=np.int64)})
    models = {
        f"m{m}": {"replicates": {r: _lists(row) for r, row in enumerate(rows, start=1)}}
        if len(rows) > 1
        else _lists(rows[0])
        for m, rows in enumerate(trained)
    }
    return cc.compare(
        models,
        truth,
        metrics=[LABEL],
        baseline="m0",
        conventions="standard",
        panel=False,
        paired_replicates=paired,
        resamples=99,
    )


def _lists(hits: Floats) -> pl.DataFrame:
    """Return one item per user: the relevant one, 0, or another."""
    items = (hits == 0).astype(np.int64)
    return pl.DataFrame({"user": np.arange(USERS), "item": items, "rank": np.ones(USERS)})


PARTS = (chance_of_a_turn,)
