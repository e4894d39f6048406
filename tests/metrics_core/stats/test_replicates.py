"""Replicates: two-way random effects, intervals, order reversals and sample sizes."""

import math
from dataclasses import replace
from statistics import fmean, variance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.replicates import (
    ReplicateEstimate,
    ReplicateValues,
    VarianceEstimate,
    mean_of_defined,
    order_reversals,
    replicates_needed,
    users_needed,
)
from tests.metrics_core.defined import defined

NAN = math.nan
# Shrout & Fleiss (1979), Psychological Bulletin 86(2), 420-428, table 2: four judges (here
# replicates) rate six targets (here users). Their table 3: between targets 11.24, between judges
# 32.49, residual 1.02. The digits are those of statsmodels 0.15.0,
# anova_lm(ols("y ~ C(user) + C(replicate)")).
JUDGES = np.array(
    [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]], dtype=float
)
BETWEEN_JUDGES, RESIDUAL = 32.4861111111111, 1.01944444444444


def test_components_equal_a_published_table() -> None:
    values = ReplicateValues(JUDGES)

    assert values.residual_variance == pytest.approx(RESIDUAL, rel=1e-12)
    expected = (BETWEEN_JUDGES - RESIDUAL) / 6
    assert values.replicate_variance == pytest.approx(expected, rel=1e-12)
    assert values.variance_of_mean.variance == pytest.approx(expected / 4, rel=1e-12)
    assert values.variance_of_mean.n == 4


def test_a_worked_example() -> None:
    """Two users, three replicates.

    | | user 1 | user 2 | mean |
    |---|---|---|---|
    | replicate 1 | 0.1 | 0.3 | 0.2 |
    | replicate 2 | 0.4 | 0.8 | 0.6 |
    | replicate 3 | 0.1 | 0.7 | 0.4 |
    | mean | 0.2 | 0.6 | 0.4 |

    MS_replicates = 2 ((-0.2)^2 + 0.2^2 + 0^2) / 2 = 0.08
    residuals: 0.1 - 0.2 - 0.2 + 0.4 = 0.1, -0.1; 0.4 - 0.2 - 0.6 + 0.4 = 0, 0;
               0.1 - 0.2 - 0.4 + 0.4 = -0.1, 0.1
    MS_residual = 4 x 0.01 / ((2 - 1)(3 - 1)) = 0.02
    replicates: (0.08 - 0.02) / 2 = 0.03; of the mean of three: 0.01
    users: (0.6 - 0.2)^2 / 2 = 0.08; of the mean of two: 0.04
    half^2 = t(1)^2 0.04 + t(2)^2 0.01
    """
    values = ReplicateValues(np.array([[0.1, 0.3], [0.4, 0.8], [0.1, 0.7]]))

    assert values.means == pytest.approx((0.2, 0.6, 0.4))
    assert values.residual_variance == pytest.approx(0.02)
    assert values.replicate_variance == pytest.approx(0.03)
    estimate = ReplicateEstimate(0.4, VarianceEstimate(0.04, 2), (values.variance_of_mean,))
    half = math.sqrt(12.706204736**2 * 0.04 + 4.302652730**2 * 0.01)
    assert estimate.interval(0.95) == pytest.approx((0.4 - half, 0.4 + half))
    assert estimate.replicate_share == pytest.approx(0.2)


def _reference_components(rows: list[list[float]]) -> tuple[float, float]:
    """Return the variances of replicates and of residuals by the textbook formulas."""
    r, n = len(rows), len(rows[0])
    means = [sum(row) / n for row in rows]
    users = [sum(row[u] for row in rows) / r for u in range(n)]
    grand = sum(means) / r
    residual = sum(
        (rows[i][u] - means[i] - users[u] + grand) ** 2 for i in range(r) for u in range(n)
    ) / ((n - 1) * (r - 1))
    between = n * sum((mean - grand) ** 2 for mean in means) / (r - 1)
    return max(0.0, (between - residual) / n), residual


_VALUES = st.integers(2, 6).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(0, 20).map(lambda x: x / 20), min_size=n, max_size=n),
        min_size=2,
        max_size=5,
    )
)


