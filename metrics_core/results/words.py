"""Numbers, counts and names in words."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from concord.metrics_core.results.comparison_parts import Difference, Score

MINUS = "\N{MINUS SIGN}"
PERCENT = "\N{NO-BREAK SPACE}%"
AT_MOST = 6  # names in one list
_FEWEST_DECIMALS, _MOST_DECIMALS = 3, 4
_MOST_DECIMALS_OF_EFFECT = 6
_ROUNDING_ERROR = 1e-9  # 0.005 / 5 is 0.001


class WithInterval(Protocol):
    """A number with an interval, which may be missing."""

    @property
    def ci_low(self) -> float | None:
        """The lower end."""

    @property
    def ci_high(self) -> float | None:
        """The upper end."""


def narrowest_half(intervals: Iterable[WithInterval]) -> float | None:
    """Return half of the narrowest interval; None where none has a width."""
    halves = (
        (each.ci_high - each.ci_low) / 2
        for each in intervals
        if each.ci_low is not None and each.ci_high is not None
    )
    return min((half for half in halves if half > 0), default=None)


def metric_decimals(pairs: Sequence["Difference"], scores: Sequence["Score"]) -> int:
    """Return the decimals of a metric, fine enough for a fifth of the minimum relevant difference.

    Without one, two significant digits of the narrowest interval of a difference, or else of a mean.
    """
    means = [score.mean for score in scores]
    effects = [pair.min_effect for pair in pairs if pair.min_effect]
    if effects:
        fewest = _FEWEST_DECIMALS if in_unit_interval(means) else 0
        decimals = math.ceil(-math.log10(min(effects) / 5) - _ROUNDING_ERROR)
        return min(max(decimals, fewest), _MOST_DECIMALS_OF_EFFECT)
    return interval_decimals(pairs if narrowest_half(pairs) is not None else scores, means)


def interval_decimals(intervals: Iterable[WithInterval], values: Iterable[float | None]) -> int:
    """Return the decimals for two significant digits of the narrowest interval; three or four for metrics in [0, 1]."""
    half = narrowest_half(intervals)
    decimals = _MOST_DECIMALS if half is None else _two_digits(half)
    return min(max(decimals, _FEWEST_DECIMALS if in_unit_interval(values) else 0), _MOST_DECIMALS)


def in_unit_interval(values: Iterable[float | None]) -> bool:
    """True if all values that exist lie in [-1, 1]."""
    return all(value is None or abs(value) <= 1 for value in values)


def _two_digits(number: float) -> int:
    return 1 - math.floor(math.log10(number))


def number(value: float | None, digits: int) -> str:
    """Return the number as text, without a minus if it rounds to 0; `no mean` for None."""
    if value is None:
        return "no mean"
    text = f"{abs(value):.{digits}f}"
    return f"{MINUS}{text}" if value < 0 and text.strip("0.") else text


def one_line(text: str) -> str:
    """Return the text on one line of printable characters: a CI log executes lines that begin with `::`."""
    return "".join(map(_printable, text))


def _printable(character: str) -> str:
    if character.isprintable() or character == PERCENT[0]:
        return character
    return " " if character.isspace() else ascii(character)[1:-1]


def exact(value: float) -> str:
    """Return a threshold with at most three significant digits."""
    return f"{value:.3g}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return `a`, `a and b`, `a, b and c`, `a, b, c, d, e, f and 3 more`; `last` is the word before the last one."""
    shown = list(names[:AT_MOST])
    if len(names) > AT_MOST:
        shown.append(f"{len(names) - AT_MOST} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def are(names: Sequence[str]) -> str:
    """Return `is` for one name, `are` for several."""
    return "is" if len(names) == 1 else "are"


def percent(share: float) -> str:
    """Return a share in percent: one decimal, more for small shares, so that none but 0 is shown as 0."""
    written = f"{100 * share:.1f}" if share >= 0.01 else f"{100 * share:.2g}"  # noqa: PLR2004
    return f"{written.removesuffix('.0')}{PERCENT}"
