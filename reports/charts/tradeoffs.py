"""Accuracy against beyond-accuracy: one small chart per pair of labels, with intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Point as TradeoffPoint
from concord.metrics_core.results.comparison_parts import Tradeoff
from concord.reports.charts.curves import Series, all_series
from concord.reports.charts.plots import (
    Linear,
    draw_axis,
    interval_ends,
    number_ticks,
    padded_scale,
    shorten,
)
from concord.reports.charts.svg import Anchor, Chart, Point
from concord.reports.text import numbers

_WIDTH, _HEIGHT = 286, 176
_NAME_HEIGHT, _LETTER_WIDTH = 11, 6.4  # pixels, at most
_MARK_RADIUS = 6  # pixels from the centre of a mark to its edge
_RISES = (0, -8, 8, -15, 15, -22, 22, -30, 30, -38, 38, -46, 46)  # pixels from a mark to its name
_NAME_GAP = 10  # pixels beside a mark
_RIGHT = 20  # pixels of the margin, in which names may be
_MAX_NAME = 16  # characters of a name
_MAX_NAMES = 4  # names in a sentence
_NOT_SHOWN = "Not shown to be dominated"


def entries(comparison: Comparison) -> list[Tradeoff]:
    """Return the trade-offs of two models or more."""
    return [each for each in comparison.tradeoffs if len(each.points) > 1]


def sentence(comparison: Comparison, entry: Tradeoff) -> str:
    """Return which models are dominated and by which, not shown to be, and left out."""
    groups: dict[str, list[str]] = {}
    points = {point.model: point for point in entry.points}
    for model in filter(points.get, comparison.ranked):
        best = next(iter(points[model].dominated_by), None)
        groups.setdefault(f"Dominated by {best}" if best else _NOT_SHOWN, []).append(model)
    groups[_NOT_SHOWN] = groups.pop(_NOT_SHOWN, [])  # last
    groups["Left out, without a mean"] = [x for x in comparison.ranked if x not in points]
    return " ".join(
        f"{words}: {numbers.join_first(names, _MAX_NAMES)}."
        for words, names in groups.items()
        if names
    )


@dataclass(frozen=True)
class _Mark:
    """A model in a chart.

    Attributes
    ----------
    x, y : tuple of float
        Low end, mean and high end, in pixels.
    is_named : bool
        False in a crowd, unless it is not shown to be dominated.
    """

    tradeoff: TradeoffPoint
    series: Series
    x: tuple[float, ...]
    y: tuple[float, ...]
    hover: str

    @property
    def at(self) -> Point:
        return self.x[1], self.y[1]

    @property
    def is_named(self) -> bool:
        return self.series.is_named or not self.tradeoff.dominated_by


@dataclass(frozen=True)
class _Box:
    left: float
    right: float
    top: float
    bottom: float

    def overlaps(self, other: "_Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


@dataclass(frozen=True)
class _Place:
    """A place for a name, in pixels."""

    x: float
    y: float
    anchor: Anchor
    box: _Box


def tradeoff_chart(comparison: Comparison, entry: Tradeoff) -> Markup:
    """Return a scatter plot with intervals; dominated models are hollow, the others filled."""
    x, y = (
        padded_scale(_ends(comparison, entry, label), *pixels, share=0.06)
        for label, pixels in ((entry.x, (0, _WIDTH)), (entry.y, (_HEIGHT, 0)))
    )
    series = {each.model: each for each in all_series(comparison)}
    marks = [_mark(comparison, entry, p, series[p.model], (x, y)) for p in entry.points]
    chart = Chart(_WIDTH, _HEIGHT, left=44, right=_RIGHT, top=28, bottom=44)
    draw_axis(chart, x, number_ticks(x, 4))
    draw_axis(chart, y, number_ticks(y, 4), upright=True)
    chart.text(_WIDTH / 2, _HEIGHT + 34, entry.x, 12, "ink-soft", anchor="middle")
    chart.text(-44, -16, entry.y, 12, "ink-soft")
    _draw_better_corner(chart, entry)
    for mark in marks:
        _draw_mark(chart, mark)
    for mark, name, place in _names(marks):
        with chart.group(mark.tradeoff.model):
            colour = mark.series.colour if mark.series.is_named else "ink-faint"
            chart.text(place.x, place.y, name, 12, colour, anchor=place.anchor)
    return chart.markup(f"{entry.y} against {entry.x}", sentence(comparison, entry))


def _interval(comparison: Comparison, model: str, label: str) -> tuple[float, float, float]:
    """Return low end, mean and high end."""
    score = comparison.score(model, label)
    mean = score.mean or 0.0
    low, high = interval_ends(score, mean)
    return low, mean, high


def _ends(comparison: Comparison, entry: Tradeoff, label: str) -> Iterator[float]:
    for point in entry.points:
        yield from _interval(comparison, point.model, label)


def _mark(
    comparison: Comparison,
    entry: Tradeoff,
    point: TradeoffPoint,
    series: Series,
    scales: tuple[Linear, Linear],
) -> _Mark:
    x, y = scales
    x_ends, y_ends = (_interval(comparison, point.model, label) for label in (entry.x, entry.y))
    values = [_value_text(comparison, point.model, label) for label in (entry.x, entry.y)]
    return _Mark(
        point,
        series,
        tuple(map(x, x_ends)),
        tuple(map(y, y_ends)),
        f"{point.model}: {', '.join(values)}",
    )


def _value_text(comparison: Comparison, model: str, label: str) -> str:
    score, digits = comparison.score(model, label), comparison.decimals[label]
    span = numbers.interval(score.ci_low, score.ci_high, digits)
    return f"{label} {numbers.with_details(numbers.number(score.mean, digits), span)}"


def _draw_mark(chart: Chart, mark: _Mark) -> None:
    (left, x, right), (bottom, y, top) = mark.x, mark.y
    colour = mark.series.colour
    with chart.group(mark.tradeoff.model):
        chart.line([(left, y), (right, y)], colour, 1.25, opacity=0.6)
        chart.line([(x, bottom), (x, top)], colour, 1.25, opacity=0.6)
        with chart.group(hover=mark.hover):
            fill = "page" if mark.tradeoff.dominated_by else colour
            chart.symbol((x, y), mark.series.shape, 4.47, stroke=colour, fill=fill, width=1.75)


def _draw_better_corner(chart: Chart, entry: Tradeoff) -> None:
    """Write a word and an arrow outside of the corner in which both labels are better."""
    is_right, is_top = entry.x_higher_is_better, entry.y_higher_is_better
    arrow = ("↗" if is_right else "↖") if is_top else ("↘" if is_right else "↙")
    y = -16 if is_top else _HEIGHT + 34
    if is_right:
        chart.text(_WIDTH, y, f"better {arrow}", 12, "better", anchor="end", bold=True)
    else:
        x = 1.2 * _LETTER_WIDTH * len(entry.y) - 24 if is_top else -44
        chart.text(x, y, f"{arrow} better", 12, "better", bold=True)


def _names(marks: Sequence[_Mark]) -> Iterator[tuple[_Mark, str, _Place]]:
    """Yield the names that fit beside their marks, off all lines where there is room."""
    occupied = [_box(mark.at, mark.at, _MARK_RADIUS) for mark in marks]
    lines = []
    for mark in marks:
        (left, x, right), (bottom, y, top) = mark.x, mark.y
        lines += [_box((left, y), (right, y), 1), _box((x, bottom), (x, top), 1)]
    for mark in sorted(marks, key=lambda each: (each.at[1], each.tradeoff.model)):
        if not mark.is_named:
            continue
        name = shorten(mark.tradeoff.model, _MAX_NAME)
        places = list(_places(mark.at, _LETTER_WIDTH * len(name)))
        free = [each for each in places if not any(map(each.box.overlaps, occupied))]
        off_lines = (each for each in free if not any(map(each.box.overlaps, lines)))
        if place := next(off_lines, free[0] if free else None):
            occupied.append(place.box)
            yield mark, name, place


def _box(start: Point, end: Point, margin: float) -> _Box:
    (x, y), (x2, y2) = start, end
    return _Box(min(x, x2) - margin, max(x, x2) + margin, min(y, y2) - margin, max(y, y2) + margin)


def _places(at: Point, length: float) -> Iterator[_Place]:
    """Yield the places of a name inside the chart, the nearest to its mark first."""
    x, y = at
    anchors: Sequence[tuple[Anchor, float, float]] = (
        ("start", x + _NAME_GAP, 0),
        ("end", x - _NAME_GAP, length),
        ("middle", x, length / 2),
    )
    for rise, (anchor, text_x, before) in product(_RISES, anchors):
        left, middle = text_x - before, y + rise
        box = _Box(left, left + length, middle - _NAME_HEIGHT / 2, middle + _NAME_HEIGHT / 2)
        if 0 <= left <= _WIDTH + _RIGHT - length and 0 <= middle <= _HEIGHT:
            yield _Place(text_x, middle, anchor, box)
