"""The critical-difference picture: models on an axis of mean ranks, bars join those that no test tells apart."""

from typing import Any

import altair as alt
from markupsafe import Markup

from concord.metrics_core.studying.study import Study
from concord.reports.charts.palette import light
from concord.reports.charts.scales import shortened
from concord.reports.charts.svg import axis, picture, told, values, x_at
from concord.reports.studying.told import alike, mean_ranks

_ROW, _BAR = 24, 12  # pixels


def critical_chart(study: Study, label: str, *, narrow: bool) -> Markup:
    """The best mean rank is leftmost; each model has a line of its own, so that no name covers another."""
    ranks = mean_ranks(study, label)
    groups = alike(study, label)
    left, width = (112, 178) if narrow else (180, 690)
    domain = [1.0, float(max(len(study.models), 2))]
    head = 16 + _BAR * len(groups)
    height = head + _ROW * len(ranks) + 4
    points = [
        {
            "rank": ranks[model],
            "at": head + _ROW * (i + 0.5),
            "top": 0,
            "name": shortened(model, 13 if narrow else 22),
            "shown": f"{ranks[model]:.2f}",
            "about": told(f"{model}: mean rank {ranks[model]:.2f}", model),
        }
        for i, model in enumerate(ranks)
    ]
    bars = [
        {
            "from": ranks[group[0]],
            "to": ranks[group[-1]],
            "at": 8 + _BAR * i,
            "about": told(f"not told apart: {', '.join(group)}"),
        }
        for i, group in enumerate(groups)
    ]
    whole = list(range(1, int(domain[1]) + 1, max(1, int(domain[1]) // 12)))
    x = alt.X(
        "rank:Q",
        scale=alt.Scale(domain=domain, nice=False, zero=False),
        axis=axis([float(n) for n in whole], "format(datum.value, 'd')", grid=True),
    )
    y = alt.Y("at:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))
    layers = [*_models(points, x, y, left, width), *_bars(bars, y)]
    margins = {"left": left, "right": 60, "top": 8, "bottom": 30}
    spoken = "; ".join(f"{p['name']}: {p['shown']}" for p in points)
    title = f"{label}: mean ranks over {len(study.datasets)} data sets"
    return picture(layers, (width, height), margins, title, spoken)


def _models(
    points: list[dict[str, Any]], x: alt.X, y: alt.Y, left: int, width: int
) -> list[alt.Chart]:
    drop = values(points).mark_rule(color=light("line-strong"), strokeWidth=1)
    dots = values(points).mark_circle(size=90, color=light("accent"), opacity=1, aria=True)
    text = values(points)
    return [
        drop.encode(x=alt.X("rank:Q"), y=alt.Y("top:Q", axis=None), y2=alt.Y2("at")),
        dots.encode(x=x, y=y, description=alt.Description("about:N")),
        text.mark_text(align="left", fontSize=13, color=light("ink"), limit=0).encode(
            x=x_at(-left), y=y, text=alt.Text("name:N")
        ),
        text.mark_text(align="right", fontSize=13, fontWeight=600, color=light("ink"), limit=0).encode(
            x=x_at(width + 56), y=y, text=alt.Text("shown:N")
        ),
    ]  # fmt: skip


def _bars(bars: list[dict[str, Any]], y: alt.Y) -> list[alt.Chart]:
    if not bars:
        return []
    rule = values(bars).mark_rule(color=light("even"), strokeWidth=5, strokeCap="round", aria=True)
    return [
        rule.encode(x=alt.X("from:Q"), x2=alt.X2("to"), y=y, description=alt.Description("about:N"))
    ]
