"""Charts of differences: intervals, also over replicates."""

from itertools import accumulate
from typing import Literal

from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.plots import (
    LONG_NAME,
    NAME,
    Linear,
    draw_axis,
    draw_verdict,
    padded_scale,
    plot_width,
    shorten,
    signed_ticks,
)
from concord.reports.charts.references import draw_references
from concord.reports.charts.svg import CIRCLE, SQUARE, Anchor, Chart
from concord.reports.text.numbers import (
    difference_with_interval,
    exact,
    number,
    signed,
    signed_interval,
)
from concord.reports.text.references import texts
from concord.reports.text.replicates import single_differences
from concord.reports.text.tables import (
    against_baseline,
    min_effect,
)
from concord.reports.text.verdict_styles import VERDICTS

_DENSE = 12  # with this number of models or more, rows are lower
_LEGIBLE = 0.4  # share of a common axis that each metric must fill
_NARROW_TEXT = 155  # pixels of a text above a row
_LETTER = 7.2  # pixels of a letter of such a text
_TEXT_ABOVE = 17  # pixels from the marks of a narrow row up to its text
_MARKS_ABOVE, _MARKS_BELOW = 8, 20  # pixels of a narrow row that have no text, from its marks
_BASELINE = 24  # pixels of the row of the baseline
_NAMES = {"alone": 140, "left": 130, "right": 0}  # pixels of the names of models
_WIDTHS = {"alone": 940, "left": 550, "right": 420}  # pixels of a chart
_COLUMNS = 260  # pixels of the columns beside the plot, of which these are places
_MEAN, _DIFFERENCE, _VERDICT = 50, 122, 138
_EDGE = 0.2  # of the width, in which a name is not centred


def draw_differences_axis(chart: Chart, x: Linear, *, narrow: bool) -> None:
    """Draw the axis of differences of an interval plot."""
    draw_axis(chart, x, signed_ticks(x, 4 if narrow else 6))


def draw_interval(
    chart: Chart, x: Linear, y: float, ends: tuple[float | None, float | None], colour: str
) -> None:
    """Draw an interval if there is one."""
    low, high = ends
    if low is not None and high is not None:
        chart.line([(x(low), y), (x(high), y)], colour, 2, cap="round")


def draw_band(chart: Chart, x: Linear, band: float, top: float, bottom: float) -> None:
    """Draw the band of differences that are too small to matter."""
    with chart.group(hover=f"within ±{exact(float(f'{band:.3g}'))}"):
        chart.rect(x(-band), top, x(band), bottom, "band")


def draw_zero_line(chart: Chart, x: Linear, top: float, bottom: float) -> None:
    """Draw the line of no difference."""
    chart.line([(x(0), top), (x(0), bottom)], "ink-soft")


def draw_baseline_name(chart: Chart, x: Linear, baseline: str) -> None:
    """Write the name of the baseline above the line of no difference, inside the chart."""
    position = x(0) / chart.width
    anchor: Anchor = "start" if position < _EDGE else "end" if position > 1 - _EDGE else "middle"
    chart.text(x(0), -12, shorten(baseline, NAME), 12, "ink-soft", anchor=anchor)


Place = Literal["alone", "left", "right"]  # of a chart; a right one repeats no names


