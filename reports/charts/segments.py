"""Interval plots of differences to the baseline in groups; bars of shares of items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Segmentation
from concord.metrics_core.results.text_format import join_names
from concord.reports.charts.model_styles import model_styles
from concord.reports.charts.primitives import (
    HOVER,
    INSIDE,
    NAME,
    SHAPE,
    STROKE,
    Row,
    axis,
    interval_layer,
    padded_domain,
    plot,
    plot_width,
    row_axes,
    scale,
    shorten,
    tag,
    text_layer,
    x_at,
    y_at,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text import numbers
from concord.reports.text.segments import Cell, Grid, Group
from concord.reports.text.verdict_styles import VERDICTS

_LINE = 16  # pixels of a model
_GAP, _NARROW_GAP = 0.7, 2.6  # lines above a group; on a phone they hold its name
_GROUPS, _MODELS = 200, 130  # pixels of the names of groups and models
_NARROW_MODELS, _NARROW_NUMBERS = 98, 62
_MAX_GROUP = 30  # characters of a group's name
_MAX_NARROW_NAME = 13  # characters of a model's name on a phone


@dataclass(frozen=True)
class _Layout:
    """Positions of a chart, in lines from its top."""

    comparison: Comparison
    grid: Grid
    narrow: bool

    @property
    def gap(self) -> float:
        """Lines above a group."""
        return _NARROW_GAP if self.narrow else _GAP

    @property
    def ends(self) -> list[float]:
        """End of each group; a group without differences has its name and a note."""
        note = 1 if self.narrow else 2
        heights = [note if group.note else len(self.grid.lines) for group in self.grid.groups]
        return list(accumulate(height + self.gap for height in heights))

    @property
    def starts(self) -> list[float]:
        """Position of the first model of each group."""
        return [self.gap, *(end + self.gap for end in self.ends[:-1])]

    @property
    def margins(self) -> dict[str, int]:
        """Margins in pixels."""
        if self.narrow:
            return {"left": _NARROW_MODELS, "right": _NARROW_NUMBERS, "top": 24, "bottom": 30}
        return {"left": _GROUPS + _MODELS, "right": 210, "top": 24, "bottom": 30}

    @property
    def width(self) -> int:
        """Pixels between the margins."""
        return plot_width(self.margins, narrow=self.narrow)

    @property
    def y(self) -> alt.Y:
        """Axis of the lines."""
        return alt.Y("row:Q", axis=None, scale=scale(self.ends[-1] - 0.5, -0.5))


def segment_chart(
    comparison: Comparison, entry: Segmentation, grid: Grid, *, narrow: bool
) -> Markup:
    """Return the interval plot: groups as rows, with a line per model.

    Colours are those of models, shapes those of verdicts. Groups in which the model or the baseline
    has no list have no mark.
    """
    layout = _Layout(comparison, grid, narrow)
    rows = list(_rows(layout))
    shown = [row for row in rows if row["difference"] is not None]
    reach = [group.min_effect for group in grid.groups if not group.note]
    ends = [row[key] for row in shown for key in ("difference", "low", "high")]
    known = [end for end in ends if end is not None]
    domain = padded_domain([0.0, *reach, *(-each for each in reach), *known])
    x, _ = row_axes("difference", domain, 1, narrow=narrow)
    layers = [
        *_bands(layout, x),
        interval_layer(shown, layout.y),
        plot(shown)
        .mark_point(size=70, strokeWidth=1.75, opacity=1, aria=True)
        .encode(x=x, y=layout.y, shape=SHAPE, stroke=STROKE, fill=INSIDE, description=HOVER),
        *_texts(layout, rows),
    ]
    title = f"{grid.label} by {entry.name}: difference of each model to {comparison.baseline}"
    plain = [
        *(f"{group.name}: {group.note}" for group in grid.groups if group.note),
        *(row["plain"] for row in rows),
    ]
    size = (layout.width, round(layout.ends[-1] * _LINE))
    return render_svg(layers, size, layout.margins, title, "; ".join(plain))


def _bands(layout: _Layout, x: alt.X) -> list[alt.Chart]:
    """Return the bands of small differences and the lines of none, with the baseline's name."""
    spans = [
        {
            "zero": 0.0,
            "low": -group.min_effect,
            "high": group.min_effect,
            "from": start - 0.5,
            "to": start + len(layout.grid.lines) - 0.5,
            "hover": f"within ±{numbers.exact(float(f'{group.min_effect:.3g}'))}",
        }
        for group, start in zip(layout.grid.groups, layout.starts, strict=True)
        if not group.note
    ]
    rises = {"y": alt.Y("from:Q", axis=None), "y2": alt.Y2("to")}
    name = [{"difference": 0.0, "name": shorten(layout.comparison.baseline, NAME)}]
    return [
        plot(spans)
        .mark_rect(color=light("band"), aria=True)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high"), description=HOVER, **rises),
        plot(spans)
        .mark_rule(color=light("ink-soft"), strokeWidth=1)
        .encode(x=alt.X("zero:Q"), **rises),
        text_layer(name, "name", 12, "ink-soft", x=x, y=y_at(0), dy=-10),
    ]


def _rows(layout: _Layout) -> Iterator[Row]:
    styles = model_styles(layout.comparison.model_order, layout.comparison.baseline)
    for i, (group, start) in enumerate(zip(layout.grid.groups, layout.starts, strict=True)):
        for j, line in enumerate(layout.grid.lines if not group.note else ()):
            row = _row(group, line.model, line.cells[i], styles[line.model].colour)
            yield row | {"row": start + j}


