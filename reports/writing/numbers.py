"""Format numbers: digits from the width of the interval, true minus signs, a bound for tiny p-values."""

import math
from collections.abc import Iterable

from concord.metrics_core.results.comparison import Comparison, in_unit_interval
from concord.metrics_core.results.words import MINUS as MINUS
from concord.metrics_core.results.words import PERCENT as PERCENT
from concord.metrics_core.results.words import WithInterval, narrowest_half

MISSING = "\N{EN DASH}"
SMALLEST_P = 0.0001


def digits_of(comparison: Comparison, label: str) -> int:
    """Return the decimals of the means of a metric."""
    known = comparison.precision[label]
    return _decimals(known.means, is_share=known.in_unit_interval)


def difference_digits_of(comparison: Comparison, label: str) -> int:
    """Return the decimals of the differences of a metric."""
    known = comparison.precision[label]
    return _decimals(known.differences, is_share=known.in_unit_interval)


def decimals(intervals: Iterable[WithInterval], values: Iterable[float | None]) -> int:
    """Return the decimals for two significant digits of the narrowest interval; three or four for metrics in [0, 1]."""
    return _decimals(narrowest_half(intervals), is_share=in_unit_interval(values))


def _decimals(half: float | None, *, is_share: bool) -> int:
    digits = 4 if half is None else 1 - math.floor(math.log10(half))
    return min(max(digits, 3 if is_share else 0), 4)


def number(value: float | None, digits: int) -> str:
    return MISSING if value is None else _fixed(value, digits)


def signed(value: float | None, digits: int) -> str:
    """Return such as `+0.0123` or `−0.0123`; no sign if the number rounds to zero."""
    if value is None:
        return MISSING
    text = _fixed(value, digits)
    return text if text.startswith(MINUS) or not text.strip("0.") else f"+{text}"


def interval(low: float | None, high: float | None, digits: int) -> str:
    return "" if low is None or high is None else f"{_fixed(low, digits)} to {_fixed(high, digits)}"


def signed_interval(low: float | None, high: float | None, digits: int) -> str:
    return "" if low is None or high is None else f"{signed(low, digits)} to {signed(high, digits)}"


def relative(value: float | None) -> str:
    return MISSING if value is None else signed(100 * value, 1) + PERCENT


def share(value: float | None) -> str:
    """Return a share in percent; a positive share is never shown as 0.0 %."""
    if value is None:
        return MISSING
    return ("< 0.1" if 0 < value < 0.0005 else _fixed(100 * value, 1)) + PERCENT  # noqa: PLR2004 - half of 0.1 %


def who(users: int, requests: int | None) -> str:
    """Return such as `1,192 users`, or `12,345 requests of 1,192 users`."""
    of = "" if requests is None else f"{count(requests)} requests of "
    return f"{of}{count(users)} users"


def count(value: int | None) -> str:
    return MISSING if value is None else f"{value:,}"


def p_value(p: float | None) -> str:
    if p is None:
        return MISSING
    if p < SMALLEST_P:
        return f"< {SMALLEST_P:.4f}"
    return _fixed(p, 4 if p < 0.01 else 3 if p < 0.1 else 2)  # noqa: PLR2004 - two significant digits


def exact(value: float) -> str:
    """Return a number as params.yaml has it: 0.005, 0.95, 1."""
    return f"{value:.12g}".replace("-", MINUS)


def setting(value: object) -> str:
    """Return a convention's value as params.yaml writes it."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {setting(inner)}" for name, inner in value.items())
    return "null" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _fixed(value: float, digits: int) -> str:
    text = f"{abs(value):,.{digits}f}"
    return f"{MINUS}{text}" if value < 0 and text.strip("0.,") else text
