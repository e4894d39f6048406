"""Chart of a plan: power, and the smallest difference that is found, by number of users."""

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

import altair as alt
from markupsafe import Markup

from concord.metrics_core.errors import printable
from concord.metrics_core.results.plan import Plan, PowerCurve
from concord.metrics_core.results.text_format import exact, percent
from concord.reports.charts.model_styles import N_COLOURED, ModelStyle, model_styles
from concord.reports.charts.primitives import (
    HOVER,
    STROKE,
    Row,
    axis,
    end_names,
    plot,
    shorten,
    tag,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text.plan import answer

MAX_MODELS = N_COLOURED
_SIZE = (280, 220)
_MARGINS = {"left": 56, "right": 110, "top": 12, "bottom": 30}
_HEAD = 92  # pixels above the panels
_TICKS = (1, 2, 5)
_DASH = [3, 3]
Styles = Mapping[str, ModelStyle]


def render_plan(
    plan: Plan, label: str | None, curves: Sequence[PowerCurve], models: Sequence[str]
) -> str:
    """Return an SVG file of two panels.

    The first panel shows the power to find the requested effect, the second one the smallest
    difference found. A plan without an effect has the second panel only. Solid lines are corrected
    for all tests, dashed ones are not.

    Parameters
    ----------
    models : sequence of str
        All models in the order of params.yaml, on which their colours depend; may be empty in a
        plan from numbers.
    """
    curves = curves[:MAX_MODELS]
    order = dict.fromkeys([*models, *(each.model or "" for each in curves)])
    pair = next(each for each in plan.differences if each.label == label)
    subject = f"{printable(label or '')} against {printable(pair.baseline or '')}"
    if label is None:
        subject = f"Users' differences with standard deviation {exact(pair.sd or 0.0)}"
    styles = model_styles(order, pair.baseline)
    panels: list[tuple[str, Markup]] = []
    if pair.effect is not None:
        heading = f"Power to detect a difference of {exact(pair.effect)}, by users"
        panels.append((heading, _power_panel(curves, styles, plan.power, pair.n_users, heading)))
    heading = f"Smallest difference detected with {percent(plan.power)} power, by users"
    panels.append((heading, _difference_panel(curves, styles, pair.effect, pair.n_users, heading)))
    lines = f"Solid: corrected for {pair.tests:,} tests, dashed: not corrected. "
    key = (lines if pair.tests > 1 else "") + f"Upright line: the {pair.n_users:,} users available."
    return _svg_file([answer(plan, label), subject, key], panels)


def _power_panel(
    curves: Sequence[PowerCurve], styles: Styles, target_power: float, users: int, title: str
) -> Markup:
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=axis(
            [0, 0.2, 0.4, 0.6, 0.8, 1], "format(100 * datum.value, 'd') + '\u00a0%'", grid=True
        ),
    )
    rows = _rows(curves, styles, [(each.power_corrected, each.power) for each in curves])
    best_first = sorted(curves, key=lambda each: -sum(each.power_corrected))
    order = [float(best_first.index(each)) for each in curves if each.model]
    layers = [
        *_lines(rows, curves, y),
        *_reference_lines(target_power, users, curves, y),
        *_names(rows, order),
    ]
    return render_svg(layers, _SIZE, _MARGINS, title, _description(rows))


def _difference_panel(
    curves: Sequence[PowerCurve], styles: Styles, effect: float | None, users: int, title: str
) -> Markup:
    rows = _rows(curves, styles, [(each.smallest_corrected, each.smallest) for each in curves])
    top = max((row["value"] for row in rows), default=1.0) or 1.0
    low = min((row["value"] for row in rows), default=0.1) or top / 10
    ticks = _log_ticks(low, top)
    domain = [low * 0.9, top * 1.1]
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=axis(ticks, "format(datum.value, '.2~r')", grid=True),
    )
    visible_effect = effect if effect is not None and domain[0] < effect < domain[1] else None
    layers = [
        *_lines(rows, curves, y),
        *_reference_lines(visible_effect, users, curves, y),
        *_names(rows, _log_positions(rows, domain)),
    ]
    return render_svg(layers, _SIZE, _MARGINS, title, _description(rows))


def _rows(
    curves: Sequence[PowerCurve],
    styles: Styles,
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
) -> list[Row]:
    """Return one row per model, kind of line and number of users.

    Parameters
    ----------
    pairs : sequence of tuple
        Values of each curve, corrected and uncorrected.
    """
    rows = []
    for curve, (corrected, uncorrected) in zip(curves, pairs, strict=True):
        for kind, line in (("corrected", corrected), ("alone", uncorrected)):
            if kind == "alone" and list(uncorrected) == list(corrected):
                continue
            for users, value in zip(curve.users, line, strict=True):
                name = printable(curve.model or "")
                hover = f"{name}, {users:,} users: {value:.3g}".removeprefix(", ")
                rows.append(
                    {"model": name, "kind": kind, "users": users, "value": value}
                    | {"colour": styles[curve.model or ""].colour, "hover": tag(hover, name)}
                )
    return rows


