"""Models x data sets: the relative difference to the baseline, as a number on a coloured cell."""

from typing import Any

import altair as alt
from markupsafe import Markup

from concord.metrics_core.studying.parts import Cell
from concord.metrics_core.studying.study import Study
from concord.reports.charts.palette import light
from concord.reports.charts.scales import shortened
from concord.reports.charts.svg import picture, told, values, x_at, y_at
from concord.reports.studying.told import open_ranks, rank_words
from concord.reports.writing import numbers

_STEPS = 4  # of colour, each side
_MOST_WIDE, _MOST_NARROW = 8, 4  # data sets in one picture


def heatmap_charts(study: Study, label: str, *, narrow: bool) -> list[Markup]:
    """As many pictures as it takes to give each data set its width."""
    names, most = [each.name for each in study.datasets], _MOST_NARROW if narrow else _MOST_WIDE
    parts = [names[first : first + most] for first in range(0, len(names), most)]
    return [_chart(study, label, part, narrow=narrow) for part in parts]


def _chart(study: Study, label: str, names: list[str], *, narrow: bool) -> Markup:
    """Models by mean rank, data sets in the order of the study; a cell has the difference and the ranks left open."""
    models = study.ranked(label)
    width, height, left = (350, 44, 92) if narrow else (940, 44, 150)
    most = min(_MOST_NARROW if narrow else _MOST_WIDE, len(study.datasets))
    wide = min((width - left - 4) // most, 150)
    cells = study.cells_of(label)
    largest = max((abs(c.relative) for c in cells.values() if c.relative is not None), default=0)
    rows = [
        _cell(study, cells[name, model], (j, i), largest, rank="" if narrow else "rank ")
        for i, model in enumerate(models)
        for j, name in enumerate(names)
    ]
    x = alt.X("column:Q", axis=None, scale=alt.Scale(domain=[-0.5, len(names) - 0.5], nice=False, zero=False))  # fmt: skip
    y = alt.Y("row:Q", axis=None, scale=alt.Scale(domain=[len(models) - 0.5, -0.5], nice=False, zero=False))  # fmt: skip
    size = 11 if wide < 70 else 13  # noqa: PLR2004 - pixels in which a number fits
    layers = [*_cells(rows, x, y, size, wide), *_sides(models, y, left), *_heads(names, x, wide)]
    right = 4 + wide * (most - len(names))  # as wide as the pictures above
    margins = {"left": left, "right": right, "top": 30, "bottom": 4}
    title = f"{label}: relative difference to {study.baseline}, models by data sets"
    about = "; ".join(row["about_plain"] for row in rows)
    return picture(layers, (wide * len(names), height * len(models)), margins, title, about)


def _cell(
    study: Study, cell: Cell, place: tuple[int, int], largest: float, *, rank: str
) -> dict[str, Any]:
    column, row = place
    share = None if cell.relative is None else cell.relative / largest if largest else 0.0
    higher = study.metric(cell.label).higher_is_better
    tone = "band" if not share else "better" if (share > 0) == higher else "worse"
    shown = "baseline" if cell.model == study.baseline else numbers.relative(cell.relative)
    about = f"{cell.model} on {cell.dataset}: {shown}, {rank_words(cell)}"
    return {
        "column": column,
        "row": row,
        "left": column - 0.48,
        "right": column + 0.48,
        "top": row - 0.46,
        "bottom": row + 0.46,
        "tone": light(tone),
        "strength": 0.08 + 0.32 * round(_STEPS * abs(share)) / _STEPS if share else 1,
        "shown": shown.replace("\N{NO-BREAK SPACE}%", "%"),
        "ranks": "" if cell.rank is None else f"{rank}{open_ranks(cell)}",
        "about_plain": about,
        "about": told(about, cell.model),
    }


def _cells(rows: list[dict[str, Any]], x: alt.X, y: alt.Y, size: int, wide: int) -> list[alt.Chart]:
    ground = values(rows).mark_rect(aria=True)
    number = values(rows).mark_text(fontSize=size, fontWeight=600, dy=-6, color=light("ink"), limit=0)  # fmt: skip
    rank = values(rows).mark_text(fontSize=10 if wide < 70 else 11, dy=9, color=light("ink-soft"), limit=0)  # noqa: PLR2004  # fmt: skip
    return [
        ground.encode(
            x=alt.X("left:Q", axis=None),
            x2=alt.X2("right"),
            y=alt.Y("top:Q", axis=None),
            y2=alt.Y2("bottom"),
            fill=alt.Fill("tone:N", scale=None),
            opacity=alt.Opacity("strength:Q", scale=None),
            description=alt.Description("about:N"),
        ),
        number.encode(x=x, y=y, text=alt.Text("shown:N")),
        rank.encode(x=x, y=y, text=alt.Text("ranks:N")),
    ]


def _sides(models: list[str], y: alt.Y, left: int) -> list[alt.Chart]:
    rows = [{"row": i, "name": shortened(model, max(4, left // 8))} for i, model in enumerate(models)]  # fmt: skip
    text = values(rows).mark_text(align="left", fontSize=13, color=light("ink"), limit=0)
    return [text.encode(x=x_at(-left), y=y, text=alt.Text("name:N"))]


def _heads(names: list[str], x: alt.X, wide: int) -> list[alt.Chart]:
    rows = [{"column": j, "name": shortened(n, max(4, wide // 7))} for j, n in enumerate(names)]
    text = values(rows).mark_text(fontSize=12, color=light("ink-soft"), limit=0)
    return [text.encode(x=x, y=y_at(-12), text=alt.Text("name:N"))]