def difference_chart(
    comparison: Comparison, label: str, place: Place = "alone", *, narrow: bool
) -> Markup:
    """Return the interval plot, with a band of differences that are too small to matter.

    Beside it are mean, difference and verdict; above it are the names of references.
    """
    rows = _model_rows(comparison, label)
    more = 10 * max(0, max(len(row.difference) for row in rows) - len("+0.067"))
    left, right = (0, 4) if narrow else (_NAMES[place], _COLUMNS + 2 * more)
    width = plot_width(left, right, narrow=True) if narrow else _WIDTHS[place] - left - right
    row_height = 46 if narrow else 28 if len(rows) <= _DENSE else 25
    heights = [row_height if row.pair else _BASELINE for row in rows]
    *tops, height = accumulate(heights, initial=0)
    middles = [top + own // 2 for top, own in zip(tops, heights, strict=True)]
    chart = Chart(width, height, left=left, right=right, top=20, bottom=22)
    x = padded_scale(_common_ends(comparison, label), 0, width)
    draw_differences_axis(chart, x, narrow=narrow or place != "alone")
    draw_band(chart, x, min_effect(comparison, label), 0, height)
    draw_zero_line(chart, x, 0, height)
    marks = [
        (y - _MARKS_ABOVE, y + _MARKS_BELOW)
        for y, row in zip(middles, rows, strict=True)
        if row.pair
    ]
    spans = marks if narrow else [(0.0, float(height))]
    draw_references(chart, x, comparison, label, spans, beyond=place == "alone")
    for row, y in zip(rows, middles, strict=True):
        with chart.group(row.model):
            _draw_marks(chart, x, y, row)
            if narrow:
                _draw_texts_above(chart, x, y - _TEXT_ABOVE if row.pair else y, row)
            else:
                chart.text(-left, y, shorten(row.model, NAME) if left else "", 14, row.ink)
                _draw_columns(chart, y, row, more)
    if not narrow:
        chart.text(width + more + _MEAN, -12, "mean", 12, "ink-faint", anchor="end")
        head = width + 2 * more + _DIFFERENCE
        chart.text(head, -12, "difference", 12, "ink-faint", anchor="end")
    plain = [row.plain for row in rows]
    plain += [f"reference {name}: {text}" for name, text in texts(comparison, label).items()]
    title = f"{label}: mean of each model, and its difference to {comparison.baseline}"
    return chart.markup(title, "; ".join(plain))


class _ModelRow:
    """Texts of a model: its mean, and its difference to the baseline unless it is the baseline."""

    def __init__(
        self, comparison: Comparison, label: str, model: str, pair: Difference | None
    ) -> None:
        digits = comparison.decimals[label]
        self.model, self.pair = model, pair
        self.mean = number(comparison.score(model, label).mean, digits)
        self.word, self.tone, self.ink = "baseline", "ink-soft", "ink-soft"
        self.difference = ""
        self.hover = f"{model}: {self.mean}, baseline"
        if pair is not None:
            style = VERDICTS[pair.verdict]
            self.word, self.tone, self.ink = style.word, style.tone, "ink"
            self.difference = signed(pair.difference, digits)
            self.hover = f"{model}: {difference_with_interval(pair, digits)}, {style.word}"

    @property
    def plain(self) -> str:
        """Return the texts of the row for screen readers."""
        return f"{self.model}: {self.mean}, {f'{self.difference} {self.word}'.lstrip()}"


def _model_rows(comparison: Comparison, label: str) -> list[_ModelRow]:
    """Return the baseline and the models that were compared with it, as in the leaderboard."""
    pairs = {pair.a: pair for pair in against_baseline(comparison, label)}
    models = [model for model in comparison.ranked if model in {*pairs, comparison.baseline}]
    return [_ModelRow(comparison, label, model, pairs.get(model)) for model in models]


def _common_ends(comparison: Comparison, label: str) -> list[float]:
    """Return the ends of all primary labels with the same band, so that it looks alike.

    If one of these would fill too little of the axis, each has its own.
    """
    band = min_effect(comparison, label)
    labels = [other for other in comparison.primary if min_effect(comparison, other) == band]
    ends = [_ends(comparison, other) for other in labels]
    common = [end for each in ends for end in each]
    length = max(common) - min(common)
    is_legible = all(max(each) - min(each) >= _LEGIBLE * length for each in ends)
    return common if is_legible else _ends(comparison, label)


def _ends(comparison: Comparison, label: str) -> list[float]:
    """Return the numbers that the axis of a label must hold."""
    band, rows = min_effect(comparison, label), against_baseline(comparison, label)
    ends = (n for each in rows for n in (each.difference, each.ci_low, each.ci_high))
    return [0.0, -band, band, *(n for n in ends if n is not None)]


def _draw_marks(chart: Chart, x: Linear, y: float, row: _ModelRow) -> None:
    """Draw interval and verdict; a square on the line of no difference for the baseline."""
    with chart.group(hover=row.hover):
        if row.pair is None:
            chart.symbol((x(0), y), SQUARE, 3, stroke="ink-soft", fill="ink-soft")
        elif row.pair.difference is not None:
            draw_interval(chart, x, y, (row.pair.ci_low, row.pair.ci_high), row.tone)
            draw_verdict(chart, (x(row.pair.difference), y), row.pair.verdict, 5.7, "raised")


def _draw_columns(chart: Chart, y: float, row: _ModelRow, more: int) -> None:
    """Write the numbers of a model beside its marks, with `more` pixels for each of the two."""
    right, is_bold = chart.width + 2 * more, row.pair is not None
    chart.text(right + _MEAN - more, y, row.mean, 14, row.ink, anchor="end")
    chart.text(right + _DIFFERENCE, y, row.difference, 14, row.tone, anchor="end", bold=True)
    if row.pair is not None:
        draw_verdict(chart, (right + _VERDICT, y), row.pair.verdict, 3.87, "raised", width=1.5)
    word, _, rest = row.word.partition(", ")
    lines = [(y - 6, f"{word},"), (y + 6, rest)] if rest else [(y, word)]
    for line_y, text in lines:
        size = 11 if rest else 13
        chart.text(right + _VERDICT + 12, line_y, text, size, row.tone, bold=is_bold)


def _draw_texts_above(chart: Chart, x: Linear, y: float, row: _ModelRow) -> None:
    """Write name, mean, difference and verdict beside the line of no difference."""
    zero = x(0)
    left = 0 if zero > _NARROW_TEXT else zero + 6
    right = chart.width if zero < chart.width - _NARROW_TEXT else zero - 6
    value_text = f"{row.difference} {row.word}".lstrip()
    n_letters = min(LONG_NAME, int((right - left) / _LETTER) - len(value_text) - 1)
    name = shorten(row.model, n_letters - len(row.mean) - 1)
    chart.text(left, y, f"{name} {row.mean}", 13, row.ink)
    chart.text(right, y, value_text, 13, row.tone, anchor="end", bold=row.pair is not None)


_BELOW = 13  # pixels from the line of a row down to its marks of single trainings


def replicate_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return the interval plot.

    The thick interval is over users, the thin one over users and new trainings. The marks below
    are the differences of single trainings.
    """
    rows = [_Row(comparison, each) for each in against_baseline(comparison, label)]
    left, right = (4, 4) if narrow else (140, 270)
    width = plot_width(left, right, narrow=narrow)
    row_height = 66 if narrow else 48
    chart = Chart(width, row_height * len(rows), left=left, right=right, top=26, bottom=30)
    x = padded_scale([0.0, *(end for row in rows for end in row.ends)], 0, width)
    draw_differences_axis(chart, x, narrow=narrow)
    draw_baseline_name(chart, x, comparison.baseline)
    above, below = (0.12, 0.45) if narrow else (0.5, 0.5)  # not across the texts above the marks
    for i, row in enumerate(rows):
        y = (i + 0.5) * row_height
        draw_zero_line(chart, x, y - above * row_height, y + below * row_height)
        with chart.group(row.pair.a):
            _draw_replicate_marks(chart, x, y, row)
            _draw_texts(chart, y, row, narrow=narrow)
    title = (
        f"{label}: difference of each model to {comparison.baseline}, over users only and over "
        "replicates"
    )
    return chart.markup(title, "; ".join(row.plain for row in rows))


class _Row:
    """The difference of a model to the baseline, over users and over replicates."""

    def __init__(self, comparison: Comparison, pair: Difference) -> None:
        self.pair = pair
        self.digits = comparison.decimals[pair.label]
        self.replicated = comparison.retrained(pair.a, pair.b, pair.label)
        self.single = single_differences(comparison, pair.a, pair.label)
        self.users_style = VERDICTS[pair.verdict]
        self.style = VERDICTS[self.replicated.verdict] if self.replicated else self.users_style
        self.word = self.style.word if self.replicated else "trained once"
        self.number = signed(pair.difference, self.digits)

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Return the interval over users and replicates."""
        return (
            (self.replicated.ci_low, self.replicated.ci_high) if self.replicated else (None, None)
        )

    @property
    def ends(self) -> list[float | None]:
        """Return the numbers that the axis must hold."""
        pair = self.pair
        return [pair.difference, pair.ci_low, pair.ci_high, *self.interval, *self.single]

    @property
    def plain(self) -> str:
        """Return the row as text."""
        texts = [f"{self.pair.a}: {self.number}"]
        if users := signed_interval(self.pair.ci_low, self.pair.ci_high, self.digits):
            texts.append(f"users only {users}, {self.users_style.word}")
        if both := signed_interval(*self.interval, self.digits):
            texts.append(f"over replicates, too: {both}, {self.style.word}")
        return "; ".join(texts)


def _draw_replicate_marks(chart: Chart, x: Linear, y: float, row: _Row) -> None:
    low, high, tone = row.pair.ci_low, row.pair.ci_high, row.style.tone
    with chart.group(hover=row.plain):
        if low is not None and high is not None:
            chart.line([(x(low), y), (x(high), y)], "line-strong", 9)
        draw_interval(chart, x, y, row.interval, tone)
        if row.pair.difference is not None:
            chart.symbol((x(row.pair.difference), y), CIRCLE, 3.2, stroke=tone, fill=tone)
    for difference in row.single:
        text = f"{row.pair.a}, a single replicate: {signed(difference, row.digits)}"
        with chart.group(hover=text):
            place = x(difference), y + _BELOW
            chart.symbol(place, CIRCLE, 2.55, stroke="ink-soft", width=1.25)


def _draw_texts(chart: Chart, y: float, row: _Row, *, narrow: bool) -> None:
    """Write name, difference and verdict of a row: beside it, or above it if narrow."""
    tone, right = row.style.tone, chart.width
    if narrow:
        value_text = f"{row.number} {row.word}"
        chart.text(0, y - 17, shorten(row.pair.a, LONG_NAME), 13, "ink")
        chart.text(right, y - 17, value_text, 13, tone, anchor="end", bold=True)
        return
    chart.text(-140, y, shorten(row.pair.a, NAME), 14, "ink")
    chart.text(right + 72, y, row.number, 14, tone, anchor="end", bold=True)
    chart.text(right + 88, y, row.word, 13, "ink-soft")
    if row.style != row.users_style:
        chart.text(right + 88, y + 15, f"users only: {row.users_style.word}", 11, "ink-faint")
