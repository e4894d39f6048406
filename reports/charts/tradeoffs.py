"""Accuracy against beyond-accuracy: one small chart per pair of labels, with the Pareto front.

A model is dominated by another that is at least as good on both labels and better on one.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Tradeoff
from concord.reports.charts.curves import all_series
from concord.reports.charts.primitives import (
    HOVER,
    INSIDE,
    SHAPE,
    STROKE,
    Domain,
    Row,
    number_axis,
    plot,
    scale,
    shorten,
    tag,
    text_layer,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text import numbers

_SIZE = (286, 230)
_MARGINS = {"left": 44, "right": 20, "top": 14, "bottom": 34}
_NAME_HEIGHT, _LETTER_WIDTH = 11, 6.4  # pixels, at most
_MARK_RADIUS = 6  # pixels from the centre of a mark to its edge
_SHIFTS = (0, -8, 8, -15, 15, -22, 22)  # pixels that a name may be below its mark
_NAME_GAP = 10  # pixels between a mark and its name
_MAX_NAME = 16  # characters of a name
_MAX_NAMES = 4  # names in a sentence


def entries(comparison: Comparison) -> list[Tradeoff]:
    """Return the trade-offs of two models or more."""
    return [each for each in comparison.tradeoffs if len(each.points) > 1]


def sentence(comparison: Comparison, entry: Tradeoff) -> str:
    """Return which models are on the Pareto front, and how many others are dominated."""
    order = comparison.ranked
    front = sorted((p.model for p in entry.points if p.pareto), key=order.index)
    n_dominated = len(entry.points) - len(front)
    verb = "other is" if n_dominated == 1 else "others are"
    others = f" {n_dominated} {verb}." if n_dominated else ""
    return f"Beaten by no other model: {numbers.join_first(front, _MAX_NAMES)}.{others}"


def tradeoff_chart(comparison: Comparison, entry: Tradeoff) -> Markup:
    """Return a scatter plot: models on the Pareto front are filled, dominated ones are hollow."""
    points = _points(comparison, entry)
    domains = {name: _domain([point[name] for point in points]) for name in "xy"}
    x, y = alt.X("x:Q", scale=scale(*domains["x"])), alt.Y("y:Q", scale=scale(*domains["y"]))
    front = sorted((p for p in points if p["pareto"]), key=lambda p: (p["x"], p["y"]))
    line = plot(front).mark_line(strokeWidth=1.25, color=light("ink-faint"), strokeDash=[4, 3])
    marks = plot(points).mark_point(size=80, strokeWidth=1.75, opacity=1, aria=True)
    name_rows = _name_rows(points, domains)
    name_x = alt.X("text_x:Q", scale=alt.Scale(domain=[0, _SIZE[0]]), axis=None)
    name_y = alt.Y("text_y:Q", scale=alt.Scale(domain=[_SIZE[1], 0]), axis=None)
    names = partial(
        text_layer, name_rows, "name", 12, x=name_x, y=name_y, tagged=True, baseline="middle"
    )
    layers = [
        line.encode(x=x.axis(None), y=y.axis(None), order=alt.Order("x:Q")),
        marks.encode(
            x=x.axis(number_axis(domains["x"], 4)),
            y=y.axis(number_axis(domains["y"], 4)),
            shape=SHAPE,
            stroke=STROKE,
            fill=INSIDE,
            description=HOVER,
        ),
        *(
            names(align=side).transform_filter(alt.datum.align == side)
            for side in ("left", "right")
        ),
    ]
    title = f"{entry.y} against {entry.x}"
    return render_svg(layers, _SIZE, _MARGINS, title, sentence(comparison, entry), own_scales=True)


def _points(comparison: Comparison, entry: Tradeoff) -> list[Row]:
    series = {each.model: each for each in all_series(comparison)}
    return [
        {
            **vars(point),
            "colour": series[point.model].colour,
            "shape": series[point.model].shape,
            "inside": series[point.model].colour if point.pareto else light("page"),
            "name": shorten(point.model, _MAX_NAME),
            "is_named": series[point.model].is_named or point.pareto,
            "hover": tag(
                f"{point.model}: {entry.x} "
                f"{numbers.number(point.x, comparison.decimals[entry.x])}, {entry.y} "
                f"{numbers.number(point.y, comparison.decimals[entry.y])}",
                point.model,
            ),
            "tag": tag("", point.model),
        }
        for point in entry.points
    ]


def _domain(coordinates: Sequence[float]) -> Domain:
    """Return the range of the coordinates, extended on both sides; by 5 % if all are equal."""
    low, high = min(coordinates), max(coordinates)
    room = 0.09 * (high - low) or 0.05 * abs(high) or 0.05
    return low - room, high + room


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
                rows.append({**point, "align": align, "text_x": text_x, "text_y": y + shift})
                break
    return rows


def _overlap(a: tuple[float, float, float], b: tuple[float, float, float]) -> bool:
    """True if two names (left, right, middle) overlap."""
    return a[0] < b[1] and b[0] < a[1] and abs(a[2] - b[2]) < _NAME_HEIGHT


def _pixels(value: float, domain: Domain, size: int) -> float:
    return (value - domain[0]) / (domain[1] - domain[0]) * size
