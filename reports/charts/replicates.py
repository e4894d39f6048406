"""Interval plot of differences to the baseline, over users only and over replicates."""

from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.colours import CIRCLE
from concord.reports.charts.intervals import (
    draw_baseline_name,
    draw_differences_axis,
    draw_interval,
    draw_zero_line,
)
from concord.reports.charts.plots import LONG_NAME, NAME, Linear, padded_scale, plot_width, shorten
from concord.reports.charts.svg import Chart
from concord.reports.text.numbers import signed, signed_interval
from concord.reports.text.replicates import single_differences
from concord.reports.text.tables import against_baseline
from concord.reports.text.verdict_styles import VERDICTS

_BELOW = 13  # pixels from the line of a row down to its marks of single trainings


def replicate_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return the interval plot.

    The thick interval is over users, the thin one over users and new trainings. The marks below
    are the differences of single trainings.
    """
    rows = [_Row(comparison, each) for each in against_baseline(comparison, label)]
    left, right = (4, 4) if narrow else (140, 190)
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
            _draw_marks(chart, x, y, row)
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


def _draw_marks(chart: Chart, x: Linear, y: float, row: _Row) -> None:
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
        found = f"{row.number} {row.word}"
        chart.text(0, y - 17, shorten(row.pair.a, LONG_NAME), 13, "ink")
        chart.text(right, y - 17, found, 13, tone, anchor="end", bold=True)
        return
    chart.text(-140, y, shorten(row.pair.a, NAME), 14, "ink")
    chart.text(right + 72, y, row.number, 14, tone, anchor="end", bold=True)
    chart.text(right + 88, y, row.word, 13, "ink-soft")
    if row.style != row.users_style:
        chart.text(right + 88, y + 15, f"users only: {row.users_style.word}", 11, "ink-faint")
