"""What new trainings would change: each model's difference to the baseline with both of its intervals."""

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
    model_row,
    padded,
    plot_width,
    row_axes,
    tag,
    text,
    values,
    x_at,
    zero_line,
)
from concord.reports.charts.svg import light, picture
from concord.reports.text import numbers
from concord.reports.text.numbers import signed, signed_interval
from concord.reports.text.replicates import single_differences
from concord.reports.text.tables import against_baseline
from concord.reports.text.verdict_styles import VERDICTS

_BELOW = 13  # pixels from the line of a row to its marks of single trainings
_ENDS = ("difference", "users_low", "users_high", "low", "high")


def training_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return models as rows, the difference to the baseline as x.

    The thick interval is over users, the thin one over users and new trainings; below it are the differences of single
    trainings.
    """
    rows = [_row(i, each, comparison) for i, each in enumerate(against_baseline(comparison, label))]
    ends = [row[key] for row in rows for key in _ENDS if row[key] is not None]
    domain = padded([0.0, *ends, *(single for row in rows for single in row["single"])])
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
        users_only = text(rows, "users_only", 11, "ink-faint", tagged=True, align="left", dy=15)
        layers.append(users_only.encode(x=x_at(width + 88), y=y))
    size = width, len(rows) * (66 if narrow else 48)
    title = (
        f"{label}: difference of each model to {comparison.baseline}, over users only and over new "
        "trainings"
    )
    return picture(layers, size, margins, title, "; ".join(row["plain"] for row in rows))


def _row(i: int, difference: Difference, comparison: Comparison) -> Row:
    replicated = comparison.retrained(difference.a, difference.b, difference.label)
    digits = numbers.difference_digits(comparison, difference.label)
    users_verdict = VERDICTS[difference.verdict]
    verdict = VERDICTS[replicated.verdict] if replicated else users_verdict
    word = verdict.word if replicated else "trained once"
    written = signed(difference.difference, digits)
    plain = [f"{difference.a}: {written}"]
    if users := signed_interval(difference.ci_low, difference.ci_high, digits):
        plain.append(f"users only {users}, {users_verdict.word}")
    if replicated and (both := signed_interval(replicated.ci_low, replicated.ci_high, digits)):
        plain.append(f"new trainings, too: {both}, {verdict.word}")
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
        written=written,
        word=word,
        users_only=f"users only: {users_verdict.word}" if verdict != users_verdict else "",
        number_and_word=f"{written} {word}",
        colour=light(verdict.tone),
        plain="; ".join(plain),
    )


def _interval_layers(rows: Rows, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    over_users = values(row for row in rows if row["users_low"] is not None)
    over_trainings = values(row for row in rows if row["low"] is not None)
    points = values(row for row in rows if row["difference"] is not None)
    single = values(
        {
            "row": row["row"],
            "difference": difference,
            "hover": tag(
                f"{row['model']}, a single training: {signed(difference, row['digits'])}",
                row["model"],
            ),
        }
        for row in rows
        for difference in row["single"]
    )
    hollow = single.mark_point(
        size=26,
        strokeWidth=1.25,
        opacity=1,
        filled=False,
        color=light("ink-soft"),
        yOffset=_BELOW,
        aria=True,
    )
    return [
        over_users.mark_rule(strokeWidth=9, color=light("line-strong"), aria=True).encode(
            x=alt.X("users_low:Q"), x2=alt.X2("users_high"), y=y, description=HOVER
        ),
        over_trainings.mark_rule(strokeWidth=2, strokeCap="round", aria=True).encode(
            x=alt.X("low:Q"), x2=alt.X2("high"), y=y, color=COLOUR, description=HOVER
        ),
        points.mark_point(size=55, opacity=1, filled=True, shape="circle", aria=True).encode(
            x=x, y=y, color=COLOUR, description=HOVER
        ),
        hollow.encode(x=x, y=y, description=HOVER),
    ]