@given(_VALUES, st.randoms(use_true_random=False))
def test_components_equal_a_reference_and_do_not_depend_on_the_order_of_users(
    rows: list[list[float]], random: object
) -> None:
    values = ReplicateValues(np.array(rows))
    order = list(range(len(rows[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = ReplicateValues(np.array(rows)[:, order])

    replicate_variance, residual_variance = _reference_components(rows)
    assert values.residual_variance == pytest.approx(residual_variance, abs=1e-12)
    assert values.replicate_variance == pytest.approx(replicate_variance, abs=1e-12)
    assert (shuffled.residual_variance, shuffled.replicate_variance) == (
        values.residual_variance,
        values.replicate_variance,
    )


def test_nested_replicates_have_the_t_interval_of_their_means() -> None:
    """Exact for folds of equal size: the means of the folds are i.i.d."""
    diffs = [[0.1, 0.2, 0.0], [0.3, 0.0, 0.3], [0.2, 0.1, 0.3], [0.0, 0.1, 0.05]]
    values = np.full((4, 12), NAN)
    for fold, row in enumerate(diffs):
        values[fold, 3 * fold : 3 * fold + 3] = row
    actual = ReplicateValues(values)

    means = [fmean(row) for row in diffs]
    expected = ttest_1samp(means, 0.0)
    estimate = ReplicateEstimate(fmean(means), VarianceEstimate(0.0, 2), (actual.variance_of_mean,))

    assert actual.is_nested
    assert estimate.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert estimate.interval(0.95) == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_users_without_a_value_in_some_replicate_are_left_out() -> None:
    complete = ReplicateValues(JUDGES)
    missing = np.column_stack([JUDGES, [1.0, NAN, 2.0, 3.0]])

    assert not ReplicateValues(missing).is_nested
    assert ReplicateValues(missing).replicate_variance == complete.replicate_variance
    assert mean_of_defined(list(missing))[-1] == 2.0
    assert math.isnan(mean_of_defined([np.array([NAN]), np.array([NAN])])[0])


def test_replicates_of_weighted_users_are_ratios_over_common_users() -> None:
    values = np.random.default_rng(3).random((3, 30))
    values[0, :5] = NAN
    weights = np.r_[np.full(8, 20.0), np.ones(22)]
    actual = ReplicateValues(values, Clusters.weighted(weights))
    other = ReplicateValues(values[:, ::-1].copy(), Clusters.weighted(weights))

    expected = [(row[5:] * weights[5:]).sum() / weights[5:].sum() for row in values]
    first_diff = (values[0] - values[0, ::-1])[5:-5] @ weights[5:-5] / weights[5:-5].sum()
    assert actual.means == pytest.approx(expected)
    assert actual.minus(other).means[0] == pytest.approx(first_diff)


def test_shared_seed_effects_cancel_in_paired_replicates() -> None:
    base = np.random.default_rng(5).random((4, 50))
    shift = np.array([[0.0], [0.3], [0.1], [0.6]])
    a, b = ReplicateValues(base + shift + 0.01), ReplicateValues(base + shift)

    assert a.replicate_variance > 0.01
    assert ReplicateValues(a.values - b.values).replicate_variance == pytest.approx(0.0, abs=1e-15)


def test_p_is_the_level_at_which_the_interval_reaches_0() -> None:
    estimate = ReplicateEstimate(
        0.02,
        VarianceEstimate(0.00004, 500),
        (VarianceEstimate(0.00002, 5), VarianceEstimate(0.00001, 3)),
    )

    assert 0.01 < estimate.p < 0.1
    assert estimate.half_width(1 - estimate.p) == pytest.approx(0.02, rel=1e-9)
    assert replace(estimate, difference=0.0).p == 1.0


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_replicates_have_no_interval(n: int) -> None:
    estimate = ReplicateEstimate(
        0.02,
        VarianceEstimate(0.00004, 500),
        (VarianceEstimate(0.00002, 5), VarianceEstimate(0.00001, n)),
    )

    assert all(math.isnan(end) for end in estimate.interval(0.95))
    assert math.isnan(estimate.p)


def test_a_single_variance_component_gives_its_t_interval() -> None:
    zero, positive = VarianceEstimate(0.0, 30), VarianceEstimate(0.0004, 30)
    only_users = ReplicateEstimate(0.1, positive, (replace(zero, n=4),))
    only_replicates = ReplicateEstimate(0.1, zero, (replace(positive, n=4),))

    assert only_users.half_width(0.9) == pytest.approx(student.ppf(0.95, 29) * 0.02)
    assert only_replicates.half_width(0.9) == pytest.approx(student.ppf(0.95, 3) * 0.02)


@pytest.mark.parametrize(
    ("user_variance", "replicate_variance", "are_users_needed"),
    [
        (0.0001, 0.00008, False),  # t(3) x 0.0089 = 0.028 > 0.02: no number of users is enough
        (0.0004, 0.000002, True),  # t(99) x 0.02 > 0.02: no number of replicates is enough
    ],
)
def test_users_or_replicates_needed(
    user_variance: float, replicate_variance: float, are_users_needed: bool
) -> None:
    """A difference of 0.02 between 4 replicates of 100 users."""
    estimate = ReplicateEstimate(
        0.02, VarianceEstimate(user_variance, 100), (VarianceEstimate(replicate_variance, 4),)
    )
    users, replicates = users_needed(estimate, 0.95), replicates_needed(estimate, 0.95)

    def half(n: int, r: int) -> float:
        user_part = student.ppf(0.975, n - 1) ** 2 * user_variance * 100 / n
        replicate_part = student.ppf(0.975, r - 1) ** 2 * replicate_variance * 4 / r
        return math.sqrt(user_part + replicate_part)

    if are_users_needed:
        assert half(defined(users), 4) < 0.02 <= half(defined(users) - 1, 4)
        assert replicates is None
    else:
        assert half(100, defined(replicates)) < 0.02 <= half(100, defined(replicates) - 1)
        assert users is None


def test_order_reversals_by_hand() -> None:
    """Means 0.3, 0.5, 0.4 against 0.35, 0.2: one of six pairs has the reverse order."""
    a, b = (
        ReplicateValues(np.array([[m - 0.1, m + 0.1] for m in means]))
        for means in ([0.3, 0.5, 0.4], [0.35, 0.2])
    )

    unpaired = order_reversals(a, b, 0.125, paired=False)

    assert (unpaired.count, unpaired.n_pairs) == (1, 6)
    # A new replicate of each: 0.01 (1 + 1/3) with 2 df, 0.01125 (1 + 1/2) with 1 df.
    var_a, var_b = variance([0.3, 0.5, 0.4]) * 4 / 3, variance([0.35, 0.2]) * 3 / 2
    df = (var_a + var_b) ** 2 / (var_a**2 / 2 + var_b**2 / 1)
    expected = student.cdf(-0.125 / math.sqrt(var_a + var_b), df)
    assert unpaired.probability == pytest.approx(expected)
    paired = order_reversals(a, ReplicateValues(b.values[[0, 1, 1]]), 0.15, paired=True)
    assert (paired.count, paired.n_pairs) == (1, 3)
    var_diff = variance([-0.05, 0.3, 0.2]) * 4 / 3
    assert paired.probability == pytest.approx(student.cdf(-0.15 / math.sqrt(var_diff), 2))


def test_a_single_replicate_adds_no_variance_to_the_prediction() -> None:
    a, b = ReplicateValues(np.array([[0.3], [0.5], [0.4]])), ReplicateValues(np.array([[0.3]]))

    result = order_reversals(a, b, 0.1, paired=False)

    assert result.probability == pytest.approx(student.cdf(-0.1 / math.sqrt(0.01 * 4 / 3), 2))


def test_residuals_alone_reverse_the_order() -> None:
    """Replicates without an effect, but with independent values of each user."""
    rng = np.random.default_rng(29)
    a, b = (
        ReplicateValues((rng.random((5, 100)) < 0.3 + lift).astype(float)) for lift in (0.02, 0.0)
    )

    result = order_reversals(a, b, fmean(a.means) - fmean(b.means), paired=False)

    assert (result.count, result.n_pairs) == (7, 25)
    assert result.probability == pytest.approx(0.30, abs=0.01)
    assert a.replicate_variance + b.replicate_variance == 0  # it would predict no reversal


def test_equal_replicates_have_no_reversal_probability() -> None:
    a, b = ReplicateValues(np.array([[0.25], [0.25], [0.25]])), ReplicateValues(np.array([[0.5]]))

    assert math.isnan(order_reversals(a, b, -0.25, paired=False).probability)
