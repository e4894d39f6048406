"""Users gained and lost: shares of users worse and better off, and the spread of differences."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.primitives import (
    HOVER,
    TAG,
    Domain,
    Row,
    Rows,
    model_row,
    padded_domain,
    plot,
    plot_width,
    scale,
    signed_axis,
    tag,
    text_layer,
    x_at,
    y_at,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text import numbers
from concord.reports.text.tables import win_rows

PERCENTILES = (5, 25, 50, 75, 95)
_DENSE = 12  # with this number of models or more, rows are lower


@dataclass(frozen=True)
class Gain:
    """A model's difference to the baseline, and its percentiles over the users who differ."""

    pair: Difference
    percentiles: Mapping[int, float]


def gains(comparison: Comparison, label: str) -> list[Gain]:
    """Return the models that have shares of better and worse users, in leaderboard order.

    Percentiles are empty if no user has another value than with the baseline.
    """
    quantiles = {
        each.a: each.quantiles
        for each in comparison.distributions
        if each.label == label and each.b == comparison.baseline
    }
    return [
        Gain(pair, {p: quantiles[pair.a][p] for p in PERCENTILES} if quantiles.get(pair.a) else {})
        for pair in win_rows(comparison, label)
    ]


def has_gains(comparison: Comparison) -> bool:
    """True if a primary metric has shares of better and worse users."""
    return any(gains(comparison, label) for label in comparison.primary)


def percentile_text(comparison: Comparison, gain: Gain, percentile: int) -> str:
    """Return a percentile as text."""
    digits = comparison.decimals[gain.pair.label]
    return numbers.signed(gain.percentiles.get(percentile), digits)


