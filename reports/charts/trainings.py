"""What new trainings would change: each model's difference to the baseline with both of its intervals."""

from collections.abc import Sequence
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
from concord.reports.sections.tables import against_baseline
from concord.reports.sections.trainings import shown
from concord.reports.writing import numbers
from concord.reports.writing.numbers import signed, signed_interval
from concord.reports.writing.verdicts import VERDICTS

_NARROW, _WIDE = 22, 16  # characters of a model's name that fit
_BELOW = 13  # pixels from the line of a row to its marks of single trainings
_SIGNED = "datum.value === 0 ? '0' : format(datum.value, '+.{digits}f')"
Point = dict[str, Any]


def training_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Models as rows, difference to the baseline as x: thick over users, thin over new trainings, too; below it the
    differences of single trainings.
    """
    rows = against_baseline(comparison, label)
    points = [_point(i, row, comparison) for i, row in enumerate(rows)]
    low, high = _domain(points)
    margins = {"left": 4, "right": 4, "top": 26, "bottom": 30}
    margins |= {} if narrow else {"left": 140, "right": 190}
    size = (350 if narrow else 940) - margins["left"] - margins["right"], len(points) * (66 if narrow else 48)  # fmt: skip
    ticks = nice_ticks(low, high, 3 if narrow else 6)
    x = alt.X(
        "difference:Q",
        scale=alt.Scale(domain=[low, high], nice=False, zero=False),
        axis=axis(ticks, _SIGNED.format(digits=tick_digits(ticks)), grid=True),
    )
    y = alt.Y(
        "row:Q",
        axis=None,
        scale=alt.Scale(domain=[len(points) - 0.5, -0.5], nice=False, zero=False),
    )
    layers = [
        *_zero(comparison.baseline, len(points), x, (low, high), narrow=narrow),
        *_marks(points, x, y),
        *(_texts_above(points, y) if narrow else _texts_beside(points, y)),
    ]
    title = f"{label}: difference of each model to {comparison.baseline}, over users only and over new trainings"
    return picture(layers, size, margins, title, "; ".join(point["spoken"] for point in points))


def _point(i: int, row: Difference, comparison: Comparison) -> Point:
    over = comparison.retrained(row.a, row.b, row.label)
    digits = numbers.difference_digits_of(comparison, row.label)
    word = VERDICTS[over.verdict if over else row.verdict]
    written = signed(row.difference, digits)
    users = signed_interval(row.ci_low, row.ci_high, digits)
    trained = signed_interval(over.ci_low, over.ci_high, digits) if over else ""
    said = [f"{row.a}: {written}"]
    said += [f"users only {users}, {VERDICTS[row.verdict].word}"] if users else []
    said += [f"new trainings, too: {trained}, {word.word}"] if trained else []
    return {
        "row": i,
        "model": row.a,
        "name": shortened(row.a, _WIDE),
        "long_name": shortened(row.a, _NARROW),
        "difference": row.difference,
        "users_low": row.ci_low,
        "users_high": row.ci_high,
        "low": over.ci_low if over else None,
        "high": over.ci_high if over else None,
        "single": shown(comparison, row.a, row.label),
        "digits": digits,
        "written": written,
        "word": word.word if over else "trained once",
        "before": f"users only: {VERDICTS[row.verdict].word}" if over and over.verdict != row.verdict else "",
        "number_and_word": f"{written} {word.word if over else 'trained once'}",
        "colour": light(word.tone),
        "spoken": "; ".join(said),
        "about": told("; ".join(said), row.a),
        "whose": told("", row.a),
    }  # fmt: skip


def _domain(points: Sequence[Point]) -> tuple[float, float]:
    """All marks and 0, with a little room."""
    ends = [0.0]
    for point in points:
        ends += [*point["single"], *(point[key] for key in ("difference", "users_low", "users_high", "low", "high") if point[key] is not None)]  # fmt: skip
    low, high = min(ends), max(ends)
    room = 0.04 * (high - low) or 0.01
    return low - room, high + room


def _zero(
    baseline: str, n: int, x: alt.X, domain: tuple[float, float], *, narrow: bool
) -> list[alt.Chart]:
    """The line of no difference and its name; where names stand above the marks it leaves them free."""
    above, below = (0.12, 0.45) if narrow else (0.5, 0.5)
    rows = values([{"difference": 0, "from": i - above, "to": i + below} for i in range(n)])
    name = values([{"difference": 0, "name": shortened(baseline, _WIDE)}])
    return [
        rows.mark_rule(color=light("ink-soft"), strokeWidth=1).encode(
            x=x, y=alt.Y("from:Q", axis=None), y2=alt.Y2("to")
        ),
        name.mark_text(
            color=light("ink-soft"), fontSize=12, dy=-12, align=alignment(domain), limit=0
        ).encode(x=x, y=y_at(0), text=alt.Text("name:N")),
    ]


def _marks(points: list[Point], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    colour = alt.Color("colour:N", scale=None)
    about = alt.Description("about:N")
    thick = values([p for p in points if p["users_low"] is not None])
    thin = values([p for p in points if p["low"] is not None])
    single = values([each for point in points for each in _single(point)])
    dots = values([p for p in points if p["difference"] is not None])
    return [
        thick.mark_rule(strokeWidth=9, color=light("line-strong"), aria=True).encode(
            x=alt.X("users_low:Q"), x2=alt.X2("users_high"), y=y, description=about
        ),
        thin.mark_rule(strokeWidth=2, strokeCap="round", aria=True).encode(
            x=alt.X("low:Q"), x2=alt.X2("high"), y=y, color=colour, description=about
        ),
        dots.mark_point(size=55, opacity=1, filled=True, shape="circle", aria=True).encode(
            x=x, y=y, color=colour, description=about
        ),
        single.mark_point(
            size=26,
            strokeWidth=1.25,
            opacity=1,
            filled=False,
            color=light("ink-soft"),
            yOffset=_BELOW,
            aria=True,
        ).encode(x=x, y=y, description=about),
    ]


def _single(point: Point) -> list[Point]:
    return [
        {
            "row": point["row"],
            "difference": difference,
            "about": told(f"{point['model']}, a single training: {signed(difference, point['digits'])}", point["model"]),
        }
        for difference in point["single"]
    ]  # fmt: skip


def _texts_beside(points: list[Point], y: alt.Y) -> list[alt.Chart]:
    rows = values(points).encode(description=alt.Description("whose:N"))
    width = 610
    return [
        rows.mark_text(align="left", fontSize=14, color=light("ink"), limit=0, aria=True).encode(
            x=x_at(-140), y=y, text=alt.Text("name:N")
        ),
        rows.mark_text(align="right", fontSize=14, fontWeight=600, limit=0, aria=True).encode(
            x=x_at(width + 72),
            y=y,
            text=alt.Text("written:N"),
            color=alt.Color("colour:N", scale=None),
        ),
        rows.mark_text(align="left", fontSize=13, color=light("ink-soft"), limit=0, aria=True).encode(
            x=x_at(width + 88), y=y, text=alt.Text("word:N")
        ),
        rows.mark_text(align="left", fontSize=11, dy=15, color=light("ink-faint"), limit=0, aria=True).encode(
            x=x_at(width + 88), y=y, text=alt.Text("before:N")
        ),
    ]  # fmt: skip


def _texts_above(points: list[Point], y: alt.Y) -> list[alt.Chart]:
    rows = values(points).encode(description=alt.Description("whose:N"))
    return [
        rows.mark_text(align="left", fontSize=13, dy=-17, color=light("ink"), limit=0, aria=True).encode(
            x=x_at(0), y=y, text=alt.Text("long_name:N")
        ),
        rows.mark_text(align="right", fontSize=13, dy=-17, fontWeight=600, limit=0, aria=True).encode(
            x=x_at(342),
            y=y,
            text=alt.Text("number_and_word:N"),
            color=alt.Color("colour:N", scale=None),
        ),
    ]  # fmt: skip
