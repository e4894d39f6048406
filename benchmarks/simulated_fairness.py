"""Groups of items and of users whose exposure and gaps are known: what intervals hold and tests find."""

import math
from functools import partial

import numpy as np

from benchmarks.simulated import Floats, mean_of_pair, pair
from benchmarks.tabulated import rate, rng_of, table_of
from concord.metrics_core.metrics import fairness
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.listed import Items
from concord.metrics_core.statistics.bootstrap import interval, two_sided, weighted_means
from concord.metrics_core.statistics.jackknife import jackknife_intervals
from concord.metrics_core.statistics.swap import Shown, swap_tests

ALPHA = 0.05
ITEMS, MINORITY, K = 200, 60, 10
MEASURES = {
    name: partial(function, discount={"log": 2})
    for name, function in (
        ("EED@10", fairness.disparity),
        ("EER@10", fairness.relevance),
        ("EEL@10", fairness.loss),
    )
}


def exposures() -> list[str]:
    """Two models that favour one group of items, alike and not."""
    true = {lean: _true(lean) for lean in (0.0, 1.0)}
    rows = []
    for users, runs in ((100, 300), (1_000, 100)):
        alike = dict.fromkeys(MEASURES, 0)
        found = dict.fromkeys(MEASURES, 0)
        held = dict.fromkeys(MEASURES, 0)
        for run in range(runs):
            rng = rng_of(users, run)
            wanted = _wanted(rng, users)
            same, other, base = (_shown(rng, wanted, users, lean) for lean in (0.0, 1.0, 0.0))
            how = {"items": _items(), "k": K}
            for name, test in swap_tests(same, base, MEASURES, resamples=199, seed=run, **how).items():  # type: ignore[arg-type]  # fmt: skip
                alike[name] += test.p <= ALPHA
            for name, test in swap_tests(other, base, MEASURES, resamples=199, seed=run, **how).items():  # type: ignore[arg-type]  # fmt: skip
                found[name] += test.p <= ALPHA
            ends = jackknife_intervals(other, base, MEASURES, confidence=1 - ALPHA, **how)  # type: ignore[arg-type]
            for name, (low, high) in ends.items():
                held[name] += low <= true[1.0][name] - true[0.0][name] <= high
        rows += [
            (
                name,
                f"{users:,}",
                rate(alike[name], runs),
                rate(found[name], runs),
                rate(held[name], runs),
            )
            for name in MEASURES
        ]
    head = ("metric", "users", "found of models that are alike", "found of those that differ", "jackknife's interval holds the truth")  # fmt: skip
    told = ", ".join(f"{name} {true[1.0][name] - true[0.0][name]:+.3f}" for name in MEASURES)
    return [
        "## Exposure of groups of items",
        "",
        f"{MINORITY} of {ITEMS} items are of one group, and relevant items are drawn from both alike. One model draws its lists",
        f"alike, too, the other weighs items of the larger group {math.e:.1f} times. True differences: {told}; 199 swaps.",
        "",
        *table_of(head, rows, left=1),
    ]


def gaps() -> list[str]:
    """The gap between the best and the worst of three groups, of two models."""
    rows = []
    for said, ours, theirs in (
        ("none, none", (0.4, 0.4, 0.4), (0.4, 0.4, 0.4)),
        ("0.091, 0.091", (0.5, 0.4, 0.3), (0.5, 0.4, 0.3)),
        ("0.091, none", (0.5, 0.4, 0.3), (0.4, 0.4, 0.4)),
    ):
        true = _gap_of(ours) - _gap_of(theirs)
        for users, runs in ((100, 1_000), (1_000, 1_000)):
            found = held = 0
            for run in range(runs):
                rng = rng_of(users, run)
                columns = [
                    _of_groups(rng, users, rates) for rates in zip(ours, theirs, strict=True)
                ]
                apart = _apart(np.stack([a for a, _ in columns]), run)
                apart -= _apart(np.stack([b for _, b in columns]), run)
                low, high = interval(apart, 1 - ALPHA)
                held += low <= true <= high
                found += two_sided(apart) < ALPHA
            rows.append((said, f"{users:,}", rate(found, runs), rate(held, runs)))
    head = ("true gaps", "users of a group", "told apart", "interval holds the truth")
    return [
        "## The gaps of two models, by Poisson bootstrap",
        "",
        "Three groups of equal size; each model's gap is between its own best and worst group, with 500 resamples. Where a model",
        "has no gap, its groups are picked by chance and its gap comes out too large, the more so with few users: differences",
        "to it come out too small.",
        "",
        *table_of(head, rows, left=1),
    ]


