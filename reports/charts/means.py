"""Plot of means: each model's mean on a metric with its interval."""

from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.reports.charts.differences import draw_interval
from concord.reports.charts.plots import (
    NAME,
    draw_axis,
    number_ticks,
    padded_scale,
    plot_width,
    shorten,
)
from concord.reports.charts.svg import Chart, model_styles
from concord.reports.text import numbers
from concord.reports.text.summary import confidence
from concord.reports.text.tables import marks

_ROW = 28  # pixels
_NAMES, _NUMBERS = 140, 280  # pixels left and right of the plot


def means_chart(comparison: Comparison, label: str) -> Markup:
    """Return a row per model, best first: mean with its interval, and a mark if it leads."""
    digits, leading = comparison.decimals[label], marks(comparison, label)
    models = [*comparison.leaders(label), *comparison.others(label)]
    scores = [comparison.score(model, label) for model in models]
    width = plot_width(_NAMES, _NUMBERS, narrow=False)
    chart = Chart(width, _ROW * len(models), left=_NAMES, right=_NUMBERS, top=20, bottom=22)
    ends = [end for each in scores for end in (each.mean, each.ci_low, each.ci_high)]
    x = padded_scale(ends if any(end is not None for end in ends) else [0.0, 1.0], 0, width)
    draw_axis(chart, x, number_ticks(x, 6))
    styles = model_styles(comparison.model_order, comparison.baseline)
    plain = []
    for row, (model, score) in enumerate(zip(models, scores, strict=True)):
        y, style = (row + 0.5) * _ROW, styles[model]
        mean = numbers.number(score.mean, digits)
        span = numbers.interval(score.ci_low, score.ci_high, digits)
        plain.append(f"{model}: {mean} ({span})" if span else f"{model}: {mean}")
        with chart.group(model, hover=plain[-1]):
            chart.text(-_NAMES, y, shorten(model, NAME), 14, "ink")
            draw_interval(chart, x, y, (score.ci_low, score.ci_high), style.colour)
            if score.mean is not None:
                place = x(score.mean), y
                chart.symbol(place, style.shape, 5, stroke=style.colour, fill=style.colour)
            chart.text(width + 64, y, mean, 14, "ink", anchor="end", bold=True)
            chart.text(width + 80, y, span, 13, "ink-soft")
            chart.text(width + 220, y, leading.get(model, ""), 13, "ink-soft")
    chart.text(width + 64, -12, "mean", 12, "ink-faint", anchor="end")
    chart.text(width + 80, -12, f"{confidence(comparison)} interval", 12, "ink-faint")
    return chart.markup(f"{label}: mean of each model", "; ".join(plain))