def _x(curves: Sequence[PowerCurve]) -> alt.X:
    grid = curves[0].users if curves else (1, 10)
    all_ticks = _log_ticks(grid[0], grid[-1])
    tens = [tick for tick in all_ticks if f"{tick:.0f}".startswith("1")]
    ticks = tens if len(tens) > 1 else all_ticks
    return alt.X(
        "users:Q",
        scale=alt.Scale(type="log", domain=[grid[0], grid[-1]], nice=False),
        axis=axis(ticks, "format(datum.value, ',')", grid=False),
    )


def _lines(rows: Sequence[Row], curves: Sequence[PowerCurve], y: alt.Y) -> list[alt.Chart]:
    """Return the lines, then invisible points that show their values on hover."""
    x, model = _x(curves), alt.Detail("model:N")
    corrected = plot(row for row in rows if row["kind"] == "corrected")
    uncorrected = plot(row for row in rows if row["kind"] == "alone")
    points = plot(rows).mark_point(size=60, opacity=0, aria=True)
    return [
        corrected.mark_line(strokeWidth=1.75).encode(x=x, y=y, detail=model, stroke=STROKE),
        uncorrected.mark_line(strokeWidth=1.25, strokeDash=_DASH).encode(
            x=x, y=y, detail=model, stroke=STROKE
        ),
        points.encode(x=x, y=y, stroke=STROKE, description=HOVER),
    ]


def _reference_lines(
    level: float | None, users: int, curves: Sequence[PowerCurve], y: alt.Y
) -> list[alt.Chart]:
    """Return the lines of the available users and of the requested level."""
    ink = light("ink-faint")
    vertical = plot([{"users": users}]).mark_rule(color=ink, strokeWidth=1)
    layers = [vertical.encode(x=_x(curves))]
    if level is not None:
        horizontal = plot([{"value": level}])
        horizontal = horizontal.mark_rule(color=ink, strokeWidth=1, strokeDash=[1, 3])
        layers.append(horizontal.encode(y=y))
    return layers


def _last_corrected(rows: Sequence[Row]) -> list[Row]:
    """Return the last row of each model's corrected line."""
    last = max((row["users"] for row in rows), default=0)
    return [r for r in rows if r["users"] == last and r["kind"] == "corrected" and r["model"]]


def _names(rows: Sequence[Row], positions: Sequence[float]) -> list[alt.Chart]:
    """Return the names at the right, at or near these pixels from the top."""
    ends = [
        {"name": shorten(row["model"], 14), "colour": row["colour"]}
        for row in _last_corrected(rows)
    ]
    return end_names(ends, positions, _SIZE, offset=10)


def _log_positions(rows: Sequence[Row], domain: Sequence[float]) -> list[float]:
    """Return the pixels from the top of the ends of the corrected lines."""
    extent = math.log(domain[1] / domain[0])
    return [_SIZE[1] * math.log(domain[1] / row["value"]) / extent for row in _last_corrected(rows)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten within the range."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [float(f"{step}e{power}") for power in range(first, last + 1) for step in _TICKS]
    return [tick for tick in ticks if low <= tick <= high]


def _description(rows: Sequence[Row]) -> str:
    """Return the last value of each line."""
    last = max((row["users"] for row in rows), default=0)
    return "; ".join(
        f"{row['model']} {row['kind']}, {last:,} users: {row['value']:.3g}".strip()
        for row in rows
        if row["users"] == last
    )


def _svg_file(head: Sequence[str], panels: Sequence[tuple[str, Markup]]) -> str:
    """Return the panels side by side under the answer, the subject and the key of the lines."""
    panel_width = _SIZE[0] + _MARGINS["left"] + _MARGINS["right"]
    width = panel_width * len(panels)
    height = _HEAD + _SIZE[1] + _MARGINS["top"] + _MARGINS["bottom"]
    ink, soft = light("ink"), light("ink-soft")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="{light("page")}"/>',
    ]
    styles = (
        f'y="24" font-size="15" font-weight="600" fill="{ink}"',
        f'y="44" font-size="13" fill="{ink}"',
        f'y="61" font-size="12" fill="{soft}"',
    )
    for style, line in zip(styles, head, strict=True):
        parts.append(f'<text x="16" {style}>{escape(line)}</text>')
    for i, (heading, panel) in enumerate(panels):
        x = i * panel_width
        parts.append(
            f'<text x="{x + 16}" y="84" font-size="13" fill="{ink}">{escape(heading)}</text>'
            f'<g transform="translate({x},{_HEAD})">{panel}</g>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"
