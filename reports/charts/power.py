"""A plan as a picture: power, and the smallest difference that is found, by the number of users."""

import math
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.plan import Plan, PowerCurve
from concord.metrics_core.results.words import exact, one_line, percent
from concord.reports.charts.curves import spread
from concord.reports.charts.svg import (
    SERIES,
    axis,
    light,
    picture,
    shortened,
    told,
    values,
    x_at,
    y_at,
)

MOST_MODELS = len(SERIES) - 1  # grey is the baseline's
_SIZE = (280, 220)
_MARGINS = {"left": 56, "right": 110, "top": 12, "bottom": 30}
_HEAD = 74  # pixels above the panels
_TICKS = (1, 2, 5)
_DASH = [3, 3]
Row = dict[str, Any]


def plan_picture(plan: Plan, label: str | None, curves: Sequence[PowerCurve]) -> str:
    """An SVG file of two panels: the power to find the effect that is asked for, and the smallest difference found.

    Solid lines are corrected for all tests, dashed ones are not. A plan without an effect has the second panel only.
    """
    found = curves[:MOST_MODELS]
    pair = next(each for each in plan.differences if each.label == label)
    title = f"{one_line(label or '')} against {one_line(pair.baseline or '')}"
    if label is None:
        title = f"Users' differences with standard deviation {exact(pair.sd or 0.0)}"
    panels: list[tuple[str, Markup]] = []
    if pair.effect is not None:
        said = f"Power to find {exact(pair.effect)}, by users"
        panels.append((said, _powers(found, plan.power, pair.n_users, said)))
    said = f"Smallest difference found with {percent(plan.power)} power, by users"
    panels.append((said, _smallest(found, pair.effect, pair.n_users, said)))
    lines = f"Solid: corrected for {pair.tests:,} tests, dashed: not corrected. "
    about = (lines if pair.tests > 1 else "") + f"Upright line: the {pair.n_users:,} users there."
    return _file(title, about, panels)


def _powers(found: Sequence[PowerCurve], wanted: float, users: int, title: str) -> Markup:
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=axis([0, 0.2, 0.4, 0.6, 0.8, 1], "format(datum.value, '.0%')", grid=True),
    )
    rows = _rows(found, [(each.power_corrected, each.power) for each in found])
    layers = [*_lines(rows, found, y), *_marks(wanted, users, found, y)]
    return picture(layers, _SIZE, _MARGINS, title, _spoken(rows))


def _smallest(found: Sequence[PowerCurve], effect: float | None, users: int, title: str) -> Markup:
    rows = _rows(found, [(each.smallest_corrected, each.smallest) for each in found])
    top = max((row["value"] for row in rows), default=1.0) or 1.0
    low = min((row["value"] for row in rows), default=0.1) or top / 10
    ticks = _round(low, top)
    domain = [low * 0.9, top * 1.1]
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=axis(ticks, "format(datum.value, '.2~r')", grid=True),
    )
    inside = effect if effect is not None and domain[0] < effect < domain[1] else None
    layers = [*_lines(rows, found, y), *_marks(inside, users, found, y), *_names(rows, domain)]
    return picture(layers, _SIZE, _MARGINS, title, _spoken(rows))


def _rows(
    found: Sequence[PowerCurve], both: Sequence[tuple[Sequence[float], Sequence[float]]]
) -> list[Row]:
    """One a model, kind of line and number of users."""
    rows = []
    for at, (curve, (corrected, alone)) in enumerate(zip(found, both, strict=True)):
        for kind, line in (("corrected", corrected), ("alone", alone)):
            if kind == "alone" and list(alone) == list(corrected):
                continue
            for users, value in zip(curve.users, line, strict=True):
                name = one_line(curve.model or "")
                said = f"{name}, {users:,} users: {value:.3g}".removeprefix(", ")
                rows.append(
                    {"model": name, "kind": kind, "users": users, "value": value}
                    | {"colour": light(SERIES[at + 1]), "about": told(said, name)}
                )
    return rows


