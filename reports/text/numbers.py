"""Format numbers: digits by the width of the interval, minus signs, a bound for small p-values."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.results.comparison_parts import PinnedConventions
from concord.metrics_core.results.text_format import MINUS as MINUS
from concord.metrics_core.results.text_format import PERCENT as PERCENT
from concord.metrics_core.results.text_format import WithInterval
from concord.metrics_core.results.text_format import interval_decimals as interval_decimals
from concord.reports.text.verdict_styles import ORDER_DECIDES

if TYPE_CHECKING:
    from concord.metrics_core.conventions.conventions import Conventions
    from concord.metrics_core.results.comparison import Comparison
    from concord.metrics_core.results.comparison_parts import Difference
    from concord.metrics_core.results.replicates import ReplicatedDifference

MISSING = "\N{EN DASH}"
SMALLEST_P = 0.0001
_OTHER_DECIMALS = 3


class WithDifference(WithInterval, Protocol):
    """A difference with an interval, both of which may be missing."""

    @property
    def difference(self) -> float | None:
        """The difference."""


def label_decimals(comparison: "Comparison", label: str) -> int:
    """Return the decimals of a label, also of one that only segments or another revision have."""
    return comparison.decimals.get(label, _OTHER_DECIMALS)


def min_effect_text(comparison: "Comparison", label: str) -> str:
    """Return the minimum relevant difference as in params.yaml: `0.005`, or `2 %`.

    That of a label that only segments have is the one of the first primary label.
    """
    metric = comparison.metric(label if label in comparison.labels else comparison.primary[0])
    return metric.min_effect.replace("%", PERCENT)


def number(value: float | None, digits: int) -> str:
    """Return the number, without a minus sign if it rounds to zero; a dash if it is missing."""
    if value is None:
        return MISSING
    text = f"{abs(value):,.{digits}f}"
    return f"{MINUS}{text}" if value < 0 and text.strip("0.,") else text


def signed(value: float | None, digits: int) -> str:
    """Return `+0.0123` or `−0.0123`; no sign if the number rounds to zero."""
    text = number(value, digits)
    return text if value is None or value < 0 or not text.strip("0.") else f"+{text}"


def _signed_end(value: float, digits: int) -> str:
    """Return one end of an interval: also `+0.000` or `−0.000`, which tells on which side it is."""
    sign = "+" if value > 0 else MINUS if value < 0 else ""
    return f"{sign}{number(abs(value), digits)}"


def interval(low: float | None, high: float | None, digits: int) -> str:
    """Return `0.230 to 0.254`; empty if there is no interval."""
    return "" if None in (low, high) else f"{number(low, digits)} to {number(high, digits)}"


def signed_interval(low: float | None, high: float | None, digits: int) -> str:
    """Return `−0.002 to +0.005`; empty if there is no interval.

    An end that rounds to zero keeps its sign: `+0.000 to +0.050` does not include 0.
    """
    if low is None or high is None:
        return ""
    return f"{_signed_end(low, digits)} to {_signed_end(high, digits)}"


_LEVEL_ROUNDING = 1e-9


def confidence_level(confidence: float) -> str:
    """Return `95 %`."""
    return exact(100 * confidence) + PERCENT


def interval_name(interval: "Difference | ReplicatedDifference", confidence: float) -> str:
    """Return `95 % interval`, or `joint 95 % interval` if those of a family hold together.

    Those of metrics that are not primary are `adjusted`: they control the false coverage rate.
    """
    kind = "joint " if interval.primary else "adjusted "
    prefix = kind if interval.level > confidence + _LEVEL_ROUNDING else ""
    return f"{prefix}{confidence_level(confidence)} interval"


def undecided_note(pair: "Difference", digits: int) -> str:
    """Return `can show 0.009` for an undecided difference of a primary metric, or why it is.

    Empty for other verdicts.
    """
    if pair.verdict == "undecided_by_order":
        return ORDER_DECIDES
    if pair.verdict != "undecided":
        return ""
    if pair.min_effect is None:
        return "min_effect is a share of a mean that may be 0"
    return "" if pair.detectable is None else f"can show {number(pair.detectable, digits)}"


def with_details(text: str, *details: str) -> str:
    """Return `0.242 (0.230 to 0.254, +15.2 %)`; no brackets if all details are empty."""
    joined = ", ".join(filter(None, details))
    return f"{text} ({joined})" if joined else text


def difference_with_interval(row: WithDifference, digits: int, *details: str) -> str:
    """Return `+0.012 (+0.008 to +0.016)`."""
    span = signed_interval(row.ci_low, row.ci_high, digits)
    return with_details(signed(row.difference, digits), span, *details)


def relative(value: float | None) -> str:
    """Return a relative difference in percent: `+67.8 %`."""
    return MISSING if value is None else signed(100 * value, 1) + PERCENT


def share(value: float | None) -> str:
    """Return a share in percent; a positive share is never shown as 0.0 %."""
    if value is None:
        return MISSING
    return ("< 0.1" if 0 < value < 0.0005 else number(100 * value, 1)) + PERCENT  # noqa: PLR2004 - half of 0.1 %


def count(value: int | None) -> str:
    """Return `1,192`."""
    return MISSING if value is None else f"{value:,}"


def counted(n: int, total: int) -> str:
    """Return ` (76 of 80 counted)`; empty if a mean leaves out no user."""
    return f" ({n:,} of {total:,} counted)" if n < total else ""


def p_value(p: float | None) -> str:
    """Return two significant digits of a p-value, or an upper bound if it is very small."""
    if p is None:
        return MISSING
    if p < SMALLEST_P:
        return f"< {SMALLEST_P:.4f}"
    return number(p, 4 if p < 0.01 else 3 if p < 0.1 else 2)  # noqa: PLR2004 - two significant digits


def exact(value: float) -> str:
    """Return a number as params.yaml has it: 0.005, 0.95, 1."""
    return f"{value:.12g}".replace("-", MINUS)


def setting(value: object) -> str:
    """Return a convention's value as params.yaml writes it."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {setting(inner)}' for name, inner in value.items())}}}"
    return "null" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def conventions_name(conventions: "Conventions | PinnedConventions") -> str:
    """Return preset and fingerprint, such as `standard 826e94cb92d0`.

    A threshold that differs from that of a library is named: the library itself gives other values.
    """
    name, library = conventions.preset, PRESETS.get(conventions.preset)
    if library is not None and library.package:
        if isinstance(conventions, PinnedConventions):
            values = {each.name: each.value for each in conventions.values}
        else:
            values = conventions.preset_values()
        threshold = values.get("relevance_threshold")
        if threshold != library.differs.get("relevance_threshold", 1):
            name += f" (relevance_threshold: {setting(threshold)})"
    return f"{name} {conventions.fingerprint}"


def join_first(names: Iterable[str], most: int) -> str:
    """Return `als, ease and 3 more`."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
