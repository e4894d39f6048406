"""Joint sign flips: against a slow reference, and the bound that they keep."""

import math
import tracemalloc

import numpy as np
import pytest

from concord.metrics_core.stats import adjustment as module
from concord.metrics_core.stats.adjustment import holm, max_t
from concord.metrics_core.stats.paired_test import paired_tests


def _gaps(seed: int, users: int = 80, tests: int = 5, shared: float = 0.7) -> np.ndarray:
    """Differences of users that hang together between tests."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(users, 1))
    return shared * common + (1 - shared) * rng.normal(size=(users, tests))


def _pairs(gaps: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two models a test, of which one has 0 for everybody."""
    return [(column, np.zeros(len(gaps))) for column in gaps.T]


def _t(column: np.ndarray) -> float:
    n = len(column)
    mean = math.fsum(column) / n
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in column) / (n - 1))
    return abs(mean) / (spread / math.sqrt(n))


def _reference(gaps: np.ndarray, resamples: int, seed: int) -> list[float]:
    """Westfall and Young's step-down procedure as it is told, with flips of its own."""
    rng = np.random.default_rng(seed)
    n_tests = gaps.shape[1]
    observed = [_t(gaps[:, j]) for j in range(n_tests)]
    order = sorted(range(n_tests), key=lambda j: -observed[j])
    counts = [0] * n_tests
    for _ in range(resamples):
        flipped = gaps * rng.choice([-1, 1], len(gaps))[:, None]
        drawn = [_t(flipped[:, j]) for j in range(n_tests)]
        for position, j in enumerate(order):
            counts[j] += max(drawn[i] for i in order[position:]) >= observed[j]
    p, highest = [0.0] * n_tests, 0.0
    for j in order:
        highest = max(highest, (1 + counts[j]) / (1 + resamples))
        p[j] = highest
    return p


def test_p_value_follows_the_described_procedure() -> None:
    gaps = _gaps(1) + np.array([0.0, 0.05, 0.15, 0.25, 0.3])

    p_values = max_t(_pairs(gaps), resamples=4000, seed=3)

    expected = _reference(gaps, 1000, seed=4)
    assert p_values == pytest.approx(expected, abs=0.05)


def test_comparisons_that_hang_together_cost_less_than_by_holm() -> None:
    gaps = np.repeat(_gaps(3, tests=1), 20, axis=1) + 0.2

    joint = max_t(_pairs(gaps), resamples=2000, seed=1)

    values = {f"{j}": gaps[:, j] for j in range(20)} | {"0s": np.zeros(len(gaps))}
    tests = paired_tests(values, [(f"{j}", "0s") for j in range(20)], confidence=0.95)
    alone = np.array([each.p for each in tests])
    assert joint == pytest.approx(alone, abs=0.02)
    assert (holm(alone) > 5 * joint).all()


def test_the_order_of_the_tests_changes_nothing() -> None:
    gaps = _gaps(4) + np.array([0.3, 0.0, 0.1, 0.2, 0.0])
    mixed = [3, 1, 4, 0, 2]

    assert (max_t(_pairs(gaps), resamples=300, seed=1)[mixed] == max_t(_pairs(gaps[:, mixed]), resamples=300, seed=1)).all()  # fmt: skip


def test_users_who_do_not_count_are_left_out() -> None:
    gaps = _gaps(6, tests=1) + 0.2
    with_others = np.vstack([gaps, np.full((40, 1), np.nan)])

    few, more = (max_t(_pairs(each), resamples=5000, seed=1)[0] for each in (gaps, with_others))

    assert few == pytest.approx(more, abs=0.01)


def test_a_constant_difference_is_as_extreme_as_it_can_be() -> None:
    assert max_t(_pairs(np.full((50, 1), 0.1)), resamples=999, seed=1)[0] == 1 / 1000


def test_the_chance_of_any_false_finding_is_bounded() -> None:
    false = sum(
        max_t(_pairs(_gaps(seed + 100, users=60, tests=8)), resamples=199, seed=seed).min() <= 0.05
        for seed in range(300)
    )

    assert 4 <= false <= 27  # 300 x 0.05 = 15, give or take three times 3.8


def test_division_into_blocks_changes_no_bit_and_bounds_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gaps = _gaps(7, users=5003, tests=60) + np.linspace(0, 0.02, 60)
    gaps[:100, 3] = np.nan
    pairs = _pairs(gaps)
    at_once = max_t(pairs, resamples=199, seed=2)

    monkeypatch.setattr(module, "_MAX_VALUES", 7 * len(gaps))
    monkeypatch.setattr(module, "_USER_BLOCK", 300)
    tracemalloc.start()
    in_blocks = max_t(pairs, resamples=199, seed=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert (in_blocks == at_once).all()
    assert len(set(at_once.tolist())) > 10
    assert peak < gaps.nbytes


def test_the_seed_pins_the_p_values() -> None:
    gaps = _gaps(8, users=500, tests=6) + np.linspace(0, 0.1, 6)

    p_values = max_t(_pairs(gaps), resamples=999, seed=5)

    assert [round(1000 * p) for p in p_values] == [950, 418, 427, 128, 10, 6]
