"""Line plots of a metric over the cutoff k: one small chart per metric."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.reports.charts.primitives import (
    FILL,
    HOVER,
    SHAPE,
    STROKE,
    TAG,
    Domain,
    Row,
    axis,
    end_names,
    interval_columns,
    number_axis,
    pixels_from_top,
    plot,
    scale,
    shorten,
    spread,
    tag,
    x2_at,
    x_at,
)
from concord.reports.charts.svg import SERIES, light, render_svg
from concord.reports.text.numbers import interval, number

SHAPES = [
    "square",
    "circle",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    "triangle-right",
    "triangle-left",
]
_NAMED_OF_MANY = 3  # best models, with the baseline, if there are more models than colours
_SIZE = (164, 164)
_MARGINS = {"left": 38, "right": 102, "top": 10, "bottom": 30}


@dataclass(frozen=True)
class Series:
    """Style of a model in all line plots."""

    model: str
    colour: str
    shape: str
    is_named: bool


def all_series(comparison: Comparison) -> list[Series]:
    """Return the baseline in grey and the others in colours; the best only, if colours run out."""
    ranked, baseline = comparison.compared_models, comparison.baseline
    coloured = ranked if len(ranked) < len(SERIES) else ranked[:_NAMED_OF_MANY]
    others = [
        Series(model, light("line-strong"), "circle", is_named=False)
        for model in ranked
        if model not in {baseline, *coloured}
    ]
    # In the order of params.yaml: a model keeps its colour when another overtakes it.
    named_models = [baseline, *(model for model in comparison.models if model in coloured)]
    return others + [
        Series(model, light(colour), shape, is_named=True)
        for model, colour, shape in zip(named_models, SERIES, SHAPES, strict=False)
    ]


def curve_stems(comparison: Comparison) -> list[str]:
    """Return the metrics that have values at two cutoffs or more, without their cutoffs."""
    stems = [
        metric.stem
        for metric in comparison.metrics
        if metric.k is not None
        and any(score.mean is not None for score in comparison.scores_of(metric.label))
    ]
    return [stem for stem in dict.fromkeys(stems) if stems.count(stem) > 1]


def curve_labels(comparison: Comparison, stem: str) -> dict[int, str]:
    """Return cutoff -> label of a curve, by rising cutoff."""
    labels = {m.k: m.label for m in comparison.metrics if m.stem == stem and m.k is not None}
    return dict(sorted(labels.items()))


def curve_ks(comparison: Comparison) -> list[int]:
    """Return the cutoffs of all curves, rising."""
    return sorted({k for stem in curve_stems(comparison) for k in curve_labels(comparison, stem)})


def curve_chart(comparison: Comparison, stem: str) -> Markup:
    """Return the line plot of a metric: means by cutoff, with intervals of the named models."""
    label_by_k = curve_labels(comparison, stem)
    ks, labels = list(label_by_k), list(label_by_k.values())
    rows = [row for line in all_series(comparison) for row in _points(comparison, line, labels)]
    top = max((row["high"] for row in rows), default=1.0) or 1.0
    bottom = min(0.0, *(row["low"] for row in rows)) if rows else 0.0
    description = "; ".join(row["plain"] for row in rows if row["k"] == ks[-1] and row["is_named"])
    layers = _layers(rows, ks, (bottom, top * 1.04))
    return render_svg(layers, _SIZE, _MARGINS, f"{stem} by cutoff k", description)


def _points(comparison: Comparison, line: Series, labels: Sequence[str]) -> list[Row]:
    digits = comparison.decimals[labels[-1]]
    rows = []
    for label in labels:
        score = comparison.score(line.model, label)
        if score.mean is None:
            continue
        plain = f"{line.model}, {label}: {number(score.mean, digits)}"
        hover = f"{plain} ({interval(score.ci_low, score.ci_high, digits)})"
        rows.append(
            {
                **vars(line),
                **interval_columns(score),
                "k": comparison.metric(label).k,
                "name": shorten(line.model, 13),
                "plain": plain,
                "hover": tag(hover, line.model),
                "tag": tag("", line.model),
            }
        )
    return rows


def _layers(rows: list[Row], ks: list[int], domain: Domain) -> list[alt.Chart]:
    x = alt.X(
        "k:Q",
        scale=alt.Scale(type="log", base=2, domain=[ks[0], ks[-1]], nice=False, padding=6),
        axis=axis(_ticks(ks), "format(datum.value, 'd')", grid=False),
    )
    y = alt.Y("mean:Q", scale=scale(*domain), axis=number_axis(domain, 4))
    others = [row for row in rows if not row["is_named"]]
    named_rows = [row for row in rows if row["is_named"]]
    intervals = plot(named_rows).mark_rule(strokeWidth=1.25, opacity=0.55, aria=True)
    points = plot(named_rows).mark_point(size=40, opacity=1, strokeWidth=1, aria=True)
    return [
        *(
            plot(part)
            .mark_line(strokeWidth=width, aria=True)
            .encode(x=x, y=y, detail=alt.Detail("model:N"), stroke=STROKE, description=TAG)
            for part, width in ((others, 1.25), (named_rows, 1.75))
        ),
        intervals.encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high"), stroke=STROKE, description=TAG),
        points.encode(x=x, y=y, shape=SHAPE, stroke=STROKE, fill=FILL, description=HOVER),
        *_names([row for row in named_rows if row["k"] == ks[-1]], domain),
    ]


def _names(ends: list[Row], domain: Domain) -> list[alt.Chart]:
    """Return the names at the right, each with a leader line to the end of its curve."""
    width, height = _SIZE
    per_pixel = (domain[1] - domain[0]) / height
    ends = sorted(ends, key=lambda row: -float(row["mean"]))
    positions = [pixels_from_top(row["mean"], domain, height) for row in ends]
    leaders = [
        {**row, "name_at": domain[1] - position * per_pixel}
        for row, position in zip(ends, spread(positions, height), strict=True)
    ]
    leader_lines = plot(leaders).mark_rule(strokeWidth=1, opacity=0.6, aria=True)
    return [
        leader_lines.encode(
            x=x_at(width),
            x2=x2_at(width + 10),
            y=alt.Y("mean:Q"),
            y2=alt.Y2("name_at"),
            stroke=STROKE,
            description=TAG,
        ),
        *end_names(ends, positions, _SIZE),
    ]


def _ticks(ks: list[int]) -> list[int]:
    """Return the cutoffs whose labels fit on a logarithmic axis, always with the last one."""
    min_distance = 20 / _SIZE[0] * (math.log(ks[-1] / ks[0]) or 1)
    ticks = [ks[-1]]
    for k in reversed(ks[:-1]):
        if math.log(ticks[-1] / k) >= min_distance:
            ticks.append(k)
    return ticks[::-1]
