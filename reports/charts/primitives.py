"""Building blocks of all charts: scales, axes, text marks, and parts of interval and line plots.

A row of a chart's data may have these columns: `colour`, `inside` (fill of a mark), `shape`,
`hover` (text of the tooltip, and models) and `tag` (models of a mark without a tooltip).
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Protocol

import altair as alt

from concord.metrics_core.results.text_format import WithInterval
from concord.reports.charts.svg import SEPARATOR, light
from concord.reports.text.verdict_styles import VERDICTS


class Estimate(WithInterval, Protocol):
    """A mean with an interval, each of which may be missing."""

    @property
    def mean(self) -> float | None:
        """The mean."""


Row = dict[str, Any]
Rows = Sequence[Row]
Domain = tuple[float, float]
# Positions in pixels. `alt.value` is slow: Altair hashes all of its classes to find that of the
# channel.
x_at: Callable[[float], Any] = alt.XValue
x2_at: Callable[[float], Any] = alt.X2Value
y_at: Callable[[float], Any] = alt.YValue
y2_at: Callable[[float], Any] = alt.Y2Value

COLOUR = alt.Color("colour:N", scale=None)
STROKE = alt.Stroke("colour:N", scale=None)
FILL = alt.Fill("colour:N", scale=None)
INSIDE = alt.Fill("inside:N", scale=None)
SHAPE = alt.Shape("shape:N", scale=None)
HOVER = alt.Description("hover:N")
TAG = alt.Description("tag:N")

_WIDE, _NARROW = 940, 350  # pixels of a chart on a desktop and on a phone
NAME, LONG_NAME = 16, 22  # characters of a model's name beside and above a row
_LINE_HEIGHT = 14  # pixels between two names
_EDGE = 0.2  # of the width


def plot(rows: Iterable[Row]) -> alt.Chart:
    """Return a chart of these rows, without marks."""
    return alt.Chart(alt.InlineData(values=tuple(rows)))  # Altair copies lists at every step


def tag(text: str, *models: str) -> str:
    """Return a mark's `description`: the models that the page highlights with it, and a tooltip."""
    return SEPARATOR.join([*models, text])


def shorten(name: str, length: int) -> str:
    """Return the name, cut with an ellipsis if it is longer than `length`."""
    return name if len(name) <= length else f"{name[: length - 1]}…"


def model_row(i: int, model: str, hover: str, **columns: Any) -> Row:
    """Return a row of an interval plot: the model's name in two lengths, a tooltip, `columns`."""
    names = {"name": shorten(model, NAME), "long_name": shorten(model, LONG_NAME)}
    tags = {"hover": tag(hover, model), "tag": tag("", model)}
    return {"row": i, "model": model, **names, **tags, **columns}


def interval_columns(estimate: Estimate) -> Row:
    """Return mean and interval of a point in a line plot; the mean stands for a missing end."""
    mean, low, high = estimate.mean, estimate.ci_low, estimate.ci_high
    return {
        "mean": mean,
        "low": mean if low is None else low,
        "high": mean if high is None else high,
    }


def verdict_columns(verdict: str, background: str) -> Row:
    """Return shape and colours of a verdict; its mark is hollow unless the verdict is filled."""
    style = VERDICTS[verdict]
    return {
        "shape": style.path,
        "colour": light(style.tone),
        "inside": light(style.tone if style.filled else background),
    }


def scale(low: float, high: float) -> alt.Scale:
    """Return a linear scale from `low` to `high`, in this direction."""
    return alt.Scale(domain=[low, high], nice=False, zero=False)


def padded_domain(ends: Iterable[float], share: float = 0.04) -> Domain:
    """Return the range of the numbers, extended by a share of it on both sides."""
    numbers = list(ends)
    low, high = min(numbers), max(numbers)
    room = share * (high - low) or 0.01
    return low - room, high + room


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


def axis(ticks: Sequence[float], labels: str, *, grid: bool = True) -> alt.Axis:
    """Return an axis with these ticks; `labels` is a Vega expression over `datum.value`."""
    return alt.Axis(
        values=list(ticks),
        labelExpr=labels,
        title=None,
        grid=grid,
        gridColor=light("line"),
        domain=False,
        ticks=False,
        labelColor=light("ink-faint"),
        labelFontSize=12,
        labelPadding=8,
        labelOverlap=False,
        labelBound=False,
        labelFlush=False,
        labelLimit=0,
    )


def number_axis(domain: Domain, about: int) -> alt.Axis:
    """Return an axis of plain numbers."""
    ticks = nice_ticks(*domain, about)
    return axis(ticks, f"format(datum.value, '.{tick_digits(ticks)}f')")


def signed_axis(domain: Domain, about: int, *, grid: bool = True) -> alt.Axis:
    """Return an axis of differences."""
    ticks = nice_ticks(*domain, about)
    signed = f"datum.value === 0 ? '0' : format(datum.value, '+.{tick_digits(ticks)}f')"
    return axis(ticks, signed, grid=grid)


