"""Examples of each verdict in both directions; simulated error rates and coverage."""

import math

import numpy as np
import pytest

from concord.metrics_core.stats.paired_test import PairedTest, paired_tests
from concord.metrics_core.stats.verdict import verdict

ALPHA = 0.05


def paired_result(
    low: float, high: float, *, n_users: int = 500, n_nonzero: int = 100
) -> PairedTest:
    return PairedTest(
        mean_a=0.5,
        mean_b=0.5 - (low + high) / 2,
        difference=(low + high) / 2,
        n_users=n_users,
        n_nonzero=n_nonzero,
        above=0.1,
        equal=0.8,
        below=0.1,
        ci_low=low,
        ci_high=high,
        p=0.5 if n_nonzero else math.nan,
    )


EXAMPLES = [
    # interval, adjusted p, minimum relevant difference, verdict
    ((0.006, 0.020), 0.001, 0.005, "better"),
    ((0.004, 0.020), 0.001, 0.005, "better_below_threshold"),
    ((0.005, 0.020), 0.001, 0.005, "better_below_threshold"),
    ((0.001, 0.004), 0.001, 0.005, "equivalent"),
    ((-0.005, 0.005), 0.900, 0.005, "equivalent"),
    ((-0.006, 0.004), 0.700, 0.005, "undecided"),
    ((-0.001, 0.020), 0.080, 0.005, "undecided"),
    ((0.006, 0.020), 0.060, 0.005, "undecided"),
    ((0.001, 0.020), 0.001, 0.0, "better"),
    ((-0.001, 0.001), 0.900, 0.0, "undecided"),
]
MIRROR = {"better": "worse", "better_below_threshold": "worse_below_threshold"}


@pytest.mark.parametrize(("interval", "p", "min_effect", "expected"), EXAMPLES)
def test_verdict(interval: tuple[float, float], p: float, min_effect: float, expected: str) -> None:
    low, high = interval
    mirrored = MIRROR.get(expected, expected)

    assert _verdict(paired_result(low, high), p, min_effect) == expected
    assert _verdict(paired_result(-high, -low), p, min_effect) == mirrored
    assert _verdict(paired_result(-high, -low), p, min_effect, higher_is_better=False) == expected
    assert _verdict(paired_result(low, high), p, min_effect, higher_is_better=False) == mirrored


NAN = math.nan


@pytest.mark.parametrize(
    ("paired", "p", "min_effect", "expected"),
    [
        (paired_result(NAN, NAN, n_nonzero=0), NAN, 0.005, "identical"),
        (paired_result(NAN, NAN, n_users=0, n_nonzero=0), NAN, 0.0, "too_few_users"),
        (
            paired_result(0.006, 0.020).with_means(0.4, 0.3),
            NAN,
            0.005,
            "no_interval",
        ),  # a pooled mean
        # an undefined threshold cannot be exceeded
        (paired_result(0.006, 0.020), 0.001, NAN, "better_below_threshold"),
        (paired_result(-0.006, 0.020), 0.300, NAN, "undecided"),
    ],
)
def test_verdict_without_enough_users_or_threshold(
    paired: PairedTest, p: float, min_effect: float, expected: str
) -> None:
    assert _verdict(paired, p, min_effect) == expected


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
    """All gain: 2^(1 - n) times the number of tests (Holm) is at most 0.05 from 6 or 10 users."""
    gains = 0.5 + np.arange(n_differing) / 100
    (pair,) = paired_tests({"a": gains, "b": np.zeros(n_differing)}, [("a", "b")], confidence=0.95)

    assert (
        verdict(
            pair, pair.p * tests, alpha=ALPHA, min_effect=0.1, higher_is_better=True, tests=tests
        )
        == expected
    )


AGREEMENT = [
    # gains, minimum relevant difference, verdict
    ([0.4, 0.3, 0.1, 0.1, 0.2, 0.3, 0.1, 0.2], 0.0, "better"),
    # the interval is above 0.1, but sign flips against 0.1 have p = 8 / 256 = 0.031 > 0.025
    ([0.4, 0.3, 0.1, 0.1, 0.2, 0.3, 0.1, 0.2], 0.1, "better_below_threshold"),
    # sign flips have p = 0.047, but the interval reaches below 0
    ([-0.1, 0.6, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2], 0.0, "undecided"),
]


@pytest.mark.parametrize(("gains", "min_effect", "expected"), AGREEMENT)
def test_sign_flips_must_agree_with_the_interval(
    gains: list[float], min_effect: float, expected: str
) -> None:
    a, b = np.array(gains), np.zeros(len(gains))
    pairs = [("a", "b"), ("b", "a")]
    forward, backward = paired_tests({"a": a, "b": b}, pairs, confidence=0.95)

    assert _verdict(forward, forward.p, min_effect) == expected
    assert _verdict(backward, backward.p, min_effect, higher_is_better=False) == expected
    assert _verdict(backward, backward.p, min_effect) == expected.replace("better", "worse")


def _verdict(
    paired: PairedTest, p: float, min_effect: float, *, higher_is_better: bool = True
) -> str:
    return verdict(paired, p, alpha=ALPHA, min_effect=min_effect, higher_is_better=higher_is_better)
