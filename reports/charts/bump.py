"""Bump chart: the rank of each model under each definition of a metric."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Definition
from concord.reports.charts.model_styles import model_styles
from concord.reports.charts.primitives import (
    HOVER,
    INSIDE,
    NAME,
    SHAPE,
    STROKE,
    TAG,
    Row,
    plot,
    plot_width,
    scale,
    shorten,
    spread,
    tag,
    text_layer,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text.numbers import MISSING, number
from concord.reports.text.panel import Entry, names_of

_TIE_STEP = 0.3  # of a rank, between models that share it
_MAX_RANK_NUMBERS = 12  # with more ranks, every fifth has its number
_STEP_DOWN, _STEP_RIGHT = 22, 84  # pixels from one definition to the next, at most
_RANK_HEIGHT, _ALL_RANKS_HEIGHT = 34, 380  # pixels of one rank, and of all, at most
_BAND_END = 9  # pixels of a band after the last definition: names at the end do not touch it
_NARROW_MARGINS = {"left": 136, "right": 66, "top": 96, "bottom": 96}
_SLANTED_NAME = 20  # letters of a slanted name
_WIDE_MARGINS = {"left": 160, "right": 136, "top": 24, "bottom": 128}
Axes = tuple[alt.X, alt.Y]  # in pixels
Position = dict[str, float]


@dataclass(frozen=True)
class Frame:
    """Positions of definitions and ranks, in pixels.

    In a wide chart definitions go from left to right. In a narrow one they go downwards, so that
    their names are level.

    Attributes
    ----------
    n_definitions : int
    max_rank : float
        Largest exact rank, at least 2.
    narrow : bool
    """

    n_definitions: int
    max_rank: float
    narrow: bool

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height without the margins."""
        steps = self.n_definitions - 1
        width = plot_width(self.margins, narrow=self.narrow)
        if self.narrow:
            return width, _STEP_DOWN * steps
        height = round(min(_RANK_HEIGHT * (self.max_rank - 1), _ALL_RANKS_HEIGHT))
        return min(_STEP_RIGHT * steps, width), height

    @property
    def step(self) -> float:
        """Return the pixels from one definition to the next."""
        width, height = self.size
        return (height if self.narrow else width) / (self.n_definitions - 1)

    @property
    def margins(self) -> dict[str, int]:
        return _NARROW_MARGINS if self.narrow else _WIDE_MARGINS

    def position(self, definition: float, rank: float) -> Position:
        """Return the position of a rank under the definition with this index."""
        width, height = self.size
        along = definition / (self.n_definitions - 1)
        across = (rank - 1) / (self.max_rank - 1)
        x, y = (across, along) if self.narrow else (along, across)
        return {"x": round(width * x, 2), "y": round(height * y, 2)}


def has_chart(entry: Entry) -> bool:
    """True if two models have a rank, and there is another definition."""
    ranked = [model for model in entry.models if any(d.ranks[model] for d in entry.definitions)]
    return len(ranked) > 1 and len(entry.definitions) > 1


def bump_chart(comparison: Comparison, entry: Entry, *, narrow: bool) -> Markup:
    """Return the rank of every model by definition, from the pinned one to the most distant."""
    points = _points(comparison, entry)
    max_rank = max(point["exact_rank"] for point in points)
    frame = Frame(len(entry.definitions), max(max_rank, 2), narrow=narrow)
    points = [point | frame.position(point["definition"], point["exact_rank"]) for point in points]
    width, height = frame.size
    axes = (
        alt.X("x:Q", axis=None, scale=scale(0, width)),
        alt.Y("y:Q", axis=None, scale=scale(height, 0)),
    )
    layers = [
        *_background(entry, points, frame, axes),
        *_lines(points, axes),
        _definition_names(entry, frame, axes),
        *_model_names(points, frame, axes),
    ]
    title = f"{entry.metric}: rank of each model by definition"
    return render_svg(layers, frame.size, frame.margins, title, entry.sentence)


def _points(comparison: Comparison, entry: Entry) -> list[Row]:
    """Return a point per definition and model; models without a value are below all others."""
    styles = model_styles(comparison.model_order, comparison.baseline)
    below_all = 1 + max(d.ranks[m] or 0 for d in entry.definitions for m in entry.models)
    points = []
    for i, definition in enumerate(entry.definitions):
        n_at_rank: Counter[int] = Counter()
        for model in entry.models:
            rank = definition.ranks[model] or below_all
            point = _point(comparison, entry, model, definition) | vars(styles[model])
            point["inside"] = light("page") if point["rank"] is None else point["colour"]
            exact_rank = rank + _TIE_STEP * n_at_rank[rank]
            points.append({"definition": i, "row": rank, "exact_rank": exact_rank, **point})
            n_at_rank[rank] += 1
    return points


