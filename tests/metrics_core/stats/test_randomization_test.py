"""List-swap tests, against enumeration of a small case; invariants for any lists."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest

from concord.metrics_core.metrics.exposure import Exposure, coverage, gini, personalization
from concord.metrics_core.metrics.ranked_lists import Items
from concord.metrics_core.stats.randomization_test import (
    ListPair,
    Measure,
    RecommendedItems,
    SwapTest,
    swap_tests,
)

N_ITEMS = 30
ITEMS = Items(1, 1, np.ones(N_ITEMS, dtype=np.int64), np.ones(N_ITEMS, dtype=bool), None)
MEASURES: dict[str, Measure] = {
    "Coverage": partial(coverage, coverage_items="catalogue"),
    "Gini": partial(gini, gini_items="catalogue"),
    "Personalization": personalization,
}
Lists = list[list[int]]


def _lists(seed: int, users: int, popular: float, k: int = 3) -> Lists:
    rng = np.random.default_rng(seed)
    weights = np.arange(1, N_ITEMS + 1) ** -popular
    shares = weights / weights.sum()
    return [rng.choice(N_ITEMS, k, replace=False, p=shares).tolist() for _ in range(users)]


def _recommended(lists: Lists) -> RecommendedItems:
    rows = [(user, item) for user, items in enumerate(lists) for item in items]
    users, items = zip(*rows, strict=True) if rows else ((), ())
    return RecommendedItems(np.array(users, dtype=np.int64), np.array(items, dtype=np.int64))


def _tests(a: Lists, b: Lists, resamples: int = 999, seed: int = 1) -> dict[str, SwapTest]:
    lists = ListPair(_recommended(a), _recommended(b), MEASURES, ITEMS, k=3)
    return swap_tests(lists, resamples=resamples, seed=seed)


def _difference(name: str, a: Lists, b: Lists) -> float:
    exposure_a, exposure_b = (
        Exposure(
            np.bincount([i for items in lists for i in items], minlength=N_ITEMS),
            sum(bool(items) for items in lists),
            3,
            ITEMS,
        )
        for lists in (a, b)
    )
    return MEASURES[name](exposure_a) - MEASURES[name](exposure_b)


@pytest.mark.parametrize("name", list(MEASURES))
def test_p_is_the_share_of_swaps_that_are_as_extreme(name: str) -> None:
    a, b = _lists(1, 10, 0.2), _lists(2, 10, 1.5)
    b[3] = []  # a missing list is swapped, too
    diffs = []
    for swaps in product([False, True], repeat=10):
        swapped = [(y, x) if swap else (x, y) for x, y, swap in zip(a, b, swaps, strict=True)]
        diffs.append(_difference(name, [x for x, _ in swapped], [y for _, y in swapped]))
    observed = _difference(name, a, b)
    exact = np.mean([abs(diff) >= abs(observed) - 1e-11 for diff in diffs])

    tests = _tests(a, b, resamples=4000)[name]

    assert tests.difference == observed
    assert (tests.n_users, tests.n_nonzero) == (10, 10)
    assert tests.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4000) + 1e-3)


def _distinct(exposure: Exposure) -> float:
    return float(np.count_nonzero(exposure.counts))


@pytest.mark.parametrize("seed", range(8))
def test_differences_that_are_equal_up_to_rounding_are_ties(seed: int) -> None:
    a, b = _lists(seed, 12, 0.4), _lists(seed + 100, 12, 0.8)
    measures: dict[str, Measure] = {
        "share": lambda exposure: _distinct(exposure) / 60,
        "whole number": _distinct,
    }

    lists = ListPair(_recommended(a), _recommended(b), measures, ITEMS, k=3)
    tests = swap_tests(lists, resamples=499, seed=seed)

    assert tests["share"].p == tests["whole number"].p


def test_swapping_the_models_changes_the_sign_only() -> None:
    a, b = _lists(3, 40, 0.5), _lists(4, 40, 1.0)
    forward, backward = _tests(a, b), _tests(b, a)

    for name, result in forward.items():
        assert backward[name].p == result.p
        assert backward[name].difference == -result.difference


def test_order_of_rows_changes_nothing() -> None:
    a, b = _lists(5, 40, 0.5), _lists(6, 40, 0.9)
    recommended, rng = _recommended(a), np.random.default_rng(0)
    mixed = rng.permutation(len(recommended.user))
    shuffled = RecommendedItems(recommended.user[mixed], recommended.item[mixed])

    lists = ListPair(shuffled, _recommended(b), MEASURES, ITEMS, k=3)
    tests = swap_tests(lists, resamples=999, seed=1)

    assert tests == _tests(a, b)


def test_fewer_than_ten_differing_users_are_not_tested() -> None:
    a = _lists(7, 50, 0.5)
    nine, ten = [list(values) for values in a], [list(values) for values in a]
    for n, lists in ((9, nine), (10, ten)):
        for user in range(n):
            lists[user] = [(item + 1) % N_ITEMS for item in a[user]]

    assert math.isnan(_tests(a, nine)["Coverage"].p)
    assert _tests(a, nine)["Coverage"].n_nonzero == 9
    assert _tests(a, ten)["Coverage"].p > 0
    assert math.isnan(_tests(a, a)["Gini"].p)
    assert _tests(a, a)["Gini"].difference == 0


def test_undefined_statistic_has_no_p_value() -> None:
    a, b = _lists(8, 20, 0.5), _lists(9, 20, 0.5)

    lists = ListPair(_recommended(a), _recommended(b), MEASURES, ITEMS, k=None)
    tests = swap_tests(lists, resamples=99, seed=1)

    assert math.isnan(tests["Personalization"].p)  # needs a cutoff
    assert tests["Coverage"].p > 0
