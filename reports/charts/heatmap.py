"""All pairs at a glance for many models: row minus column, one small cell each."""

from typing import Any

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.reports.charts.svg import light, picture, shortened, told, values, x_at, y_at
from concord.reports.writing import numbers
from concord.reports.writing.numbers import signed, signed_interval
from concord.reports.writing.verdicts import VERDICTS

_WIDTH = 776  # pixels for all cells
_SMALLEST, _LARGEST = 16, 40  # pixels for one cell
_MARGINS = {"left": 160, "right": 4, "top": 24, "bottom": 4}


def pair_heatmap(comparison: Comparison, label: str) -> Markup:
    """Models in the order of the leaderboard; columns are numbered as the rows are."""
    n = len(comparison.ranked)
    size = min(max(_WIDTH // n, _SMALLEST), _LARGEST)
    found = (_cell(comparison, label, i, j) for i in range(n) for j in range(n))
    cells = [cell for cell in found if cell is not None]
    rightwards = alt.Scale(domain=[-0.5, n - 0.5], nice=False, zero=False)
    downwards = alt.Scale(domain=[n - 0.5, -0.5], nice=False, zero=False)
    layers = [
        *_marks(cells, size, rightwards, downwards),
        *_names(comparison.ranked, rightwards, downwards),
    ]
    title = f"{label}: row minus column, all pairs of models"
    about = "The table that follows holds every pair."
    return picture(layers, (size * n, size * n), _MARGINS, title, about)


def _marks(
    cells: list[dict[str, Any]], size: int, rightwards: alt.Scale, downwards: alt.Scale
) -> list[alt.Chart]:
    x = alt.X("column:Q", scale=rightwards, axis=None)
    y = alt.Y("row:Q", scale=downwards, axis=None)
    paths = [verdict.path for verdict in VERDICTS.values()]
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=list(VERDICTS), range=paths), legend=None)
    marks = values(cells).mark_point(size=4.2 * size, strokeWidth=1.25, opacity=1, aria=True)
    ground = values(cells).mark_square(size=(size - 2) ** 2, color=light("band"), opacity=1)
    return [
        ground.encode(x=x, y=y),
        marks.encode(
            x=x,
            y=y,
            shape=shape,
            stroke=alt.Stroke("colour:N", scale=None),
            fill=alt.Fill("inside:N", scale=None),
            description=alt.Description("about:N"),
        ),
    ]


def _names(models: list[str], rightwards: alt.Scale, downwards: alt.Scale) -> list[alt.Chart]:
    rows = [{"at": i, "name": shortened(m, 18), "number": f"{i + 1}"} for i, m in enumerate(models)]
    x = alt.X("at:Q", scale=rightwards, axis=None)
    y = alt.Y("at:Q", scale=downwards, axis=None)
    name = values(rows).mark_text(align="left", fontSize=13, color=light("ink"), limit=0)
    beside = values(rows).mark_text(align="right", fontSize=11, color=light("ink-faint"), limit=0)
    above = values(rows).mark_text(fontSize=11, color=light("ink-faint"), limit=0)
    return [
        name.encode(x=x_at(-_MARGINS["left"]), y=y, text=alt.Text("name:N")),
        beside.encode(x=x_at(-10), y=y, text=alt.Text("number:N")),
        above.encode(x=x, y=y_at(-10), text=alt.Text("number:N")),
    ]


def _cell(comparison: Comparison, label: str, i: int, j: int) -> dict[str, Any] | None:
    row = (
        None if i == j else comparison.difference(comparison.ranked[i], comparison.ranked[j], label)
    )
    if row is None:
        return None
    verdict = VERDICTS[row.verdict]
    digits = numbers.difference_digits_of(comparison, label)
    span = signed_interval(row.ci_low, row.ci_high, digits)
    return {
        "row": i,
        "column": j,
        "verdict": row.verdict,
        "colour": light(verdict.tone),
        "inside": light(verdict.tone) if verdict.filled else light("band"),
        "about": told(
            f"{row.a} minus {row.b}: {signed(row.difference, digits)} ({span}), {verdict.word}",
            row.a,
            row.b,
        ),
    }
