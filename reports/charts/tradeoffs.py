"""Accuracy against beyond-accuracy: one small picture per pair of labels, with the Pareto front.

A model is dominated by another that is at least as good on both labels and better on one.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Literal

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results import comparison_parts as parts
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
    scale,
    shortened,
    tag,
    text,
    values,
)
from concord.reports.charts.svg import light, picture
from concord.reports.text import numbers

_SIZE = (286, 230)
_MARGINS = {"left": 44, "right": 20, "top": 14, "bottom": 34}
_LINE, _LETTER = 11, 6.4  # pixels: the height of a name, the width of a letter at most
_MARK_RADIUS = 6  # pixels from the middle of a mark to its edge
_SHIFTS = (0, -8, 8, -15, 15, -22, 22)  # pixels that a name may be above or below its mark
_NAME_GAP = 10  # pixels between a mark and its name
_LONGEST = 16  # characters of a name
_MAX_NAMED = 4  # names in a sentence


def entries(comparison: Comparison) -> list[Tradeoff]:
    """Return the trade-offs of two models or more."""
    return [e for e in comparison.tradeoffs if len(e.points) > 1]


def sentence(comparison: Comparison, entry: Tradeoff) -> str:
    """Return which models are on the Pareto front, and how many others are dominated."""
    order = comparison.ranked
    front = sorted((p.model for p in entry.points if p.pareto), key=order.index)
    beaten = len(entry.points) - len(front)
    more = f" and {len(front) - _MAX_NAMED} more" if len(front) > _MAX_NAMED else ""
    others = f" {beaten} {'other is' if beaten == 1 else 'others are'}." if beaten else ""
    return f"Beaten by no other model: {', '.join(front[:_MAX_NAMED])}{more}.{others}"


def coordinate(entry: Tradeoff, point: parts.Point, which: Literal["x", "y"]) -> str:
    """Return x or y of a point as text."""
    coordinates = [getattr(each, which) for each in entry.points]
    return numbers.number(getattr(point, which), 3 if max(map(abs, coordinates)) <= 1 else 2)


def tradeoff_chart(comparison: Comparison, entry: Tradeoff) -> Markup:
    """Return models as marks: filled on the Pareto front, hollow if another model dominates them."""
    points = _points(comparison, entry)
    ends = {which: _ends([point[which] for point in points]) for which in "xy"}
    x, y = alt.X("x:Q", scale=scale(*ends["x"])), alt.Y("y:Q", scale=scale(*ends["y"]))
    front = sorted((p for p in points if p["pareto"]), key=lambda p: (p["x"], p["y"]))
    line = values(front).mark_line(strokeWidth=1.25, color=light("ink-faint"), strokeDash=[4, 3])
    points_layer = values(points).mark_point(size=80, strokeWidth=1.75, opacity=1, aria=True)
    names = _placed(points, ends)
    layers = [
        line.encode(x=x.axis(None), y=y.axis(None), order=alt.Order("x:Q")),
        points_layer.encode(
            x=x.axis(number_axis(ends["x"], 4)),
            y=y.axis(number_axis(ends["y"], 4)),
            shape=SHAPE,
            stroke=STROKE,
            fill=INSIDE,
            description=HOVER,
        ),
        *(
            text(names, "name", 12, tagged=True, align=side, baseline="middle")
            .transform_filter(alt.datum.align == side)
            .encode(
                x=alt.X("text_x:Q", scale=alt.Scale(domain=[0, _SIZE[0]]), axis=None),
                y=alt.Y("text_y:Q", scale=alt.Scale(domain=[_SIZE[1], 0]), axis=None),
            )
            for side in ("left", "right")
        ),
    ]
    title = f"{entry.y} against {entry.x}"
    return picture(layers, _SIZE, _MARGINS, title, sentence(comparison, entry), own_scales=True)


def _points(comparison: Comparison, entry: Tradeoff) -> list[Row]:
    series = {each.model: each for each in all_series(comparison)}
    named = {model for model, each in series.items() if each.named}
    return [
        {
            **vars(point),
            "colour": series[point.model].colour,
            "shape": series[point.model].shape,
            "inside": series[point.model].colour if point.pareto else light("page"),
            "name": shortened(point.model, _LONGEST),
            "named": point.model in named or point.pareto,
            "hover": tag(
                f"{point.model}: {entry.x} {coordinate(entry, point, 'x')}, "
                f"{entry.y} {coordinate(entry, point, 'y')}",
                point.model,
            ),
            "tag": tag("", point.model),
        }
        for point in entry.points
    ]


def _ends(numbers: Sequence[float]) -> Domain:
    """Return the range of the numbers with some room; a single number is given 5 % of itself."""
    low, high = min(numbers), max(numbers)
    room = 0.09 * (high - low) or 0.05 * abs(high) or 0.05
    return low - room, high + room


def _placed(points: Sequence[Row], ends: Mapping[str, Domain]) -> list[Row]:
    """Return the names beside their marks if they cover no other name or mark; the others are left out."""
    width, height = _SIZE
    at = {
        p["model"]: (_pixel(p["x"], ends["x"], width), height - _pixel(p["y"], ends["y"], height))
        for p in points
    }
    occupied = [(x - _MARK_RADIUS, x + _MARK_RADIUS, y) for x, y in at.values()]
    placed = []
    named = [point for point in points if point["named"]]
    for point in sorted(named, key=lambda p: (at[p["model"]][1], p["model"])):
        x, y = at[point["model"]]
        length = _LETTER * len(point["name"])
        for shift, align in product(_SHIFTS, ("left", "right")):
            text_x = x + _NAME_GAP if align == "left" else x - _NAME_GAP
            begin = text_x if align == "left" else text_x - length
            box = (begin, begin + length, y + shift)
            inside = begin >= 0 and box[1] <= width + _MARGINS["right"]
            if inside and not any(_overlap(box, other) for other in occupied):
                occupied.append(box)
                placed.append({**point, "align": align, "text_x": text_x, "text_y": y + shift})
                break
    return placed


def _overlap(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    """True if two boxes (left, right, middle) overlap."""
    return one[0] < other[1] and other[0] < one[1] and abs(one[2] - other[2]) < _LINE


def _pixel(value: float, ends: Domain, size: int) -> float:
    return (value - ends[0]) / (ends[1] - ends[0]) * size
