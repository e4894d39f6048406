"""Interval plot of the percentiles of users' differences to the baseline that are not 0."""

from functools import partial

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
    padded_domain,
    plot,
    plot_width,
    row_axes,
    text_layer,
    x_at,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text import numbers

PERCENTILES = (5, 25, 50, 75, 95)


def distributions(comparison: Comparison, label: str) -> list[Distribution]:
    """Return the distributions of differences to the baseline, in the order of the leaderboard."""
    by_model = {
        each.a: each
        for each in comparison.distributions
        if each.label == label and each.b == comparison.baseline
    }
    return [by_model[model] for model in comparison.compared_models if model in by_model]


def distributions_in_chart(comparison: Comparison, label: str) -> list[Distribution]:
    """Return the distributions that have percentiles; the others are in the table only."""
    return [each for each in distributions(comparison, label) if each.quantiles]


def percentile_text(comparison: Comparison, row: Distribution, percentile: int) -> str:
    """Return a percentile as text."""
    digits = comparison.decimals[row.label]
    return numbers.signed(row.quantiles[percentile], digits) if row.quantiles else numbers.MISSING


def equal_share(row: Distribution) -> str:
    """Return the share of users whose difference is 0."""
    return numbers.share(row.n_zero / row.n_users if row.n_users else None)


def distribution_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return the interval plot.

    A thin line goes from the 5th to the 95th percentile, a thick one from the 25th to the 75th;
    the dot is the median.
    """
    rows = [
        _row(comparison, i, each)
        for i, each in enumerate(distributions_in_chart(comparison, label))
    ]
    domain = padded_domain([0.0, *(row[end] for row in rows for end in ("p5", "p95"))])
    x, y = row_axes("p5", domain, len(rows), narrow=narrow)
    margins = {"left": 0, "right": 4} if narrow else {"left": 140, "right": 150}
    margins |= {"top": 10, "bottom": 30}
    width = plot_width(margins, narrow=narrow)
    zero = plot([{"zero": 0.0}]).mark_rule(color=light("ink-soft"), strokeWidth=1)
    medians = plot(rows).mark_point(shape="circle", size=70, opacity=1, aria=True)
    layers = [
        zero.encode(x=alt.X("zero:Q")),
        _lines(rows, 1.5).encode(x=x, x2=alt.X2("p95"), y=y),
        _lines(rows, 7).encode(x=alt.X("p25:Q"), x2=alt.X2("p75"), y=y),
        medians.encode(
            x=alt.X("p50:Q"),
            y=y,
            fill=alt.value(light("page")),
            stroke=alt.value(light("ink")),
            description=HOVER,
        ),
        *_texts(rows, y, width, narrow=narrow),
    ]
    size = width, len(rows) * (46 if narrow else 30)
    title = f"{label}: differences of users to {comparison.baseline}, without those that are 0"
    return render_svg(layers, size, margins, title, "; ".join(row["plain"] for row in rows))


def _row(comparison: Comparison, i: int, distribution: Distribution) -> Row:
    percentiles = ", ".join(
        f"{p} %: {percentile_text(comparison, distribution, p)}" for p in PERCENTILES
    )
    share = equal_share(distribution)
    plain = f"{distribution.a}: percentiles {percentiles}; {share} of the users the same"
    columns = {f"p{p}": distribution.quantiles[p] for p in PERCENTILES}
    return model_row(i, distribution.a, plain, equal=f"{share} the same", plain=plain, **columns)


def _lines(rows: Rows, width: float) -> alt.Chart:
    rules = plot(rows).mark_rule(strokeWidth=width, color=light("line-strong"), aria=True)
    return rules.encode(description=TAG)


def _texts(rows: Rows, y: alt.Y, width: int, *, narrow: bool) -> list[alt.Chart]:
    """Return name and share of users without a difference: beside the line, or above it."""
    texts = partial(text_layer, rows, y=y, tagged=True)
    if narrow:
        return [
            texts("long_name", 13, "ink", x=x_at(0), align="left", dy=-15),
            texts("equal", 13, "ink-soft", x=x_at(width), align="right", dy=-15),
        ]
    return [
        texts("name", 14, "ink", x=x_at(-140), align="left"),
        texts("equal", 13, "ink-soft", x=x_at(width + 146), align="right"),
    ]
