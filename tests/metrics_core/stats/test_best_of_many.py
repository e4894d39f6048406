"""The estimate of the best of many, by hand and against explicit matrices."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

from concord.metrics_core.stats.best_of_many import shrunk_best

Floats = NDArray[np.float64]


def reference(d: Floats, covariance: Floats, best: int) -> float:
    """Solve (d - μ)' (S + τ² I)⁻¹ (d - μ) = m - 1 with inverse matrices, then shrink."""
    ones = np.ones(len(d))

    def parts(tau2: float) -> tuple[Floats, float]:
        shrunk = covariance + tau2 * np.eye(len(d))
        inverse = np.asarray(np.linalg.inv(shrunk), dtype=np.float64)
        return inverse, float(ones @ inverse @ d / (ones @ inverse @ ones))

    def excess(tau2: float) -> float:
        inverse, mu = parts(tau2)
        return float((d - mu) @ inverse @ (d - mu)) - (len(d) - 1)

    tau2 = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, 10 * d.var() + 1, xtol=1e-16))
    inverse, mu = parts(tau2)
    return mu + tau2 * float((inverse @ (d - mu))[best])


def random_candidates(seed: int, m: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(m, m + 3)) * 0.01 + 0.01 * rng.normal(size=(1, m + 3))
    return rng.normal(0.03, 0.03, m), factor @ factor.T / m


def test_independent_errors_by_hand() -> None:
    """James & Stein with errors of variance s² = 0.0001: mean + (1 - s² / (τ² + s²)) (d - mean).

    The mean is 0.02, and τ² + s² = Σ (d - mean)² / 3 = 0.000867.
    """
    d = np.array([-0.01, 0.01, 0.02, 0.06])
    total = (0.03**2 + 0.01**2 + 0.0**2 + 0.04**2) / 3
    kept = 1 - 0.0001 / total

    assert shrunk_best(d, 0.0001 * np.eye(4), 3) == pytest.approx(0.02 + kept * 0.04)


def test_equal_differences_are_shrunk_to_their_mean() -> None:
    """Σ (d - mean)² / 3 = 0.0001 is not above s² = 0.0002: nothing is left of the differences."""
    d = np.array([0.01, 0.03, 0.02, 0.0359])

    assert shrunk_best(d, 0.0002 * np.eye(4), 3) == pytest.approx(d.mean())


def test_a_common_error_of_the_baseline_is_not_shrunk() -> None:
    """S = s² I + c² 11': c² shifts all candidates, so it changes nothing."""
    d = np.array([-0.01, 0.01, 0.02, 0.06])
    plain = shrunk_best(d, 0.0001 * np.eye(4), 3)

    assert shrunk_best(d, 0.0001 * np.eye(4) + 0.01, 3) == pytest.approx(plain)


@pytest.mark.parametrize("m", [2, 3, 8, 20])
@pytest.mark.parametrize("seed", range(3))
def test_it_equals_the_reference(m: int, seed: int) -> None:
    d, covariance = random_candidates(seed, m)
    best = int(d.argmax())

    assert shrunk_best(d, covariance, best) == pytest.approx(reference(d, covariance, best))


@pytest.mark.parametrize("m", [2, 8, 20])
def test_the_order_of_the_models_changes_no_digit(m: int) -> None:
    d, covariance = random_candidates(7, m)
    expected = shrunk_best(d, covariance, int(d.argmax()))
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(m)
        shuffled = shrunk_best(d[order], covariance[np.ix_(order, order)], int(d[order].argmax()))
        assert shuffled == expected


def test_two_equal_candidates_have_a_singular_covariance() -> None:
    d = np.array([0.05, 0.05, 0.01])
    covariance = 0.0001 * np.array([[1.0, 1.0, 0.2], [1.0, 1.0, 0.2], [0.2, 0.2, 1.0]])

    estimate = shrunk_best(d, covariance, 0)

    assert 0.01 < estimate < 0.05
    assert shrunk_best(d, covariance, 1) == pytest.approx(estimate)


def test_it_has_no_bias_if_the_true_differences_are_a_normal_sample() -> None:
    """20 candidates, true differences N(0.02, 0.01²), errors of 0.01: the best looks 0.013 high."""
    rng = np.random.default_rng(1)
    n, covariance = 600, 0.0001 * (0.5 * np.eye(20) + 0.5)
    true = rng.normal(0.02, 0.01, (n, 20))
    observed = true + rng.multivariate_normal(np.zeros(20), covariance, n)
    best = observed.argmax(axis=1)
    estimates = [shrunk_best(d, covariance, int(j)) for d, j in zip(observed, best, strict=True)]

    truth = true[np.arange(n), best]
    assert observed.max(axis=1).mean() - truth.mean() > 0.005
    assert abs(np.mean(estimates) - truth.mean()) < 0.0015
