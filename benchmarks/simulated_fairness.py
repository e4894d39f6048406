"""Groups of items and users with known exposure and gaps: coverage of intervals, power of tests."""

import math
from functools import partial

import numpy as np

from benchmarks.simulated import Floats, mean_of_pair, pair
from benchmarks.tabulated import generator, markdown_table, rate
from concord.metrics_core.metrics import fairness
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.ranked_lists import Items, RankedLists
from concord.metrics_core.stats.bootstrap import bootstrap_p, percentile_interval, weighted_means
from concord.metrics_core.stats.paired_test import paired_tests

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
    """Two models that favour one group of items, equally or not."""
    true = {lean: _true(lean) for lean in (0.0, 1.0)}
    rows = []
    for users, runs in ((100, 1_000), (1_000, 300)):
        false_alarms = dict.fromkeys(MEASURES, 0)
        detections = dict.fromkeys(MEASURES, 0)
        covered = dict.fromkeys(MEASURES, 0)
        for run in range(runs):
            rng = generator(users, run)
            truth = _ground_truth(rng, users)
            same, other, base = (_values(rng, truth, users, lean) for lean in (0.0, 1.0, 0.0))
            for name in MEASURES:
                columns = {"same": same[name], "other": other[name], "base": base[name]}
                pairs = [("same", "base"), ("other", "base")]
                null, shifted = paired_tests(columns, pairs, confidence=1 - ALPHA)
                false_alarms[name] += null.p <= ALPHA
                detections[name] += shifted.p <= ALPHA
                low, high = shifted.interval(1 - ALPHA)
                covered[name] += low <= true[1.0][name] - true[0.0][name] <= high
        rows += [
            (
                name,
                f"{users:,}",
                rate(false_alarms[name], runs),
                rate(detections[name], runs),
                rate(covered[name], runs),
            )
            for name in MEASURES
        ]
    head = (
        "metric",
        "users",
        "found of models that are alike",
        "found of those that differ",
        "interval holds the truth",
    )
    differences = ", ".join(f"{name} {true[1.0][name] - true[0.0][name]:+.3f}" for name in MEASURES)
    return [
        "## Exposure of groups of items",
        "",
        f"{MINORITY} of {ITEMS} items are of one group, and relevant items are drawn from both "
        "alike. One model draws its lists",
        f"alike, too, the other weighs items of the larger group {math.e:.1f} times. True "
        f"differences: {differences}; paired t tests of",
        "users' values.",
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


def gaps() -> list[str]:
    """Difference of two models' gaps between the best and the worst of three groups."""
    rows = []
    for heading, group_a, group_b in (
        ("none, none", (0.4, 0.4, 0.4), (0.4, 0.4, 0.4)),
        ("0.091, 0.091", (0.5, 0.4, 0.3), (0.5, 0.4, 0.3)),
        ("0.091, none", (0.5, 0.4, 0.3), (0.4, 0.4, 0.4)),
    ):
        true = _gap_of(group_a) - _gap_of(group_b)
        for users, runs in ((100, 1_000), (1_000, 1_000)):
            detections = covered = 0
            for run in range(runs):
                rng = generator(users, run)
                columns = [
                    _of_groups(rng, users, rates) for rates in zip(group_a, group_b, strict=True)
                ]
                resampled = _group_gap(np.stack([a for a, _ in columns]), run)
                resampled -= _group_gap(np.stack([b for _, b in columns]), run)
                low, high = percentile_interval(resampled, 1 - ALPHA)
                covered += low <= true <= high
                detections += bootstrap_p(resampled) < ALPHA
            rows.append((heading, f"{users:,}", rate(detections, runs), rate(covered, runs)))
    head = ("true gaps", "users of a group", "told apart", "interval holds the truth")
    return [
        "## The gaps of two models, by Poisson bootstrap",
        "",
        "Three groups of equal size; each model's gap is between its own best and worst group, "
        "with 500 resamples. Where a model",
        "has no gap, its groups are picked by chance and its gap comes out too large, the more so "
        "with few users: differences",
        "to it come out too small.",
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


def picked() -> list[str]:
    """One model that serves all groups equally, and the interval of its gap."""
    rows, runs, users = [], 1_000, 100
    for groups in (2, 3, 5, 12):
        rejected = 0
        for run in range(runs):
            rng = generator(users, run, groups)
            values = np.stack([rng.binomial(10, 0.4, users) / 10 for _ in range(groups)])
            rejected += percentile_interval(_group_gap(values, run), 1 - ALPHA)[0] > 0
        rows.append((f"{groups}", rate(rejected, runs)))
    return [
        "## A gap between groups that are alike",
        "",
        f"{users} users of each group, whose values have one distribution. The interval of a gap "
        "holds the two groups fixed that are",
        "furthest apart: with two groups it lies above 0 as often as it should, 2 × 2.5 %, with "
        "more it claims too much.",
        "",
        *markdown_table(("groups", "interval lies above 0"), rows, text_columns=1),
    ]


PARTS = (exposures, gaps, picked)


def _items() -> Items:
    group = (np.arange(ITEMS) >= MINORITY).astype(np.int64)
    ones = np.ones(ITEMS, dtype=np.int64)
    return Items(1, 1, ones, ones > 0, None, group=group, groups=("few", "many"))


def _drawn(rng: np.random.Generator, users: int, k: int, lean: float) -> Ints:
    """Return (users, k) items; those of the larger group have e^lean times the weight."""
    keys = rng.gumbel(size=(users, ITEMS)) + lean * (np.arange(ITEMS) >= MINORITY)
    return np.argsort(-keys, axis=1)[:, :k]


def _ground_truth(rng: np.random.Generator, users: int) -> tuple[Ints, Ints]:
    """Return users and items of one to five relevant items per user."""
    drawn, n = _drawn(rng, users, 5, 0.0), rng.integers(1, 6, users)
    is_relevant = np.arange(5) < n[:, None]
    return np.nonzero(is_relevant)[0], drawn[is_relevant]


def _values(
    rng: np.random.Generator, truth: tuple[Ints, Ints], users: int, lean: float
) -> dict[str, Floats]:
    """Return (users,) values of each metric of a model with this lean to the larger group."""
    recommended = _drawn(rng, users, K, lean).ravel()
    listed = RankedLists(
        n_users=users,
        n_listed=np.full(users, K),
        row_user=np.repeat(np.arange(users), K),
        row_rank=np.tile(np.arange(1, K + 1), users),
        row_item=recommended,
        row_relevant=np.zeros(len(recommended), dtype=bool),
        history_user=np.zeros(0, dtype=np.int64),
        history_item=np.zeros(0, dtype=np.int64),
        items=_items(),
        relevant_user=truth[0],
        relevant_item=truth[1],
    )
    return {name: measure(listed, K) for name, measure in MEASURES.items()}


def _true(lean: float) -> dict[str, float]:
    """Return expected metrics: of 200,000 users, with an error below a thousandth."""
    rng = generator(7, int(lean))
    drawn = [_values(rng, _ground_truth(rng, 20_000), 20_000, lean) for _ in range(10)]
    return {name: float(np.mean([values[name] for values in drawn])) for name in MEASURES}


def _of_groups(
    rng: np.random.Generator, users: int, rates: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return (users,) values of both models in one group with these hit rates."""
    group_a, group_b = rates
    return pair(rng, users, group_b, group_a / group_b - 1)


def _gap_of(rates: tuple[float, ...]) -> float:
    return mean_of_pair(max(rates), 1.0) - mean_of_pair(min(rates), 1.0)


def _group_gap(values: Floats, seed: int) -> Floats:
    """Return (resamples,) gaps of best and worst group of (groups, users of a group) values."""
    groups, users = values.shape
    means = values.mean(axis=1)
    columns = np.full((groups * users, 2), np.nan)
    for column, group in enumerate((means.argmax(), means.argmin())):
        columns[group * users : (group + 1) * users, column] = values[group]
    samples = weighted_means(columns, resamples=500, seed=seed)
    return samples[:, 0] - samples[:, 1]
