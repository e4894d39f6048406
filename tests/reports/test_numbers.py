"""Format of numbers: decimals, signs, units, missing values."""

from types import SimpleNamespace

import pytest

import concord as cc
from concord.metrics_core.results.text_format import metric_decimals
from concord.reports.text.numbers import (
    MINUS,
    MISSING,
    conventions_name,
    count,
    exact,
    interval,
    interval_decimals,
    number,
    p_value,
    relative,
    share,
    signed,
    signed_interval,
)


@pytest.mark.parametrize(
    ("half_widths", "values", "digits"),
    [
        ([0.0014], [0.5], 4),  # two digits of the half width, within three and four
        ([0.014], [0.5], 3),
        ([0.14], [0.5], 3),
        ([0.00014], [0.5], 4),
        ([0.0099], [0.5], 4),
        ([0.01], [0.5], 3),
        ([0.14, 0.0014, None], [0.5, 0.6, None], 4),  # the narrowest interval decides for all
        ([None, 0.0], [0.5], 4),
        ([12.0], [812.0], 0),  # values beyond 1 need no three decimals
        ([1.2], [81.0], 1),
    ],
)
def test_decimals_follow_the_narrowest_interval(
    half_widths: list[float | None], values: list[float | None], digits: int
) -> None:
    intervals = [
        SimpleNamespace(ci_low=None if half is None else -half, ci_high=half)
        for half in half_widths
    ]

    assert interval_decimals(intervals, values) == digits


@pytest.mark.parametrize(
    ("effect", "half_width", "mean", "decimals"),
    [
        (0.005, 0.0001, 0.3, 3),  # a fifth of the minimum relevant difference is 0.001
        (0.002, 0.1, 0.3, 4),
        (0.02, 0.0001, 0.3, 3),
        (0.0001, 0.1, 0.3, 5),
        (5.0, 0.1, 812.0, 0),
        (1.0, 0.1, 812.0, 1),
        (0.0, 0.0014, 0.3, 4),  # without one, two digits of the interval
        (None, 0.14, 0.3, 3),
    ],
)
def test_decimals_of_a_metric_follow_the_minimum_relevant_difference(
    effect: float | None, half_width: float, mean: float, decimals: int
) -> None:
    pair = SimpleNamespace(min_effect=effect, ci_low=-half_width, ci_high=half_width)
    score = SimpleNamespace(mean=mean, ci_low=0.0, ci_high=1.0)

    assert metric_decimals([pair], [score]) == decimals  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (signed(0.0123, 4), "+0.0123"),
        (signed(-0.0123, 4), f"{MINUS}0.0123"),
        *((f(v, 4), "0.0000") for f in (signed, number) for v in (0.0, -0.0, 0.00004, -0.00004)),
        (number(None, 4), MISSING),
        (signed(None, 4), MISSING),
        *((f(None), MISSING) for f in (relative, p_value, share, count)),
        (interval(None, 0.2, 3), ""),
        (signed_interval(0.1, None, 3), ""),
        (interval(0.12, 0.15, 3), "0.120 to 0.150"),
        (signed_interval(-0.002, 0.005, 3), f"{MINUS}0.002 to +0.005"),
        (signed_interval(0.0001, 0.05, 3), "+0.000 to +0.050"),  # does not include 0
        (signed_interval(-0.0001, 0.05, 3), f"{MINUS}0.000 to +0.050"),
        (signed_interval(0.0, 0.05, 3), "0.000 to +0.050"),
        (p_value(0.0), "< 0.0001"),
        (p_value(0.00009), "< 0.0001"),
        (p_value(0.0001), "0.0001"),
        (p_value(0.0123), "0.012"),
        (p_value(0.2), "0.20"),
        (p_value(1.0), "1.00"),
        (share(0.25), "25.0\N{NO-BREAK SPACE}%"),
        (share(0.0), "0.0\N{NO-BREAK SPACE}%"),
        (share(0.0004), "< 0.1\N{NO-BREAK SPACE}%"),
        (relative(0.678), "+67.8\N{NO-BREAK SPACE}%"),
        (exact(0.005), "0.005"),
        (exact(95.0), "95"),
        (exact(1), "1"),
        (count(1234567), "1,234,567"),
    ],
)
def test_a_number_is_written(written: str, text: str) -> None:
    assert written == text


def test_the_name_of_a_library_s_conventions_names_another_threshold() -> None:
    own, other = cc.preset("pytrec_eval"), cc.preset("pytrec_eval", relevance_threshold=2)
    demo = cc.datasets.load_demo()
    lists = {"als": demo.models["als"], "ease": demo.models["ease"]}
    comparison = cc.compare(
        lists, demo.truth, metrics=["P@5"], baseline="als", conventions=other, panel=False
    )

    assert conventions_name(own) == f"pytrec_eval {own.fingerprint}"
    assert conventions_name(cc.preset("standard", relevance_threshold=4)).startswith("standard ")
    name = f"pytrec_eval (relevance_threshold: 2) {other.fingerprint}"
    assert conventions_name(other) == name
    assert conventions_name(comparison.conventions) == name
