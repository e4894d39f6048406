"""The picture that decides: every model's difference to the baseline, with its interval."""

from collections.abc import Callable
from functools import partial
from typing import Any

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.svg import (
    alignment,
    axis,
    light,
    nice_ticks,
    picture,
    shortened,
    tick_digits,
    told,
    values,
    x_at,
    y_at,
)
from concord.reports.writing import numbers
from concord.reports.writing.numbers import exact, signed, signed_interval
from concord.reports.writing.verdicts import VERDICTS

_NARROW, _WIDE = 22, 16  # characters of a model's name that fit
_SIGNED = "datum.value === 0 ? '0' : format(datum.value, '+.{digits}f')"
Layer = alt.Chart


def difference_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Models as rows, difference to the baseline as x, the band of differences that do not matter shaded."""
    found = [
        comparison.difference(model, comparison.baseline, label) for model in comparison.challengers
    ]
    rows = [row for row in found if row is not None]
    low, high = _domain(rows)
    digits = numbers.difference_digits_of(comparison, label)
    points = [_point(i, row, digits) for i, row in enumerate(rows)]
    height = len(rows) * (46 if narrow else 32 if len(rows) < 12 else 26)  # noqa: PLR2004 - from twelve on, denser
    x = alt.X(
        "difference:Q",
        scale=alt.Scale(domain=[low, high], nice=False, zero=False),
        axis=_difference_axis(low, high, 3 if narrow else 6),
    )
    y = alt.Y(
        "row:Q", axis=None, scale=alt.Scale(domain=[len(rows) - 0.5, -0.5], nice=False, zero=False)
    )
    layers = [
        *_ground(comparison.baseline, _stripes(rows, narrow=narrow), x, (low, high)),
        *_marks(points, x, y),
        *(_texts_above(points, y) if narrow else _texts_beside(points, y)),
    ]
    margins = {"left": 0, "right": 4, "top": 26, "bottom": 30}
    margins |= {} if narrow else {"left": 140, "right": 190}
    width = (350 if narrow else 940) - margins["left"] - margins["right"]
    title = f"{label}: difference of each model to {comparison.baseline}"
    return picture(layers, (width, height), margins, title, "; ".join(map(_spoken, points)))


def _spoken(point: dict[str, Any]) -> str:
    return f"{point['model']}: {point['number_and_word']}"


def _domain(rows: list[Difference]) -> tuple[float, float]:
    """All intervals, the band and 0, with a little room."""
    ends = [0.0]
    for row in rows:
        ends += [n for n in (row.difference, row.ci_low, row.ci_high) if n is not None]
    band = _min_effect(rows) or 0.0
    low, high = min(*ends, -band), max(*ends, band)
    room = 0.04 * (high - low) or 0.01
    return low - room, high + room


def _min_effect(rows: list[Difference]) -> float | None:
    return next((row.min_effect for row in rows if row.min_effect is not None), None)


def _difference_axis(low: float, high: float, about: int) -> alt.Axis:
    ticks = nice_ticks(low, high, about)
    return axis(ticks, _SIGNED.format(digits=tick_digits(ticks)), grid=True)


def _point(i: int, row: Difference, digits: int) -> dict[str, Any]:
    verdict = VERDICTS[row.verdict]
    written = signed(row.difference, digits)
    span = signed_interval(row.ci_low, row.ci_high, digits)
    return {
        "row": i,
        "model": row.a,
        "name": shortened(row.a, _WIDE),
        "long_name": shortened(row.a, _NARROW),
        "difference": row.difference,
        "low": row.ci_low,
        "high": row.ci_high,
        "written": written,
        "verdict": row.verdict,
        "word": verdict.word,
        "colour": light(verdict.tone),
        "inside": light(verdict.tone) if verdict.filled else light("raised"),
        "number_and_word": f"{written} {verdict.word}",
        "about": told(f"{row.a}: {written}{f' ({span})' if span else ''}, {verdict.word}", row.a),
        "whose": told("", row.a),
    }


def _stripes(rows: list[Difference], *, narrow: bool) -> list[dict[str, Any]]:
    """The band of each row; where names stand above the marks it leaves them free."""
    band = _min_effect(rows) or 0
    above, below = (0.22, 0.4) if narrow else (0.5, 0.5)
    about = f"within ±{exact(band)}"
    return [
        {
            "difference": -band,
            "end": band,
            "zero": 0,
            "from": i - above,
            "to": i + below,
            "about": "" if i else about,  # told once
        }
        for i in range(len(rows))
    ]


def _ground(
    baseline: str, stripes: list[dict[str, Any]], x: alt.X, domain: tuple[float, float]
) -> list[Layer]:
    """The band, the line of no difference and its name."""
    name = values([{"difference": 0, "name": shortened(baseline, _WIDE)}])
    band = values(stripes).mark_rect(color=light("band"), aria=True)
    y = alt.Y("from:Q", axis=None)
    return [
        band.encode(
            x=x, x2=alt.X2("end"), y=y, y2=alt.Y2("to"), description=alt.Description("about:N")
        ),
        values(stripes)
        .mark_rule(color=light("ink-soft"), strokeWidth=1)
        .encode(x=alt.X("zero:Q"), y=y, y2=alt.Y2("to")),
        name.mark_text(
            color=light("ink-soft"), fontSize=12, dy=-12, align=alignment(domain), limit=0
        ).encode(x=x, y=y_at(0), text=alt.Text("name:N")),
    ]


def _marks(points: list[dict[str, Any]], x: alt.X, y: alt.Y) -> list[Layer]:
    colour = alt.Color("colour:N", scale=None)
    shape = alt.Shape(
        "verdict:N",
        scale=alt.Scale(
            domain=list(VERDICTS), range=[verdict.path for verdict in VERDICTS.values()]
        ),
        legend=None,
    )
    with_interval = [point for point in points if point["low"] is not None]
    with_value = [point for point in points if point["difference"] is not None]
    whole = values(with_interval).mark_rule(strokeWidth=2, strokeCap="round", aria=True)
    dots = values(with_value).mark_point(size=130, strokeWidth=1.75, opacity=1, aria=True)
    return [
        whole.encode(
            x=alt.X("low:Q"),
            x2=alt.X2("high"),
            y=y,
            color=colour,
            description=alt.Description("about:N"),
        ),
        dots.encode(
            x=x,
            y=y,
            shape=shape,
            stroke=colour,
            fill=alt.Fill("inside:N", scale=None),
            description=alt.Description("about:N"),
        ),
    ]


def _texts_beside(points: list[dict[str, Any]], y: alt.Y) -> list[Layer]:
    width = 610
    text = _names(points)
    return [
        text(align="left", fontSize=14, color=light("ink"), limit=0).encode(
            x=x_at(-140), y=y, text=alt.Text("name:N")
        ),
        text(align="right", fontSize=14, fontWeight=600, limit=0).encode(
            x=x_at(width + 72),
            y=y,
            text=alt.Text("written:N"),
            color=alt.Color("colour:N", scale=None),
        ),
        text(align="left", fontSize=13, color=light("ink-soft"), limit=0).encode(
            x=x_at(width + 88), y=y, text=alt.Text("word:N")
        ),
    ]


def _names(points: list[dict[str, Any]]) -> Callable[..., Layer]:
    """Texts that belong to the model of their row."""
    rows = values(points).encode(description=alt.Description("whose:N"))
    return partial(rows.mark_text, aria=True)


def _texts_above(points: list[dict[str, Any]], y: alt.Y) -> list[Layer]:
    text = _names(points)
    return [
        text(align="left", fontSize=13, dy=-17, color=light("ink"), limit=0).encode(
            x=x_at(0), y=y, text=alt.Text("long_name:N")
        ),
        text(align="right", fontSize=13, dy=-17, fontWeight=600, limit=0).encode(
            x=x_at(346),
            y=y,
            text=alt.Text("number_and_word:N"),
            color=alt.Color("colour:N", scale=None),
        ),
    ]
