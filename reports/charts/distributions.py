"""How users' differences are spread: a strip a model, from the 5th to the 95th percentile of those that are not 0."""

from functools import partial
from typing import Any

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Distribution
from concord.reports.charts.svg import (
    axis,
    light,
    nice_ticks,
    picture,
    shortened,
    tick_digits,
    told,
    values,
    x_at,
)
from concord.reports.writing import numbers

PERCENTILES = (5, 25, 50, 75, 95)
_SIGNED = "datum.value === 0 ? '0' : format(datum.value, '+.{digits}f')"
_WIDE, _NARROW = 16, 22  # characters of a name


def rows(comparison: Comparison, label: str) -> list[Distribution]:
    """In the order of the leaderboard; those for whom nobody differs are left to the table."""
    found = {
        row.a: row
        for row in comparison.distributions
        if row.label == label and row.b == comparison.baseline
    }
    return [found[model] for model in comparison.challengers if model in found]


def drawn(comparison: Comparison, label: str) -> list[Distribution]:
    return [row for row in rows(comparison, label) if row.quantiles]


def at(comparison: Comparison, row: Distribution, percentile: int) -> str:
    """A percentile as it is written."""
    digits = min(numbers.difference_digits_of(comparison, row.label), 3)
    return numbers.signed(row.quantiles[percentile], digits) if row.quantiles else numbers.MISSING


def the_same(row: Distribution) -> str:
    return numbers.share(row.n_zero / row.n_users if row.n_users else None)


def distribution_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Models as rows; thin from the 5th to the 95th percentile, thick from the 25th to the 75th, a dot in the middle."""
    strips = [_strip(comparison, i, row) for i, row in enumerate(drawn(comparison, label))]
    low, high = _ends(strips)
    ticks = nice_ticks(low, high, 3 if narrow else 6)
    x = alt.X(
        "p5:Q",
        scale=alt.Scale(domain=[low, high], nice=False, zero=False),
        axis=axis(ticks, _SIGNED.format(digits=tick_digits(ticks)), grid=True),
    )
    y = alt.Y("row:Q", axis=None, scale=alt.Scale(domain=[len(strips) - 0.5, -0.5], nice=False, zero=False))  # fmt: skip
    zero = values([{"at": 0.0}]).mark_rule(color=light("ink-soft"), strokeWidth=1)
    dots = values(strips).mark_point(shape="circle", size=70, opacity=1, aria=True)
    margins = {"left": 0, "right": 4, "top": 10, "bottom": 30}
    margins |= {} if narrow else {"left": 140, "right": 150}
    width = (350 if narrow else 940) - margins["left"] - margins["right"]
    layers = [
        zero.encode(x=alt.X("at:Q")),
        _reach(strips, 1.5).encode(x=x, x2=alt.X2("p95"), y=y),
        _reach(strips, 7).encode(x=alt.X("p25:Q"), x2=alt.X2("p75"), y=y),
        dots.encode(
            x=alt.X("p50:Q"),
            y=y,
            fill=alt.value(light("page")),
            stroke=alt.value(light("ink")),
            description=alt.Description("about:N"),
        ),
        *_texts(strips, y, width, narrow=narrow),
    ]
    height = len(strips) * (46 if narrow else 30)
    title = f"{label}: differences of users to {comparison.baseline}, without those that are 0"
    return picture(
        layers, (width, height), margins, title, "; ".join(strip["spoken"] for strip in strips)
    )


def _strip(comparison: Comparison, i: int, row: Distribution) -> dict[str, Any]:
    numbered = {f"p{p}": row.quantiles[p] for p in PERCENTILES}
    numbered_words = ", ".join(f"{p} %: {at(comparison, row, p)}" for p in PERCENTILES)
    spoken = f"{row.a}: percentiles {numbered_words}; {the_same(row)} of the users the same"
    return {
        "row": i,
        **numbered,
        "name": shortened(row.a, _WIDE),
        "long_name": shortened(row.a, _NARROW),
        "same": f"{the_same(row)} the same",
        "spoken": spoken,
        "about": told(spoken, row.a),
        "whose": told("", row.a),
    }


def _ends(strips: list[dict[str, Any]]) -> tuple[float, float]:
    low = min([0.0, *(strip["p5"] for strip in strips)])
    high = max([0.0, *(strip["p95"] for strip in strips)])
    room = 0.04 * (high - low) or 0.01
    return low - room, high + room


def _reach(strips: list[dict[str, Any]], width: float) -> alt.Chart:
    rules = values(strips).mark_rule(strokeWidth=width, color=light("line-strong"), aria=True)
    return rules.encode(description=alt.Description("whose:N"))


def _texts(strips: list[dict[str, Any]], y: alt.Y, width: int, *, narrow: bool) -> list[alt.Chart]:
    text = partial(
        values(strips).encode(description=alt.Description("whose:N")).mark_text, aria=True
    )
    if narrow:
        above: dict[str, Any] = {"fontSize": 13, "dy": -15, "limit": 0}
        return [
            text(align="left", color=light("ink"), **above).encode(
                x=x_at(0), y=y, text=alt.Text("long_name:N")
            ),
            text(align="right", color=light("ink-soft"), **above).encode(
                x=x_at(346), y=y, text=alt.Text("same:N")
            ),
        ]
    return [
        text(align="left", fontSize=14, color=light("ink"), limit=0).encode(
            x=x_at(-140), y=y, text=alt.Text("name:N")
        ),
        text(align="right", fontSize=13, color=light("ink-soft"), limit=0).encode(
            x=x_at(width + 146), y=y, text=alt.Text("same:N")
        ),
    ]