def _row(group: Group, model: str, cell: Cell, colour: str) -> Row:
    number = "" if cell.value is None else cell.text
    plain = f"{group.name}, {model}: {numbers.with_details(number, cell.detail)} {cell.word}"
    style = VERDICTS.get(cell.verdict or "")
    return {
        "model": model,
        "difference": cell.value,
        "low": cell.low,
        "high": cell.high,
        "colour": colour,
        "shape": style.path if style else "",
        "inside": colour if style and style.filled else light("page"),
        "name": shorten(model, NAME),
        "short_name": shorten(model, _MAX_NARROW_NAME),
        "number": number,
        "word": cell.word,
        "number_or_word": number or cell.word,
        "plain": plain,
        "hover": tag(plain, model),
        "tag": tag("", model),
    }


def _texts(layout: _Layout, rows: Sequence[Row]) -> list[alt.Chart]:
    """Return names of groups and models, differences and verdicts."""
    groups = [
        {
            "row": start,
            "name": shorten(group.name, _MAX_GROUP),
            "detail": f"{layout.comparison.baseline} {group.mean} · "
            f"{numbers.count(group.n_users)} users",
            "note": group.note,
        }
        for group, start in zip(layout.grid.groups, layout.starts, strict=True)
    ]
    left = x_at(-layout.margins["left"])
    heads = partial(text_layer, groups, x=left, y=layout.y, align="left")
    texts = partial(text_layer, rows, y=layout.y, tagged=True)
    numbers_at = x_at(layout.width + _NARROW_NUMBERS)
    if layout.narrow:
        return [
            heads("name", 13, "ink", fontWeight=600, dy=-33),
            heads("detail", 12, "ink-faint", dy=-17),
            heads("note", 12, "ink-soft"),
            texts("short_name", 12, x=left, align="left"),
            texts("number_or_word", 12, "ink", x=numbers_at, align="right"),
        ]
    return [
        heads("name", 13, "ink", fontWeight=600),
        heads("detail", 12, "ink-faint", dy=_LINE),
        text_layer(groups, "note", 12, "ink-soft", x=x_at(-100), y=layout.y, align="left"),
        texts("name", 12, x=x_at(-16), align="right"),
        texts("number", 12, "ink", x=numbers_at, align="right", fontWeight=600),
        texts("word", 12, "ink-soft", x=x_at(layout.width + 74), align="left"),
    ]


_SHADES = (1.0, 0.55, 0.25, 0.1)  # opacity of head, middle, tail and cold
_BAR = 22  # pixels of a model
_MIN_LABELLED = 40  # pixels of a number


def share_chart(comparison: Comparison, entry: Segmentation, grid: Grid, *, narrow: bool) -> Markup:
    """Return stacked bars: the share of each model's lists that goes to each group of items."""
    margins = {"left": 98, "right": 6} if narrow else {"left": 140, "right": 10}
    margins |= {"top": 26, "bottom": 4}
    width = plot_width(margins, narrow=narrow)
    y = alt.Y("row:Q", axis=None, scale=scale(len(grid.lines) - 0.5, -0.5))
    x = alt.X("from:Q", scale=scale(0, 1), axis=axis([], "''", grid=False))
    names = [
        {
            "row": i,
            "name": shorten(line.model, _MAX_NARROW_NAME if narrow else NAME),
            "tag": tag("", line.model),
        }
        for i, line in enumerate(grid.lines)
    ]
    left = x_at(-margins["left"])
    layers = [text_layer(names, "name", 13, "ink", x=left, y=y, align="left", tagged=True)]
    key = width / len(grid.groups)
    for number, group in enumerate(grid.groups):
        shade = _SHADES[min(number, len(_SHADES) - 1)]
        bars = [
            {
                "row": i,
                "from": start,
                "to": start + share,
                "top": i - 0.36,
                "bottom": i + 0.36,
                "middle": start + share / 2,
                "text": line.cells[number].text if share * width >= _MIN_LABELLED else "",
                "hover": tag(f"{line.model}, {group.name}: {line.cells[number].text}", line.model),
            }
            for i, line in enumerate(grid.lines)
            for share in [line.cells[number].value or 0.0]
            for start in [sum(cell.value or 0.0 for cell in line.cells[:number])]
        ]
        ink = "page" if shade == 1 else "ink"
        square = plot([{"shape": "square"}]).mark_point(
            size=110, filled=True, color=light("ink-soft"), fillOpacity=shade, shape="square"
        )
        layers += [
            plot(bars)
            .mark_rect(color=light("ink-soft"), fillOpacity=shade, aria=True)
            .encode(
                x=x,
                x2=alt.X2("to"),
                y=alt.Y("top:Q", axis=None),
                y2=alt.Y2("bottom"),
                description=HOVER,
            ),
            text_layer(bars, "text", 12, ink, x=alt.X("middle:Q"), y=y),
            square.encode(x=x_at(number * key + 6), y=y_at(-14)),
            text_layer(
                [{"name": group.name}],
                "name",
                12,
                "ink-soft",
                x=x_at(number * key + 18),
                y=y_at(-14),
                align="left",
            ),
        ]
    title = f"{grid.label}: share of each model's lists that goes to items of each group"
    groups = [group.name for group in grid.groups]
    plain = [
        f"{line.model}: "
        + join_names([f"{g} {c.text}" for g, c in zip(groups, line.cells, strict=True)])
        for line in grid.lines
    ]
    return render_svg(layers, (width, len(grid.lines) * _BAR), margins, title, "; ".join(plain))
