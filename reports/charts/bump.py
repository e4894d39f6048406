"""How models change places between the definitions of a metric: one line a model, named at both its ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Definition
from concord.reports.charts.curves import SHAPES, Series, all_series, spread
from concord.reports.charts.svg import SERIES, light, picture, shortened, told, values
from concord.reports.sections.panel import Entry, entries, names_of
from concord.reports.writing import numbers
from concord.reports.writing.numbers import MISSING, number

_NAME = 16  # characters of a name that fit
_BESIDE_A_TIE = 0.3  # of a rank, between models that share it
_NAMED_RANKS = 12  # with more of them, every fifth is named
_STEP_UPRIGHT, _STEP_ACROSS = 22, 84  # pixels from one definition to the next, at most
_RANK_ACROSS, _ALL_RANKS = 34, 380  # pixels from one rank to the next, and for all, at most
_BAND_AFTER_THE_LAST = 9  # pixels, so that the names at the end stay free of it
_UPRIGHT = {"left": 136, "right": 66, "top": 96, "bottom": 96}
_ACROSS = {"left": 160, "right": 136, "top": 24, "bottom": 104}
Layer = alt.Chart
Axes = tuple[alt.X, alt.Y]  # in pixels
Spot = dict[str, float]


@dataclass(frozen=True)
class Frame:
    """Where a definition and a rank are, in pixels. Across a desk definitions follow one another to the right; on
    a phone, which is upright, downwards, so that their names stay level.
    """

    definitions: int
    lowest: float
    upright: bool

    @property
    def size(self) -> tuple[int, int]:
        """Width and height without the margins."""
        steps = self.definitions - 1
        if self.upright:
            return 350 - _UPRIGHT["left"] - _UPRIGHT["right"], _STEP_UPRIGHT * steps
        width = min(_STEP_ACROSS * steps, 940 - _ACROSS["left"] - _ACROSS["right"])
        return width, round(min(_RANK_ACROSS * (self.lowest - 1), _ALL_RANKS))

    @property
    def step(self) -> float:
        """From one definition to the next."""
        width, height = self.size
        return (height if self.upright else width) / (self.definitions - 1)

    @property
    def margins(self) -> dict[str, int]:
        return _UPRIGHT if self.upright else _ACROSS

    def spot(self, definition: float, place: float) -> Spot:
        """The place of a rank under the definition with this index."""
        width, height = self.size
        along = definition / (self.definitions - 1)
        across = (place - 1) / (self.lowest - 1)
        x, y = (across, along) if self.upright else (along, across)
        return {"x": round(width * x, 2), "y": round(height * y, 2)}


@dataclass(frozen=True)
class Place:
    """The line of a rank, and where beside it a model stands that shares it."""

    row: int
    exact: float


def has_chart(entry: Entry) -> bool:
    """Whether there is an order, and another definition that might change it."""
    ranked = [model for model in entry.models if any(d.ranks[model] for d in entry.definitions)]
    return len(ranked) > 1 and len(entry.definitions) > 1


def bump_chart(comparison: Comparison, entry: Entry, *, narrow: bool) -> Markup:
    """The rank of every model in the table under every definition, from the pinned one to the farthest."""
    points = _points(comparison, entry)
    lowest = max(point["place"] for point in points)
    frame = Frame(len(entry.definitions), max(lowest, 2), upright=narrow)
    placed = [point | frame.spot(point["at"], point["place"]) for point in points]
    width, height = frame.size
    axes = (
        alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False, zero=False)),
        alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False)),
    )
    layers = [
        *_ground(entry, points, frame, axes),
        *_lines(placed, axes),
        _definition_names(entry, frame, axes),
        *_model_names(placed, frame, axes),
    ]
    title = f"{entry.metric}: rank of each model by definition"
    return picture(layers, frame.size, frame.margins, title, entry.sentence)


def _points(comparison: Comparison, entry: Entry) -> list[dict[str, Any]]:
    series = _series(comparison)
    known = [d.ranks[m] or 0 for d in entry.definitions for m in entry.models]
    return [
        _point(comparison, entry, series[model], i, place)
        for i, definition in enumerate(entry.definitions)
        for model, place in _places(definition, entry.models, 1 + max(known)).items()
    ]


def _point(
    comparison: Comparison, entry: Entry, line: Series, i: int, place: Place
) -> dict[str, Any]:
    definition = entry.definitions[i]
    rank = definition.ranks[line.model]
    written = number(definition.values[line.model], numbers.digits_of(comparison, entry.metric))
    return {
        "at": i,
        "row": place.row,
        "place": place.exact,
        "rank": rank,
        "model": line.model,
        "name": shortened(line.model, _NAME),
        "colour": line.colour,
        "inside": light("page") if rank is None else line.colour,
        "shape": line.shape,
        "about": told(
            f"{line.model}, {definition.name}: "
            + ("no value" if rank is None else f"rank {rank} with {written}"),
            line.model,
        ),
        "whose": told("", line.model),
    }


def _places(definition: Definition, models: Sequence[str], below_all: int) -> dict[str, Place]:
    """Models that share a rank stand close together; those without a value stand below all others."""
    seen: dict[int, int] = {}
    places: dict[str, Place] = {}
    for model in models:
        row = definition.ranks[model] or below_all
        places[model] = Place(row, row + _BESIDE_A_TIE * seen.get(row, 0))
        seen[row] = seen.get(row, 0) + 1
    return places


def _series(comparison: Comparison) -> Mapping[str, Series]:
    """Colours and shapes as in the curves; models that are grey there take those that are left."""
    given = {line.model: line for line in all_series(comparison) if line.named}
    shown = dict.fromkeys(model for entry in entries(comparison) for model in entry.models)
    others = [model for model in shown if model not in given]
    spare = list(zip(SERIES, SHAPES, strict=True))[len(given) :]
    looks = spare + [("ink-faint", "circle")] * len(others)
    return given | {
        model: Series(model, light(colour), shape, named=True)
        for model, (colour, shape) in zip(others, looks, strict=False)
    }


def _ground(
    entry: Entry, points: Sequence[Mapping[str, Any]], frame: Frame, axes: Axes
) -> list[Layer]:
    """The definitions with another top two shaded, and a thin line for every rank, with its number."""
    last = frame.definitions - 1
    edge = last + _BAND_AFTER_THE_LAST / frame.step
    bands = values(
        [
            _between(frame.spot(i - 0.5, 0.6), frame.spot(min(j + 0.5, edge), frame.lowest + 0.4))
            for i, j in _runs([not d.top_two_hold for d in entry.definitions])
        ]
    )
    ends = [
        _between(frame.spot(0, rank), frame.spot(last, rank))
        for rank in sorted({point["row"] for point in points})
    ]
    return [
        bands.mark_rect(color=light("band")).encode(*axes, x2=alt.X2("x2"), y2=alt.Y2("y2")),
        values(ends)
        .mark_rule(color=light("line"), strokeWidth=1)
        .encode(*axes, x2=alt.X2("x2"), y2=alt.Y2("y2")),
        _rank_numbers(points, frame, axes),
    ]


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """First and last index of every stretch of true flags."""
    starts = [i for i, flag in enumerate(flags) if flag and not (i and flags[i - 1])]
    ends = [i for i, flag in enumerate(flags) if flag and not any(flags[i + 1 : i + 2])]
    return list(zip(starts, ends, strict=True))


def _between(start: Spot, end: Spot) -> Spot:
    return start | {"x2": end["x"], "y2": end["y"]}


def _rank_numbers(points: Sequence[Mapping[str, Any]], frame: Frame, axes: Axes) -> Layer:
    ranks = {point["row"]: point["rank"] for point in points}
    every = 1 if len(ranks) <= _NAMED_RANKS else 5
    rows = [
        _beside(frame, place) | {"text": MISSING if rank is None else str(rank)}
        for place, rank in ranks.items()
        if rank is None or rank == 1 or rank % every == 0
    ]
    return (
        values(rows)
        .mark_text(fontSize=12, color=light("ink-faint"), align="center", limit=0)
        .encode(*axes, text=alt.Text("text:N"))
    )


def _beside(frame: Frame, place: float) -> Spot:
    """Before the first definition."""
    spot, away = frame.spot(0, place), 14
    return spot | ({"y": spot["y"] - away} if frame.upright else {"x": spot["x"] - away})


def _lines(points: Sequence[dict[str, Any]], axes: Axes) -> list[Layer]:
    stroke = alt.Stroke("colour:N", scale=None)
    return [
        values(points)
        .mark_line(strokeWidth=1.75, aria=True)
        .encode(
            *axes,
            order=alt.Order("at:Q"),
            detail=alt.Detail("model:N"),
            stroke=stroke,
            description=alt.Description("whose:N"),
        ),
        values(points)
        .mark_point(size=56, opacity=1, strokeWidth=1.25, aria=True)
        .encode(
            *axes,
            stroke=stroke,
            fill=alt.Fill("inside:N", scale=None),
            shape=alt.Shape("shape:N", scale=None),
            description=alt.Description("about:N"),
        ),
    ]


def _definition_names(entry: Entry, frame: Frame, axes: Axes) -> Layer:
    """Level at the left of a phone; aslant below the lines elsewhere."""
    below = frame.size[1] + 20.0
    rows = []
    for i, definition in enumerate(entry.definitions):
        names = names_of(definition)
        more = f" +{len(names) - 1}" if len(names) > 1 else ""
        spot = frame.spot(i, 1)
        beside = {"x": -22.0} if frame.upright else {"y": below}
        rows.append(spot | beside | {"text": shortened(names[0], _NAME) + more})
    text = values(rows).mark_text(
        align="right",
        baseline="middle",
        fontSize=12,
        angle=0 if frame.upright else 315,
        color=light("ink-soft"),
        limit=0,
    )
    return text.encode(*axes, text=alt.Text("text:N"))


def _model_names(points: Sequence[dict[str, Any]], frame: Frame, axes: Axes) -> list[Layer]:
    """The names at both ends in the order of the ends, pushed apart where models share a rank."""
    width, height = frame.size
    first = [point for point in points if point["at"] == 0]
    last = [point for point in points if point["at"] == frame.definitions - 1]
    along, room, across = ("x", width, "y") if frame.upright else ("y", height, "x")
    before, after = (-30.0, height + 14.0) if frame.upright else (-28.0, width + 14.0)
    starts = [row | {across: before} for row in _apart(first, along, room)]
    ends = [row | {across: after} for row in _apart(last, along, room)]
    if frame.upright:
        return [_names(starts, 315, "left", axes), _names(ends, 315, "right", axes)]
    return [_names(starts, 0, "right", axes), _names(ends, 0, "left", axes)]


def _apart(points: Sequence[dict[str, Any]], along: str, room: float) -> list[dict[str, Any]]:
    ordered = sorted(points, key=lambda point: float(point[along]))
    places = spread([point[along] for point in ordered], room)
    return [point | {along: at} for point, at in zip(ordered, places, strict=True)]


def _names(
    rows: Sequence[dict[str, Any]], angle: int, align: Literal["left", "right"], axes: Axes
) -> Layer:
    text = values(rows).mark_text(
        align=align, baseline="middle", fontSize=13, fontWeight=600, angle=angle, limit=0, aria=True
    )
    colour = alt.Color("colour:N", scale=None)
    return text.encode(
        *axes, text=alt.Text("name:N"), color=colour, description=alt.Description("whose:N")
    )
