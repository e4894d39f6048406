"""Jackknife intervals of metrics over all users, against hand calculation and brute force."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import t as student

from concord.metrics_core.metrics.exposure import Exposure, coverage, gini
from concord.metrics_core.metrics.ranked_lists import Items
from concord.metrics_core.stats.randomization_test import (
    MAX_GROUPS,
    ListPair,
    RecommendedItems,
    jackknife_errors,
)

MEASURES = {
    "Coverage@2": partial(coverage, coverage_items="catalogue"),
    "Gini@2": partial(gini, gini_items="catalogue"),
}


def _items(n: int) -> Items:
    counts = np.ones(n, dtype=np.int64)
    return Items(1, 1, counts, counts > 0, None)


def _intervals(
    a: RecommendedItems, b: RecommendedItems, n_items: int
) -> dict[str, tuple[float, float]]:
    errors = jackknife_errors(ListPair(a, b, MEASURES, _items(n_items), k=2))
    return {name: error.interval(0.95) for name, error in errors.items()}


def test_interval_of_coverage_by_hand() -> None:
    # users 0 to 4 get a unique item each, users 5 to 9 all get item 9
    item = np.array([0, 1, 2, 3, 4, 9, 9, 9, 9, 9])
    users = np.arange(10)
    low, high = _intervals(
        RecommendedItems(users, item), RecommendedItems(users, np.full(10, 9)), 10
    )["Coverage@2"]

    # 0.6 - 0.1; without one of the first five 0.1 less: mean 0.45, squares 10 x 0.05² = 0.025
    half = student.ppf(0.975, 9) * math.sqrt(9 / 10 * 0.025)
    assert [low, high] == pytest.approx([0.5 - half, 0.5 + half])


def test_leaving_groups_out_equals_recomputation() -> None:
    rng = np.random.default_rng(1)
    n_users, n_items = 250, 40
    a, b = (
        RecommendedItems(np.repeat(np.arange(n_users), 2), rng.integers(0, n_items, 2 * n_users))
        for _ in range(2)
    )
    b = RecommendedItems(b.user[20:], b.item[20:])  # ten users have no list with b
    diffs = []
    for group in range(MAX_GROUPS):
        values = []
        for recommended in (a, b):
            remaining = recommended.user % MAX_GROUPS != group
            counts = np.bincount(recommended.item[remaining], minlength=n_items)
            exposure = Exposure(
                counts, len(set(recommended.user[remaining].tolist())), 2, _items(n_items)
            )
            values.append(MEASURES["Gini@2"](exposure))
        diffs.append(values[0] - values[1])
    squares = sum((diff - np.mean(diffs)) ** 2 for diff in diffs)
    error = math.sqrt((MAX_GROUPS - 1) / MAX_GROUPS * squares)

    low, high = _intervals(a, b, n_items)["Gini@2"]

    assert (high - low) / 2 == pytest.approx(student.ppf(0.975, MAX_GROUPS - 1) * error)


def test_swapped_models_mirror_the_interval_and_equal_ones_have_zero() -> None:
    rng = np.random.default_rng(2)
    a, b = (
        RecommendedItems(np.repeat(np.arange(50), 2), rng.integers(0, 30, 100)) for _ in range(2)
    )

    forward, backward = _intervals(a, b, 30), _intervals(b, a, 30)

    for name in MEASURES:
        assert [*forward[name]] == pytest.approx([-backward[name][1], -backward[name][0]])
        assert _intervals(a, a, 30)[name] == (0.0, 0.0)


def test_nine_users_have_no_interval() -> None:
    users = np.arange(9)

    assert not _intervals(
        RecommendedItems(users, users), RecommendedItems(users, users[::-1].copy()), 9
    )
