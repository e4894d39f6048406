"""Charts of a study: heat map of models by data sets, and forest plot of differences."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from concord.metrics_core.analyses.study.result import Cell, Pair, Study
from concord.reports.charts.differences import draw_differences_axis, draw_interval, draw_zero_line
from concord.reports.charts.plots import Linear, padded_scale, plot_width, shorten
from concord.reports.charts.svg import CIRCLE, DIAMOND, Chart
from concord.reports.study.text import digits, effect_text, open_ranks, rank_text, reason_text
from concord.reports.text import numbers
from concord.reports.text.numbers import difference_with_interval, signed, signed_interval
from concord.reports.text.verdict_styles import VERDICTS, perhaps_less

MAX_FOREST_MODELS = 8
_COLOUR_STEPS = 4  # of the heat map, on each side
_MAX_COLUMNS, _MAX_COLUMNS_NARROW = 8, 4  # data sets in one heat map
_MAX_COLUMN_WIDTH = 150  # pixels
_SMALL_BELOW = 70  # pixels of a column
_CELL_ROW, _FOREST_ROW = 44, 24  # pixels


def heatmap_charts(study: Study, label: str, *, narrow: bool) -> list[Markup]:
    """Return heat maps of relative differences to the baseline, for a few data sets each."""
    names = [each.name for each in study.datasets]
    n_columns = _MAX_COLUMNS_NARROW if narrow else _MAX_COLUMNS
    parts = [names[first : first + n_columns] for first in range(0, len(names), n_columns)]
    return [
        _heatmap(study, label, part, min(n_columns, len(names)), narrow=narrow) for part in parts
    ]


def _heatmap(study: Study, label: str, names: list[str], n_columns: int, *, narrow: bool) -> Markup:
    """Return the heat map of some data sets, models by mean rank, as wide as `n_columns`."""
    models, cells = study.ranked(label), study.cells_of(label)
    left = 92 if narrow else 150
    column = min(plot_width(left, 4, narrow=narrow) // n_columns, _MAX_COLUMN_WIDTH)
    width, right = column * len(names), 4 + column * (n_columns - len(names))
    chart = Chart(width, _CELL_ROW * len(models), left=left, right=right, top=30, bottom=4)
    largest = max((abs(c.relative) for c in cells.values() if c.relative is not None), default=0)
    for j, name in enumerate(names):
        head = shorten(name, max(4, column // 7))
        chart.text((j + 0.5) * column, -12, head, 12, "ink-soft", anchor="middle")
    plain = []
    for i, model in enumerate(models):
        y = (i + 0.5) * _CELL_ROW
        chart.text(-left, y, shorten(model, max(4, left // 8)), 13, "ink")
        for j, name in enumerate(names):
            cell = cells[name, model]
            text = "baseline" if model == study.baseline else numbers.relative(cell.relative)
            plain.append(f"{model} on {name}: {text}, {rank_text(cell)}")
            with chart.group(model, hover=plain[-1]):
                tone, opacity = _tint(study, cell, largest)
                x = (j + 0.5) * column
                half, rise = 0.48 * column, 0.46 * _CELL_ROW
                chart.rect(x - half, y - rise, x + half, y + rise, tone, opacity=opacity)
            number_size, rank_size = (11, 10) if column < _SMALL_BELOW else (13, 11)
            chart.text(x, y - 6, text, number_size, "ink", anchor="middle", bold=True)
            if cell.rank is not None:
                ranks = f"{'' if narrow else 'rank '}{open_ranks(cell)}"
                chart.text(x, y + 9, ranks, rank_size, "ink-soft", anchor="middle")
    title = f"{label}: relative difference to {study.baseline}, models by data sets"
    return chart.markup(title, "; ".join(plain))


def _tint(study: Study, cell: Cell, largest: float) -> tuple[str, float]:
    """Return colour and opacity of a cell, in a few steps up to the largest difference."""
    share = cell.relative / largest if cell.relative and largest else 0.0
    if not share:
        return "band", 1.0
    is_better = (share > 0) == study.metric(cell.label).higher_is_better
    opacity = 0.08 + 0.32 * round(_COLOUR_STEPS * abs(share)) / _COLOUR_STEPS
    return "better" if is_better else "worse", opacity


@dataclass(frozen=True)
class _Row:
    """A row of the forest plot: a data set, or the mean over them.

    Attributes
    ----------
    number, reason, plain : str
        Difference and verdict, why there is no interval, and all of it for screen readers.
    """

    name: str
    value: float | None
    interval: tuple[float | None, float | None]
    number: str
    plain: str
    tone: str
    reason: str = ""
    is_mean: bool = False


def forest_chart(study: Study, label: str, *, narrow: bool) -> Markup:
    """Return the forest plot of the best models: a row per data set, then the mean over them."""
    shown = [m for m in study.ranked(label) if m != study.baseline][:MAX_FOREST_MODELS]
    rows = {model: list(_rows(study, label, model)) for model in shown}
    every = [row for part in rows.values() for row in part]
    left, right = (104, 4) if narrow else (200, 200)
    width = plot_width(left, right, narrow=narrow)
    height = _FOREST_ROW * (len(rows) + len(every))
    chart = Chart(width, height, left=left, right=right, top=6, bottom=30)
    ends = [end for row in every for end in (*row.interval, row.value)]
    x = padded_scale([0.0, *ends], 0, width)
    draw_differences_axis(chart, x, narrow=narrow)
    draw_zero_line(chart, x, 0, height)
    y = _FOREST_ROW / 2
    for model, part in rows.items():
        with chart.group(model):
            chart.text(-left, y, _name(model, narrow=narrow), 14, "ink", bold=True)
            for row in part:
                y += _FOREST_ROW
                _draw_marks(chart, x, y, row)
                chart.text(12 - left, y, _name(row.name, narrow=narrow), 12, "ink-soft")
                if not narrow:
                    number_y = y - 6 if row.reason else y
                    chart.text(width + 16, number_y, row.number, 13, row.tone, bold=True)
                    chart.text(width + 16, y + 7, row.reason, 11, "ink-soft")
            y += _FOREST_ROW
    title = f"{label}: differences to {study.baseline} over data sets"
    return chart.markup(title, "; ".join(row.plain for row in every))


def _name(name: str, *, narrow: bool) -> str:
    return shorten(name, 14 if narrow else 26)


def _rows(study: Study, label: str, model: str) -> Iterator[_Row]:
    decimals, cells = digits(study, label), study.cells_of(label)
    for each in study.datasets:
        yield _dataset_row(cells[each.name, model], decimals)
    (pair,) = [p for p in study.pairs_of(label) if p.a == model and p.vs_baseline]
    yield _mean_row(study, pair, decimals)


def _dataset_row(cell: Cell, decimals: int) -> _Row:
    number = signed(cell.difference, decimals)
    interval = signed_interval(cell.diff_low, cell.diff_high, decimals)
    plain = f"{cell.model} on {cell.dataset}: {numbers.with_details(number, interval)}"
    ends = cell.diff_low, cell.diff_high
    return _Row(cell.dataset, cell.difference, ends, number, plain, "open")


def _mean_row(study: Study, pair: Pair, decimals: int) -> _Row:
    style = VERDICTS[pair.verdict]
    word = style.word.split(",")[0]
    less = perhaps_less(pair.verdict, effect_text(study, pair.label)).removeprefix(", ")
    reason = reason_text(pair) or less
    name = f"over {pair.n_datasets} of {len(study.datasets)}"
    mean = difference_with_interval(pair, decimals)
    plain = f"{pair.a}, mean {name} data sets: {mean}, {word} {reason}".rstrip()
    number = f"{signed(pair.difference, decimals)} {word}"
    ends = pair.ci_low, pair.ci_high
    return _Row(name, pair.difference, ends, number, plain, style.tone, reason, is_mean=True)


def _draw_marks(chart: Chart, x: Linear, y: float, row: _Row) -> None:
    if row.value is None:
        return
    shape, radius = (DIAMOND, 5.6) if row.is_mean else (CIRCLE, 3.4)
    with chart.group(hover=row.plain):
        draw_interval(chart, x, y, row.interval, row.tone)
        chart.symbol((x(row.value), y), shape, radius, stroke=row.tone, fill=row.tone)
