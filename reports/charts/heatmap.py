"""All pairs at a glance for many models: row minus column, one small cell each."""

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.primitives import (
    HOVER,
    INSIDE,
    STROKE,
    Row,
    scale,
    shortened,
    tag,
    text,
    values,
    x_at,
    y_at,
)
from concord.reports.charts.svg import light, picture
from concord.reports.text import numbers
from concord.reports.text.numbers import signed, signed_interval
from concord.reports.text.verdict_styles import VERDICTS

_WIDTH = 776  # pixels for all cells
_SMALLEST, _LARGEST = 16, 40  # pixels for one cell
_MARGINS = {"left": 160, "right": 4, "top": 24, "bottom": 4}


def pair_heatmap(comparison: Comparison, label: str) -> Markup:
    """Return models in the order of the leaderboard; columns are numbered as the rows are."""
    models = comparison.ranked
    n = len(models)
    size = min(max(_WIDTH // n, _SMALLEST), _LARGEST)
    cells = [
        _cell(comparison, difference, (i, j))
        for i, a in enumerate(models)
        for j, b in enumerate(models)
        if i != j and (difference := comparison.difference(a, b, label)) is not None
    ]
    x = alt.X("column:Q", scale=scale(-0.5, n - 0.5), axis=None)
    y = alt.Y("row:Q", scale=scale(n - 0.5, -0.5), axis=None)
    paths = [verdict.path for verdict in VERDICTS.values()]
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=list(VERDICTS), range=paths), legend=None)
    ground = values(cells).mark_square(size=(size - 2) ** 2, color=light("band"), opacity=1)
    cell_marks = values(cells).mark_point(size=4.2 * size, strokeWidth=1.25, opacity=1, aria=True)
    names = [
        {"row": i, "column": i, "name": shortened(model, 18), "number": f"{i + 1}"}
        for i, model in enumerate(models)
    ]
    layers = [
        ground.encode(x=x, y=y),
        cell_marks.encode(x=x, y=y, shape=shape, stroke=STROKE, fill=INSIDE, description=HOVER),
        text(names, "name", 13, "ink", align="left").encode(x=x_at(-_MARGINS["left"]), y=y),
        text(names, "number", 11, "ink-faint", align="right").encode(x=x_at(-10), y=y),
        text(names, "number", 11, "ink-faint").encode(x=x, y=y_at(-10)),
    ]
    title = f"{label}: row minus column, all pairs of models"
    description = "The table that follows holds every pair."
    return picture(layers, (size * n, size * n), _MARGINS, title, description)


def _cell(comparison: Comparison, difference: Difference, position: tuple[int, int]) -> Row:
    verdict = VERDICTS[difference.verdict]
    digits = numbers.difference_digits(comparison, difference.label)
    a, b = difference.a, difference.b
    interval = signed_interval(difference.ci_low, difference.ci_high, digits)
    hover = f"{a} minus {b}: {signed(difference.difference, digits)} ({interval}), {verdict.word}"
    return {
        "row": position[0],
        "column": position[1],
        "verdict": difference.verdict,
        "colour": light(verdict.tone),
        "inside": light(verdict.tone if verdict.filled else "band"),
        "hover": tag(hover, a, b),
    }
