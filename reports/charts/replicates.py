"""Interval plot of differences to the baseline, over users only and over replicates."""

from functools import partial

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.primitives import (
    COLOUR,
    HOVER,
    Row,
    Rows,
    difference_texts,
    interval_layer,
    model_row,
    padded_domain,
    plot,
    plot_width,
    row_axes,
    tag,
    text_layer,
    x_at,
    zero_line,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text.numbers import signed, signed_interval
from concord.reports.text.replicates import single_differences
from concord.reports.text.tables import against_baseline
from concord.reports.text.verdict_styles import VERDICTS

_OFFSET = 13  # pixels from the line of a row down to its marks of single trainings
_ENDS = ("difference", "users_low", "users_high", "low", "high")


def replicate_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return the interval plot.

    The thick interval is over users, the thin one over users and new trainings. The marks below
    are the differences of single trainings.
    """
    rows = [_row(i, each, comparison) for i, each in enumerate(against_baseline(comparison, label))]
    ends = [row[key] for row in rows for key in _ENDS if row[key] is not None]
    domain = padded_domain([0.0, *ends, *(single for row in rows for single in row["single"])])
    x, y = row_axes("difference", domain, len(rows), narrow=narrow)
    margins = {"left": 4, "right": 4} if narrow else {"left": 140, "right": 190}
    margins |= {"top": 26, "bottom": 30}
    width = plot_width(margins, narrow=narrow)
    reach = (0.12, 0.45) if narrow else (0.5, 0.5)
    layers = [
        *zero_line(comparison.baseline, len(rows), x, domain, reach),
        *_interval_layers(rows, x, y),
        *difference_texts(rows, y, width, narrow=narrow),
    ]
    if not narrow:
        texts = partial(text_layer, rows, x=x_at(width + 88), y=y, tagged=True, align="left")
        layers.append(texts("users_only", 11, "ink-faint", dy=15))
    size = width, len(rows) * (66 if narrow else 48)
    title = (
        f"{label}: difference of each model to {comparison.baseline}, over users only and over "
        "replicates"
    )
    return render_svg(layers, size, margins, title, "; ".join(row["plain"] for row in rows))


def _row(i: int, difference: Difference, comparison: Comparison) -> Row:
    replicated = comparison.retrained(difference.a, difference.b, difference.label)
    digits = comparison.decimals[difference.label]
    users_verdict = VERDICTS[difference.verdict]
    verdict = VERDICTS[replicated.verdict] if replicated else users_verdict
    word = verdict.word if replicated else "trained once"
    number = signed(difference.difference, digits)
    plain = [f"{difference.a}: {number}"]
    if users := signed_interval(difference.ci_low, difference.ci_high, digits):
        plain.append(f"users only {users}, {users_verdict.word}")
    if replicated and (both := signed_interval(replicated.ci_low, replicated.ci_high, digits)):
        plain.append(f"over replicates, too: {both}, {verdict.word}")
    return model_row(
        i,
        difference.a,
        "; ".join(plain),
        difference=difference.difference,
        users_low=difference.ci_low,
        users_high=difference.ci_high,
        low=replicated.ci_low if replicated else None,
        high=replicated.ci_high if replicated else None,
        single=single_differences(comparison, difference.a, difference.label),
        digits=digits,
        number=number,
        word=word,
        users_only=f"users only: {users_verdict.word}" if verdict != users_verdict else "",
        number_and_word=f"{number} {word}",
        colour=light(verdict.tone),
        plain="; ".join(plain),
    )


def _interval_layers(rows: Rows, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    over_users = plot(row for row in rows if row["users_low"] is not None)
    points = plot(row for row in rows if row["difference"] is not None)
    single = plot(
        {
            "row": row["row"],
            "difference": difference,
            "hover": tag(
                f"{row['model']}, a single replicate: {signed(difference, row['digits'])}",
                row["model"],
            ),
        }
        for row in rows
        for difference in row["single"]
    )
    single_marks = single.mark_point(
        size=26,
        strokeWidth=1.25,
        opacity=1,
        filled=False,
        color=light("ink-soft"),
        yOffset=_OFFSET,
        aria=True,
    )
    return [
        over_users.mark_rule(strokeWidth=9, color=light("line-strong"), aria=True).encode(
            x=alt.X("users_low:Q"), x2=alt.X2("users_high"), y=y, description=HOVER
        ),
        interval_layer(rows, y),
        points.mark_point(size=55, opacity=1, filled=True, shape="circle", aria=True).encode(
            x=x, y=y, color=COLOUR, description=HOVER
        ),
        single_marks.encode(x=x, y=y, description=HOVER),
    ]
