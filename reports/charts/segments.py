"""Dot plots of differences to the baseline in groups; bars of shares of items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Segmentation
from concord.metrics_core.results.text_format import join_names
from concord.reports.charts.differences import (
    draw_band,
    draw_baseline_name,
    draw_differences_axis,
    draw_interval,
    draw_zero_line,
)
from concord.reports.charts.plots import NAME, Linear, draw_verdict, plot_width, shorten
from concord.reports.charts.svg import Chart, model_styles
from concord.reports.text import numbers
from concord.reports.text.segments import Cell, Grid, Group
from concord.reports.text.verdict_styles import VERDICTS

_LINE = 14  # pixels of a model
_GAP = 12  # pixels above a group
_GROUPS = 215  # pixels of the names of groups
_HEAD = 36  # pixels of a group's name on a phone
_MIN_GROUP = 32  # pixels of a group whose name is beside it
_MAX_GROUP = 30  # characters of a group's name
_MAX_NARROW_NAME = 13  # characters of a model's name on a phone
_MAX_LABEL, _MAX_NARROW_LABEL = 60, 30  # characters beside an interval
_LABEL_GAP = 9  # pixels between an interval and its label
_DIGIT, _LETTER = 7.2, 6.6  # pixels, at most, of a bold digit and of a letter
_PADDING = 0.03  # of the width, at the left


@dataclass(frozen=True)
class _Row:
    """A model in a group: the value, then its name, and the verdict if it is another than overall.

    Attributes
    ----------
    label : str
        Name, and verdict or what is missing.
    """

    group: Group
    model: str
    cell: Cell
    colour: str
    number: str
    label: str

    @property
    def reach(self) -> float:
        """Value right of which the label begins: it must not cover the line of no difference."""
        return max(0.0, self.cell.value or 0.0, self.cell.high or 0.0)

    @property
    def length(self) -> float:
        """Pixels of number and label."""
        return _LABEL_GAP + _DIGIT * len(self.number) + _LETTER * (len(self.label) + 1)

    @property
    def plain(self) -> str:
        """The row as text."""
        value_text = numbers.with_details(self.number, self.cell.detail)
        return f"{self.group.name}, {self.model}: {value_text} {self.cell.word}"


def segment_chart(
    comparison: Comparison, entry: Segmentation, grid: Grid, *, narrow: bool
) -> Markup:
    """Return the dot plot: a row per group, in it a mark per model with its interval and value.

    Colours are those of models, shapes those of verdicts. Groups in which the model or the baseline
    has no list have no mark.
    """
    left = 0 if narrow else _GROUPS
    width = plot_width(left, 4, narrow=narrow)
    head, least = (_HEAD, _LINE) if narrow else (0, _MIN_GROUP)
    rows = [list(_rows(comparison, grid, i, narrow=narrow)) for i in range(len(grid.groups))]
    heights = [_GAP + head + max(least, _LINE * len(part)) for part in rows]
    chart = Chart(width, sum(heights), left=left, right=4, top=24, bottom=30)
    x = _scale(grid.groups, [row for part in rows for row in part], width)
    draw_differences_axis(chart, x, narrow=narrow)
    draw_baseline_name(chart, x, comparison.baseline)
    tops = [end - height + _GAP for end, height in zip(accumulate(heights), heights, strict=True)]
    for group, part, top in zip(grid.groups, rows, tops, strict=True):
        detail = f"{comparison.baseline} {group.mean} · {numbers.count(group.n_users)} users"
        chart.text(-left, top + 7, shorten(group.name, _MAX_GROUP), 13, "ink", bold=True)
        chart.text(-left, top + 23, detail, 12, "ink-faint")
        first = top + head
        if group.note:
            chart.text(x(0) + _LABEL_GAP, first + 7, group.note, 12, "ink-soft")
        else:
            _draw_group(chart, x, first, group, part)
    title = f"{grid.label} by {entry.name}: difference of each model to {comparison.baseline}"
    notes = [f"{group.name}: {group.note}" for group in grid.groups if group.note]
    return chart.markup(title, "; ".join([*notes, *(row.plain for part in rows for row in part)]))


def _rows(comparison: Comparison, grid: Grid, number: int, *, narrow: bool) -> Iterator[_Row]:
    group = grid.groups[number]
    styles = model_styles(comparison.model_order, comparison.baseline)
    for line in grid.lines if not group.note else ():
        model, cell = line.model, line.cells[number]
        overall = comparison.difference(model, comparison.baseline, grid.label)
        label = shorten(model, _MAX_NARROW_NAME if narrow else NAME)
        if cell.value is None:
            label = f"{label}: {cell.word or numbers.MISSING}"
        elif not narrow and (overall is None or cell.word != VERDICTS[overall.verdict].word):
            label = f"{label}, {cell.word}"
        text = "" if cell.value is None else cell.text
        label = shorten(label, _MAX_NARROW_LABEL if narrow else _MAX_LABEL)
        yield _Row(group, model, cell, styles[model].colour, text, label)


def _scale(groups: Sequence[Group], rows: Sequence[_Row], width: int) -> Linear:
    """Return the largest scale on which every label fits at the right of its interval."""
    reach = [group.min_effect for group in groups if not group.note]
    ends = [end for row in rows for end in (row.cell.value, row.cell.low, row.cell.high)]
    known = [0.0, *reach, *(-each for each in reach), *(end for end in ends if end is not None)]
    low, high = min(known), max(max(known), min(known) + 0.01)
    start = _PADDING * width
    spans = [(row.reach - low, row.length) for row in rows if row.reach > low]
    per_unit = min((width - start - text) / span for span, text in [*spans, (high - low, 0.0)])
    return Linear(low, high, start, start + per_unit * (high - low))


def _draw_group(chart: Chart, x: Linear, top: float, group: Group, rows: Sequence[_Row]) -> None:
    bottom = top + _LINE * len(rows)
    draw_band(chart, x, group.min_effect, top, bottom)
    draw_zero_line(chart, x, top, bottom)
    for i, row in enumerate(rows):
        y = top + (i + 0.5) * _LINE
        with chart.group(row.model):
            if row.cell.value is not None and row.cell.verdict is not None:
                with chart.group(hover=row.plain):
                    draw_interval(chart, x, y, (row.cell.low, row.cell.high), row.colour)
                    place = x(row.cell.value), y
                    verdict = row.cell.verdict
                    draw_verdict(chart, place, verdict, 4.18, "page", colour=row.colour)
            label = x(row.reach) + _LABEL_GAP
            chart.text(label, y, row.number, 12, "ink", bold=True)
            label += _DIGIT * len(row.number) + (1.5 * _LETTER if row.number else 0)
            chart.text(label, y, row.label, 12, row.colour)


_SHADES = (1.0, 0.55, 0.25, 0.1)  # opacity of head, middle, tail and cold
_BAR = 22  # pixels of a model
_MIN_LABELLED = 40  # pixels of a number


def share_chart(grid: Grid, *, narrow: bool) -> Markup:
    """Return stacked bars: the share of each model's lists that goes to each group of items."""
    left, right = (98, 6) if narrow else (140, 10)
    width = plot_width(left, right, narrow=narrow)
    chart = Chart(width, _BAR * len(grid.lines), left=left, right=right, top=26, bottom=4)
    shades = [_SHADES[min(i, len(_SHADES) - 1)] for i in range(len(grid.groups))]
    key = width / len(grid.groups)
    for i, (group, shade) in enumerate(zip(grid.groups, shades, strict=True)):
        chart.rect(i * key + 1, -19, i * key + 11, -9, "ink-soft", opacity=shade)
        chart.text(i * key + 18, -14, group.name, 12, "ink-soft")
    plain = []
    for i, line in enumerate(grid.lines):
        y, start = (i + 0.5) * _BAR, 0.0
        texts = []
        with chart.group(line.model):
            name = shorten(line.model, _MAX_NARROW_NAME if narrow else NAME)
            chart.text(-left, y, name, 13, "ink")
            for group, cell, shade in zip(grid.groups, line.cells, shades, strict=True):
                end = start + width * (cell.value or 0.0)
                texts.append(f"{group.name} {cell.text}")
                with chart.group(hover=f"{line.model}, {group.name}: {cell.text}"):
                    chart.rect(start, y - 8, end, y + 8, "ink-soft", opacity=shade)
                    if end - start >= _MIN_LABELLED:
                        ink = "page" if shade == 1 else "ink"
                        middle = (start + end) / 2
                        chart.text(middle, y, cell.text, 12, ink, anchor="middle")
                start = end
        plain.append(f"{line.model}: {join_names(texts)}")
    title = f"{grid.label}: share of each model's lists that goes to items of each group"
    return chart.markup(title, "; ".join(plain))
