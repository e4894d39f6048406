"""The picture that decides: every model's difference to the baseline, with its interval."""

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.primitives import (
    COLOUR,
    HOVER,
    INSIDE,
    STROKE,
    Row,
    Rows,
    difference_texts,
    model_row,
    padded,
    plot_width,
    row_axes,
    values,
    zero_line,
)
from concord.reports.charts.svg import light, picture
from concord.reports.text import numbers
from concord.reports.text.numbers import difference_with_interval, exact, signed
from concord.reports.text.tables import against_baseline
from concord.reports.text.verdict_styles import VERDICTS

_DENSE = 12  # models, from which on rows are lower


def difference_chart(comparison: Comparison, label: str, *, narrow: bool) -> Markup:
    """Return models as rows, the difference to the baseline as x, and a band of differences that do not matter."""
    differences = against_baseline(comparison, label)
    digits = numbers.difference_digits(comparison, label)
    rows = [_row(i, each, digits) for i, each in enumerate(differences)]
    band = next((each.min_effect for each in differences if each.min_effect is not None), 0.0)
    ends = (n for each in differences for n in (each.difference, each.ci_low, each.ci_high))
    domain = padded([0.0, -band, band, *(n for n in ends if n is not None)])
    x, y = row_axes("difference", domain, len(rows), narrow=narrow)
    reach = (0.22, 0.4) if narrow else (0.5, 0.5)
    margins = {"left": 0, "right": 4} if narrow else {"left": 140, "right": 190}
    margins |= {"top": 26, "bottom": 30}
    width = plot_width(margins, narrow=narrow)
    height = len(rows) * (46 if narrow else 32 if len(rows) < _DENSE else 26)
    layers = [
        _band(band, len(rows), x, reach),
        *zero_line(comparison.baseline, len(rows), x, domain, reach),
        *_interval_layers(rows, x, y),
        *difference_texts(rows, y, width, narrow=narrow),
    ]
    title = f"{label}: difference of each model to {comparison.baseline}"
    description = "; ".join(f"{row['model']}: {row['number_and_word']}" for row in rows)
    return picture(layers, (width, height), margins, title, description)


def _row(i: int, difference: Difference, digits: int) -> Row:
    verdict = VERDICTS[difference.verdict]
    written = signed(difference.difference, digits)
    interval = difference_with_interval(difference, digits)
    hover = f"{difference.a}: {interval}, {verdict.word}"
    return model_row(
        i,
        difference.a,
        hover,
        difference=difference.difference,
        low=difference.ci_low,
        high=difference.ci_high,
        written=written,
        verdict=difference.verdict,
        word=verdict.word,
        colour=light(verdict.tone),
        inside=light(verdict.tone if verdict.filled else "raised"),
        number_and_word=f"{written} {verdict.word}",
    )


def _band(band: float, n_rows: int, x: alt.X, reach: tuple[float, float]) -> alt.Chart:
    """Return the band of differences that do not matter."""
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
        values(stripes)
        .mark_rect(color=light("band"), aria=True)
        .encode(
            x=x, x2=alt.X2("end"), y=alt.Y("from:Q", axis=None), y2=alt.Y2("to"), description=HOVER
        )
    )


def _interval_layers(rows: Rows, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    paths = [verdict.path for verdict in VERDICTS.values()]
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=list(VERDICTS), range=paths), legend=None)
    intervals = values(row for row in rows if row["low"] is not None)
    points = values(row for row in rows if row["difference"] is not None)
    return [
        intervals.mark_rule(strokeWidth=2, strokeCap="round", aria=True).encode(
            x=alt.X("low:Q"), x2=alt.X2("high"), y=y, color=COLOUR, description=HOVER
        ),
        points.mark_point(size=130, strokeWidth=1.75, opacity=1, aria=True).encode(
            x=x, y=y, shape=shape, stroke=STROKE, fill=INSIDE, description=HOVER
        ),
    ]
