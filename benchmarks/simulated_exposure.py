"""Exposure bias: lists are judged by the observed part of a known truth, mostly popular items.

All numbers come from `concord.evaluate`: what is simulated is what users get.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import concord as cc
from benchmarks.simulated import Floats
from benchmarks.tabulated import Row, generator, markdown_table, rate
from concord.metrics_core.conventions.option_types import PropensityOptions
from concord.metrics_core.metrics.judged import Bools
from concord.metrics_core.results.summary import Summary
from concord.metrics_core.stats.clusters import RatioEstimate

CONFIDENCE = 0.95
RUNS = 200
ITEMS, K = 200, 10
POPULARITY = 1 / np.arange(1, ITEMS + 1)
LIKED = (2, 18)  # of Beta: the share of the items that a user likes
SKILL = 1.5
LEANS = {"popular": 1.0, "niche": 0.2}  # of a model's scores towards popular items
BETTER, WORSE = "niche", "popular"
UNWEIGHED, NO_CLIP = "1", 1e-9
CLIPS: dict[
    float, dict[str, float | None]
] = {  # exponent -> what an observed item counts, by its clip
    0.5: {UNWEIGHED: None, "1 / p": NO_CLIP, "1 / max(p, 0.2)": 0.2},
    1.0: {UNWEIGHED: None, "1 / p": NO_CLIP, "1 / max(p, 0.1)": 0.1},
}
USERS = (100, 1_000)
OF_TRUTH = 100  # draws of a thousand users of whom everything is known
SUMS = [f"{name}@{K}" for name in ("CG", "DCG", "RBP(p=0.8)")]
RATIOS = [f"{name}@{K}" for name in ("R", "nDCG")]
OVER_ALL = f"R@{K} over_all"


@dataclass(frozen=True)
class Users:
    """Liked items, shape (users, items), and the lists of the models."""

    liked: Bools
    lists: dict[str, pl.DataFrame]

    @classmethod
    def drawn(cls, rng: np.random.Generator, n: int) -> "Users":
        """Return users who like popular items no more than others."""
        liked = rng.random((n, ITEMS)) < rng.beta(*LIKED, (n, 1))
        lists = {}
        for model, lean in LEANS.items():
            scores = SKILL * liked + lean * np.log(POPULARITY) + rng.gumbel(size=liked.shape)
            top = np.argsort(-scores, axis=1)[:, :K]
            lists[model] = pl.DataFrame(
                {
                    "user": np.repeat(np.arange(n), K),
                    "item": top.ravel(),
                    "rank": np.tile(np.arange(1, K + 1), n),
                }
            )
        return cls(liked, lists)


@dataclass
class Values:
    """One model in one run: label -> mean and interval, and the sums of R over all rows by user."""

    summaries: dict[str, Summary]
    hits: Floats
    counts: Floats


def _evaluated(
    lists: pl.DataFrame, observed: Bools, p: Floats, clip: float | None, *, only_ratio: bool = False
) -> Values:
    """Return values on observed items by `concord.evaluate`; `clip=None` weights them equally."""
    user, item = np.nonzero(observed)
    how: dict[str, Any] = {
        "items": pl.DataFrame({"item": np.arange(ITEMS), "p": p}),
        "columns": {"items": {"propensity": "p"}},
    }
    truth = pl.DataFrame({"user": user, "item": item})
    known: PropensityOptions = {
        "column": "items",
        "clip": 1.0 if clip is None else clip,
        "fewest": 1,
    }
    over_all = cc.preset("standard", propensity={**known, "normalised": "over_all"})
    ratio = cc.evaluate(lists, truth, metrics=[f"R@{K}"], conventions=over_all, **how)
    values = ratio.per_user.drop_nulls(f"R@{K}").sort("user")
    counts = values["#counts>=1"].to_numpy()
    summaries = {OVER_ALL: ratio.summaries[f"R@{K}"]}
    if not only_ratio:
        metrics = [*SUMS, *RATIOS]
        if clip is None:
            summaries |= cc.evaluate(
                lists, truth, metrics=metrics, conventions="standard"
            ).summaries
        else:
            plain = cc.preset("standard", propensity=known)
            summaries |= cc.evaluate(
                lists, truth, metrics=metrics, conventions=plain, **how
            ).summaries
    return Values(summaries, values[f"R@{K}"].to_numpy() * counts, counts)


@cache
def _true(model: str) -> dict[str, float]:
    """Return the expected values when everything is observed."""
    means: dict[str, list[float]] = {}
    for run in range(OF_TRUTH):
        users = Users.drawn(generator(31, run), 1_000)
        values = _evaluated(users.lists[model], users.liked, np.ones(ITEMS), NO_CLIP)
        for label, summary in values.summaries.items():
            means.setdefault(label, []).append(summary.mean)
    return {label: float(np.mean(each)) for label, each in means.items()}


@dataclass
class Runs:
    """Rows, effective rows and values by model of the runs of a case."""

    rows: list[int] = field(default_factory=list)
    effective: list[float] = field(default_factory=list)
    values: dict[str, list[Values]] = field(default_factory=lambda: {m: [] for m in LEANS})


@cache
def _runs(n: int) -> dict[tuple[float, str], Runs]:
    """Return all runs by exponent and weights; runs of an exponent share users and observations."""
    runs = {(exponent, name): Runs() for exponent, of_each in CLIPS.items() for name in of_each}
    for run in range(RUNS):
        rng = generator(32, run, n)
        users = Users.drawn(rng, n)
        for exponent, of_each in CLIPS.items():
            p = POPULARITY**exponent
            observed = users.liked & (rng.random(users.liked.shape) < p)
            times = observed.sum(axis=0)
            for name, clip in of_each.items():
                of_case = runs[exponent, name]
                weights = 1 / np.maximum(p, 1.0 if clip is None else clip)
                of_case.rows.append(int(times.sum()))
                of_case.effective.append((times @ weights) ** 2 / (times @ (weights * weights)))
                for model, lists in users.lists.items():
                    values = _evaluated(lists, observed, p, clip, only_ratio=model == WORSE)
                    of_case.values[model].append(values)
    return runs


def _cases() -> Iterator[tuple[list[str], Runs]]:
    for exponent, of_each in CLIPS.items():
        for n in USERS:
            for name in of_each:
                yield [f"{exponent:g}", f"{n:,}", name], _runs(n)[exponent, name]


def estimates() -> list[str]:
    """The niche model: bias, spread and coverage, unweighted and weighted."""
    rows: list[Row] = [[*case, *_row(runs)] for case, runs in _cases()]
    labels = [label.removesuffix(f"@{K}") for label in [*SUMS, *RATIOS, OVER_ALL]]
    return [
        "## Exposure bias: estimates",
        "",
        f"Users like a share of {ITEMS} items that is drawn from Beta{LIKED}, popular ones no "
        "more than others; of what they like,",
        "an item is observed with its propensity, (1 / popularity rank)^exponent. A model that "
        "leans little towards popular items",
        "has a list for every user and is judged by what is observed, with `concord.evaluate`, "
        f"at k = {K}, {RUNS:,} runs a row. Each",
        "cell: mean error as a share of the true value, in brackets the standard deviation, and "
        "how often the 95% interval holds",
        f"the true value. One true value rests on {OF_TRUTH * 1_000:,} users of whom everything "
        "is known. Users of whom nothing was observed count 0",
        f"in weighed sums and are left out of ratios; P is CG / {K}, and so is its error. Of the "
        "ratios only R over all users' rows",
        "(`over_all`) comes right with more users. The effective number of rows is (sum of "
        "weights)² / sum of squares.",
        "",
        *markdown_table(
            ("exponent", "users", "each counts", "rows", "effective", *labels), rows, text_columns=3
        ),
    ]


def _row(runs: Runs) -> list[str]:
    cells = [f"{np.mean(runs.rows):,.0f}", f"{np.mean(runs.effective):,.0f}"]
    true = _true(BETTER)
    for label in [*SUMS, *RATIOS, OVER_ALL]:
        summaries = [values.summaries[label] for values in runs.values[BETTER]]
        errors = np.array([each.mean for each in summaries]) / true[label] - 1
        covered = sum(each.ci_low <= true[label] <= each.ci_high for each in summaries)
        cells.append(f"{errors.mean():+.1%} ({errors.std():.0%}); {rate(covered, RUNS)}")
    return cells


def orders() -> list[str]:
    """Return how often the better model is ahead, and how often the worse one is significantly."""
    rows: list[Row] = []
    for case, runs in _cases():
        both = zip(runs.values[BETTER], runs.values[WORSE], strict=True)
        gaps = [RatioEstimate(a.hits - b.hits, a.counts, a.counts * a.counts) for a, b in both]
        ahead = sum(gap.value > 0 for gap in gaps)
        wrong = sum(gap.interval(CONFIDENCE)[1] < 0 for gap in gaps)
        rows.append([*case, rate(ahead, RUNS), rate(wrong, RUNS)])
    true = {model: _true(model)[OVER_ALL] for model in LEANS}
    return [
        "## Exposure bias: the order of two models",
        "",
        f"The same users and two models, of which the niche one is better: R@{K} over all is "
        f"{true[BETTER]:.4f}, that of the popular",
        f"one {true[WORSE]:.4f}. How often it is ahead (`over_all`), and how often it is "
        "significantly worse by the interval of the",
        "difference of the values of `concord.evaluate`.",
        "",
        *markdown_table(
            (
                "exponent",
                "users",
                "each counts",
                "the better is ahead",
                "the better is significantly worse",
            ),
            rows,
            text_columns=3,
        ),
    ]


PARTS = (estimates, orders)