def gain_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return bars of the shares of users, beside an interval plot of their differences.

    Bars begin at the middle: to the left users who are worse off, to the right better off. In the
    interval plot, a thin line goes from the 5th to the 95th percentile, a thick one from the 25th
    to the 75th; the dot is the median. Better is to the right in both.
    """
    rows = [_row(comparison, i, each) for i, each in enumerate(gains(comparison, label))]
    margins = {"left": 0, "right": 4} if narrow else {"left": 140, "right": 130}
    margins |= {"top": 30, "bottom": 30}
    width = plot_width(margins, narrow=narrow)
    height = len(rows) * (46 if narrow else 32 if len(rows) < _DENSE else 24)
    y = alt.Y("row:Q", axis=None, scale=scale(len(rows) - 0.5, -0.5))
    layers = [
        *_bars(rows, y, (0, 160) if narrow else (52, 298), narrow=narrow),
        *_spread(rows, y, (190 if narrow else 370, width), narrow=narrow),
        *_texts(rows, y, width, narrow=narrow),
    ]
    title = f"{label}: users worse and better off than with {comparison.baseline}"
    description = "; ".join(row["plain"] for row in rows)
    return render_svg(layers, (width, height), margins, title, description, own_scales=True)


def _row(comparison: Comparison, i: int, gain: Gain) -> Row:
    pair = gain.pair
    worse, equal, better = (numbers.share(n) for n in (pair.worse, pair.equal, pair.better))
    spread = ", ".join(f"{p} %: {percentile_text(comparison, gain, p)}" for p in gain.percentiles)
    shares = f"{pair.a}: {worse} worse, {equal} unchanged, {better} better"
    return model_row(
        i,
        pair.a,
        f"{pair.a}: percentiles {spread}",
        plain=f"{shares}; percentiles {spread}" if spread else shares,
        shares=tag(shares, pair.a),
        shares_text=f"{worse} worse, {better} better",
        unchanged=f"{equal} unchanged",
        worse=pair.worse,
        worse_text=worse,
        better=pair.better,
        better_text=better,
        zero=0.0,
        higher_is_better=comparison.metric(pair.label).higher_is_better,
        **{f"p{p}": value for p, value in gain.percentiles.items()},
    )


def _bars(rows: Rows, y: alt.Y, ends: Domain, *, narrow: bool) -> list[alt.Chart]:
    """Return the bars between two pixels, with heads and, if there is room, with their shares."""
    reach = max((row[side] for row in rows for side in ("worse", "better")), default=0.0) or 1.0
    middle = (ends[0] + ends[1]) / 2
    layers = []
    for side, end, align, gap in (("worse", ends[0], "right", -6), ("better", ends[1], "left", 6)):
        outwards = alt.Scale(domain=[0, reach], range=[middle, end], nice=False)
        x = alt.X(f"{side}:Q", scale=outwards, axis=None)
        bars = plot(rows).mark_rule(strokeWidth=14, color=light(side), aria=True)
        layers += [
            bars.encode(x=x, x2=alt.X2("zero"), y=y, description=alt.Description("shares:N")),
            _head(side, side, middle + gap, align),
        ]
        if not narrow:
            shares = partial(text_layer, rows, f"{side}_text", 13, "ink", x=x, y=y, tagged=True)
            layers.append(shares(dx=gap, align=align))
    return [*layers, _zero_line(rows, x_at(middle), y, narrow=narrow)]


def _spread(rows: Rows, y: alt.Y, ends: Domain, *, narrow: bool) -> list[alt.Chart]:
    """Return the interval plot between two pixels; a model that never differs is not in it."""
    lines = [row for row in rows if "p50" in row]
    if not lines:
        return []
    low, high = padded_domain([0.0, *(row[end] for row in lines for end in ("p5", "p95"))])
    domain = [low, high] if rows[0]["higher_is_better"] else [high, low]
    to_pixels = alt.Scale(domain=domain, range=list(ends), nice=False)
    zero, p5, p25, p50 = (
        alt.X(f"{field}:Q", scale=to_pixels, axis=None) for field in ("zero", "p5", "p25", "p50")
    )
    rule = partial(plot(lines).mark_rule, color=light("line-strong"), aria=True)
    medians = plot(lines).mark_point(shape="circle", size=70, opacity=1, aria=True)
    ticks = signed_axis((low, high), 4, grid=not narrow)
    return [
        _zero_line(rows, zero.axis(ticks), y, narrow=narrow),
        rule(strokeWidth=1.5).encode(x=p5, x2=alt.X2("p95"), y=y, description=TAG),
        rule(strokeWidth=7).encode(x=p25, x2=alt.X2("p75"), y=y, description=TAG),
        medians.encode(
            x=p50,
            y=y,
            fill=alt.value(light("page")),
            stroke=alt.value(light("ink")),
            description=HOVER,
        ),
        _head("by how much", "ink-soft", ends[0], "left"),
    ]


def _head(text: str, colour: str, x: float, align: str) -> alt.Chart:
    return text_layer([{"text": text}], "text", 12, colour, x=x_at(x), y=y_at(-14), align=align)


def _zero_line(rows: Rows, x: Any, y: alt.Y, *, narrow: bool) -> alt.Chart:
    """Return the line of no difference; it must not cross texts above the marks."""
    above, below = (0.2, 0.45) if narrow else (0.5, 0.5)
    lines = [{"zero": 0.0, "row": row["row"] - above, "to": row["row"] + below} for row in rows]
    rule = plot(lines).mark_rule(color=light("ink-soft"), strokeWidth=1)
    return rule.encode(x=x, y=y, y2=alt.Y2("to"))


def _texts(rows: Rows, y: alt.Y, width: int, *, narrow: bool) -> list[alt.Chart]:
    """Return name and shares of users: beside the marks, or above them."""
    texts = partial(text_layer, rows, y=y, tagged=True)
    if narrow:
        return [
            texts("long_name", 13, "ink", x=x_at(0), align="left", dy=-17),
            texts("shares_text", 13, "ink-soft", x=x_at(width), align="right", dy=-17),
        ]
    return [
        texts("name", 14, "ink", x=x_at(-140), align="left"),
        texts("unchanged", 13, "ink-soft", x=x_at(width + 126), align="right"),
    ]
