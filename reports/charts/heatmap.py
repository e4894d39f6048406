"""Heat map of the pairs of many models: row minus column, one small cell for each pair."""

from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.plots import draw_verdict, shorten
from concord.reports.charts.svg import Chart
from concord.reports.text.numbers import signed, signed_interval
from concord.reports.text.verdict_styles import VERDICTS

_WIDTH = 776  # pixels for all cells
_SMALLEST, _LARGEST = 16, 40  # pixels for one cell
_LEFT, _NAME = 160, 18  # pixels and characters of the names


def pair_heatmap(comparison: Comparison, label: str) -> Markup:
    """Return the heat map, models in the order of the leaderboard; columns have row numbers."""
    models = comparison.ranked
    size = min(max(_WIDTH // len(models), _SMALLEST), _LARGEST)
    width = size * len(models)
    chart = Chart(width, width, left=_LEFT, right=4, top=24, bottom=4)
    for i, a in enumerate(models):
        middle = (i + 0.5) * size
        chart.text(-_LEFT, middle, shorten(a, _NAME), 13, "ink")
        chart.text(-10, middle, f"{i + 1}", 11, "ink-faint", anchor="end")
        chart.text(middle, -10, f"{i + 1}", 11, "ink-faint", anchor="middle")
        for j, b in enumerate(models[i + 1 :], start=i + 1):
            pair = comparison.difference(a, b, label)
            if pair is not None:
                _draw_cell(chart, (j * size, i * size), size, comparison, pair)
    title = f"{label}: row minus column, each pair of models once"
    return chart.markup(title, "The table that follows has numbers.")


def _draw_cell(
    chart: Chart, corner: tuple[float, float], size: int, comparison: Comparison, pair: Difference
) -> None:
    digits = comparison.decimals[pair.label]
    interval = signed_interval(pair.ci_low, pair.ci_high, digits)
    found = f"{signed(pair.difference, digits)} ({interval}), {VERDICTS[pair.verdict].word}"
    x, y = corner
    chart.rect(x + 1, y + 1, x + size - 1, y + size - 1, "band")
    with chart.group(pair.a, pair.b, hover=f"{pair.a} minus {pair.b}: {found}"):
        middle = x + size / 2, y + size / 2
        draw_verdict(chart, middle, pair.verdict, (1.05 * size) ** 0.5, "band", width=1.25)
