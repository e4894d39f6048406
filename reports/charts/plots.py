"""What plots share: scales, axes, marks of verdicts, and room for names."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from concord.metrics_core.results.text_format import WithInterval
from concord.reports.charts.svg import Chart
from concord.reports.text.numbers import number, signed
from concord.reports.text.verdict_styles import VERDICTS

Tick = tuple[float, str]

_WIDE, _NARROW = 940, 350  # pixels of a chart on a desktop and on a phone
NAME, LONG_NAME = 16, 22  # characters of a model's name beside and above a row
_END_NAME = 13  # characters of a name at the end of a line
_LINE_HEIGHT = 14  # pixels between two names


@dataclass(frozen=True)
class Linear:
    """Scale from values to pixels: `low` is at `start`, `high` at `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def padded_scale(
    ends: Iterable[float | None], start: float, end: float, *, share: float = 0.04
) -> Linear:
    """Return a scale of all numbers, with a share of their range added on both sides."""
    numbers = [each for each in ends if each is not None]
    low, high = min(numbers), max(numbers)
    room = share * (high - low) or 0.01
    return Linear(low - room, high + room, start, end)


def interval_ends(row: WithInterval, mean: float) -> tuple[float, float]:
    """Return the ends of an interval; the mean stands for a missing one."""
    low, high = row.ci_low, row.ci_high
    return mean if low is None else low, mean if high is None else high


def plot_width(left: int, right: int, *, narrow: bool) -> int:
    """Return the width of a plot between its margins."""
    return (_NARROW if narrow else _WIDE) - left - right


def nice_ticks(low: float, high: float, about: int) -> list[float]:
    """Return about `about` multiples of 1, 2 or 5 times a power of ten within [low, high]."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def tick_digits(ticks: Sequence[float]) -> int:
    """Return the number of decimals that distinguishes the ticks."""
    step = min((b - a for a, b in itertools.pairwise(ticks)), default=1.0)
    return max(0, -math.floor(math.log10(step) + 1e-9))


def signed_ticks(scale: Linear, about: int) -> list[Tick]:
    """Return ticks of differences."""
    return number_ticks(scale, about, lambda tick, digits: signed(tick, digits) if tick else "0")


def number_ticks(
    scale: Linear, about: int, text: Callable[[float, int], str] = number
) -> list[Tick]:
    """Return ticks of numbers; `text` returns that of a number with these digits."""
    low, high = sorted((scale.low, scale.high))
    ticks = nice_ticks(low, high, about)
    digits = tick_digits(ticks)
    return [(tick, text(tick, digits)) for tick in ticks]


def draw_axis(
    chart: Chart,
    scale: Callable[[float], float],
    ticks: Iterable[Tick],
    *,
    upright: bool = False,
    grid: bool = True,
) -> None:
    """Draw labels of ticks below the plot, or at its left if upright, and the lines of a grid."""
    for value, label in ticks:
        at = scale(value)
        line = math.floor(at) + 0.5  # sharp on a screen
        if upright:
            ends, place = [(0.0, line), (chart.width, line)], (-8.0, at)
        else:
            ends, place = [(line, 0.0), (line, chart.height)], (at, chart.height + 13.0)
        if grid:
            chart.line(ends, "line")
        chart.text(*place, label, 12, "ink-faint", anchor="end" if upright else "middle")


def draw_verdict(
    chart: Chart,
    at: tuple[float, float],
    verdict: str,
    radius: float,
    background: str,
    *,
    colour: str | None = None,
    width: float = 1.75,
) -> None:
    """Draw the mark of a verdict, in its colour or another; small and open ones are hollow."""
    style = VERDICTS[verdict]
    stroke = colour or style.tone
    fill = stroke if style.filled else background
    chart.symbol(at, style.path, radius, stroke=stroke, fill=fill, width=width)


def shorten(name: str, length: int) -> str:
    """Return the name, cut with an ellipsis if it is longer than `length`."""
    return name if len(name) <= length else f"{name[: length - 1]}…"


def draw_end_names(
    chart: Chart, ends: Iterable[tuple[str, float, str]], *, leaders: bool = False
) -> None:
    """Write the names of models at the right of their lines, apart from each other.

    Parameters
    ----------
    ends : iterable of tuple
        Model, end of its line in pixels from the top, and colour.
    leaders : bool
        True to lead a line from each end to its name.
    """
    sorted_ends = sorted(ends, key=lambda end: end[1])
    heights = spread([y for _, y, _ in sorted_ends], chart.height)
    for (model, y, colour), name_y in zip(sorted_ends, heights, strict=True):
        with chart.group(model):
            if leaders:
                points = [(chart.width, y), (chart.width + 10, name_y)]
                chart.line(points, colour, opacity=0.6)
            chart.text(chart.width + 14, name_y, shorten(model, _END_NAME), 12, colour)


def spread(positions: Sequence[float], height: float) -> list[float]:
    """Return rising positions at least a line apart, near to the original ones."""
    spread_out = list(positions)
    for i in range(1, len(spread_out)):
        spread_out[i] = max(spread_out[i], spread_out[i - 1] + _LINE_HEIGHT)
    if spread_out:
        spread_out[-1] -= max(0.0, spread_out[-1] - height)
    for i in reversed(range(len(spread_out) - 1)):
        spread_out[i] = min(spread_out[i], spread_out[i + 1] - _LINE_HEIGHT)
    return spread_out
