"""Sign-flip tests and intervals, against enumeration in plain Python and SciPy."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import permutation_test

from concord.metrics_core.results.limits import min_differing_for
from concord.metrics_core.stats.sign_flip_test import SignFlips, smallest_p

Floats = NDArray[np.float64]


def one_sided_p(values: list[float], weights: list[float], mean: Fraction) -> tuple[float, float]:
    """Return the p-values of "the mean is at most (at least) `mean`" by enumerating all signs.

    The mean is Σ values / Σ weights, so it is `mean` if the deviations value - mean · weight are
    symmetric about 0.
    """
    deviations = [Fraction(d) - mean * Fraction(w) for d, w in zip(values, weights, strict=True)]
    observed = sum(deviations, Fraction(0))
    sums = [
        sum((s * each for s, each in zip(signs, deviations, strict=True)), Fraction(0))
        for signs in product((-1, 1), repeat=len(deviations))
    ]
    above, below = sum(s >= observed for s in sums), sum(s <= observed for s in sums)
    return above / len(sums), below / len(sums)


def flips(differences: list[float] | Floats, weights: Sequence[float] = ()) -> SignFlips:
    values = np.array(differences, dtype=np.float64)
    weight = np.array(weights, dtype=np.float64) if len(weights) else np.ones(len(values))
    differs = values != 0
    return SignFlips(values[differs], weight[differs], weight[~differs])


def negated(each: SignFlips) -> SignFlips:
    return SignFlips(-each.differing, each.weights, each.equal)


EIGHT = [0.5, 0.25, -0.25, 0.75, 0.5, 0.125, 1.0, 0.625]


def test_three_users_by_hand() -> None:
    """Sums of ±1 ±2 ±3: 6, 4, 2, 0, 0, -2, -4, -6; two are as extreme as 6, four as 4."""
    assert flips([1.0, 2.0, 3.0]).p == 2 / 8
    assert flips([-1.0, 2.0, 3.0]).p == 4 / 8


def test_interval_of_three_users_by_hand() -> None:
    """Means of subsets of 1, 2, 6: 1, 1.5, 2, 3, 3.5, 4, 6; the empty one is on both sides.

    At α = 0.5 two of the eight are outside on each side: the empty one and one mean.
    """
    assert flips([1.0, 2.0, 6.0]).interval(0.5) == (1.5, 4.0)
    assert flips([1.0, 2.0, 6.0]).interval(0.25) == (1.0, 6.0)
    assert flips([1.0, 2.0, 6.0]).interval(0.2) == (-math.inf, math.inf)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("weights", [[1.0] * 8, [1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0, 4.0]])
def test_the_interval_ends_where_the_one_sided_test_begins_to_reject(
    alpha: float, weights: list[float]
) -> None:
    low, high = flips(EIGHT, weights).interval(alpha)
    step = Fraction(1, 10**9)

    def above(mean: Fraction) -> float:
        return one_sided_p(EIGHT, weights, mean)[0]

    def below(mean: Fraction) -> float:
        return one_sided_p(EIGHT, weights, mean)[1]

    assert above(Fraction(low) - step) <= alpha / 2 < above(Fraction(low) + step)
    assert below(Fraction(high) + step) <= alpha / 2 < below(Fraction(high) - step)


@pytest.mark.parametrize("n_equal", [1, 4])
def test_users_without_a_difference_are_drawn(n_equal: int) -> None:
    """The ends are within 0.003 of α/2 by the enumeration of all users."""
    values, weights, alpha = EIGHT[:7] + [0.0] * n_equal, [1.0] * (7 + n_equal), 0.1
    low, high = flips(values, weights).interval(alpha)
    step = Fraction(1, 10**6)

    assert one_sided_p(values, weights, Fraction(low) - step)[0] <= alpha / 2 + 0.003
    assert one_sided_p(values, weights, Fraction(low) + step)[0] > alpha / 2 - 0.003
    assert one_sided_p(values, weights, Fraction(high) + step)[1] <= alpha / 2 + 0.003
    assert one_sided_p(values, weights, Fraction(high) - step)[1] > alpha / 2 - 0.003


def test_users_without_a_difference_matter_for_the_interval() -> None:
    """Six of 506 users gain 0.1: the mean is 0.0012, and 0.1 would be that of the six alone."""
    low, high = flips([0.1] * 6 + [0.0] * 500).interval(0.05)

    assert 0 < low < 6 * 0.1 / 506 < high < 0.005


@pytest.mark.parametrize("n", [6, 12, 16, 20, 29])
def test_p_equals_scipy(n: int) -> None:
    values = np.random.default_rng(n).normal(0.3, 1, n)

    expected = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=100_000, rng=0
    )

    assert flips(values).p == pytest.approx(expected.pvalue, abs=0.01 if n > 16 else 1e-12)


KINDS = ("normal", "ties", "one sign", "rounding")


def random_flips(rng: np.random.Generator) -> SignFlips:
    """Return a test with values and weights of a random kind."""
    n, n_equal = int(rng.integers(6, 30)), int(rng.choice([0, 3, 60]))
    kind = KINDS[rng.integers(len(KINDS))]
    values = rng.normal(rng.choice([0.0, 0.4, 1.0]), 1, n)
    if kind == "ties":
        values = rng.choice([-1.0, 1.0, 1.0, 0.5], n)
    elif kind == "one sign":
        values = np.abs(values) + 0.01
    elif kind == "rounding":
        values = rng.choice([-0.1, -0.2, -0.3, 0.1, 0.2, 0.3], n)
    weights = [np.ones(n + n_equal), rng.integers(1, 6, n + n_equal), rng.random(n + n_equal)]
    weight = np.asarray(weights[rng.integers(len(weights))], dtype=np.float64)
    return SignFlips(values, weight[:n], weight[n:])


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_excludes_zero_exactly_if_p_is_at_most_alpha(seed: int) -> None:
    rng, outcomes = np.random.default_rng(seed), set()
    for _ in range(6):
        each = random_flips(rng)
        for alpha in (0.05 / 20, 1 - 0.95, 0.3, min(each.p, 0.4), min(each.p, 0.4) * 0.99):
            low, high = each.interval(alpha)
            is_found = each.p <= alpha
            outcomes.add(is_found)
            assert (low > 0 or high < 0) == is_found
    assert outcomes == {True, False}


@pytest.mark.parametrize("seed", range(3))
def test_order_of_users_and_of_models_changes_no_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(3):
        each = random_flips(rng)
        order, equal = rng.permutation(len(each.differing)), rng.permutation(each.equal)
        shuffled = SignFlips(each.differing[order], each.weights[order], equal)
        low, high = each.interval(0.05)

        assert each.p == shuffled.p == negated(shuffled).p
        assert (low, high) == shuffled.interval(0.05)
        assert negated(shuffled).interval(0.05) == (-high, -low)


@pytest.mark.parametrize("n", [8, 20])
def test_a_mean_of_zero_has_a_mirrored_interval(n: int) -> None:
    """As many users gain 1 as lose 1; or the sum of tenths is 0 up to rounding, in any order."""
    gains = np.repeat([1.0, -1.0], n // 2)
    low, high = flips(gains).interval(0.05)
    assert low == -high < 0

    tenths = np.array([0.1, 0.2, -0.3, 0.7, -0.7, 0.4, -0.1, -0.3] + [0.1, -0.1] * ((n - 8) // 2))
    ends = flips(tenths).interval(0.05)
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(tenths)
        assert flips(shuffled).interval(0.05) == ends
        assert flips(-shuffled).interval(0.05) == (-ends[1], -ends[0])


def test_sums_that_are_equal_up_to_rounding_are_ties() -> None:
    """0.1 + 0.2 equals 0.3; without the tolerance some of the 64 combinations would not count."""
    values = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]
    tenths = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]

    assert flips([-0.1, *values[1:]]).p == flips([-1.0, *tenths[1:]]).p


def test_a_share_of_a_mean_that_may_be_zero_or_less_has_no_finite_interval() -> None:
    """The baseline's values are the weights; those of most subsets add up to less than 0."""
    weights = [1.0, -5.0, 0.0, 2.0, -1.0, 1.0, -2.0, 0.5]

    low, high = flips(EIGHT, weights).interval(0.05)

    assert not math.isfinite(high - low)


def test_smallest_p_and_users_needed() -> None:
    assert [smallest_p(n) for n in (1, 5, 6)] == [1.0, 0.0625, 0.03125]
    assert [min_differing_for(alpha) for alpha in (0.05, 0.01, 0.05 / 15)] == [6, 8, 10]
