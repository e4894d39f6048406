"""How models change places between the definitions of a metric: one line per model, named at both ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Definition
from concord.reports.charts.curves import SHAPES, Series, all_series
from concord.reports.charts.primitives import (
    HOVER,
    INSIDE,
    NAME,
    SHAPE,
    STROKE,
    TAG,
    Row,
    scale,
    shortened,
    spread,
    tag,
    text,
    values,
)
from concord.reports.charts.svg import SERIES, light, picture
from concord.reports.text import numbers
from concord.reports.text.numbers import MISSING, number
from concord.reports.text.panel import Entry, entries, names_of

_TIE_STEP = 0.3  # of a rank, between models that share it
_NAMED_RANKS = 12  # with more of them, every fifth is named
_STEP_UPRIGHT, _STEP_ACROSS = 22, 84  # pixels from one definition to the next, at most
_RANK_ACROSS, _ALL_RANKS = 34, 380  # pixels from one rank to the next, and for all, at most
_BAND_AFTER_THE_LAST = 9  # pixels, so that the names at the end stay free of it
_UPRIGHT = {"left": 136, "right": 66, "top": 96, "bottom": 96}
_ACROSS = {"left": 160, "right": 136, "top": 24, "bottom": 104}
Axes = tuple[alt.X, alt.Y]  # in pixels
Position = dict[str, float]


@dataclass(frozen=True)
class Frame:
    """Positions of definitions and ranks, in pixels.

    On a desk definitions follow one another to the right; on a phone, which is upright, downwards, so that their names
    stay level.
    """

    definitions: int
    lowest: float
    upright: bool

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height without the margins."""
        steps = self.definitions - 1
        if self.upright:
            return 350 - _UPRIGHT["left"] - _UPRIGHT["right"], _STEP_UPRIGHT * steps
        width = min(_STEP_ACROSS * steps, 940 - _ACROSS["left"] - _ACROSS["right"])
        return width, round(min(_RANK_ACROSS * (self.lowest - 1), _ALL_RANKS))

    @property
    def step(self) -> float:
        """Return the pixels from one definition to the next."""
        width, height = self.size
        return (height if self.upright else width) / (self.definitions - 1)

    @property
    def margins(self) -> dict[str, int]:
        return _UPRIGHT if self.upright else _ACROSS

    def position(self, definition: float, rank_position: float) -> Position:
        """Return the position of a rank under the definition with this index."""
        width, height = self.size
        along = definition / (self.definitions - 1)
        across = (rank_position - 1) / (self.lowest - 1)
        x, y = (across, along) if self.upright else (along, across)
        return {"x": round(width * x, 2), "y": round(height * y, 2)}


@dataclass(frozen=True)
class RankPosition:
    """Place of a model: the line of its rank, and the exact place next to it if others share the rank."""

    row: int
    exact: float


def has_chart(entry: Entry) -> bool:
    """True if there is an order, and another definition that might change it."""
    ranked = [model for model in entry.models if any(d.ranks[model] for d in entry.definitions)]
    return len(ranked) > 1 and len(entry.definitions) > 1


def bump_chart(comparison: Comparison, entry: Entry, *, narrow: bool) -> Markup:
    """Return the rank of every model under every definition, from the pinned one to the farthest."""
    points = _points(comparison, entry)
    lowest = max(point["place"] for point in points)
    frame = Frame(len(entry.definitions), max(lowest, 2), upright=narrow)
    placed = [point | frame.position(point["at"], point["place"]) for point in points]
    width, height = frame.size
    axes = (
        alt.X("x:Q", axis=None, scale=scale(0, width)),
        alt.Y("y:Q", axis=None, scale=scale(height, 0)),
    )
    layers = [
        *_ground(entry, points, frame, axes),
        *_lines(placed, axes),
        _definition_names(entry, frame, axes),
        *_model_names(placed, frame, axes),
    ]
    title = f"{entry.metric}: rank of each model by definition"
    return picture(layers, frame.size, frame.margins, title, entry.sentence)


def _points(comparison: Comparison, entry: Entry) -> list[Row]:
    series = _series(comparison)
    known = [d.ranks[m] or 0 for d in entry.definitions for m in entry.models]
    return [
        _point(comparison, entry, series[model], i, rank_position)
        for i, definition in enumerate(entry.definitions)
        for model, rank_position in _rank_positions(
            definition, entry.models, 1 + max(known)
        ).items()
    ]


def _point(
    comparison: Comparison, entry: Entry, line: Series, i: int, rank_position: RankPosition
) -> Row:
    definition = entry.definitions[i]
    rank = definition.ranks[line.model]
    written = number(definition.values[line.model], numbers.mean_digits(comparison, entry.metric))
    return {
        "at": i,
        "row": rank_position.row,
        "place": rank_position.exact,
        "rank": rank,
        "model": line.model,
        "name": shortened(line.model, NAME),
        "colour": line.colour,
        "inside": light("page") if rank is None else line.colour,
        "shape": line.shape,
        "hover": tag(
            f"{line.model}, {definition.name}: "
            + ("no value" if rank is None else f"rank {rank} with {written}"),
            line.model,
        ),
        "tag": tag("", line.model),
    }


