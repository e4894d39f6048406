"""Trainings that sometimes fail: coverage of intervals over new trainings, and warnings."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

import concord as cc
from benchmarks.simulated import Floats
from benchmarks.tabulated import Row, generator, markdown_table, rate
from concord.metrics_core.stats.replicates import OUTLIER_ALPHA, find_outlier

USERS, MODELS, COUNTS = 1_000, 10, (3, 5, 10)
RUNS = {3: 36, 5: 24, 10: 12}  # comparisons of ten models each
GOOD, FAILED, CHANCE = 0.4, 0.1, 0.1  # share of users that are hit; how often a training fails
OF_GOOD, NOISE = (
    0.01,
    0.05,
)  # standard deviations: between good trainings; of a user's luck in one training
MEAN = (1 - CHANCE) * GOOD + CHANCE * FAILED
SPREAD = (GOOD - FAILED) * (CHANCE * (1 - CHANCE)) ** 0.5  # of trainings that fail now and then
LABEL = "R@1"


@dataclass(frozen=True)
class _Result:
    """One model against an equal baseline that was trained once."""

    failed: int
    is_covered: bool
    above: bool
    is_warned: bool


def one_model_alone() -> list[str]:
    """Only one model varies; its trainings have the same spread in both worlds."""
    rows: list[Row] = []
    for failing in (False, True):
        for trainings in COUNTS:
            results = [
                each
                for run in range(RUNS[trainings])
                for each in _compared(generator(51, failing, trainings, run), trainings, failing)
            ]
            rows.append(
                ("fail now and then" if failing else "normal", f"{trainings}", *_cells(results))
            )
    head = (
        "trainings",
        "number",
        "interval holds the truth",
        "interval above 0",
        "warned",
        "no failure among them",
        "held without a failure",
        "warned of one failure",
    )
    return [
        "## Trainings that fail now and then",
        "",
        "A model that was trained several times against one that was trained once and is as "
        f"good: {LABEL} by `concord.compare`, {USERS:,}",
        "users. Effects of trainings are normal, or each training fails with probability "
        f"{CHANCE:.0%} (hits of {FAILED:g} instead of {GOOD:g}), with",
        "the same standard deviation. How often the 95% interval over new users and new trainings "
        "holds the true difference, 0,",
        "and how often it lies above 0: taken alone, the model would be called `better`, which is "
        "wrong. No interval knows of a",
        "failure that none of the trainings had. The warning names a training that lies far from "
        "the others. The last column: where",
        "one training failed and no other.",
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


def _cells(results: list[_Result]) -> Iterator[str]:
    lucky = [each for each in results if not each.failed]
    once = [each for each in results if each.failed == 1]
    yield rate(sum(each.is_covered for each in results), len(results))
    yield rate(sum(each.above for each in results), len(results))
    yield rate(sum(each.is_warned for each in results), len(results))
    yield rate(len(lucky), len(results), error=False)
    yield rate(sum(each.is_covered for each in lucky), len(lucky))
    yield rate(sum(each.is_warned for each in once), len(once))


def _compared(rng: np.random.Generator, trainings: int, failing: bool) -> Iterator[_Result]:
    luck = rng.random(USERS)
    failed = rng.random((MODELS, trainings)) < (CHANCE if failing else 0.0)
    shares = np.where(failed, FAILED, GOOD) + OF_GOOD * rng.normal(size=failed.shape)
    if not failing:
        shares = MEAN + SPREAD * rng.normal(size=failed.shape)
    models = {
        f"m{m}": {
            "replicates": {
                r: _lists(rng, luck, share) for r, share in enumerate(shares_of_model, start=1)
            }
        }
        for m, shares_of_model in enumerate(shares.tolist())
    }
    truth = pl.DataFrame({"user": np.arange(USERS), "item": np.zeros(USERS, dtype=np.int64)})
    comparison = cc.compare(
        {"baseline": _lists(rng, luck, MEAN), **models},
        truth,
        metrics=[LABEL],
        baseline="baseline",
        conventions="standard",
        panel=False,
        resamples=99,
    )
    warned_shares = {
        model
        for each in comparison.warnings
        if each.code == "outlying_training"
        for model in each.models
    }
    for m, of_model in enumerate(failed):
        pair = comparison.retrained(f"m{m}", "baseline", LABEL)
        assert pair is not None
        assert pair.ci_low is not None
        assert pair.ci_high is not None
        is_covered = pair.ci_low <= 0 <= pair.ci_high
        yield _Result(int(of_model.sum()), is_covered, pair.ci_low > 0, f"m{m}" in warned_shares)


def _lists(rng: np.random.Generator, luck: Floats, share: float) -> pl.DataFrame:
    """Return one item per user: the relevant one, 0, if luck is below the share; else another."""
    missed = luck + NOISE * rng.normal(size=USERS) >= share
    return pl.DataFrame(
        {"user": np.arange(USERS), "item": missed.astype(np.int64), "rank": np.ones(USERS)}
    )


def outlying() -> list[str]:
    """Rates of the warning's rule for outliers."""
    runs = 4_000
    rows: list[Row] = []
    for trainings in (3, 4, 5, 10):
        cells = [f"{trainings}"]
        for failures, depth in ((0, 0.0), (1, 5.0), (1, 10.0), (1, 20.0), (2, 20.0)):
            detections = 0
            for run in range(runs):
                values = generator(52, trainings, run).normal(size=trainings)
                values[:failures] -= depth
                outlier = find_outlier(values.tolist(), (1,))
                detections += outlier is not None and (outlier < failures or not failures)
            cells.append(rate(detections, runs))
        skewed = sum(
            find_outlier(
                (-generator(53, trainings, run).exponential(size=trainings)).tolist(), (1,)
            )
            is not None
            for run in range(runs)
        )
        rows.append((*cells, rate(skewed, runs)))
    head = (
        "trainings",
        "none fails",
        "one, 5 sd below",
        "one, 10 sd below",
        "one, 20 sd below",
        "two, 20 sd below",
        "none fails, skewed",
    )
    return [
        "## A training far from the others",
        "",
        f"Grubbs's one-sided test at {OUTLIER_ALPHA:.0%}, by which the warning names a training: "
        "how often it names a failed one, by how many",
        "standard deviations of the others it lies below; where none fails, how often it names "
        "one. With 3 trainings it takes two",
        "others that happen to be close together. Two failures hide each other in few trainings. "
        "The last column: trainings whose",
        "effects are exponential towards the worse side.",
        "",
        *markdown_table(head, rows),
    ]


PARTS = (one_model_alone, outlying)
