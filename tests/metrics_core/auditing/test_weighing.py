"""What touched users weigh: against SciPy, and by simulation; pairs that change places."""

import math

import numpy as np
import pytest
from scipy import stats

from concord.metrics_core.auditing.weighing import effects, turns
from concord.metrics_core.auditing.wording import weighed
from tests.metrics_core.defined import defined

RUNS = 400


def test_the_interval_is_welchs_times_the_share_of_touched_users() -> None:
    random = np.random.default_rng(1)
    values, touched = random.random(90), np.arange(90) < 25
    values[touched] *= 0.3

    (found,) = effects("check", "nDCG@10", {"als": values}, touched, 0.9)

    welch = stats.ttest_ind(values[~touched], values[touched], equal_var=False)
    low, high = welch.confidence_interval(0.9)
    assert found.shift == pytest.approx(values[~touched].mean() - values.mean())
    assert (found.ci_low, found.ci_high) == pytest.approx((25 / 90 * low, 25 / 90 * high))


def test_it_covers_the_truth_as_often_as_it_says() -> None:
    """30 % of the users are touched and gain 0.2 by it: without them the mean falls by 0.3 · 0.2."""
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(RUNS):
        touched = np.arange(100) < 30
        values = np.where(touched, random.beta(2, 2, 100) + 0.2, random.beta(0.5, 0.5, 100))
        (found,) = effects("check", "nDCG@10", {"als": values}, touched, 0.95)
        covered += defined(found.ci_low) <= -0.3 * 0.2 <= defined(found.ci_high)

    assert 0.92 <= covered / RUNS <= 0.98  # ± 3 standard errors around 0.95


def test_users_without_a_value_count_on_neither_side() -> None:
    values, touched = np.array([1.0, math.nan, 0.0, math.nan]), np.array([True, True, False, False])

    (found,) = effects("check", "AP", {"als": values}, touched, 0.95)

    assert (found.mean, found.n_users, found.mean_without, found.n_without) == (1 / 2, 2, 0.0, 1)


def test_a_pair_turns_where_its_difference_changes_sign() -> None:
    """als is 0.5 ahead for 40 touched users and 0.1 behind for 60: 0.4 · 0.5 - 0.6 · 0.1 = 0.14."""
    touched = np.arange(100) < 40
    noise = np.tile([-0.01, 0.01], 50)
    ease = np.full(100, 0.3)
    als = ease + np.where(touched, 0.5, -0.1) + noise

    (turn,) = turns("check", "nDCG@10", {"als": als, "ease": ease}, touched, 0.95)

    assert (turn.a, turn.b, turn.sure) == ("als", "ease", True)
    assert turn.difference == pytest.approx(0.14)
    assert turn.difference_without == pytest.approx(-0.1)
    moved = tuple(effects("check", "nDCG@10", {"als": als, "ease": ease}, touched, 0.95))
    said = weighed("nDCG@10", moved, (turn,), higher_is_better=True, confidence=0.95)
    assert "the order of the models turns: als is ahead of ease with them (+0.1400" in said
    assert said.endswith("both are sure.")
    mirrored = weighed("Gini@10", moved, (turn,), higher_is_better=False, confidence=0.95)
    assert "turns: ease is ahead of als with them (\N{MINUS SIGN}0.1400" in mirrored


def test_a_turn_within_the_noise_is_not_called_sure() -> None:
    """als is 0.5 ahead for 10 touched users, 0.01 behind for 90 whose differences spread by 0.3: 0.3 / √90 = 0.03."""
    touched, ease = np.arange(100) < 10, np.full(100, 0.3)
    als = ease + np.where(touched, 0.5, -0.01) + np.where(touched, 0.0, np.tile([-0.3, 0.3], 50))

    (turn,) = turns("check", "nDCG@10", {"als": als, "ease": ease}, touched, 0.95)

    assert turn.difference == pytest.approx(0.1 * 0.5 - 0.9 * 0.01)
    assert turn.difference_without == pytest.approx(-0.01)
    assert defined(turn.low_without) < 0 < defined(turn.high_without)
    assert not turn.sure


def test_nothing_turns_where_under_ten_users_are_left() -> None:
    touched = np.arange(100) < 91
    values = {"als": np.where(touched, 1.0, 0.0), "ease": np.where(touched, 0.0, 1.0)}

    moved = tuple(effects("check", "nDCG@10", values, touched, 0.95))

    assert tuple(turns("check", "nDCG@10", values, touched, 0.95)) == ()
    said = weighed("nDCG@10", moved, (), higher_is_better=True, confidence=0.95)
    assert said == "nDCG@10: all but 9 of 100 users are touched, so nothing can be said without them."  # fmt: skip
