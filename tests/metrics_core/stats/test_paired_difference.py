"""Intervals of shares and of equal differences, against numerical inversion and by hand."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import t as student

from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.paired_test import UserValues, paired_test

Floats = NDArray[np.float64]
CONFIDENCES = (0.8, 0.95, 0.9974)


def share_test(
    a: Floats, b: Floats, clusters: Clusters | None = None, share_of: Floats | None = None
) -> PairedTest:
    """Return the test of a - b with shares of b's mean, or of another model's."""
    of_a, of_b = UserValues(a, clusters), UserValues(b, clusters)
    reference = of_b if share_of is None else UserValues(share_of, clusters)
    return paired_test(of_a, of_b, confidence=0.8, share_of=reference)


def inverted(diff: Floats, base: Floats, confidence: float) -> tuple[float, float]:
    """Return the shares x that a t test of the mean of diff - x · |base| does not reject."""
    base = base * np.sign(base.mean())
    t = student.ppf((1 + confidence) / 2, len(diff) - 1)

    def excess(x: float) -> float:
        rest = diff - x * base
        return float(rest.mean() ** 2 - t * t * rest.var(ddof=1) / len(rest))

    middle = float(diff.mean() / base.mean())
    step = float(diff.std() / abs(base.mean()))
    low, high = middle - step, middle + step
    while excess(low) < 0:
        low -= step
    while excess(high) < 0:
        high += step

    def root(first: float, last: float) -> float:
        return float(brentq(excess, first, last, xtol=1e-15, rtol=1e-13))

    return root(low, middle), root(middle, high)


def gamma_values(seed: int, n: int = 80, shift: float = 0.05) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    b = rng.gamma(1.5, 0.2, n)
    return b * rng.uniform(0.6, 1.5, n) + shift, b


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("shift", [0.0, 0.05, -0.1])
def test_the_interval_of_a_share_is_the_inverted_t_test(
    seed: int, confidence: float, shift: float
) -> None:
    a, b = gamma_values(seed, shift=shift)

    assert share_test(a, b).share_interval(confidence) == pytest.approx(
        inverted(a - b, b, confidence), rel=1e-7, abs=1e-9
    )


def test_shares_of_a_third_models_mean() -> None:
    (a, b), (c, _) = gamma_values(1), gamma_values(9)

    assert share_test(a, b, share_of=c).share_interval(0.95) == pytest.approx(
        inverted(a - b, c, 0.95), rel=1e-7
    )


def test_shares_of_a_negative_mean_are_of_its_absolute_value() -> None:
    """Log-likelihoods: a is 10 % higher if it gains 0.1 · |mean|."""
    a, b = gamma_values(2)
    low, high = share_test(a - 3, b - 3).share_interval(0.95)

    assert (low, high) == pytest.approx(inverted(a - b, b - 3, 0.95), rel=1e-7)
    assert low < (a - b).mean() / abs((b - 3).mean()) < high


def test_a_share_counts_only_users_with_both_values() -> None:
    a, b = gamma_values(3)
    partly = a.copy()
    partly[50:] = np.nan

    assert share_test(partly, b).share_interval(0.95) == share_test(a[:50], b[:50]).share_interval(
        0.95
    )


@pytest.mark.parametrize("mean", ["users", "requests"])
@pytest.mark.parametrize("missing", [False, True])
def test_shares_of_sessions_invert_the_clustered_t_test(mean: str, missing: bool) -> None:
    """Each x has the clustered mean of a - b - x b and its error; at the ends they are equal."""
    rng = np.random.default_rng(4)
    user = np.sort(rng.integers(0, 50, 200))
    clusters = Clusters(np.unique(user, return_inverse=True)[1], len(set(user.tolist())), mean)
    b = rng.gamma(1.5, 0.2, 200) + rng.gamma(1.0, 0.1, 50)[user]
    a = b * rng.uniform(0.7, 1.5, 200)
    if missing:
        a[rng.integers(0, 200, 20)] = np.nan

    test = share_test(a, b, clusters)
    low, high = test.share_interval(0.95)

    assert test.test == "t"
    t = student.ppf(0.975, test.effective_users - 1)
    for x in (low, high):
        rest = clusters.ratio(a - b - x * b)
        assert abs(rest.value) == pytest.approx(t * rest.standard_error, rel=1e-6)
    assert low < test.difference / abs(test.mean_b) < high


def random_values(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return values of a random kind: gamma, hits, few that differ, equal differences, negative."""
    n = int(rng.integers(12, 70))
    b = rng.gamma(0.5, 0.3, n) if rng.random() < 0.5 else (rng.random(n) < 0.3).astype(float)
    a = b + rng.normal(rng.choice([0.0, 0.05]), 0.1, n)
    kind = rng.integers(5)
    if kind == 0:
        a = (rng.random(n) < 0.5).astype(float)
    elif kind == 1:
        n_differing = int(rng.integers(6, 12))
        a[n_differing:] = b[n_differing:]
    elif kind == 2:
        a = b + rng.choice([0.02, -0.02])
    elif kind == 3:
        a, b = a - 2, b - 2
    return a, b


