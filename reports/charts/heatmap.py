"""Heat map of the pairs of many models: row minus column, one small cell for each pair."""

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.primitives import (
    HOVER,
    INSIDE,
    SHAPE,
    STROKE,
    Row,
    plot,
    scale,
    shorten,
    tag,
    text_layer,
    verdict_columns,
    x_at,
    y_at,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text.numbers import signed, signed_interval
from concord.reports.text.verdict_styles import VERDICTS

_WIDTH = 776  # pixels for all cells
_SMALLEST, _LARGEST = 16, 40  # pixels for one cell
_MARGINS = {"left": 160, "right": 4, "top": 24, "bottom": 4}


def pair_heatmap(comparison: Comparison, label: str) -> Markup:
    """Return the heat map, models in the order of the leaderboard; columns have row numbers."""
    models = comparison.ranked
    n = len(models)
    size = min(max(_WIDTH // n, _SMALLEST), _LARGEST)
    cells = [
        _cell(comparison, difference, (i, j))
        for i, a in enumerate(models)
        for j, b in enumerate(models)
        if i < j and (difference := comparison.difference(a, b, label)) is not None
    ]
    x = alt.X("column:Q", scale=scale(-0.5, n - 0.5), axis=None)
    y = alt.Y("row:Q", scale=scale(n - 0.5, -0.5), axis=None)
    squares = plot(cells).mark_square(size=(size - 2) ** 2, color=light("band"), opacity=1)
    verdicts = plot(cells).mark_point(size=4.2 * size, strokeWidth=1.25, opacity=1, aria=True)
    names = [
        {"row": i, "column": i, "name": shorten(model, 18), "number": f"{i + 1}"}
        for i, model in enumerate(models)
    ]
    layers = [
        squares.encode(x=x, y=y),
        verdicts.encode(x=x, y=y, shape=SHAPE, stroke=STROKE, fill=INSIDE, description=HOVER),
        text_layer(names, "name", 13, "ink", x=x_at(-_MARGINS["left"]), y=y, align="left"),
        text_layer(names, "number", 11, "ink-faint", x=x_at(-10), y=y, align="right"),
        text_layer(names, "number", 11, "ink-faint", x=x, y=y_at(-10)),
    ]
    title = f"{label}: row minus column, each pair of models once"
    description = "The table that follows has numbers."
    return render_svg(layers, (size * n, size * n), _MARGINS, title, description)


def _cell(comparison: Comparison, difference: Difference, position: tuple[int, int]) -> Row:
    digits = comparison.decimals[difference.label]
    a, b = difference.a, difference.b
    interval = signed_interval(difference.ci_low, difference.ci_high, digits)
    word = VERDICTS[difference.verdict].word
    hover = f"{a} minus {b}: {signed(difference.difference, digits)} ({interval}), {word}"
    return {
        "row": position[0],
        "column": position[1],
        "hover": tag(hover, a, b),
        **verdict_columns(difference.verdict, "band"),
    }