def _rank_positions(
    definition: Definition, models: Sequence[str], below_all: int
) -> dict[str, RankPosition]:
    """Return a place per model: models that share a rank are close together, those without a value below all others."""
    n_at_rank: dict[int, int] = {}
    positions: dict[str, RankPosition] = {}
    for model in models:
        row = definition.ranks[model] or below_all
        positions[model] = RankPosition(row, row + _TIE_STEP * n_at_rank.get(row, 0))
        n_at_rank[row] = n_at_rank.get(row, 0) + 1
    return positions


def _series(comparison: Comparison) -> Mapping[str, Series]:
    """Return colours and shapes as in the curves; models that are grey there take those that are left."""
    named_series = {line.model: line for line in all_series(comparison) if line.named}
    models = dict.fromkeys(model for entry in entries(comparison) for model in entry.models)
    others = [model for model in models if model not in named_series]
    spare = list(zip(SERIES, SHAPES, strict=True))[len(named_series) :]
    looks = spare + [("ink-faint", "circle")] * len(others)
    return named_series | {
        model: Series(model, light(colour), shape, named=True)
        for model, (colour, shape) in zip(others, looks, strict=False)
    }


def _ground(entry: Entry, points: Sequence[Row], frame: Frame, axes: Axes) -> list[alt.Chart]:
    """Return a band behind definitions with another top two, and a thin line per rank, with its number."""
    last = frame.definitions - 1
    edge = last + _BAND_AFTER_THE_LAST / frame.step
    bands = [
        _between(
            frame.position(i - 0.5, 0.6), frame.position(min(j + 0.5, edge), frame.lowest + 0.4)
        )
        for i, j in _runs([not d.top_two_hold for d in entry.definitions])
    ]
    lines = [
        _between(frame.position(0, row), frame.position(last, row))
        for row in sorted({point["row"] for point in points})
    ]
    end = {"x2": alt.X2("x2"), "y2": alt.Y2("y2")}
    return [
        values(bands).mark_rect(color=light("band")).encode(*axes, **end),
        values(lines).mark_rule(color=light("line"), strokeWidth=1).encode(*axes, **end),
        _rank_numbers(points, frame, axes),
    ]


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Return first and last index of every stretch of true flags."""
    starts = [i for i, flag in enumerate(flags) if flag and not (i and flags[i - 1])]
    ends = [i for i, flag in enumerate(flags) if flag and not any(flags[i + 1 : i + 2])]
    return list(zip(starts, ends, strict=True))


def _between(start: Position, end: Position) -> Position:
    return start | {"x2": end["x"], "y2": end["y"]}


def _rank_numbers(points: Sequence[Row], frame: Frame, axes: Axes) -> alt.Chart:
    """Return the numbers of the ranks, before the first definition."""
    ranks = {point["row"]: point["rank"] for point in points}
    every = 1 if len(ranks) <= _NAMED_RANKS else 5
    rows = []
    for row, rank in ranks.items():
        if rank is None or rank == 1 or rank % every == 0:
            position = frame.position(0, row)
            position["y" if frame.upright else "x"] -= 14
            rows.append({**position, "text": MISSING if rank is None else str(rank)})
    return text(rows, "text", 12, "ink-faint", align="center").encode(*axes)


def _lines(points: Sequence[Row], axes: Axes) -> list[alt.Chart]:
    line = values(points).mark_line(strokeWidth=1.75, aria=True)
    points_layer = values(points).mark_point(size=56, opacity=1, strokeWidth=1.25, aria=True)
    return [
        line.encode(
            *axes,
            order=alt.Order("at:Q"),
            detail=alt.Detail("model:N"),
            stroke=STROKE,
            description=TAG,
        ),
        points_layer.encode(*axes, stroke=STROKE, fill=INSIDE, shape=SHAPE, description=HOVER),
    ]


def _definition_names(entry: Entry, frame: Frame, axes: Axes) -> alt.Chart:
    """Return the definitions: level at the left of a phone; aslant below the lines elsewhere."""
    shift = {"x": -22.0} if frame.upright else {"y": frame.size[1] + 20.0}
    rows = []
    for i, definition in enumerate(entry.definitions):
        first, *others = names_of(definition)
        name = shortened(first, NAME) + (f" +{len(others)}" if others else "")
        rows.append({**frame.position(i, 1), **shift, "text": name})
    angle = 0 if frame.upright else 315
    names = text(rows, "text", 12, "ink-soft", align="right", baseline="middle", angle=angle)
    return names.encode(*axes)


def _model_names(points: Sequence[Row], frame: Frame, axes: Axes) -> list[alt.Chart]:
    """Return the names at both ends of the lines, pushed apart where models share a rank."""
    width, height = frame.size
    along, room, across = ("x", width, "y") if frame.upright else ("y", height, "x")
    before, after = (-30.0, height + 14.0) if frame.upright else (-28.0, width + 14.0)
    angle = 315 if frame.upright else 0
    first_side, last_side = ("left", "right") if frame.upright else ("right", "left")
    layers = []
    for at, side, outside in ((0, first_side, before), (frame.definitions - 1, last_side, after)):
        ends = sorted((p for p in points if p["at"] == at), key=lambda p: float(p[along]))
        positions = spread([point[along] for point in ends], room)
        rows = [
            p | {along: rank_position, across: outside}
            for p, rank_position in zip(ends, positions, strict=True)
        ]
        names = text(
            rows,
            "name",
            13,
            tagged=True,
            align=side,
            baseline="middle",
            fontWeight=600,
            angle=angle,
        )
        layers.append(names.encode(*axes))
    return layers
