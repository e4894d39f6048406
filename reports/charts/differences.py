"""Interval plot of every model's difference to the baseline."""

from functools import partial

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.primitives import (
    HOVER,
    INSIDE,
    SHAPE,
    STROKE,
    Row,
    Rows,
    interval_layer,
    model_row,
    padded_domain,
    plot,
    plot_width,
    row_axes,
    text_layer,
    verdict_columns,
    x_at,
    y_at,
    zero_line,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text.numbers import PERCENT, difference_with_interval, exact, signed
from concord.reports.text.tables import (
    against_baseline,
    best_probability,
    min_effect,
    probability_text,
)
from concord.reports.text.verdict_styles import VERDICTS

_DENSE = 12  # with this number of models or more, rows are lower
_LEGIBLE = 0.4  # share of a common axis that each metric must fill
_COLUMNS = {"number": 70, "mark": 88, "word": 100, "best": 278, "users": 385}  # right of the plot
_NARROW_TEXT = 155  # pixels of a text above a row
_WIDE_MARGINS, _NARROW_MARGINS = {"left": 140, "right": 390}, {"left": 0, "right": 4}


def difference_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return the interval plot, with a band of differences that are too small to matter.

    Beside it are difference, verdict, probability of the best mean, and shares of users.
    """
    rows = [_row(i, each, comparison) for i, each in enumerate(against_baseline(comparison, label))]
    domain = padded_domain(_common_ends(comparison, label))
    x, y = row_axes("difference", domain, len(rows), narrow=narrow)
    margins = (_NARROW_MARGINS if narrow else _WIDE_MARGINS) | {"top": 26, "bottom": 30}
    width = plot_width(margins, narrow=narrow)
    height = len(rows) * (46 if narrow else 32 if len(rows) < _DENSE else 26)
    zero = width * -domain[0] / (domain[1] - domain[0])
    points = plot(row for row in rows if row["difference"] is not None)
    layers = [
        _band(min_effect(comparison, label), len(rows), x),
        *zero_line(comparison.baseline, len(rows), x, domain, (0.5, 0.5)),
        interval_layer(rows, y),
        points.mark_point(size=130, strokeWidth=1.75, opacity=1, aria=True).encode(
            x=x, y=y, shape=SHAPE, stroke=STROKE, fill=INSIDE, description=HOVER
        ),
        *(_texts_above(rows, y, width, zero) if narrow else _columns(rows, y, width)),
    ]
    title = f"{label}: difference of each model to {comparison.baseline}"
    description = "; ".join(row["plain"] for row in rows)
    return render_svg(layers, (width, height), margins, title, description)


def _ends(comparison: Comparison, label: str) -> list[float]:
    """Return the numbers that the axis of a label must hold."""
    band, rows = min_effect(comparison, label), against_baseline(comparison, label)
    ends = (n for each in rows for n in (each.difference, each.ci_low, each.ci_high))
    return [0.0, -band, band, *(n for n in ends if n is not None)]


def _common_ends(comparison: Comparison, label: str) -> list[float]:
    """Return the ends of all primary labels with the same band, so that it looks alike.

    If one of these would fill too little of the axis, each has its own.
    """
    band = min_effect(comparison, label)
    labels = [other for other in comparison.primary if min_effect(comparison, other) == band]
    ends = [_ends(comparison, other) for other in labels]
    common = [end for each in ends for end in each]
    length = max(common) - min(common)
    is_legible = all(max(each) - min(each) >= _LEGIBLE * length for each in ends)
    return common if is_legible else _ends(comparison, label)


def _columns(rows: Rows, y: alt.Y, width: int) -> list[alt.Chart]:
    """Return the texts beside the rows, under their heads."""
    texts = partial(text_layer, rows, y=y, tagged=True)
    at = {name: x_at(width + offset) for name, offset in _COLUMNS.items()}
    marks = plot(rows).mark_point(size=60, strokeWidth=1.5, opacity=1)
    head = partial(text_layer, size=12, colour="ink-faint", y=y_at(0), dy=-12)
    heads = {"number": "difference", "best": "best?", "users": "users + / −"}
    return [
        texts("name", 14, "ink", x=x_at(-140), align="left"),
        texts("number", 14, x=at["number"], align="right", fontWeight=600),
        marks.encode(x=at["mark"], y=y, shape=SHAPE, stroke=STROKE, fill=INSIDE),
        texts("word", 13, x=at["word"], align="left", fontWeight=600),
        texts("best", 13, "ink-soft", x=at["best"], align="right"),
        texts("users", 13, "ink-soft", x=at["users"], align="right"),
        *(
            head([{"text": text}], "text", x=at[name], align="right")
            for name, text in heads.items()
            if any(row[name] for row in rows)
        ),
    ]


def _texts_above(rows: Rows, y: alt.Y, width: int, zero: float) -> list[alt.Chart]:
    """Return name and verdict above each row, beside the line of no difference."""
    left = 0 if zero > _NARROW_TEXT else zero + 6
    right = width if zero < width - _NARROW_TEXT else zero - 6
    texts = partial(text_layer, rows, y=y, tagged=True, dy=-17)
    return [
        texts("long_name", 13, "ink", x=x_at(left), align="left"),
        texts("number_and_word", 13, x=x_at(right), align="right", fontWeight=600),
    ]


def _row(i: int, difference: Difference, comparison: Comparison) -> Row:
    digits = comparison.decimals[difference.label]
    word = VERDICTS[difference.verdict].word
    number = signed(difference.difference, digits)
    best = best_probability(comparison, difference.label, difference.a)
    users, plain = "", [f"{number} {word}"]
    if difference.better is not None and difference.worse is not None:
        users = f"{100 * difference.better:.0f} / {100 * difference.worse:.0f}{PERCENT}"
        plain.append(f"users better and worse: {users}")
    if best is not None:
        plain.append(f"probability of the best mean: {probability_text(best)}")
    hover = f"{difference.a}: {difference_with_interval(difference, digits)}, {word}"
    return model_row(
        i,
        difference.a,
        hover,
        difference=difference.difference,
        low=difference.ci_low,
        high=difference.ci_high,
        number=number,
        word=word,
        number_and_word=f"{number} {word}",
        best=probability_text(best),
        users=users,
        plain=f"{difference.a}: {', '.join(plain)}",
        **verdict_columns(difference.verdict, "raised"),
    )


def _band(band: float, n_rows: int, x: alt.X) -> alt.Chart:
    """Return the band of differences that are too small to matter."""
    area = {"difference": -band, "end": band, "from": -0.5, "to": n_rows - 0.5}
    return (
        plot([area | {"hover": f"within ±{exact(float(f'{band:.3g}'))}"}])
        .mark_rect(color=light("band"), aria=True)
        .encode(
            x=x, x2=alt.X2("end"), y=alt.Y("from:Q", axis=None), y2=alt.Y2("to"), description=HOVER
        )
    )