def _x(found: Sequence[PowerCurve]) -> alt.X:
    grid = found[0].users if found else (1, 10)
    every = _round(grid[0], grid[-1])
    tens = [tick for tick in every if f"{tick:.0f}".startswith("1")]
    ticks = tens if len(tens) > 1 else every  # they have room where there are few
    return alt.X(
        "users:Q",
        scale=alt.Scale(type="log", domain=[grid[0], grid[-1]], nice=False),
        axis=axis(ticks, "format(datum.value, ',')", grid=False),
    )


def _lines(rows: Sequence[Row], found: Sequence[PowerCurve], y: alt.Y) -> list[alt.Chart]:
    colour = alt.Stroke("colour:N", scale=None)
    drawn = {}
    for kind in ("corrected", "alone"):
        if part := [row for row in rows if row["kind"] == kind]:
            drawn[kind] = values(part)
    marks = [
        chart.mark_line(strokeWidth=1.75)
        if kind == "corrected"
        else chart.mark_line(strokeWidth=1.25, strokeDash=_DASH)
        for kind, chart in drawn.items()
    ]
    lines = [m.encode(x=_x(found), y=y, detail=alt.Detail("model:N"), stroke=colour) for m in marks]
    spots = [
        chart.mark_point(size=60, opacity=0, aria=True).encode(
            x=_x(found), y=y, stroke=colour, description=alt.Description("about:N")
        )
        for chart in drawn.values()
    ]
    return [*lines, *spots]


def _marks(
    level: float | None, users: int, found: Sequence[PowerCurve], y: alt.Y
) -> list[alt.Chart]:
    """The level that is asked for, and the users who are there."""
    ink = light("ink-faint")
    there = values([{"users": users}]).mark_rule(color=ink, strokeWidth=1)
    marks = [there.encode(x=_x(found))]
    if level is not None:
        at = values([{"value": level}]).mark_rule(color=ink, strokeWidth=1, strokeDash=[1, 3])
        marks.append(at.encode(y=y))
    return marks


def _names(rows: Sequence[Row], domain: Sequence[float]) -> list[alt.Chart]:
    """The names at the right, in the order of their lines, pushed apart where these end close together."""
    last = max((row["users"] for row in rows), default=0)
    ends = [row for row in rows if row["users"] == last and row["kind"] == "corrected"]
    ends.sort(key=lambda row: -float(row["value"]))
    height = _SIZE[1]
    whole = math.log(domain[1] / domain[0])
    wanted = [height * math.log(domain[1] / row["value"]) / whole for row in ends]
    placed = [
        {**row, "place": place, "text": shortened(row["model"], 14)}
        for row, place in zip(ends, spread(wanted, height), strict=True)
    ]
    return [
        values([row])
        .mark_text(align="left", baseline="middle", fontSize=12, limit=0)
        .encode(
            x=x_at(_SIZE[0] + 10),
            y=y_at(row["place"]),
            text=alt.Text("text:N"),
            color=alt.Color("colour:N", scale=None),
        )
        for row in placed
        if row["model"]
    ]


def _round(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten within the range."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = [float(f"{step}e{power}") for power in range(first, last + 1) for step in _TICKS]
    return [tick for tick in every if low <= tick <= high]


def _spoken(rows: Sequence[Row]) -> str:
    """The picture in words: each line at its end."""
    last = max((row["users"] for row in rows), default=0)
    return "; ".join(
        f"{row['model']} {row['kind']}, {last:,} users: {row['value']:.3g}".strip()
        for row in rows
        if row["users"] == last
    )


def _file(title: str, about: str, panels: Sequence[tuple[str, Markup]]) -> str:
    """The panels side by side under a title, on the page's own ground."""
    wide = _SIZE[0] + _MARGINS["left"] + _MARGINS["right"]
    width, height = wide * len(panels), _HEAD + _SIZE[1] + _MARGINS["top"] + _MARGINS["bottom"]
    ink, soft = light("ink"), light("ink-soft")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="{light("page")}"/>',
        f'<text x="16" y="24" font-size="15" font-weight="600" fill="{ink}">{escape(title)}</text>',
        f'<text x="16" y="43" font-size="12" fill="{soft}">{escape(about)}</text>',
    ]
    for at, (said, panel) in enumerate(panels):
        x = at * wide
        parts.append(
            f'<text x="{x + 16}" y="66" font-size="13" fill="{ink}">{escape(said)}</text>'
            f'<g transform="translate({x},{_HEAD})">{panel}</g>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"
