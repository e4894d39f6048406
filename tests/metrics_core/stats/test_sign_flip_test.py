"""Sign-flip tests, against enumeration in plain Python and SciPy's permutation test."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import permutation_test

from concord.metrics_core.results.limits import min_differing_for
from concord.metrics_core.stats.sign_flip_test import SignFlips, smallest_p


def reference(differences: list[float], margin: float = 0.0) -> tuple[Fraction, Fraction]:
    """Return the two-sided and the one-sided p (above) by enumerating all signs."""
    values = [Fraction(d) - Fraction(margin) for d in differences]
    observed = sum(values, Fraction(0))
    sums = [
        sum((s * v for s, v in zip(signs, values, strict=True)), Fraction(0))
        for signs in product((-1, 1), repeat=len(values))
    ]
    two = Fraction(sum(abs(each) >= abs(observed) for each in sums), len(sums))
    return two, Fraction(sum(each >= observed for each in sums), len(sums))


def flips(differences: list[float]) -> SignFlips:
    values = np.array(differences)
    differs = values != 0
    return SignFlips(values[differs], np.ones(differs.sum()), np.ones((~differs).sum()))


EIGHT = [0.5, 0.25, -0.25, 0.0, 0.75, 0.5, 0.125, 0.0]


def test_three_users_by_hand() -> None:
    """Sums of ±1 ±2 ±3: 6, 4, 2, 0, 0, -2, -4, -6; two are as extreme as 6, four as 4."""
    assert flips([1.0, 2.0, 3.0]).p == 2 / 8
    assert flips([-1.0, 2.0, 3.0]).p == 4 / 8


@pytest.mark.parametrize("margin", [0.0, 0.125, -0.25])
def test_few_users_are_enumerated(margin: float) -> None:
    two, above = reference(EIGHT, margin)
    below = reference([-d for d in EIGHT], -margin)[1]

    assert flips(EIGHT).p == reference(EIGHT)[0]
    assert flips(EIGHT).p_above(margin) == above
    assert flips(EIGHT).p_below(margin) == below
    assert 0 < two <= 1


@pytest.mark.parametrize("n", [6, 12, 16, 20, 29])
def test_p_equals_scipy(n: int) -> None:
    values = np.random.default_rng(n).normal(0.3, 1, n)

    expected = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=100_000, rng=0
    )

    assert flips(values.tolist()).p == pytest.approx(expected.pvalue, abs=0.01 if n > 16 else 1e-12)


def test_users_without_a_difference_matter_for_a_margin() -> None:
    """Six of 500 users gain 0.1: significantly below 0.02, not significantly above 0.002."""
    few = SignFlips(np.full(6, 0.1), np.ones(6), np.ones(494))

    assert few.p_above(0.002) > 0.2
    assert few.p_below(0.02) < 1e-4
    assert few.p_above(-0.02) < 1e-4


def test_order_of_users_and_of_models_changes_no_bit() -> None:
    values = np.random.default_rng(4).normal(0.3, 1, 25)
    reverse = flips(values[::-1].tolist())

    assert flips(values.tolist()).p == reverse.p == reverse.negated.p
    assert flips(values.tolist()).p_above(0.1) == reverse.negated.p_below(-0.1)


def test_sums_that_are_equal_up_to_rounding_are_ties() -> None:
    """0.1 + 0.2 equals 0.3; without the tolerance some of the 64 combinations would not count."""
    values = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]
    tenths = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]

    assert flips([-0.1, *values[1:]]).p == flips([-1.0, *tenths[1:]]).p


def test_smallest_p_and_users_needed() -> None:
    assert [smallest_p(n) for n in (1, 5, 6)] == [1.0, 0.0625, 0.03125]
    assert [min_differing_for(alpha) for alpha in (0.05, 0.01, 0.05 / 15)] == [6, 8, 10]
