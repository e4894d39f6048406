"""Levels of families of intervals, against SciPy's multivariate normal and by invariance."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

from concord.metrics_core.stats.adjustment import benjamini_hochberg
from concord.metrics_core.stats.simultaneous import (
    correlations,
    deviation_numbers,
    discovery_alpha,
    joint_alpha,
)

Floats = NDArray[np.float64]
ALPHA = 0.05


def random_correlation(seed: int, m: int, shared: float = 1.0) -> Floats:
    """Return the correlation of m differences to one baseline, some with another sign."""
    rng = np.random.default_rng(seed)
    users = rng.normal(size=(200, m)) + shared * rng.normal(size=(200, 1))
    matrix = np.corrcoef((users * rng.choice([-1, 1], m)).T)
    return np.asarray((matrix + matrix.T) / 2)


def critical(alpha: float) -> float:
    return float(norm.isf(alpha / 2))


def test_one_test_has_the_level_itself() -> None:
    assert joint_alpha(np.ones((1, 1)), 1 - 0.95) == 1 - 0.95
    assert joint_alpha(np.ones((0, 0)), ALPHA) == ALPHA


@pytest.mark.parametrize(("m", "seed"), [(2, 1), (3, 2), (5, 3)])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_critical_value_is_that_of_the_multivariate_normal(
    m: int, seed: int, alpha: float
) -> None:
    """Draws have a standard error of 0.007 at α = 0.05 and 0.014 at 0.01; rounding adds 0.01."""
    matrix = random_correlation(seed, m)
    distribution = multivariate_normal(cov=matrix, seed=1)

    def excess(c: float) -> float:
        return float(distribution.cdf(np.full(m, c), lower_limit=np.full(m, -c))) - (1 - alpha)

    expected = brentq(excess, 1.9, 3.5, xtol=1e-3)

    error = 3 * (0.007 if alpha == 0.05 else 0.014)
    assert -error <= critical(joint_alpha(matrix, alpha)) - expected <= error + 0.01


@pytest.mark.parametrize("m", [2, 3, 12])
def test_order_and_signs_of_the_tests_change_no_bit(m: int) -> None:
    rng, matrix = np.random.default_rng(m), random_correlation(m, m)
    expected = joint_alpha(matrix, ALPHA)
    for _ in range(3):
        order, signs = rng.permutation(m), rng.choice([-1.0, 1.0], m)
        assert joint_alpha((matrix * np.outer(signs, signs))[np.ix_(order, order)], ALPHA) == (
            expected
        )


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("m", [2, 10])
def test_the_level_is_between_bonferronis_and_that_of_one_test(m: int, shared: float) -> None:
    for alpha in (0.001, 0.3):
        assert alpha / m <= joint_alpha(random_correlation(1, m, shared), alpha) <= alpha


def test_more_correlation_gives_a_higher_level() -> None:
    levels = [joint_alpha(random_correlation(2, 10, shared), ALPHA) for shared in (0, 1, 3, 30)]

    assert levels == sorted(levels)
    assert levels[0] < 1.1 * ALPHA / 10
    assert levels[-1] > 0.5 * ALPHA


@pytest.mark.parametrize("signs", [np.ones(4), np.array([1.0, -1.0, 1.0, -1.0])])
def test_equal_tests_are_one(signs: Floats) -> None:
    """A singular matrix: four tests that are the same up to their sign."""
    assert critical(joint_alpha(np.outer(signs, signs), ALPHA)) == pytest.approx(1.96, abs=0.02)


def test_a_pair_of_equal_tests_beside_others_counts_once() -> None:
    three = random_correlation(5, 3)
    twice = three[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])]

    assert critical(joint_alpha(twice, ALPHA)) == pytest.approx(
        critical(joint_alpha(three, ALPHA)), abs=0.025
    )


def test_a_test_without_deviations_is_independent_of_the_others() -> None:
    rng = np.random.default_rng(1)
    users = [deviation_numbers(each) for each in (rng.normal(size=50), np.zeros(50))]

    matrix = correlations(users)

    assert matrix == pytest.approx(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert ALPHA / 2 <= joint_alpha(matrix, ALPHA) <= ALPHA


def test_correlations_equal_numpys_and_the_order_of_users_changes_no_bit() -> None:
    rng = np.random.default_rng(7)
    users = rng.gamma(0.3, size=(20_000, 4)) + rng.gamma(1, size=(20_000, 1))
    deviations = [column - column.mean() for column in users.T]
    order = rng.permutation(len(users))

    matrix = correlations([deviation_numbers(each) for each in deviations])
    shuffled = correlations([deviation_numbers(each[order]) for each in deviations])

    assert matrix == pytest.approx(np.corrcoef(users.T), abs=1e-5)
    assert (matrix == shuffled).all()


def test_users_without_a_value_do_not_count() -> None:
    both = np.array([[1.0, -2.0, 1.0, math.nan], [0.5, -1.0, 0.5, 9.0]])

    assert correlations([deviation_numbers(each) for each in both[:, :3]])[0, 1] == pytest.approx(
        1.0
    )
    assert deviation_numbers(both[0]).tolist()[-1] == 0.0


_PROGRAM = """
import numpy as np
from concord.metrics_core.stats.simultaneous import correlations, deviation_numbers, joint_alpha
rng = np.random.default_rng(3)
users = rng.normal(size=(3000, 40)) + rng.normal(size=(3000, 1))
columns = [deviation_numbers(each - each.mean()) for each in users.T]
print(joint_alpha(correlations(columns), 0.05).hex())
"""


def test_the_number_of_threads_changes_no_bit() -> None:
    levels = {
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "OMP_NUM_THREADS": n, "OPENBLAS_NUM_THREADS": n},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for n in ("1", "2")
    }

    assert len(levels) == 1


P_VALUES = st.lists(st.floats(0, 0.2) | st.just(math.nan) | st.just(0.01), max_size=30)


@given(P_VALUES, st.sampled_from([0.05, 0.1, 0.01, 1 - 0.95]))
def test_the_level_of_discoveries_separates_them_from_the_other_tests(
    values: list[float], alpha: float
) -> None:
    """Benjamini & Hochberg by definition: the largest i with p_(i) <= i α / m, and all before."""
    p = np.array(values, dtype=np.float64)
    ascending = sorted(each for each in values if not math.isnan(each))
    m = len(ascending)
    n_found = max((i for i, each in enumerate(ascending, 1) if each <= i * alpha / m), default=0)

    level = discovery_alpha(p, alpha)

    assert level == pytest.approx(alpha * max(n_found, 1) / max(m, 1), rel=1e-12)
    assert int(np.count_nonzero(p <= level)) == n_found
    assert (p <= level).tolist() == (benjamini_hochberg(p) <= alpha).tolist()
