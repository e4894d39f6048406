"""Effects of affected users on means and orders of models, against SciPy and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from concord.metrics_core.analyses.audit.effects import find_reversals, leave_out_effects
from tests.metrics_core.defined import defined


def test_the_interval_is_welchs_times_the_share_of_affected_users() -> None:
    random = np.random.default_rng(1)
    values, affected = random.random(90), np.arange(90) < 25
    values[affected] *= 0.3

    (effect,) = leave_out_effects("check", "nDCG@10", {"als": values}, affected, 0.9)

    welch = stats.ttest_ind(values[~affected], values[affected], equal_var=False)
    low, high = welch.confidence_interval(0.9)
    assert effect.shift == pytest.approx(values[~affected].mean() - values.mean())
    assert (effect.ci_low, effect.ci_high) == pytest.approx((25 / 90 * low, 25 / 90 * high))


def test_users_without_a_value_are_left_out() -> None:
    values = np.array([1.0, math.nan, 0.0, math.nan])
    affected = np.array([True, True, False, False])

    (effect,) = leave_out_effects("check", "AP", {"als": values}, affected, 0.95)

    assert (effect.mean, effect.n_users) == (1 / 2, 2)
    assert (effect.mean_without, effect.n_without) == (0.0, 1)


def test_a_pair_is_reversed_if_its_difference_changes_sign() -> None:
    """als gains 0.5 for 40 affected users and loses 0.1 for 60: 0.4 · 0.5 - 0.6 · 0.1 = 0.14."""
    affected = np.arange(100) < 40
    noise = np.tile([-0.01, 0.01], 50)
    ease = np.full(100, 0.3)
    als = ease + np.where(affected, 0.5, -0.1) + noise

    (reversal,) = find_reversals("check", "nDCG@10", {"als": als, "ease": ease}, affected, 0.95)

    assert (reversal.a, reversal.b, reversal.is_significant) == ("als", "ease", True)
    assert reversal.difference == pytest.approx(0.14)
    assert reversal.difference_without == pytest.approx(-0.1)


def test_a_reversal_within_the_standard_error_is_not_sure() -> None:
    """als gains 0.5 for 10 affected users and loses 0.01 ± 0.3 / √90 for 90."""
    affected, ease = np.arange(100) < 10, np.full(100, 0.3)
    als = ease + np.where(affected, 0.5, -0.01) + np.where(affected, 0.0, np.tile([-0.3, 0.3], 50))

    (reversal,) = find_reversals("check", "nDCG@10", {"als": als, "ease": ease}, affected, 0.95)

    assert reversal.difference == pytest.approx(0.1 * 0.5 - 0.9 * 0.01)
    assert reversal.difference_without == pytest.approx(-0.01)
    assert defined(reversal.low_without) < 0 < defined(reversal.high_without)
    assert not reversal.is_significant


def test_fewer_than_ten_unaffected_users_have_no_reversals() -> None:
    affected = np.arange(100) < 91
    values = {"als": np.where(affected, 1.0, 0.0), "ease": np.where(affected, 0.0, 1.0)}

    assert list(find_reversals("check", "nDCG@10", values, affected, 0.95)) == []
