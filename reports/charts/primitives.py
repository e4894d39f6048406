"""Building blocks of all charts: scales, axes, texts, and the frames of interval and line plots.

A row of a chart's data may have these columns: `colour`, `inside` (fill of a mark), `shape`, `hover` (what a mouse
pointer shows) and `tag` (the model a mark belongs to).
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import altair as alt

from concord.reports.charts.svg import SEPARATOR, light

Row = dict[str, Any]
Rows = Sequence[Row]
Domain = tuple[float, float]
# Places in pixels. For `alt.value` Altair hashes all of its classes, to find the one of the channel.
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

WIDE, NARROW = 940, 350  # pixels of a picture on a desk and on a phone
NAME, LONG_NAME = 16, 22  # characters of a model's name beside and above a row
_LINE_HEIGHT = 14  # pixels between two names
_EDGE = 0.2  # of the width


def values(rows: Iterable[Row]) -> alt.Chart:
    """Return a chart on these rows."""
    return alt.Chart(alt.InlineData(values=tuple(rows)))  # Altair copies lists at every step


def tag(text: str, *models: str) -> str:
    """Return a mark's `description`: the text of a hover, and the models it is of, which the page can light up."""
    return SEPARATOR.join([*models, text])


def shortened(name: str, length: int) -> str:
    """Return the name, cut with an ellipsis if it is longer."""
    return name if len(name) <= length else f"{name[: length - 1]}…"


def model_row(i: int, model: str, hover: str, **columns: Any) -> Row:
    """Return a row of an interval plot: the model's name in both lengths, what a pointer shows, and other columns."""
    names = {"name": shortened(model, NAME), "long_name": shortened(model, LONG_NAME)}
    tags = {"hover": tag(hover, model), "tag": tag("", model)}
    return {"row": i, "model": model, **names, **tags, **columns}


def scale(low: float, high: float) -> alt.Scale:
    """Return a linear scale from `low` to `high`, in this direction."""
    return alt.Scale(domain=[low, high], nice=False, zero=False)


def padded(ends: Iterable[float], share: float = 0.04) -> Domain:
    """Return the range of the numbers, extended on both sides."""
    numbers = list(ends)
    low, high = min(numbers), max(numbers)
    room = share * (high - low) or 0.01
    return low - room, high + room


def nice_ticks(low: float, high: float, about: int) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten within [low, high], `about` many."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def tick_digits(ticks: Sequence[float]) -> int:
    """Return the number of decimals that tell the ticks apart."""
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


def row_axes(field: str, domain: Domain, n_rows: int, *, narrow: bool) -> tuple[alt.X, alt.Y]:
    """Return the axes of an interval plot: signed differences as x, one row per model or data set as y."""
    ticks = nice_ticks(*domain, 3 if narrow else 6)
    signed = f"datum.value === 0 ? '0' : format(datum.value, '+.{tick_digits(ticks)}f')"
    x = alt.X(f"{field}:Q", scale=scale(*domain), axis=axis(ticks, signed))
    return x, alt.Y("row:Q", axis=None, scale=scale(n_rows - 0.5, -0.5))


def plot_width(margins: Mapping[str, int], *, narrow: bool) -> int:
    """Return the width of a picture without its margins."""
    return (NARROW if narrow else WIDE) - margins["left"] - margins["right"]


def text(
    rows: Rows,
    field: str,
    size: int,
    colour: str | None = None,
    *,
    tagged: bool = False,
    **mark: Any,
) -> alt.Chart:
    """Return texts of a column, in one colour or in that of each row; place them with `.encode(x=…, y=…)`.

    tagged : True if the texts belong to the model of their row
    """
    if colour is not None:
        mark["color"] = light(colour)
    if tagged:
        mark["aria"] = True
    chart = values(rows).mark_text(fontSize=size, limit=0, **mark)
    chart = chart.encode(text=alt.Text(f"{field}:N"))
    if colour is None:
        chart = chart.encode(color=COLOUR)
    return chart.encode(description=TAG) if tagged else chart


def zero_line(
    baseline: str, n_rows: int, x: alt.X, domain: Domain, reach: tuple[float, float]
) -> list[alt.Chart]:
    """Return the line of no difference, named by the baseline.

    reach : part of a row above and below its centre; a narrow picture leaves the names above the marks free
    """
    name = [{"difference": 0, "name": shortened(baseline, NAME)}]
    lines = [{"difference": 0, "from": i - reach[0], "to": i + reach[1]} for i in range(n_rows)]
    rule = values(lines).mark_rule(color=light("ink-soft"), strokeWidth=1)
    return [
        rule.encode(x=x, y=alt.Y("from:Q", axis=None), y2=alt.Y2("to")),
        text(name, "name", 12, "ink-soft", dy=-12, align=_alignment(domain)).encode(x=x, y=y_at(0)),
    ]


def _alignment(domain: Domain) -> Literal["left", "right", "center"]:
    """Return the alignment that keeps the name of the zero line inside the picture."""
    position = -domain[0] / (domain[1] - domain[0])
    if position < _EDGE:
        return "left"
    return "right" if position > 1 - _EDGE else "center"


def difference_texts(rows: Rows, y: alt.Y, width: int, *, narrow: bool) -> list[alt.Chart]:
    """Return name, difference and verdict of each row: beside it, or above it in a narrow picture."""
    if narrow:
        return [
            text(rows, "long_name", 13, "ink", tagged=True, align="left", dy=-17).encode(x=x_at(0), y=y),
            text(rows, "number_and_word", 13, tagged=True, align="right", dy=-17, fontWeight=600).encode(x=x_at(width), y=y),
        ]  # fmt: skip
    return [
        text(rows, "name", 14, "ink", tagged=True, align="left").encode(x=x_at(-140), y=y),
        text(rows, "written", 14, tagged=True, align="right", fontWeight=600).encode(x=x_at(width + 72), y=y),
        text(rows, "word", 13, "ink-soft", tagged=True, align="left").encode(x=x_at(width + 88), y=y),
    ]  # fmt: skip


def end_names(
    rows: Rows, positions: Sequence[float], size: tuple[int, int], *, offset: int = 14
) -> list[alt.Chart]:
    """Return names at the right of lines, pushed apart where lines end close together.

    positions : where the lines end, in pixels from the top
    """
    order = sorted(range(len(rows)), key=lambda i: positions[i])
    heights = spread([positions[i] for i in order], size[1])
    return [
        text(
            [rows[i]], "name", 12, tagged="tag" in rows[i], align="left", baseline="middle"
        ).encode(x=x_at(size[0] + offset), y=y_at(height))
        for i, height in zip(order, heights, strict=True)
    ]


def spread(positions: Sequence[float], height: float) -> list[float]:
    """Return positions a line apart in the same order, as near to the given ones as one sweep each way gets."""
    spread_out = list(positions)
    for i in range(1, len(spread_out)):
        spread_out[i] = max(spread_out[i], spread_out[i - 1] + _LINE_HEIGHT)
    if spread_out:
        spread_out[-1] -= max(0.0, spread_out[-1] - height)
    for i in reversed(range(len(spread_out) - 1)):
        spread_out[i] = min(spread_out[i], spread_out[i + 1] - _LINE_HEIGHT)
    return spread_out
