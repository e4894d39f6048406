"""How users' differences are spread: a strip per model, from the 5th to the 95th percentile of those that are not 0."""

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Distribution
from concord.reports.charts.primitives import (
    HOVER,
    TAG,
    Row,
    Rows,
    model_row,
    padded,
    plot_width,
    row_axes,
    text,
    values,
    x_at,
)
from concord.reports.charts.svg import light, picture
from concord.reports.text import numbers

PERCENTILES = (5, 25, 50, 75, 95)


def rows(comparison: Comparison, label: str) -> list[Distribution]:
    """Return the distributions against the baseline, in the order of the leaderboard."""
    by_model = {
        each.a: each
        for each in comparison.distributions
        if each.label == label and each.b == comparison.baseline
    }
    return [by_model[model] for model in comparison.challengers if model in by_model]


def drawn(comparison: Comparison, label: str) -> list[Distribution]:
    """Return the distributions that have percentiles; the others are in the table only."""
    return [each for each in rows(comparison, label) if each.quantiles]


def at(comparison: Comparison, row: Distribution, percentile: int) -> str:
    """Return a percentile as text."""
    digits = min(numbers.difference_digits(comparison, row.label), 3)
    return numbers.signed(row.quantiles[percentile], digits) if row.quantiles else numbers.MISSING


def the_same(row: Distribution) -> str:
    """Return the share of users whose difference is 0."""
    return numbers.share(row.n_zero / row.n_users if row.n_users else None)


def distribution_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return models as rows: thin from the 5th to the 95th percentile, thick from the 25th to the 75th, a dot for the median."""
    strips = [_strip(comparison, i, row) for i, row in enumerate(drawn(comparison, label))]
    domain = padded([0.0, *(strip[end] for strip in strips for end in ("p5", "p95"))])
    x, y = row_axes("p5", domain, len(strips), narrow=narrow)
    margins = {"left": 0, "right": 4} if narrow else {"left": 140, "right": 150}
    margins |= {"top": 10, "bottom": 30}
    width = plot_width(margins, narrow=narrow)
    zero = values([{"at": 0.0}]).mark_rule(color=light("ink-soft"), strokeWidth=1)
    dots = values(strips).mark_point(shape="circle", size=70, opacity=1, aria=True)
    layers = [
        zero.encode(x=alt.X("at:Q")),
        _reach(strips, 1.5).encode(x=x, x2=alt.X2("p95"), y=y),
        _reach(strips, 7).encode(x=alt.X("p25:Q"), x2=alt.X2("p75"), y=y),
        dots.encode(
            x=alt.X("p50:Q"),
            y=y,
            fill=alt.value(light("page")),
            stroke=alt.value(light("ink")),
            description=HOVER,
        ),
        *_texts(strips, y, width, narrow=narrow),
    ]
    size = width, len(strips) * (46 if narrow else 30)
    title = f"{label}: differences of users to {comparison.baseline}, without those that are 0"
    return picture(layers, size, margins, title, "; ".join(strip["plain"] for strip in strips))


def _strip(comparison: Comparison, i: int, row: Distribution) -> Row:
    percentiles = ", ".join(f"{p} %: {at(comparison, row, p)}" for p in PERCENTILES)
    plain = f"{row.a}: percentiles {percentiles}; {the_same(row)} of the users the same"
    percentile_columns = {f"p{p}": row.quantiles[p] for p in PERCENTILES}
    same = f"{the_same(row)} the same"
    return model_row(i, row.a, plain, same=same, plain=plain, **percentile_columns)


def _reach(strips: Rows, width: float) -> alt.Chart:
    rules = values(strips).mark_rule(strokeWidth=width, color=light("line-strong"), aria=True)
    return rules.encode(description=TAG)


def _texts(strips: Rows, y: alt.Y, width: int, *, narrow: bool) -> list[alt.Chart]:
    """Return the model's name and the share of users without a difference: beside the strip, or above it."""
    if narrow:
        name = text(strips, "long_name", 13, "ink", tagged=True, align="left", dy=-15)
        same = text(strips, "same", 13, "ink-soft", tagged=True, align="right", dy=-15)
        return [name.encode(x=x_at(0), y=y), same.encode(x=x_at(width), y=y)]
    name = text(strips, "name", 14, "ink", tagged=True, align="left")
    same = text(strips, "same", 13, "ink-soft", tagged=True, align="right")
    return [name.encode(x=x_at(-140), y=y), same.encode(x=x_at(width + 146), y=y)]