def picked() -> list[str]:
    """One model that serves all groups alike, and the interval of its gap."""
    rows, runs, users = [], 1_000, 100
    for groups in (2, 3, 5, 12):
        beyond = 0
        for run in range(runs):
            rng = rng_of(users, run, groups)
            values = np.stack([rng.binomial(10, 0.4, users) / 10 for _ in range(groups)])
            beyond += interval(_apart(values, run), 1 - ALPHA)[0] > 0
        rows.append((f"{groups}", rate(beyond, runs)))
    return [
        "## A gap between groups that are alike",
        "",
        f"{users} users of each group, whose values have one distribution. The interval of a gap holds the two groups fixed that are",
        "furthest apart: with two groups it lies above 0 as often as it should, 2 × 2.5 %, with more it claims too much.",
        "",
        *table_of(("groups", "interval lies above 0"), rows, left=1),
    ]


PARTS = (exposures, gaps, picked)


def _items() -> Items:
    group = (np.arange(ITEMS) >= MINORITY).astype(np.int64)
    ones = np.ones(ITEMS, dtype=np.int64)
    return Items(1, 1, ones, ones > 0, None, group=group, groups=("few", "many"))


def _drawn(rng: np.random.Generator, users: int, k: int, lean: float) -> Ints:
    """(users, k) items, those of the larger group with e^lean times the weight."""
    keys = rng.gumbel(size=(users, ITEMS)) + lean * (np.arange(ITEMS) >= MINORITY)
    return np.argsort(-keys, axis=1)[:, :k]


def _wanted(rng: np.random.Generator, users: int) -> tuple[Ints, Ints]:
    """User and item of one to five relevant items each."""
    drawn, n = _drawn(rng, users, 5, 0.0), rng.integers(1, 6, users)
    kept = np.arange(5) < n[:, None]
    return np.nonzero(kept)[0], drawn[kept]


def _shown(rng: np.random.Generator, wanted: tuple[Ints, Ints], users: int, lean: float) -> Shown:
    shown = _drawn(rng, users, K, lean).ravel()
    places = (np.repeat(np.arange(users), K), shown, np.tile(np.arange(1, K + 1), users))
    return Shown(*fairness.cells_of(places, wanted, _items(), K))


def _true(lean: float) -> dict[str, float]:
    """The metrics of endlessly many users: of 200,000, with an error below a thousandth."""
    rng = rng_of(7, int(lean))
    share = np.mean([np.mean(_drawn(rng, 20_000, K, lean) < MINORITY, axis=0) for _ in range(10)], axis=0)  # fmt: skip
    weight = 1 / np.log2(np.arange(2, K + 2))
    few = float((share * weight).sum() / weight.sum())
    e, t = np.array([few, 1 - few]), np.array([MINORITY, ITEMS - MINORITY]) / ITEMS
    return {"EED@10": float((e * e).sum()), "EER@10": float((e * t).sum()), "EEL@10": float(((e - t) ** 2).sum())}  # fmt: skip


def _of_groups(
    rng: np.random.Generator, users: int, rates: tuple[float, float]
) -> tuple[Floats, Floats]:
    """(users,) values of both models in one group, with these rates of hits."""
    ours, theirs = rates
    return pair(rng, users, theirs, ours / theirs - 1)


def _gap_of(rates: tuple[float, ...]) -> float:
    return mean_of_pair(max(rates), 1.0) - mean_of_pair(min(rates), 1.0)


def _apart(values: Floats, seed: int) -> Floats:
    """(resamples,) the gap between the best and the worst group, for (groups, users of a group) values."""
    groups, users = values.shape
    means = values.mean(axis=1)
    columns = np.full((groups * users, 2), np.nan)
    for column, group in enumerate((means.argmax(), means.argmin())):
        columns[group * users : (group + 1) * users, column] = values[group]
    samples = weighted_means(columns, resamples=500, seed=seed)
    return samples[:, 0] - samples[:, 1]