def row_axes(field: str, domain: Domain, n_rows: int, *, narrow: bool) -> tuple[alt.X, alt.Y]:
    """Return the axes of an interval plot: signed differences as x, rows as y."""
    x = alt.X(f"{field}:Q", scale=scale(*domain), axis=signed_axis(domain, 3 if narrow else 6))
    return x, alt.Y("row:Q", axis=None, scale=scale(n_rows - 0.5, -0.5))


def plot_width(margins: Mapping[str, int], *, narrow: bool) -> int:
    """Return the width of a chart without its margins."""
    return (_NARROW if narrow else _WIDE) - margins["left"] - margins["right"]


def text_layer(
    rows: Rows,
    field: str,
    size: int,
    colour: str | None = None,
    *,
    x: Any,
    y: Any,
    tagged: bool = False,
    **mark: Any,
) -> alt.Chart:
    """Return the texts of a column.

    Parameters
    ----------
    colour : str or None
        Colour of all texts; None for the `colour` of each row.
    tagged : bool
        True if a text belongs to the model of its row.
    """
    if colour is not None:
        mark["color"] = light(colour)
    if tagged:
        mark["aria"] = True
    layer = plot(rows).mark_text(fontSize=size, limit=0, **mark)
    layer = layer.encode(x=x, y=y, text=alt.Text(f"{field}:N"))
    if colour is None:
        layer = layer.encode(color=COLOUR)
    return layer.encode(description=TAG) if tagged else layer


def interval_layer(rows: Iterable[Row], y: alt.Y) -> alt.Chart:
    """Return the intervals of an interval plot; a row without one has no line."""
    intervals = plot(row for row in rows if row["low"] is not None)
    return intervals.mark_rule(strokeWidth=2, strokeCap="round", aria=True).encode(
        x=alt.X("low:Q"), x2=alt.X2("high"), y=y, color=COLOUR, description=HOVER
    )


def zero_line(
    baseline: str, n_rows: int, x: alt.X, domain: Domain, reach: tuple[float, float]
) -> list[alt.Chart]:
    """Return the line of no difference, with the name of the baseline.

    Parameters
    ----------
    reach : tuple of float
        Parts of a row above and below its centre: the line must not cross names above the marks.
    """
    lines = [{"difference": 0, "from": i - reach[0], "to": i + reach[1]} for i in range(n_rows)]
    rule = plot(lines).mark_rule(color=light("ink-soft"), strokeWidth=1)
    name = [{"difference": 0, "name": shorten(baseline, NAME)}]
    align = _alignment(domain)
    return [
        rule.encode(x=x, y=alt.Y("from:Q", axis=None), y2=alt.Y2("to")),
        text_layer(name, "name", 12, "ink-soft", x=x, y=y_at(0), dy=-12, align=align),
    ]


def _alignment(domain: Domain) -> Literal["left", "right", "center"]:
    """Return the alignment that keeps the name of the zero line inside the chart."""
    position = -domain[0] / (domain[1] - domain[0])
    if position < _EDGE:
        return "left"
    return "right" if position > 1 - _EDGE else "center"


def difference_texts(rows: Rows, y: alt.Y, width: int, *, narrow: bool) -> list[alt.Chart]:
    """Return name, difference and verdict of each row: beside it, or above it if narrow."""
    texts = partial(text_layer, rows, y=y, tagged=True)
    if narrow:
        return [
            texts("long_name", 13, "ink", x=x_at(0), align="left", dy=-17),
            texts("number_and_word", 13, x=x_at(width), align="right", dy=-17, fontWeight=600),
        ]
    return [
        texts("name", 14, "ink", x=x_at(-140), align="left"),
        texts("number", 14, x=x_at(width + 72), align="right", fontWeight=600),
        texts("word", 13, "ink-soft", x=x_at(width + 88), align="left"),
    ]


def pixels_from_top(value: float, domain: Domain, height: float) -> float:
    """Return the position of a value on a linear y axis."""
    return (domain[1] - value) / ((domain[1] - domain[0]) / height)


def end_names(
    rows: Rows, positions: Sequence[float], size: tuple[int, int], *, offset: int = 14
) -> list[alt.Chart]:
    """Return the names at the right of lines, apart from each other.

    Parameters
    ----------
    positions : sequence of float
        Ends of the lines, in pixels from the top.
    """
    order = sorted(range(len(rows)), key=lambda i: positions[i])
    heights = spread([positions[i] for i in order], size[1])
    return [
        text_layer(
            [rows[i]],
            "name",
            12,
            x=x_at(size[0] + offset),
            y=y_at(height),
            tagged="tag" in rows[i],
            align="left",
            baseline="middle",
        )
        for i, height in zip(order, heights, strict=True)
    ]


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
