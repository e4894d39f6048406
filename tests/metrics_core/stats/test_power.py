"""Power, users needed and smallest differences: by hand, against published figures, another package and a reference."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from concord.metrics_core.results.plan import VarianceComponents
from concord.metrics_core.stats.paired_test import PairedTest
from concord.metrics_core.stats.power import (
    MAX_USERS,
    Claim,
    difference_claim,
    equivalence_claim,
    mean_variances,
    non_inferiority_claim,
    power_of,
    seeds_needed,
    smallest_effect,
    superiority_claim,
    users_needed,
)
from concord.metrics_core.stats.verdict import verdict
from tests.metrics_core.defined import defined
from tests.metrics_core.stats import power_reference as reference

ALPHA = 0.05
ONE = VarianceComponents(1.0)


def test_with_many_users_it_is_the_formula_of_the_textbook() -> None:
    """n = ((z(0.975) + z(0.8)) · sd / effect)²; z(0.975) = 1.959964, z(0.8) = 0.841621."""
    by_hand = ((1.959964 + 0.841621) * 0.2 / 0.005) ** 2

    assert by_hand == pytest.approx(12558.2, abs=0.1)
    needed = users_needed(difference_claim(ALPHA), 0.005, VarianceComponents(0.2), power=0.8)
    assert needed == math.ceil(by_hand + 1.959964**2 / 2)  # what t adds: z² / 2


def test_the_smallest_difference_by_hand() -> None:
    """(1.959964 + 0.841621) · 0.2 / √10,000, and t adds one part in 5,000 at most."""
    by_hand = (1.959964 + 0.841621) * 0.2 / 100

    result = smallest_effect(
        difference_claim(ALPHA), VarianceComponents(0.2), power=0.8, users=10_000
    )
    assert result == pytest.approx(by_hand, rel=2e-4)


# Cohen (1988) and G*Power 3.1, "means: difference between two dependent means": two-sided 0.05, power 0.8.
@pytest.mark.parametrize(("d", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_published_sample_sizes(d: float, n: int) -> None:
    assert users_needed(difference_claim(ALPHA), d, ONE, power=0.8) == n


def test_published_examples_of_r() -> None:
    """`power.t.test(…, type = "paired")`: Dalgaard (2008), Introductory Statistics with R, 9.3: n = 19.96892; and the
    power of 12 pairs with delta 0.3 and sd 0.28: 0.9210877."""
    assert (
        users_needed(
            difference_claim(ALPHA), 10.0, VarianceComponents(10 * math.sqrt(2)), power=0.85
        )
        == 20
    )
    power = power_of(difference_claim(ALPHA), 0.3, VarianceComponents(0.28), users=12)
    assert power == pytest.approx(0.9210877, abs=5e-8)


def test_power_of_two_one_sided_tests_is_that_of_powertost() -> None:
    """PowerTOST's own example: sampleN.TOST(CV = 0.3) gives n = 40 with power 0.815845.

    A 2x2 crossover has n - 2 = 38 degrees of freedom, as 39 users have; the variance of its difference is 2 · ln(1.09) / 40.
    """
    variance = 2 * math.log(1 + 0.3**2) / 40
    claim = equivalence_claim(math.log(1.25), 0.10)

    power = power_of(claim, math.log(0.95), VarianceComponents(math.sqrt(39 * variance)), users=39)

    assert power == pytest.approx(0.815845, abs=5e-7)


CLAIMS = {
    "better": superiority_claim(0.1, ALPHA, ALPHA / 20),
    "better, without a threshold": superiority_claim(0.0, ALPHA, ALPHA / 20),
    "equivalent": equivalence_claim(0.6, ALPHA),
    "not worse": non_inferiority_claim(0.4, ALPHA),
}


@pytest.mark.parametrize("users", [8, 50, 400])
@pytest.mark.parametrize("name", list(CLAIMS))
def test_chances_are_those_of_the_reference(name: str, users: int) -> None:
    claim, effect = CLAIMS[name], 2.5 / math.sqrt(users) * (name != "equivalent")
    error = 1 / math.sqrt(users)

    expected = reference.chance(
        lambda s, _: max(b + reference.reach(users, a) * s * error for b, a in claim.above),
        lambda s, _: _upper(claim, users, s * error),
        effect=effect,
        error=error,
        users=users,
    )

    assert power_of(claim, effect, ONE, users=users) == pytest.approx(expected, abs=3e-6)


def _upper(claim: Claim, users: int, error: float) -> float:
    if claim.below is None:
        return math.inf
    bound, alpha = claim.below
    return bound - reference.reach(users, alpha) * error


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_chances_over_trainings_are_those_of_the_reference(seeds: int) -> None:
    """half² = t(n - 1)² · s_users² / n + t(R - 1)² · (s_trainings² + s_rest² / n) / R."""
    users, spread = 100, VarianceComponents(0.2, 0.01, 0.1)
    a, b = 0.2**2 / users, (0.01**2 + 0.1**2 / users) / seeds
    of_users, of_seeds = reference.reach(users, ALPHA), reference.reach(seeds, ALPHA)

    expected = reference.chance(
        lambda u, r: math.sqrt((of_users * u) ** 2 * a + (of_seeds * r) ** 2 * b),
        lambda *_: math.inf,
        effect=0.07,
        error=math.sqrt(a + b),
        users=users,
        seeds=seeds,
    )

    assert mean_variances(spread, users, seeds) == pytest.approx((a, b))
    power = power_of(difference_claim(ALPHA), 0.07, spread, users=users, seeds=seeds)
    assert power == pytest.approx(expected, abs=1e-6)


def test_no_number_of_users_is_enough_where_trainings_vary_too_much() -> None:
    """With 3 seeds t(2) = 4.303: half of the interval is 4.303 · 0.01 / √3 = 0.025 however many users there are."""
    spread = VarianceComponents(0.2, 0.01)
    floor = 4.302653 * 0.01 / math.sqrt(3)

    assert floor == pytest.approx(0.0248, abs=5e-5)
    assert users_needed(difference_claim(ALPHA), 0.02, spread, power=0.8, seeds=3) is None
    seeds = seeds_needed(difference_claim(ALPHA), 0.02, spread, power=0.8, users=1192)
    assert seeds == 8
    enough = power_of(difference_claim(ALPHA), 0.02, spread, users=1192, seeds=seeds)
    few = power_of(difference_claim(ALPHA), 0.02, spread, users=1192, seeds=seeds - 1)
    assert few < 0.8 <= enough
    too_small = seeds_needed(difference_claim(ALPHA), 0.001, spread, power=0.8, users=1192)
    assert too_small is None  # the users vary too much for any number of seeds
    assert defined(users_needed(difference_claim(ALPHA), 0.02, spread, power=0.8, seeds=8)) <= 1192


@pytest.mark.parametrize("seeds", [2, 3, 10, 30])
def test_over_trainings_nothing_is_found_too_often_where_there_is_nothing(seeds: int) -> None:
    """The interval is conservative whichever part is the larger; with one part alone it is exact."""
    for users in (3, 100, 10_000):
        for ratio in (0.1, 0.5, 1.0, 2.0, 10.0):
            spread = VarianceComponents(1.0, ratio * math.sqrt(seeds / users))
            assert (
                power_of(difference_claim(ALPHA), 0.0, spread, users=users, seeds=seeds)
                <= ALPHA / 2
            )
        alone = power_of(
            difference_claim(ALPHA), 0.0, VarianceComponents(0.0, 1.0), users=users, seeds=seeds
        )
        assert alone == pytest.approx(ALPHA / 2)


def test_where_nothing_can_be_shown_or_is_certain() -> None:
    # at its bound a difference is never shown
    assert users_needed(superiority_claim(0.005, ALPHA, ALPHA), 0.005, ONE, power=0.8) is None
    assert users_needed(non_inferiority_claim(0.0, ALPHA), 0.0, ONE, power=0.8) is None
    assert power_of(non_inferiority_claim(0.0, ALPHA), 0.0, ONE, users=10_000) == pytest.approx(
        ALPHA / 2
    )
    assert power_of(difference_claim(ALPHA), 0.0, ONE, users=MAX_USERS) == pytest.approx(ALPHA / 2)
    # without a spread it is what it is
    assert users_needed(difference_claim(ALPHA), 0.1, VarianceComponents(0.0), power=0.8) == 2
    assert users_needed(difference_claim(ALPHA), 0.0, VarianceComponents(0.0), power=0.8) is None
    assert power_of(equivalence_claim(0.1, ALPHA), 0.2, VarianceComponents(0.0), users=10) == 0
    # one user or one training shows nothing
    assert power_of(difference_claim(ALPHA), 1.0, ONE, users=1) == 0
    assert (
        power_of(difference_claim(ALPHA), 1.0, VarianceComponents(0.1, 0.1), users=100, seeds=1)
        == 0
    )
    assert smallest_effect(difference_claim(ALPHA), ONE, power=0.8, users=1) is None


def test_one_training_has_all_that_varies_between_users() -> None:
    """√(0.3² + 0.4²) = 0.5."""
    lists = VarianceComponents(0.3, 0.1, 0.4)

    alone = power_of(difference_claim(ALPHA), 0.1, lists, users=200)

    assert alone == power_of(difference_claim(ALPHA), 0.1, VarianceComponents(0.5), users=200)


@given(
    sd=st.floats(0.01, 2),
    users=st.integers(3, 10**6),
    power=st.floats(0.5, 0.99),
    alpha=st.floats(1e-4, 0.4),
    margin=st.floats(0, 0.5),
)
def test_smallest_effect_and_users_needed_answer_each_other(
    sd: float, users: int, power: float, alpha: float, margin: float
) -> None:
    """With the smallest effect of n users, n users are needed, and no fewer."""
    claim = superiority_claim(margin, alpha, alpha)
    effect = defined(smallest_effect(claim, VarianceComponents(sd), power=power, users=users))

    assert effect > margin
    assert power_of(claim, effect, VarianceComponents(sd), users=users) >= power
    assert power_of(claim, effect * 0.9999, VarianceComponents(sd), users=users) < power


@pytest.mark.parametrize(("mean", "sd"), [(0.02, 0.2), (0.012, 0.2), (0.0, 0.05), (0.02, 0.05)])
def test_a_claim_holds_where_the_verdict_says_so(mean: float, sd: float) -> None:
    """The bounds of a claim are those by which verdicts are made: with the spread that is found, exactly."""
    users, min_effect, tests = 1000, 0.005, 20
    half = reference.reach(users, ALPHA) * sd / math.sqrt(users)
    t = mean / sd * math.sqrt(users)
    p = 2 * float(student.sf(abs(t), users - 1))
    test = PairedTest(
        0.5, 0.5 - mean, mean, users, users, 0.5, 0, 0.5, mean - half, mean + half, p=p
    )
    message = verdict(
        test, min(p * tests, 1.0), alpha=ALPHA, min_effect=min_effect, higher_is_better=True
    )

    claim = superiority_claim(min_effect, ALPHA, ALPHA / tests)
    above = [b + reference.reach(users, a) * sd / math.sqrt(users) for b, a in claim.above]
    inside = equivalence_claim(min_effect, ALPHA)
    low = inside.above[0][0] + half
    assert (message == "better") == (mean > max(above))
    assert (message == "equivalent") == (low <= mean <= -low)
