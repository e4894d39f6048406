"""Accuracy against beyond-accuracy: one small chart per pair of labels, with intervals.

A model is dominated by another that is significantly better on one label and not significantly
worse on the other. Where two models were not tested, the worse mean counts as worse.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Point, Tradeoff
from concord.reports.charts.curves import Series, all_series
from concord.reports.charts.primitives import (
    HOVER,
    INSIDE,
    SHAPE,
    STROKE,
    TAG,
    Domain,
    Row,
    number_axis,
    padded_domain,
    plot,
    scale,
    shorten,
    tag,
    text_layer,
    x_at,
    y_at,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text import numbers

_SIZE = (286, 164)
_MARGINS = {"left": 44, "right": 20, "top": 26, "bottom": 34}
_NAME_HEIGHT, _LETTER_WIDTH = 11, 6.4  # pixels, at most
_MARK_RADIUS = 6  # pixels from the centre of a mark to its edge
_SHIFTS = (-8, 8, 0, -15, 15, -22, 22)  # pixels that a name may be below its mark
_NAME_GAP = 10  # pixels between a mark and its name
_MAX_NAME = 16  # characters of a name
_MAX_NAMES = 4  # names in a sentence
_UNTESTED = {"no_interval", "not_comparable"}  # verdicts


def entries(comparison: Comparison) -> list[Tradeoff]:
    """Return the trade-offs of two models or more."""
    return [each for each in comparison.tradeoffs if len(each.points) > 1]


def dominators(comparison: Comparison, entry: Tradeoff, model: str) -> list[str]:
    """Return the models that dominate a model, best on the primary label first."""
    others = {point.model for point in entry.points} - {model}
    return [
        other
        for other in comparison.ranked
        if other in others and _dominates(comparison, entry, other, model)
    ]


def _dominates(comparison: Comparison, entry: Tradeoff, a: str, b: str) -> bool:
    """True if a is significantly better than b on one label and not worse on the other."""
    verdicts = [_verdict(comparison, a, b, label) for label in (entry.x, entry.y)]
    is_worse = any(verdict.startswith("worse") for verdict in verdicts)
    return not is_worse and any(verdict.startswith("better") for verdict in verdicts)


def _verdict(comparison: Comparison, a: str, b: str, label: str) -> str:
    """Return the verdict on a against b; without a test, `worse` if a has the worse mean."""
    pair = comparison.difference(a, b, label)
    if pair is not None and pair.verdict not in _UNTESTED:
        return pair.verdict
    mean_a, mean_b = (comparison.score(model, label).mean or 0.0 for model in (a, b))
    is_worse = mean_a < mean_b if comparison.metric(label).higher_is_better else mean_a > mean_b
    return "worse" if is_worse else "undecided"


def sentence(comparison: Comparison, entry: Tradeoff) -> str:
    """Return which models are not dominated, and which are."""
    models = [point.model for point in entry.points]
    front = [m for m in comparison.ranked if m in models and not dominators(comparison, entry, m)]
    rest = [m for m in comparison.ranked if m in models and m not in front]
    groups = {"Not dominated": front, "Dominated": rest}
    return " ".join(
        f"{words}: {numbers.join_first(names, _MAX_NAMES)}."
        for words, names in groups.items()
        if names
    )


def tradeoff_chart(comparison: Comparison, entry: Tradeoff) -> Markup:
    """Return a scatter plot with intervals: dominated models are hollow, the others are filled."""
    series = {each.model: each for each in all_series(comparison)}
    points = [_point(comparison, entry, point, series[point.model]) for point in entry.points]
    domains = {
        name: padded_domain((p[f"{name}_{end}"] for p in points for end in ("low", "high")), 0.06)
        for name in "xy"
    }
    scales = {name: scale(*domain) for name, domain in domains.items()}
    x, x_low = (alt.X(f"{name}:Q", scale=scales["x"], axis=None) for name in ("x", "x_low"))
    y, y_low = (alt.Y(f"{name}:Q", scale=scales["y"], axis=None) for name in ("y", "y_low"))
    whiskers = plot(points).mark_rule(strokeWidth=1.25, opacity=0.6, aria=True)
    whiskers = whiskers.encode(stroke=STROKE, description=TAG)
    marks = plot(points).mark_point(size=80, strokeWidth=1.75, opacity=1, aria=True)
    layers = [
        whiskers.encode(x=x_low, x2=alt.X2("x_high"), y=y),
        whiskers.encode(x=x, y=y_low, y2=alt.Y2("y_high")),
        marks.encode(
            x=x.axis(number_axis(domains["x"], 4)),
            y=y.axis(number_axis(domains["y"], 4)),
            shape=SHAPE,
            stroke=STROKE,
            fill=INSIDE,
            description=HOVER,
        ),
        *_names(_name_rows(points, domains)),
        _better_corner(entry),
    ]
    title = f"{entry.y} against {entry.x}"
    return render_svg(layers, _SIZE, _MARGINS, title, sentence(comparison, entry), own_scales=True)


def _point(comparison: Comparison, entry: Tradeoff, point: Point, series: Series) -> Row:
    is_dominated = bool(dominators(comparison, entry, point.model))
    row: Row = {"x": point.x, "y": point.y}
    values = []
    for name, label in (("x", entry.x), ("y", entry.y)):
        score, digits = comparison.score(point.model, label), comparison.decimals[label]
        row[f"{name}_low"] = row[name] if score.ci_low is None else score.ci_low
        row[f"{name}_high"] = row[name] if score.ci_high is None else score.ci_high
        span = numbers.interval(score.ci_low, score.ci_high, digits)
        values.append(f"{label} {numbers.with_details(numbers.number(row[name], digits), span)}")
    return {
        **row,
        **vars(series),
        "inside": light("page") if is_dominated else series.colour,
        "name": shorten(point.model, _MAX_NAME),
        "name_colour": series.colour if series.is_named else light("ink-faint"),
        "is_named": series.is_named or not is_dominated,
        "hover": tag(f"{point.model}: {', '.join(values)}", point.model),
        "tag": tag("", point.model),
    }


def _names(rows: Sequence[Row]) -> list[alt.Chart]:
    x = alt.X("text_x:Q", scale=alt.Scale(domain=[0, _SIZE[0]]), axis=None)
    y = alt.Y("text_y:Q", scale=alt.Scale(domain=[_SIZE[1], 0]), axis=None)
    names = partial(text_layer, rows, "name", 12, x=x, y=y, tagged=True, baseline="middle")
    return [
        names(align=side).transform_filter(alt.datum.align == side) for side in ("left", "right")
    ]


def _better_corner(entry: Tradeoff) -> alt.Chart:
    """Return a word and an arrow outside of the corner in which both labels are better."""
    is_right, is_top = entry.x_higher_is_better, entry.y_higher_is_better
    arrow = ("↗" if is_right else "↖") if is_top else ("↘" if is_right else "↙")
    return text_layer(
        [{"text": f"better {arrow}" if is_right else f"{arrow} better"}],
        "text",
        12,
        "better",
        x=x_at(_SIZE[0] if is_right else 0),
        y=y_at(-12 if is_top else _SIZE[1] + 29),
        align="right" if is_right else "left",
        fontWeight=600,
    )


def _name_rows(points: Sequence[Row], domains: Mapping[str, Domain]) -> list[Row]:
    """Return the positions of the names beside their marks; without names that do not fit."""
    width, height = _SIZE
    centres = {
        point["model"]: (
            _pixels(point["x"], domains["x"], width),
            height - _pixels(point["y"], domains["y"], height),
        )
        for point in points
    }
    occupied = [(x - _MARK_RADIUS, x + _MARK_RADIUS, y) for x, y in centres.values()]
    rows = []
    named_points = [point for point in points if point["is_named"]]
    for point in sorted(named_points, key=lambda p: (centres[p["model"]][1], p["model"])):
        x, y = centres[point["model"]]
        length = _LETTER_WIDTH * len(point["name"])
        for shift, align in product(_SHIFTS, ("left", "right")):
            text_x = x + _NAME_GAP if align == "left" else x - _NAME_GAP
            begin = text_x if align == "left" else text_x - length
            box = (begin, begin + length, y + shift)
            inside = begin >= 0 and box[1] <= width + _MARGINS["right"]
            if inside and not any(_overlap(box, other) for other in occupied):
                occupied.append(box)
                rows.append(
                    {
                        **point,
                        "colour": point["name_colour"],
                        "align": align,
                        "text_x": text_x,
                        "text_y": y + shift,
                    }
                )
                break
    return rows


def _overlap(a: tuple[float, float, float], b: tuple[float, float, float]) -> bool:
    """True if two names (left, right, middle) overlap."""
    return a[0] < b[1] and b[0] < a[1] and abs(a[2] - b[2]) < _NAME_HEIGHT


def _pixels(value: float, domain: Domain, size: int) -> float:
    return (value - domain[0]) / (domain[1] - domain[0]) * size
