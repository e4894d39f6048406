"""A plan as a picture: power, and the smallest difference that is found, by number of users."""

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.plan import Plan, PowerCurve
from concord.metrics_core.results.words import exact, one_line, percent
from concord.reports.charts.primitives import (
    HOVER,
    STROKE,
    Row,
    axis,
    end_names,
    shortened,
    tag,
    values,
)
from concord.reports.charts.svg import SERIES, light, picture

MAX_MODELS = len(SERIES) - 1  # grey is the baseline's
_SIZE = (280, 220)
_MARGINS = {"left": 56, "right": 110, "top": 12, "bottom": 30}
_HEAD = 74  # pixels above the panels
_TICKS = (1, 2, 5)
_DASH = [3, 3]


def plan_picture(plan: Plan, label: str | None, curves: Sequence[PowerCurve]) -> str:
    """Return an SVG file of two panels: the power to find the requested effect, and the smallest difference found.

    Solid lines are corrected for all tests, dashed ones are not. A plan without an effect has the second panel only.
    """
    curves = curves[:MAX_MODELS]
    pair = next(each for each in plan.differences if each.label == label)
    title = f"{one_line(label or '')} against {one_line(pair.baseline or '')}"
    if label is None:
        title = f"Users' differences with standard deviation {exact(pair.sd or 0.0)}"
    panels: list[tuple[str, Markup]] = []
    if pair.effect is not None:
        heading = f"Power to find {exact(pair.effect)}, by users"
        panels.append((heading, _powers(curves, plan.power, pair.n_users, heading)))
    heading = f"Smallest difference found with {percent(plan.power)} power, by users"
    panels.append((heading, _smallest(curves, pair.effect, pair.n_users, heading)))
    lines = f"Solid: corrected for {pair.tests:,} tests, dashed: not corrected. "
    about = (lines if pair.tests > 1 else "") + f"Upright line: the {pair.n_users:,} users at hand."
    return _file(title, about, panels)


def _powers(curves: Sequence[PowerCurve], target_power: float, users: int, title: str) -> Markup:
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=axis([0, 0.2, 0.4, 0.6, 0.8, 1], "format(datum.value, '.0%')", grid=True),
    )
    rows = _rows(curves, [(each.power_corrected, each.power) for each in curves])
    layers = [*_lines(rows, curves, y), *_reference_lines(target_power, users, curves, y)]
    return picture(layers, _SIZE, _MARGINS, title, _description(rows))


def _smallest(curves: Sequence[PowerCurve], effect: float | None, users: int, title: str) -> Markup:
    rows = _rows(curves, [(each.smallest_corrected, each.smallest) for each in curves])
    top = max((row["value"] for row in rows), default=1.0) or 1.0
    low = min((row["value"] for row in rows), default=0.1) or top / 10
    ticks = _log_ticks(low, top)
    domain = [low * 0.9, top * 1.1]
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=axis(ticks, "format(datum.value, '.2~r')", grid=True),
    )
    inside = effect if effect is not None and domain[0] < effect < domain[1] else None
    layers = [
        *_lines(rows, curves, y),
        *_reference_lines(inside, users, curves, y),
        *_names(rows, domain),
    ]
    return picture(layers, _SIZE, _MARGINS, title, _description(rows))


def _rows(
    curves: Sequence[PowerCurve], both: Sequence[tuple[Sequence[float], Sequence[float]]]
) -> list[Row]:
    """Return one row per model, kind of line and number of users."""
    rows = []
    for at, (curve, (corrected, alone)) in enumerate(zip(curves, both, strict=True)):
        for kind, line in (("corrected", corrected), ("alone", alone)):
            if kind == "alone" and list(alone) == list(corrected):
                continue
            for users, value in zip(curve.users, line, strict=True):
                name = one_line(curve.model or "")
                hover = f"{name}, {users:,} users: {value:.3g}".removeprefix(", ")
                rows.append(
                    {"model": name, "kind": kind, "users": users, "value": value}
                    | {"colour": light(SERIES[at + 1]), "hover": tag(hover, name)}
                )
    return rows


def _x(curves: Sequence[PowerCurve]) -> alt.X:
    grid = curves[0].users if curves else (1, 10)
    all_ticks = _log_ticks(grid[0], grid[-1])
    tens = [tick for tick in all_ticks if f"{tick:.0f}".startswith("1")]
    ticks = tens if len(tens) > 1 else all_ticks  # all have room if they are few
    return alt.X(
        "users:Q",
        scale=alt.Scale(type="log", domain=[grid[0], grid[-1]], nice=False),
        axis=axis(ticks, "format(datum.value, ',')", grid=False),
    )


def _lines(rows: Sequence[Row], curves: Sequence[PowerCurve], y: alt.Y) -> list[alt.Chart]:
    """Return the lines, then invisible points that show their values on hover."""
    x, model = _x(curves), alt.Detail("model:N")
    corrected = values(row for row in rows if row["kind"] == "corrected")
    alone = values(row for row in rows if row["kind"] == "alone")
    points = values(rows).mark_point(size=60, opacity=0, aria=True)
    return [
        corrected.mark_line(strokeWidth=1.75).encode(x=x, y=y, detail=model, stroke=STROKE),
        alone.mark_line(strokeWidth=1.25, strokeDash=_DASH).encode(
            x=x, y=y, detail=model, stroke=STROKE
        ),
        points.encode(x=x, y=y, stroke=STROKE, description=HOVER),
    ]


def _reference_lines(
    level: float | None, users: int, curves: Sequence[PowerCurve], y: alt.Y
) -> list[alt.Chart]:
    """Return the lines of the requested level and of the users at hand."""
    ink = light("ink-faint")
    at_hand = values([{"users": users}]).mark_rule(color=ink, strokeWidth=1)
    layers = [at_hand.encode(x=_x(curves))]
    if level is not None:
        at = values([{"value": level}]).mark_rule(color=ink, strokeWidth=1, strokeDash=[1, 3])
        layers.append(at.encode(y=y))
    return layers


def _names(rows: Sequence[Row], domain: Sequence[float]) -> list[alt.Chart]:
    """Return the names at the right, level with the ends of the corrected lines."""
    last = max((row["users"] for row in rows), default=0)
    ends = [
        {"name": shortened(row["model"], 14), "colour": row["colour"], "value": row["value"]}
        for row in rows
        if row["users"] == last and row["kind"] == "corrected" and row["model"]
    ]
    whole = math.log(domain[1] / domain[0])
    positions = [_SIZE[1] * math.log(domain[1] / row["value"]) / whole for row in ends]
    return end_names(ends, positions, _SIZE, offset=10)


def _log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten within the range."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = [float(f"{step}e{power}") for power in range(first, last + 1) for step in _TICKS]
    return [tick for tick in every if low <= tick <= high]


def _description(rows: Sequence[Row]) -> str:
    """Return the picture in words: each line at its end."""
    last = max((row["users"] for row in rows), default=0)
    return "; ".join(
        f"{row['model']} {row['kind']}, {last:,} users: {row['value']:.3g}".strip()
        for row in rows
        if row["users"] == last
    )


def _file(title: str, about: str, panels: Sequence[tuple[str, Markup]]) -> str:
    """Return the panels side by side under a title, on the page's own ground."""
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
    for at, (heading, panel) in enumerate(panels):
        x = at * wide
        parts.append(
            f'<text x="{x + 16}" y="66" font-size="13" fill="{ink}">{escape(heading)}</text>'
            f'<g transform="translate({x},{_HEAD})">{panel}</g>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"
