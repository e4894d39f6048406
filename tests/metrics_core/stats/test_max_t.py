"""Max-T adjustment, against a slow reference; its family-wise error rate."""

import math
import tracemalloc

import numpy as np
import pytest

from concord.metrics_core.stats import adjustment as module
from concord.metrics_core.stats.adjustment import holm, max_t
from concord.metrics_core.stats.paired_test import paired_tests


def _diffs(seed: int, users: int = 80, tests: int = 5, shared: float = 0.7) -> np.ndarray:
    """Return users' differences that are correlated between tests."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(users, 1))
    return shared * common + (1 - shared) * rng.normal(size=(users, tests))


def _pairs(diffs: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return two models per test; the second has only zeros."""
    return [(column, np.zeros(len(diffs))) for column in diffs.T]


def _t(column: np.ndarray) -> float:
    n = len(column)
    mean = math.fsum(column) / n
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in column) / (n - 1))
    return abs(mean) / (spread / math.sqrt(n))


def _reference(diffs: np.ndarray, resamples: int, seed: int) -> list[float]:
    """Westfall and Young's step-down procedure, with different random signs."""
    rng = np.random.default_rng(seed)
    n_tests = diffs.shape[1]
    observed = [_t(diffs[:, j]) for j in range(n_tests)]
    order = sorted(range(n_tests), key=lambda j: -observed[j])
    counts = [0] * n_tests
    for _ in range(resamples):
        flipped = diffs * rng.choice([-1, 1], len(diffs))[:, None]
        statistics = [_t(flipped[:, j]) for j in range(n_tests)]
        for position, j in enumerate(order):
            counts[j] += max(statistics[i] for i in order[position:]) >= observed[j]
    p, highest = [0.0] * n_tests, 0.0
    for j in order:
        highest = max(highest, (1 + counts[j]) / (1 + resamples))
        p[j] = highest
    return p


def test_p_values_equal_the_reference() -> None:
    diffs = _diffs(1) + np.array([0.0, 0.05, 0.15, 0.25, 0.3])

    p_values = max_t(_pairs(diffs), resamples=4000, seed=3)

    expected = _reference(diffs, 1000, seed=4)
    assert p_values == pytest.approx(expected, abs=0.05)


def test_correlated_tests_are_corrected_less_than_by_holm() -> None:
    diffs = np.repeat(_diffs(3, tests=1), 20, axis=1) + 0.2

    joint = max_t(_pairs(diffs), resamples=2000, seed=1)

    values = {f"{j}": diffs[:, j] for j in range(20)} | {"0s": np.zeros(len(diffs))}
    tests = paired_tests(values, [(f"{j}", "0s") for j in range(20)], confidence=0.95)
    unadjusted = np.array([each.p for each in tests])
    assert joint == pytest.approx(unadjusted, abs=0.02)
    assert (holm(unadjusted) > 5 * joint).all()


def test_the_order_of_the_tests_changes_nothing() -> None:
    diffs = _diffs(4) + np.array([0.3, 0.0, 0.1, 0.2, 0.0])
    mixed = [3, 1, 4, 0, 2]

    assert (
        max_t(_pairs(diffs), resamples=300, seed=1)[mixed]
        == max_t(_pairs(diffs[:, mixed]), resamples=300, seed=1)
    ).all()


def test_users_with_nan_are_left_out() -> None:
    diffs = _diffs(6, tests=1) + 0.2
    with_others = np.vstack([diffs, np.full((40, 1), np.nan)])

    few, more = (max_t(_pairs(each), resamples=5000, seed=1)[0] for each in (diffs, with_others))

    assert few == pytest.approx(more, abs=0.01)


def test_a_constant_difference_has_the_smallest_p_value() -> None:
    assert max_t(_pairs(np.full((50, 1), 0.1)), resamples=999, seed=1)[0] == 1 / 1000


def test_division_into_blocks_changes_no_bit_and_bounds_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    diffs = _diffs(7, users=5003, tests=60) + np.linspace(0, 0.02, 60)
    diffs[:100, 3] = np.nan
    pairs = _pairs(diffs)
    one_block = max_t(pairs, resamples=199, seed=2)

    monkeypatch.setattr(module, "_MAX_VALUES", 7 * len(diffs))
    monkeypatch.setattr(module, "_USER_BLOCK", 300)
    tracemalloc.start()
    many_blocks = max_t(pairs, resamples=199, seed=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (many_blocks == one_block).all()
    assert len(set(one_block.tolist())) > 10
    assert peak < diffs.nbytes


def test_the_seed_pins_the_p_values() -> None:
    diffs = _diffs(8, users=500, tests=6) + np.linspace(0, 0.1, 6)

    p_values = max_t(_pairs(diffs), resamples=999, seed=5)

    assert [round(1000 * p) for p in p_values] == [950, 418, 427, 128, 10, 6]
