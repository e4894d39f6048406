"""Format numbers, shares and lists of names as text."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from concord.metrics_core.results.comparison_parts import Difference, Score

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MINUS = "\N{MINUS SIGN}"
PERCENT = "\N{NO-BREAK SPACE}%"
MAX_NAMES = 6  # in one list
_MANY = 3  # models that are called all
_MIN_DECIMALS, _MAX_DECIMALS = 3, 4
_MAX_EFFECT_DECIMALS = 6
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
    """Return half the width of the narrowest interval; None if no interval has a width."""
    halves = (
        (each.ci_high - each.ci_low) / 2
        for each in intervals
        if each.ci_low is not None and each.ci_high is not None
    )
    return min((half for half in halves if half > 0), default=None)


def metric_decimals(pairs: Sequence["Difference"], scores: Sequence["Score"]) -> int:
    """Return the number of decimals that shows a fifth of the minimum relevant difference.

    Without one, it shows two significant digits of the narrowest interval of a difference, or else
    of a mean.
    """
    means = [score.mean for score in scores]
    effects = [pair.min_effect for pair in pairs if pair.min_effect]
    if effects:
        minimum = _MIN_DECIMALS if in_unit_interval(means) else 0
        decimals = math.ceil(-math.log10(min(effects) / 5) - _ROUNDING_ERROR)
        return min(max(decimals, minimum), _MAX_EFFECT_DECIMALS)
    return interval_decimals(pairs if narrowest_half(pairs) is not None else scores, means)


def interval_decimals(intervals: Iterable[WithInterval], values: Iterable[float | None]) -> int:
    """Return the number of decimals that shows two significant digits of the narrowest interval.

    It is at most four, and at least three for metrics in [-1, 1].
    """
    half = narrowest_half(intervals)
    decimals = _MAX_DECIMALS if half is None else 1 - math.floor(math.log10(half))
    return min(max(decimals, _MIN_DECIMALS if in_unit_interval(values) else 0), _MAX_DECIMALS)


def in_unit_interval(values: Iterable[float | None]) -> bool:
    """True if all values that exist lie in [-1, 1]."""
    return all(value is None or abs(value) <= 1 for value in values)


def exact(value: float) -> str:
    """Return a threshold with at most three significant digits."""
    return f"{value:.3g}"


def join_names(names: Sequence[str], last: str = "and") -> str:
    """Return `a`, `a and b`, `a, b and c`, or `a, b, c, d, e, f and 3 more`.

    Parameters
    ----------
    last : str
        The word before the last name.
    """
    entries = list(names[:MAX_NAMES])
    if len(names) > MAX_NAMES:
        entries.append(f"{len(names) - MAX_NAMES} more")
    return entries[0] if len(entries) == 1 else f"{', '.join(entries[:-1])} {last} {entries[-1]}"


def group_values(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return key -> its values, both in the order of the pairs."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def all_or_names(names: Sequence[str], n_models: int) -> str:
    """Return `all models` instead of the names of at least three that are all."""
    return "all models" if len(names) == n_models >= _MANY else join_names(names)


def verb(n: int | None, singular: str, plural: str) -> str:
    """Return the form of a verb for a number."""
    return singular if n == 1 else plural


def is_or_are(names: Sequence[str]) -> str:
    """Return `is` for one name, `are` for several."""
    return verb(len(names), "is", "are")


def percent(share: float) -> str:
    """Return a share in percent with one decimal, or two digits below 1 %: only 0 is shown as 0."""
    text = f"{100 * share:.1f}" if share >= 0.01 else f"{100 * share:.2g}"  # noqa: PLR2004
    return f"{text.removesuffix('.0')}{PERCENT}"
