"""Interval plot of every model's difference to the baseline."""

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
    difference_texts,
    interval_layer,
    model_row,
    padded_domain,
    plot,
    plot_width,
    row_axes,
    verdict_columns,
    zero_line,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text.numbers import difference_with_interval, exact, signed
from concord.reports.text.tables import against_baseline
from concord.reports.text.verdict_styles import VERDICTS

_DENSE = 12  # with this number of models or more, rows are lower


def difference_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return the interval plot, with a band of differences that are too small to matter."""
    differences = against_baseline(comparison, label)
    digits = comparison.decimals[label]
    rows = [_row(i, each, digits) for i, each in enumerate(differences)]
    band = next((each.min_effect for each in differences if each.min_effect is not None), 0.0)
    ends = (n for each in differences for n in (each.difference, each.ci_low, each.ci_high))
    domain = padded_domain([0.0, -band, band, *(n for n in ends if n is not None)])
    x, y = row_axes("difference", domain, len(rows), narrow=narrow)
    reach = (0.22, 0.4) if narrow else (0.5, 0.5)
    margins = {"left": 0, "right": 4} if narrow else {"left": 140, "right": 190}
    margins |= {"top": 26, "bottom": 30}
    width = plot_width(margins, narrow=narrow)
    height = len(rows) * (46 if narrow else 32 if len(rows) < _DENSE else 26)
    points = plot(row for row in rows if row["difference"] is not None)
    layers = [
        _band(band, len(rows), x, reach),
        *zero_line(comparison.baseline, len(rows), x, domain, reach),
        interval_layer(rows, y),
        points.mark_point(size=130, strokeWidth=1.75, opacity=1, aria=True).encode(
            x=x, y=y, shape=SHAPE, stroke=STROKE, fill=INSIDE, description=HOVER
        ),
        *difference_texts(rows, y, width, narrow=narrow),
    ]
    title = f"{label}: difference of each model to {comparison.baseline}"
    description = "; ".join(f"{row['model']}: {row['number_and_word']}" for row in rows)
    return render_svg(layers, (width, height), margins, title, description)


def _row(i: int, difference: Difference, digits: int) -> Row:
    word = VERDICTS[difference.verdict].word
    number = signed(difference.difference, digits)
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
        **verdict_columns(difference.verdict, "raised"),
    )


def _band(band: float, n_rows: int, x: alt.X, reach: tuple[float, float]) -> alt.Chart:
    """Return the band of differences that are too small to matter."""
    stripes = [
        {
            "difference": -band,
            "end": band,
            "from": i - reach[0],
            "to": i + reach[1],
            "hover": "" if i else f"within ±{exact(band)}",
        }
        for i in range(n_rows)
    ]
    return (
        plot(stripes)
        .mark_rect(color=light("band"), aria=True)
        .encode(
            x=x, x2=alt.X2("end"), y=alt.Y("from:Q", axis=None), y2=alt.Y2("to"), description=HOVER
        )
    )