@pytest.mark.parametrize("seed", range(3))
def test_a_share_excludes_zero_exactly_if_the_difference_does(seed: int) -> None:
    rng, found = np.random.default_rng(seed), set()
    for _ in range(25):
        test = share_test(*random_values(rng))
        for confidence in CONFIDENCES:
            plain, share = test.interval(confidence), test.share_interval(confidence)
            if math.isnan(share[0]):
                continue
            found.add(plain[0] > 0 or plain[1] < 0)
            assert (plain[0] > 0, plain[1] < 0) == (share[0] > 0, share[1] < 0)
    assert found == {True, False}


@pytest.mark.parametrize("seed", range(3))
def test_a_share_is_undefined_exactly_if_the_mean_may_be_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    b = rng.normal(0.1, 0.35, 60)
    a, outcomes = b + rng.normal(0.1, 0.1, 60), set()
    for confidence in (0.55, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999):
        half = student.ppf((1 + confidence) / 2, 59) * b.std(ddof=1) / math.sqrt(60)
        is_undefined = math.isnan(share_test(a, b).share_interval(confidence)[0])
        outcomes.add(is_undefined)
        assert is_undefined == (abs(b.mean()) <= half)
    assert outcomes == {True, False}


@pytest.mark.parametrize("n", [6, 12, 29, 30, 200])
@pytest.mark.parametrize("bounds", [(-math.inf, math.inf), (0.0, 1.0)])
@pytest.mark.parametrize("sign", [1, -1])
def test_equal_differences_have_an_interval_that_ends_at_them(
    n: int, bounds: tuple[float, float], sign: int
) -> None:
    """All n gain 0.02; L = (α / 2)^(1 / n) of all users is the lower limit of those who do."""
    b = np.linspace(0.2, 0.5, n)
    a = b + sign * 0.02
    test = paired_test(UserValues(a, bounds=bounds), UserValues(b, bounds=bounds), confidence=0.95)
    nearest = (2 * 0.025 ** (1 / n) - 1) * 0.02

    low, high = test.interval(0.95)

    assert test.standard_error == 0
    assert test.p == 2.0 ** (1 - n)
    assert (low, high) == pytest.approx(sorted((sign * nearest, sign * 0.02)))


@pytest.mark.parametrize("n", range(4, 18))
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.05 / 20, 2.0**-9])
def test_equal_differences_exclude_zero_exactly_if_p_is_at_most_alpha(n: int, alpha: float) -> None:
    """No interval, so no word, is below the number of users that could be significant."""
    b = np.linspace(0.2, 0.5, n)
    test = share_test(b + 0.02, b)

    for low, _ in (test.interval(1 - alpha), test.share_interval(1 - alpha)):
        assert (low >= 0) == (2.0 ** (1 - n) <= alpha)
        assert (low > 0) == (2.0 ** (1 - n) < alpha) or math.isclose(low, 0, abs_tol=1e-12)


def test_equal_differences_as_a_share_count_the_error_of_the_mean() -> None:
    b = np.tile([0.1, 0.3], 20)
    low, high = share_test(b + 0.02, b).share_interval(0.95)
    half = student.ppf(0.975, 39) * b.std(ddof=1) / math.sqrt(40)

    assert high == pytest.approx(0.02 / (0.2 - half))
    assert low == pytest.approx((2 * 0.025 ** (1 / 40) - 1) * 0.02 / (0.2 + half))
