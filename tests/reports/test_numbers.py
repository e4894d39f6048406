from dataclasses import dataclass

import pytest

from concord.reports.writing.numbers import (
    MINUS,
    MISSING,
    count,
    decimals,
    exact,
    interval,
    number,
    p_value,
    relative,
    share,
    signed,
    signed_interval,
)


@dataclass(frozen=True)
class Around:
    """An interval around 0, or none."""

    half_width: float | None

    @property
    def ci_low(self) -> float | None:
        return None if self.half_width is None else -self.half_width

    @property
    def ci_high(self) -> float | None:
        return self.half_width


def _around(*half_widths: float | None) -> list[Around]:
    return [Around(half_width) for half_width in half_widths]


@pytest.mark.parametrize(
    ("half_width", "digits"),
    [(0.0014, 4), (0.014, 3), (0.14, 3), (0.00014, 4), (0.0099, 4), (0.01, 3)],
)
def test_two_digits_of_the_half_width_decide_within_three_and_four(
    half_width: float, digits: int
) -> None:
    assert decimals(_around(half_width), [0.5]) == digits


def test_the_narrowest_interval_decides_for_all() -> None:
    assert decimals(_around(0.14, 0.0014, None), [0.5, 0.6, None]) == 4


def test_without_intervals_four_decimals_are_shown() -> None:
    assert decimals(_around(None, 0.0), [0.5]) == 4


def test_values_beyond_one_need_no_three_decimals() -> None:
    assert decimals(_around(12.0), [812.0]) == 0
    assert decimals(_around(1.2), [81.0]) == 1


def test_signed_numbers_have_a_true_minus_and_an_explicit_plus() -> None:
    assert signed(0.0123, 4) == "+0.0123"
    assert signed(-0.0123, 4) == f"{MINUS}0.0123"


@pytest.mark.parametrize("value", [0.0, -0.0, 0.00004, -0.00004])
def test_what_rounds_to_nothing_has_no_sign(value: float) -> None:
    assert signed(value, 4) == "0.0000"
    assert number(value, 4) == "0.0000"


def test_missing_numbers_are_a_dash_and_missing_intervals_are_empty() -> None:
    assert number(None, 4) == signed(None, 4) == relative(None) == p_value(None) == MISSING
    assert share(None) == count(None) == MISSING
    assert interval(None, 0.2, 3) == signed_interval(0.1, None, 3) == ""


def test_intervals_are_written_in_words_so_that_signs_stay_readable() -> None:
    assert interval(0.12, 0.15, 3) == "0.120 to 0.150"
    assert signed_interval(-0.002, 0.005, 3) == f"{MINUS}0.002 to +0.005"


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "< 0.0001"),
        (0.00009, "< 0.0001"),
        (0.0001, "0.0001"),
        (0.0123, "0.012"),
        (0.2, "0.20"),
        (1.0, "1.00"),
    ],
)
def test_p_is_never_zero(p: float, text: str) -> None:
    assert p_value(p) == text


def test_shares_are_percent_and_a_trace_is_not_called_nothing() -> None:
    assert share(0.25) == "25.0\N{NO-BREAK SPACE}%"
    assert share(0.0) == "0.0\N{NO-BREAK SPACE}%"
    assert share(0.0004) == "< 0.1\N{NO-BREAK SPACE}%"
    assert relative(0.678) == "+67.8\N{NO-BREAK SPACE}%"


def test_settings_are_shown_as_they_were_written() -> None:
    assert [exact(value) for value in (0.005, 95.0, 1)] == ["0.005", "95", "1"]


def test_counts_are_grouped() -> None:
    assert count(1234567) == "1,234,567"
