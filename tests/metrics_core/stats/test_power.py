"""Power and sample size, against hand calculation, published figures, PowerTOST and a reference."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nct
from scipy.stats import t as student

from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.power import (
    MAX_USERS,
    Claim,
    VarianceComponents,
    claim_power,
    detectable_difference,
    difference_claim,
    equivalence_claim,
    mean_variances,
    non_inferiority_claim,
    seeds_needed,
    smallest_effect,
    superiority_claim,
    users_needed,
    users_to_decide,
)
from concord.metrics_core.stats.verdict import verdict
from tests.metrics_core.defined import defined
from tests.metrics_core.stats import power_reference as reference

ALPHA = 0.05
ONE = VarianceComponents(1.0)


def test_many_users_need_the_sample_size_of_the_normal_approximation() -> None:
    """n = ((z(0.975) + z(0.8)) · sd / effect)²; z(0.975) = 1.959964, z(0.8) = 0.841621."""
    expected = ((1.959964 + 0.841621) * 0.2 / 0.005) ** 2

    assert expected == pytest.approx(12558.2, abs=0.1)
    needed = users_needed(difference_claim(ALPHA), 0.005, VarianceComponents(0.2), power=0.8)
    assert needed == math.ceil(expected + 1.959964**2 / 2)  # t instead of z adds z² / 2


# Cohen (1988) and G*Power 3.1, "means: difference between two dependent means": two-sided 0.05,
# power 0.8.
@pytest.mark.parametrize(("d", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_published_sample_sizes(d: float, n: int) -> None:
    assert users_needed(difference_claim(ALPHA), d, ONE, power=0.8) == n


def test_published_examples_of_r() -> None:
    """`power.t.test(…, type = "paired")`, Dalgaard (2008), Introductory Statistics with R, 9.3.

    n = 19.96892; and the power of 12 pairs with delta 0.3 and sd 0.28 is 0.9210877.
    """
    variance = VarianceComponents(10 * math.sqrt(2))
    assert users_needed(difference_claim(ALPHA), 10.0, variance, power=0.85) == 20
    power = claim_power(difference_claim(ALPHA), 0.3, VarianceComponents(0.28), users=12)
    assert power == pytest.approx(0.9210877, abs=5e-8)


def test_power_of_two_one_sided_tests_is_that_of_powertost() -> None:
    """PowerTOST's example: sampleN.TOST(CV = 0.3) gives n = 40 with power 0.815845.

    A 2x2 crossover has n - 2 = 38 degrees of freedom, like 39 users. The variance of its
    difference is 2 · ln(1.09) / 40.
    """
    variance = 2 * math.log(1 + 0.3**2) / 40
    claim = equivalence_claim(math.log(1.25), 0.10)

    power = claim_power(
        claim, math.log(0.95), VarianceComponents(math.sqrt(39 * variance)), users=39
    )

    assert power == pytest.approx(0.815845, abs=5e-7)


CLAIMS = {
    "better": superiority_claim(0.1, ALPHA / 20),
    "better, without a threshold": superiority_claim(0.0, ALPHA / 20),
    "equivalent": equivalence_claim(0.6, ALPHA),
    "not worse": non_inferiority_claim(0.4, ALPHA),
}


@pytest.mark.parametrize("users", [8, 50, 400])
@pytest.mark.parametrize("name", list(CLAIMS))
def test_power_equals_the_reference(name: str, users: int) -> None:
    claim, effect = CLAIMS[name], 2.5 / math.sqrt(users) * (name != "equivalent")
    error = 1 / math.sqrt(users)

    expected = reference.power(
        lambda s, _: claim.bound + reference.critical_t(users, claim.alpha) * s * error,
        lambda s, _: _upper(claim, users, s * error),
        effect=effect,
        error=error,
        users=users,
    )

    assert claim_power(claim, effect, ONE, users=users) == pytest.approx(expected, abs=3e-6)


def _upper(claim: Claim, users: int, error: float) -> float:
    if claim.below is None:
        return math.inf
    return claim.below - reference.critical_t(users, claim.alpha) * error


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_power_over_replicates_equals_the_reference(seeds: int) -> None:
    """half² = t(n - 1)² · s_users² / n + t(R - 1)² · (s_seeds² + s_residual² / n) / R."""
    users, variance = 100, VarianceComponents(0.2, 0.01, 0.1)
    a, b = 0.2**2 / users, (0.01**2 + 0.1**2 / users) / seeds
    t_users, t_seeds = reference.critical_t(users, ALPHA), reference.critical_t(seeds, ALPHA)

    expected = reference.power(
        lambda u, r: math.sqrt((t_users * u) ** 2 * a + (t_seeds * r) ** 2 * b),
        lambda *_: math.inf,
        effect=0.07,
        error=math.sqrt(a + b),
        users=users,
        seeds=seeds,
    )

    assert mean_variances(variance, users, seeds) == pytest.approx((a, b))
    power = claim_power(difference_claim(ALPHA), 0.07, variance, users=users, seeds=seeds)
    assert power == pytest.approx(expected, abs=1e-6)


def test_no_number_of_users_is_enough_if_replicates_vary_too_much() -> None:
    """With 3 seeds t(2) = 4.303: the half-width is 4.303 · 0.01 / √3 = 0.025 or more."""
    claim, variance = difference_claim(ALPHA), VarianceComponents(0.2, 0.01)
    floor = 4.302653 * 0.01 / math.sqrt(3)

    assert floor == pytest.approx(0.0248, abs=5e-5)
    assert users_needed(claim, 0.02, variance, power=0.8, seeds=3) is None
    seeds = seeds_needed(claim, 0.02, variance, power=0.8, users=1192)
    assert seeds == 8
    enough = claim_power(claim, 0.02, variance, users=1192, seeds=seeds)
    too_low = claim_power(claim, 0.02, variance, users=1192, seeds=seeds - 1)
    assert too_low < 0.8 <= enough
    # the users vary too much for any number of seeds
    assert seeds_needed(claim, 0.001, variance, power=0.8, users=1192) is None
    assert defined(users_needed(claim, 0.02, variance, power=0.8, seeds=8)) <= 1192


@pytest.mark.parametrize("seeds", [2, 3, 10, 30])
def test_false_positive_rate_over_replicates_is_at_most_nominal(seeds: int) -> None:
    """The interval is conservative if both components vary, and exact if one varies."""
    claim = difference_claim(ALPHA)
    for users in (3, 100, 10_000):
        for ratio in (0.1, 0.5, 1.0, 2.0, 10.0):
            variance = VarianceComponents(1.0, ratio * math.sqrt(seeds / users))
            assert claim_power(claim, 0.0, variance, users=users, seeds=seeds) <= ALPHA / 2
        power = claim_power(claim, 0.0, VarianceComponents(0.0, 1.0), users=users, seeds=seeds)
        assert power == pytest.approx(ALPHA / 2)


def test_power_at_the_bound_without_variance_and_with_one_unit() -> None:
    claim, constant = difference_claim(ALPHA), VarianceComponents(0.0)
    # a true difference at the bound
    assert users_needed(superiority_claim(0.005, ALPHA), 0.005, ONE, power=0.8) is None
    not_worse = non_inferiority_claim(0.0, ALPHA)
    assert users_needed(not_worse, 0.0, ONE, power=0.8) is None
    assert claim_power(not_worse, 0.0, ONE, users=10_000) == pytest.approx(ALPHA / 2)
    assert claim_power(claim, 0.0, ONE, users=MAX_USERS) == pytest.approx(ALPHA / 2)
    # without variance
    assert users_needed(claim, 0.1, constant, power=0.8) == 2
    assert users_needed(claim, 0.0, constant, power=0.8) is None
    assert claim_power(equivalence_claim(0.1, ALPHA), 0.2, constant, users=10) == 0
    # one user, or one replicate
    assert claim_power(claim, 1.0, ONE, users=1) == 0
    assert claim_power(claim, 1.0, VarianceComponents(0.1, 0.1), users=100, seeds=1) == 0
    assert smallest_effect(claim, ONE, power=0.8, users=1) is None


def test_variance_of_one_replicate_includes_the_residuals() -> None:
    """√(0.3² + 0.4²) = 0.5."""
    lists = VarianceComponents(0.3, 0.1, 0.4)

    power = claim_power(difference_claim(ALPHA), 0.1, lists, users=200)

    assert power == claim_power(difference_claim(ALPHA), 0.1, VarianceComponents(0.5), users=200)


@given(
    sd=st.floats(0.01, 2),
    users=st.integers(3, 10**6),
    power=st.floats(0.5, 0.99),
    alpha=st.floats(1e-4, 0.4),
    margin=st.floats(0, 0.5),
)
def test_smallest_effect_has_exactly_the_requested_power(
    sd: float, users: int, power: float, alpha: float, margin: float
) -> None:
    claim = superiority_claim(margin, alpha)
    effect = defined(smallest_effect(claim, VarianceComponents(sd), power=power, users=users))

    assert effect > margin
    assert claim_power(claim, effect, VarianceComponents(sd), users=users) >= power
    assert claim_power(claim, effect * 0.9999, VarianceComponents(sd), users=users) < power


@pytest.mark.parametrize(("mean", "sd"), [(0.02, 0.2), (0.012, 0.2), (0.0, 0.05), (0.02, 0.05)])
def test_a_claim_holds_exactly_if_the_verdict_does(mean: float, sd: float) -> None:
    """With the observed variance, the bounds of a claim are those of the verdict."""
    users, min_effect, alpha = 1000, 0.005, ALPHA / 20
    error = sd / math.sqrt(users)
    p = 2 * float(student.sf(abs(mean) / error, users - 1))
    test = PairedTest(
        0.5, 0.5 - mean, mean, users, users, p=p, standard_error=error, effective_users=users
    )
    result = verdict(
        test, test.interval(1 - alpha), alpha=alpha, min_effect=min_effect, higher_is_better=True
    )

    bound = superiority_claim(min_effect, alpha).bound
    half = reference.critical_t(users, alpha) * error
    low = equivalence_claim(min_effect, alpha).bound + half
    assert (result == "better") == (mean > bound + half)
    assert (result == "equivalent") == (low <= mean <= -low)


@pytest.mark.parametrize("users", [12, 40, 2000])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 20])
def test_the_detectable_difference_has_a_power_of_80_percent(users: int, alpha: float) -> None:
    """Noncentral t by SciPy: P(T > t(1 - α/2)), T with the noncentrality difference / error."""
    error = 0.3 / math.sqrt(users)
    test = PairedTest(0.5, 0.4, 0.1, users, users, standard_error=error, effective_users=users)

    detectable = detectable_difference(test, alpha)

    critical = student.ppf(1 - alpha / 2, users - 1)
    assert nct.sf(critical, users - 1, detectable / error) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("error", [0.0, math.nan])
def test_without_a_standard_error_no_difference_is_detectable(error: float) -> None:
    test = PairedTest(0.5, 0.4, 0.1, 50, 50, standard_error=error, effective_users=50)

    assert math.isnan(detectable_difference(test, ALPHA))


@pytest.mark.parametrize(
    ("gain", "half", "times"),
    [
        # 0.002 above the margin: ((1.96 + 0.8416) / 1.9623 · 0.004 / 0.002)² = 8.15
        (-0.002, 0.004, 8.15),
        # 0.002 below it
        (-0.006, 0.004, 8.15),
        (-0.0039, 0.0011, 246.6),  # (1.4277 · 0.0011 / 0.0001)²
    ],
)
def test_users_that_decide_a_guardrail_with_80_percent(
    gain: float, half: float, times: float
) -> None:
    needed = users_to_decide(gain, (gain - half, gain + half), 0.004, n_users=1000, confidence=0.95)

    assert defined(needed) / 1000 == pytest.approx(times, rel=2e-3)


def test_no_number_of_users_decides_at_the_margin_or_without_an_interval() -> None:
    at_margin = users_to_decide(-0.004, (-0.008, 0.0), 0.004, n_users=1000, confidence=0.95)
    without = users_to_decide(0.1, (math.nan, math.nan), 0.004, n_users=9, confidence=0.95)

    assert at_margin is without is None