def _point(comparison: Comparison, entry: Entry, model: str, definition: Definition) -> Row:
    rank = definition.ranks[model]
    mean = number(definition.values[model], comparison.decimals[entry.metric])
    rank_text = "no value" if rank is None else f"rank {rank} with {mean}"
    return {
        "rank": rank,
        "model": model,
        "name": shorten(model, NAME),
        "hover": tag(f"{model}, {definition.name}: {rank_text}", model),
        "tag": tag("", model),
    }


def _background(entry: Entry, points: Sequence[Row], frame: Frame, axes: Axes) -> list[alt.Chart]:
    """Return bands behind definitions with another top two, and a numbered line per rank."""
    last = frame.n_definitions - 1
    edge = last + _BAND_END / frame.step
    bands = [
        _span(
            frame.position(i - 0.5, 0.6), frame.position(min(j + 0.5, edge), frame.max_rank + 0.4)
        )
        for i, j in _runs([not d.top_two_hold for d in entry.definitions])
    ]
    lines = [
        _span(frame.position(0, row), frame.position(last, row))
        for row in sorted({point["row"] for point in points})
    ]
    end = {"x2": alt.X2("x2"), "y2": alt.Y2("y2")}
    return [
        plot(bands).mark_rect(color=light("band")).encode(*axes, **end),
        plot(lines).mark_rule(color=light("line"), strokeWidth=1).encode(*axes, **end),
        _rank_numbers(points, frame, axes),
    ]


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Return first and last index of every run of true flags."""
    starts = [i for i, flag in enumerate(flags) if flag and not (i and flags[i - 1])]
    ends = [i for i, flag in enumerate(flags) if flag and not any(flags[i + 1 : i + 2])]
    return list(zip(starts, ends, strict=True))


def _span(start: Position, end: Position) -> Position:
    return start | {"x2": end["x"], "y2": end["y"]}


def _rank_numbers(points: Sequence[Row], frame: Frame, axes: Axes) -> alt.Chart:
    """Return the numbers of the ranks, before the first definition."""
    ranks = {point["row"]: point["rank"] for point in points}
    step = 1 if len(ranks) <= _MAX_RANK_NUMBERS else 5
    rows = []
    for row, rank in ranks.items():
        if rank is None or rank == 1 or rank % step == 0:
            position = frame.position(0, row)
            position["y" if frame.narrow else "x"] -= 14
            rows.append({**position, "text": MISSING if rank is None else str(rank)})
    return text_layer(rows, "text", 12, "ink-faint", x=axes[0], y=axes[1], align="center")


def _lines(points: Sequence[Row], axes: Axes) -> list[alt.Chart]:
    lines = plot(points).mark_line(strokeWidth=1.75, aria=True)
    marks = plot(points).mark_point(size=56, opacity=1, strokeWidth=1.25, aria=True)
    return [
        lines.encode(
            *axes,
            order=alt.Order("definition:Q"),
            detail=alt.Detail("model:N"),
            stroke=STROKE,
            description=TAG,
        ),
        marks.encode(*axes, stroke=STROKE, fill=INSIDE, shape=SHAPE, description=HOVER),
    ]


def _definition_names(entry: Entry, frame: Frame, axes: Axes) -> alt.Chart:
    """Return the names of the definitions: at the left if narrow, else slanted below the lines."""
    shift = {"x": -22.0} if frame.narrow else {"y": frame.size[1] + 20.0}
    rows = []
    for i, definition in enumerate(entry.definitions):
        first, *others = names_of(definition)
        name = shorten(first, NAME if frame.narrow else _SLANTED_NAME) + (
            f" +{len(others)}" if others else ""
        )
        rows.append({**frame.position(i, 1), **shift, "text": name})
    return text_layer(
        rows,
        "text",
        12,
        "ink-soft",
        x=axes[0],
        y=axes[1],
        align="right",
        baseline="middle",
        angle=0 if frame.narrow else 315,
    )


def _model_names(points: Sequence[Row], frame: Frame, axes: Axes) -> list[alt.Chart]:
    """Return the names at both ends of the lines, apart from each other."""
    width, height = frame.size
    last = frame.n_definitions - 1
    if frame.narrow:
        across, along, extent, angle = "x", "y", width, 315
        ends = ((0, "left", -30.0), (last, "right", height + 14.0))
    else:
        across, along, extent, angle = "y", "x", height, 0
        ends = ((0, "right", -28.0), (last, "left", width + 14.0))
    layers = []
    for i, align, end in ends:
        rows = sorted((p for p in points if p["definition"] == i), key=lambda p: float(p[across]))
        positions = spread([row[across] for row in rows], extent)
        names = [
            row | {across: position, along: end}
            for row, position in zip(rows, positions, strict=True)
        ]
        layers.append(
            text_layer(
                names,
                "name",
                13,
                x=axes[0],
                y=axes[1],
                tagged=True,
                align=align,
                baseline="middle",
                fontWeight=600,
                angle=angle,
            )
        )
    return layers
