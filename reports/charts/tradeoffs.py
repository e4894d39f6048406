"""Accuracy against beyond-accuracy: one small chart per pair of labels, with intervals.

A model is dominated by another that is significantly better on one label and not significantly
worse on the other. Where two models were not tested, the worse mean counts as worse.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

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


@dataclass(frozen=True)
class _Mark:
    """A model in a chart.

    Attributes
    ----------
    x, y : tuple of float
        Low end, mean and high end, in pixels.
    is_named : bool
        False in a crowd, unless no other model dominates it.
    """

    tradeoff: TradeoffPoint
    series: Series
    is_dominated: bool
    x: tuple[float, ...]
    y: tuple[float, ...]
    hover: str

    @property
    def at(self) -> Point:
        return self.x[1], self.y[1]

    @property
    def is_named(self) -> bool:
        return self.series.is_named or not self.is_dominated


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
    """Return a scatter plot with intervals and the frontier of the means.

    Dominated models are hollow, the others are filled.
    """
    x, y = (
        padded_scale(_ends(comparison, entry, label), *pixels, share=0.06)
        for label, pixels in ((entry.x, (0, _WIDTH)), (entry.y, (_HEIGHT, 0)))
    )
    series = {each.model: each for each in all_series(comparison)}
    marks = [_mark(comparison, entry, p, series[p.model], (x, y)) for p in entry.points]
    frontier = _frontier(entry, marks)
    chart = Chart(_WIDTH, _HEIGHT, left=44, right=_RIGHT, top=28, bottom=44)
    draw_axis(chart, x, number_ticks(x, 4))
    draw_axis(chart, y, number_ticks(y, 4), upright=True)
    chart.text(_WIDTH / 2, _HEIGHT + 34, entry.x, 12, "ink-soft", anchor="middle")
    chart.text(-44, -16, entry.y, 12, "ink-soft")
    _draw_better_corner(chart, entry)
    if len(frontier) > 1:
        chart.line(frontier, "line-strong", 1.5)
    for mark in marks:
        _draw_mark(chart, mark)
    for mark, name, place in _names(marks, frontier):
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
        bool(dominators(comparison, entry, point.model)),
        tuple(map(x, x_ends)),
        tuple(map(y, y_ends)),
        f"{point.model}: {', '.join(values)}",
    )


def _value_text(comparison: Comparison, model: str, label: str) -> str:
    score, digits = comparison.score(model, label), comparison.decimals[label]
    span = numbers.interval(score.ci_low, score.ci_high, digits)
    return f"{label} {numbers.with_details(numbers.number(score.mean, digits), span)}"


def _frontier(entry: Tradeoff, marks: Sequence[_Mark]) -> list[Point]:
    """Return the steps through models that are not dominated, and beaten by none on both means."""
    best = sorted(mark.at for mark in marks if mark.tradeoff.pareto and not mark.is_dominated)
    worse_x = min if entry.x_higher_is_better else max
    worse_y = max if entry.y_higher_is_better else min  # pixels count downwards
    steps = best[:1]
    for (x, y), (next_x, next_y) in pairwise(best):
        steps += [(worse_x(x, next_x), worse_y(y, next_y)), (next_x, next_y)]
    return steps


def _draw_mark(chart: Chart, mark: _Mark) -> None:
    (left, x, right), (bottom, y, top) = mark.x, mark.y
    colour = mark.series.colour
    with chart.group(mark.tradeoff.model):
        chart.line([(left, y), (right, y)], colour, 1.25, opacity=0.6)
        chart.line([(x, bottom), (x, top)], colour, 1.25, opacity=0.6)
        with chart.group(hover=mark.hover):
            fill = "page" if mark.is_dominated else colour
            chart.symbol((x, y), mark.series.shape, 4.47, stroke=colour, fill=fill, width=1.75)


def _draw_better_corner(chart: Chart, entry: Tradeoff) -> None:
    """Write a word and an arrow outside of the corner in which both labels are better."""
    is_right, is_top = entry.x_higher_is_better, entry.y_higher_is_better
    arrow = ("↗" if is_right else "↖") if is_top else ("↘" if is_right else "↙")
    y = -16 if is_top else _HEIGHT + 34
    if is_right:
        chart.text(_WIDTH, y, f"better {arrow}", 12, "better", anchor="end", bold=True)
    else:
        x = 1.1 * _LETTER_WIDTH * len(entry.y) - 32 if is_top else -44
        chart.text(x, y, f"{arrow} better", 12, "better", bold=True)


def _names(
    marks: Sequence[_Mark], frontier: Sequence[Point]
) -> Iterator[tuple[_Mark, str, _Place]]:
    """Yield the names that fit beside their marks, off all lines where there is room."""
    occupied = [_box(mark.at, mark.at, _MARK_RADIUS) for mark in marks]
    lines = [_box(start, end, 1) for start, end in pairwise(frontier)]
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
