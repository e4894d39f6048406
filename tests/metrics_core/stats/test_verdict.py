"""Examples of each verdict in both directions; the word is what the interval says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.paired_test import paired_tests
from concord.metrics_core.stats.verdict import interval_verdict, verdict

ALPHA = 0.05
NAN = math.nan


def paired_result(*, n_users: int = 500, n_nonzero: int = 100, p: float = 0.5) -> PairedTest:
    return PairedTest(0.5, 0.49, 0.01, n_users, n_nonzero, p=p if n_nonzero else NAN)


EXAMPLES = [
    # interval, minimum relevant difference, verdict
    ((0.006, 0.020), 0.005, "better"),
    ((0.004, 0.020), 0.005, "better_below_threshold"),
    ((0.005, 0.020), 0.005, "better_below_threshold"),
    ((0.001, 0.004), 0.005, "equivalent"),
    ((-0.005, 0.005), 0.005, "equivalent"),
    ((-0.006, 0.004), 0.005, "undecided"),
    ((-0.001, 0.020), 0.005, "undecided"),
    ((0.000, 0.020), 0.005, "undecided"),
    ((0.001, 0.020), 0.0, "better"),
    ((-0.001, 0.001), 0.0, "undecided"),
    ((NAN, NAN), 0.005, "undecided"),
    ((NAN, NAN), NAN, "undecided"),  # a share of a mean that may be 0
]
MIRROR = {"better": "worse", "better_below_threshold": "worse_below_threshold"}


@pytest.mark.parametrize(("interval", "min_effect", "expected"), EXAMPLES)
def test_verdict(interval: tuple[float, float], min_effect: float, expected: str) -> None:
    low, high = interval
    mirrored = MIRROR.get(expected, expected)

    assert _verdict((low, high), min_effect) == expected
    assert _verdict((-high, -low), min_effect) == mirrored
    assert _verdict((-high, -low), min_effect, higher_is_better=False) == expected
    assert _verdict((low, high), min_effect, higher_is_better=False) == mirrored


@given(st.floats(-1, 1), st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.5]))
def test_a_word_other_than_undecided_exactly_if_0_or_a_margin_is_excluded(
    low: float, width: float, min_effect: float
) -> None:
    high = low + width
    says = interval_verdict(low, high, min_effect=min_effect, higher_is_better=True)

    excludes_zero, inside = low > 0 or high < 0, -min_effect <= low and high <= min_effect
    assert (says == "undecided") == (not excludes_zero and not inside)
    assert (says in {"better", "worse"}) == (low > min_effect or high < -min_effect)


@pytest.mark.parametrize(
    ("paired", "expected"),
    [
        (paired_result(n_nonzero=0), "identical"),
        (paired_result(n_users=0, n_nonzero=0), "too_few_users"),
        (paired_result().with_means(0.4, 0.3), "no_interval"),  # a pooled mean
        (paired_result().as_not_comparable(), "not_comparable"),
    ],
)
def test_a_pair_that_is_not_tested_says_why(paired: PairedTest, expected: str) -> None:
    assert _verdict((NAN, NAN), 0.005, paired=paired) == expected


@pytest.mark.parametrize(
    ("p", "n_nonzero", "gain", "expected"),
    [
        (0.01, 40, 0.1, "better_without_interval"),
        (0.01, 40, -0.1, "worse_without_interval"),
        (0.06, 40, 0.1, "undecided"),
        (0.05, 10, 0.1, "better_without_interval"),
        (NAN, 9, 0.1, "too_few_users"),
    ],
)
def test_a_swap_test_decides_without_an_interval(
    p: float, n_nonzero: int, gain: float, expected: str
) -> None:
    paired = PairedTest(0.5 + gain, 0.5, gain, 50, n_nonzero, p=p, test="swap")

    assert _verdict((NAN, NAN), 0.005, paired=paired) == expected
    assert _verdict((NAN, NAN), 0.005, paired=paired, higher_is_better=False) == (
        {
            "better_without_interval": "worse_without_interval",
            "worse_without_interval": "better_without_interval",
        }.get(expected, expected)
    )


@pytest.mark.parametrize(
    ("n_differing", "tests", "expected"),
    [
        (5, 1, "too_few_users"),
        (6, 1, "better"),
        (6, 2, "too_few_users"),
        (9, 15, "too_few_users"),
        (10, 15, "better"),
    ],
)
def test_too_few_users_means_that_no_outcome_could_be_significant(
    n_differing: int, tests: int, expected: str
) -> None:
    """All gain: 2^(1 - n) is at most 0.05 / tests from 6 or 10 users on."""
    gains = 0.5 + np.arange(n_differing) / 100
    (pair,) = paired_tests({"a": gains, "b": np.zeros(n_differing)}, [("a", "b")], confidence=0.95)
    alpha = ALPHA / tests

    assert _verdict(pair.interval(1 - alpha), 0.1, paired=pair, alpha=alpha) == expected


FEW = [
    # gains, minimum relevant difference, verdict
    ([0.4, 0.3, 0.1, 0.1, 0.2, 0.3, 0.1, 0.2], 0.0, "better"),
    # 8 of the 256 subsets have a mean of 0.1 or less, with the empty one; 6 may have
    ([0.4, 0.3, 0.1, 0.1, 0.2, 0.3, 0.1, 0.2], 0.1, "better_below_threshold"),
    # 6 subsets have a mean of 0 or less: none, the loss, or the loss and one of four gains of 0.1
    ([-0.1, 0.6, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2], 0.0, "better"),
    ([-0.2, 0.6, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2], 0.0, "undecided"),
]


@pytest.mark.parametrize(("gains", "min_effect", "expected"), FEW)
def test_few_users_have_the_word_of_the_interval_of_sign_flips(
    gains: list[float], min_effect: float, expected: str
) -> None:
    a, b = np.array(gains), np.zeros(len(gains))
    pairs = [("a", "b"), ("b", "a")]
    forward, backward = paired_tests({"a": a, "b": b}, pairs, confidence=0.95)
    interval, mirrored = forward.interval(0.95), backward.interval(0.95)

    assert _verdict(interval, min_effect, paired=forward) == expected
    assert _verdict(mirrored, min_effect, paired=backward, higher_is_better=False) == expected
    assert _verdict(mirrored, min_effect, paired=backward) == expected.replace("better", "worse")


def _verdict(
    interval: tuple[float, float],
    min_effect: float,
    *,
    paired: PairedTest | None = None,
    alpha: float = ALPHA,
    higher_is_better: bool = True,
) -> str:
    return verdict(
        paired or paired_result(),
        interval,
        alpha=alpha,
        min_effect=min_effect,
        higher_is_better=higher_is_better,
    )
