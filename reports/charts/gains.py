"""Users gained and lost: shares of users worse and better off, and the spread of differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.differences import draw_zero_line
from concord.reports.charts.plots import (
    LONG_NAME,
    NAME,
    Linear,
    draw_axis,
    padded_scale,
    plot_width,
    shorten,
    signed_ticks,
)
from concord.reports.charts.svg import CIRCLE, Chart
from concord.reports.text import numbers
from concord.reports.text.tables import against_baseline

PERCENTILES = (5, 25, 50, 75, 95)
_DENSE = 12  # with this number of models or more, rows are lower
_BAR = 14  # pixels


@dataclass(frozen=True)
class Gain:
    """A model's difference to the baseline, and its percentiles over the users who differ."""

    pair: Difference
    percentiles: Mapping[int, float]

    @property
    def worse(self) -> float:
        return self.pair.worse or 0.0

    @property
    def better(self) -> float:
        return self.pair.better or 0.0


def gains(comparison: Comparison, label: str) -> list[Gain]:
    """Return the models that have shares of better and worse users, in leaderboard order.

    Percentiles are empty if no user has another value than with the baseline.
    """
    quantiles = {
        each.a: each.quantiles
        for each in comparison.distributions
        if each.label == label and each.b == comparison.baseline
    }
    return [
        Gain(pair, {p: quantiles[pair.a][p] for p in PERCENTILES} if quantiles.get(pair.a) else {})
        for pair in against_baseline(comparison, label)
        if pair.better is not None
    ]


def has_gains(comparison: Comparison) -> bool:
    """True if a primary metric has shares of better and worse users."""
    return any(gains(comparison, label) for label in comparison.primary)


def percentile_text(comparison: Comparison, gain: Gain, percentile: int) -> str:
    """Return a percentile as text."""
    digits = comparison.decimals[gain.pair.label]
    return numbers.signed(gain.percentiles.get(percentile), digits)


def gain_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return bars of the shares of users, beside an interval plot of their differences.

    Bars begin at the middle: to the left users who are worse off, to the right better off. In the
    interval plot, a thin line goes from the 5th to the 95th percentile, a thick one from the 25th
    to the 75th; the dot is the median. Better is to the right in both.
    """
    rows = gains(comparison, label)
    left, right = (0, 4) if narrow else (140, 130)
    width = plot_width(left, right, narrow=narrow)
    row_height = 46 if narrow else 32 if len(rows) < _DENSE else 24
    chart = Chart(width, row_height * len(rows), left=left, right=right, top=30, bottom=30)
    reach = max((share for row in rows for share in (row.worse, row.better)), default=0.0) or 1.0
    bars = Linear(-reach, reach, *((0, 160) if narrow else (52, 298)))
    spread = _spread_scale(rows, 190 if narrow else 370, width)
    chart.text(bars(0) - 6, -14, "worse", 12, "worse", anchor="end")
    chart.text(bars(0) + 6, -14, "better", 12, "better")
    if spread:
        if not comparison.metric(label).higher_is_better:
            spread = Linear(spread.high, spread.low, spread.start, spread.end)
        draw_axis(chart, spread, signed_ticks(spread, 4), grid=not narrow)
        chart.text(spread.start, -14, "by how much", 12, "ink-soft")
    plain = []
    for i, row in enumerate(rows):
        y, model = (i + 0.5) * row_height, row.pair.a
        shares, percentiles = _shares_text(row), _percentiles_text(comparison, row)
        with chart.group(model):
            with chart.group(hover=f"{model}: {shares}"):
                _draw_bars(chart, bars, y, row, with_shares=not narrow)
            _draw_zero_line(chart, bars, y, row_height, narrow=narrow)
            if spread:
                _draw_zero_line(chart, spread, y, row_height, narrow=narrow)
            if spread and percentiles:
                with chart.group(hover=f"{model}: {percentiles}"):
                    _draw_spread(chart, spread, y, row.percentiles)
            _draw_texts(chart, y, row, narrow=narrow)
        plain.append(f"{model}: {'; '.join(filter(None, (shares, percentiles)))}")
    title = f"{label}: users worse and better off than with {comparison.baseline}"
    return chart.markup(title, "; ".join(plain))


def _shares_text(row: Gain) -> str:
    worse, equal, better = map(numbers.share, (row.worse, row.pair.equal, row.better))
    return f"{worse} worse, {equal} unchanged, {better} better"


def _percentiles_text(comparison: Comparison, row: Gain) -> str:
    texts = [f"{p} %: {percentile_text(comparison, row, p)}" for p in row.percentiles]
    return f"percentiles {', '.join(texts)}" if texts else ""


def _spread_scale(rows: Sequence[Gain], start: float, end: float) -> Linear | None:
    """Return the scale of the percentiles; None if no model ever differs."""
    ends = [row.percentiles[p] for row in rows if row.percentiles for p in (5, 95)]
    return padded_scale([0.0, *ends], start, end) if ends else None


def _draw_bars(chart: Chart, bars: Linear, y: float, row: Gain, *, with_shares: bool) -> None:
    worse, better = bars(-row.worse), bars(row.better)
    chart.rect(worse, y - _BAR / 2, bars(0), y + _BAR / 2, "worse")
    chart.rect(bars(0), y - _BAR / 2, better, y + _BAR / 2, "better")
    if with_shares:
        chart.text(worse - 6, y, numbers.share(row.worse), 13, "ink", anchor="end")
        chart.text(better + 6, y, numbers.share(row.better), 13, "ink")


def _draw_spread(chart: Chart, x: Linear, y: float, percentiles: Mapping[int, float]) -> None:
    for low, high, width in ((5, 95, 1.5), (25, 75, 7)):
        ends = [(x(percentiles[low]), y), (x(percentiles[high]), y)]
        chart.line(ends, "line-strong", width)
    chart.symbol((x(percentiles[50]), y), CIRCLE, 4.18, stroke="ink", fill="page", width=2)


def _draw_zero_line(chart: Chart, x: Linear, y: float, row_height: int, *, narrow: bool) -> None:
    """Draw the line of no difference; it must not cross texts above the marks."""
    above, below = (0.2, 0.45) if narrow else (0.5, 0.5)
    draw_zero_line(chart, x, y - above * row_height, y + below * row_height)


def _draw_texts(chart: Chart, y: float, row: Gain, *, narrow: bool) -> None:
    """Write name and shares of users: beside the marks, or above them."""
    if narrow:
        shares = f"{numbers.share(row.worse)} worse, {numbers.share(row.better)} better"
        chart.text(0, y - 17, shorten(row.pair.a, LONG_NAME), 13, "ink")
        chart.text(chart.width, y - 17, shares, 13, "ink-soft", anchor="end")
    else:
        unchanged = f"{numbers.share(row.pair.equal)} unchanged"
        chart.text(-140, y, shorten(row.pair.a, NAME), 14, "ink")
        chart.text(chart.width + 126, y, unchanged, 13, "ink-soft", anchor="end")
