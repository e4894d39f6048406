"""Bump chart: the rank of each model under each definition of a metric."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Definition
from concord.reports.charts.plots import NAME, plot_width, shorten, spread
from concord.reports.charts.svg import Anchor, Chart, ModelStyle, Point, model_styles
from concord.reports.text.numbers import MISSING, number
from concord.reports.text.panel import Entry, names_of

_TIE_STEP = 0.3  # of a rank, between models that share it
_MAX_RANK_NUMBERS = 12  # with more ranks, every fifth has its number
_STEP_DOWN, _STEP_RIGHT = 26, 84  # pixels from one column to the next, at most
_RANK_HEIGHT, _ALL_RANKS_HEIGHT = 34, 380  # pixels of one rank, and of all, at most
_BAND_END = 9  # pixels of a band after the last column: names at the end do not touch it
_SLANTED_NAME = 20  # letters of a slanted name


@dataclass(frozen=True)
class Column:
    """Definitions that follow each other and rank the shown models alike."""

    definitions: Sequence[Definition]

    @property
    def ranks(self) -> Mapping[str, int | None]:
        return self.definitions[0].ranks

    @property
    def top_two_hold(self) -> bool:
        return self.definitions[0].top_two_hold

    @property
    def names(self) -> list[str]:
        """Names of the definitions and of presets with the same values."""
        return [name for each in self.definitions for name in names_of(each)]


def columns(entry: Entry) -> list[Column]:
    """Return the columns of the chart, from the pinned definition to the most distant one."""

    def order(definition: Definition) -> tuple[bool, list[int | None]]:
        return definition.top_two_hold, [definition.ranks[model] for model in entry.models]

    return [Column(tuple(run)) for _, run in groupby(entry.definitions, order)]


def has_chart(entry: Entry) -> bool:
    """True if two models have a rank, and another definition changes their order."""
    ranked = [model for model in entry.models if any(d.ranks[model] for d in entry.definitions)]
    return len(ranked) > 1 and len(columns(entry)) > 1


@dataclass(frozen=True)
class _Frame:
    """Positions of columns and ranks, in pixels.

    In a wide chart columns go from left to right. In a narrow one they go downwards, so that their
    names are level.

    Attributes
    ----------
    max_rank : float
        Largest exact rank, at least 2.
    """

    n_columns: int
    max_rank: float
    narrow: bool

    def new_chart(self) -> Chart:
        """Return an empty chart with room for the names."""
        steps = self.n_columns - 1
        if self.narrow:
            width = plot_width(136, 66, narrow=True)
            return Chart(width, _STEP_DOWN * steps, left=136, right=66, top=96, bottom=96)
        width = min(_STEP_RIGHT * steps, plot_width(160, 136, narrow=False))
        height = round(min(_RANK_HEIGHT * (self.max_rank - 1), _ALL_RANKS_HEIGHT))
        return Chart(width, height, left=160, right=136, top=24, bottom=128)

    def position(self, chart: Chart, column: float, rank: float) -> Point:
        """Return the position of a rank in a column."""
        along = column / (self.n_columns - 1)
        across = (rank - 1) / (self.max_rank - 1)
        x, y = (across, along) if self.narrow else (along, across)
        return chart.width * x, chart.height * y


@dataclass(frozen=True)
class _Mark:
    """A model in a column; `row` is its rank, or that below all others."""

    column: int
    model: str
    style: ModelStyle
    rank: int | None
    row: int
    exact_rank: float
    hover: str


def bump_chart(comparison: Comparison, entry: Entry, *, narrow: bool) -> Markup:
    """Return the rank of every model by definition, from the pinned one to the most distant."""
    all_columns = columns(entry)
    marks = list(_marks(comparison, entry, all_columns))
    max_rank = max(mark.exact_rank for mark in marks)
    frame = _Frame(len(all_columns), max(max_rank, 2), narrow=narrow)
    chart = frame.new_chart()
    _draw_bands(chart, frame, all_columns)
    _draw_ranks(chart, frame, marks)
    for model in entry.models:
        own = [mark for mark in marks if mark.model == model]
        places = [frame.position(chart, mark.column, mark.exact_rank) for mark in own]
        with chart.group(model):
            chart.line(places, own[0].style.colour, 1.75)
    for mark in marks:
        place, colour = frame.position(chart, mark.column, mark.exact_rank), mark.style.colour
        with chart.group(mark.model, hover=mark.hover):
            fill = "page" if mark.rank is None else colour
            chart.symbol(place, mark.style.shape, 3.74, stroke=colour, fill=fill, width=1.25)
    _draw_column_names(chart, frame, all_columns)
    _draw_model_names(chart, frame, [mark for mark in marks if mark.column == 0], at_end=False)
    last = len(all_columns) - 1
    _draw_model_names(chart, frame, [mark for mark in marks if mark.column == last], at_end=True)
    return chart.markup(f"{entry.metric}: rank of each model by definition", entry.sentence)


def _marks(comparison: Comparison, entry: Entry, all_columns: Sequence[Column]) -> Iterator[_Mark]:
    """Yield a mark per column and model; models without a value are below all others."""
    styles = model_styles(comparison.model_order, comparison.baseline)
    below_all = 1 + max(column.ranks[m] or 0 for column in all_columns for m in entry.models)
    for i, column in enumerate(all_columns):
        n_at_rank: Counter[int] = Counter()
        for model in entry.models:
            rank = column.ranks[model]
            row = rank or below_all
            exact_rank = row + _TIE_STEP * n_at_rank[row]
            hover = _hover(comparison, entry, model, column)
            yield _Mark(i, model, styles[model], rank, row, exact_rank, hover)
            n_at_rank[row] += 1


def _hover(comparison: Comparison, entry: Entry, model: str, column: Column) -> str:
    digits, rank = comparison.decimals[entry.metric], column.ranks[model]
    values = [d.values[model] for d in column.definitions]
    means = [number(f(v for v in values if v is not None), digits) for f in (min, max) if rank]
    value_text = f"rank {rank} with {' to '.join(dict.fromkeys(means))}" if rank else "no value"
    return f"{model}, {value_text}: {', '.join(column.names)}"


def _draw_bands(chart: Chart, frame: _Frame, all_columns: Sequence[Column]) -> None:
    """Draw bands behind columns with another top two."""
    last = len(all_columns) - 1
    edge = last + _BAND_END / ((chart.height if frame.narrow else chart.width) / last)
    for i, column in enumerate(all_columns):
        if not column.top_two_hold:
            start = frame.position(chart, i - 0.5, 0.6)
            end = frame.position(chart, min(i + 0.5, edge), frame.max_rank + 0.4)
            chart.rect(*start, *end, "band")


def _draw_ranks(chart: Chart, frame: _Frame, marks: Sequence[_Mark]) -> None:
    """Draw a line per rank, with its number before the first column."""
    ranks = {mark.row: mark.rank for mark in marks}
    step = 1 if len(ranks) <= _MAX_RANK_NUMBERS else 5
    for row, rank in sorted(ranks.items()):
        start = frame.position(chart, 0, row)
        chart.line([start, frame.position(chart, frame.n_columns - 1, row)], "line")
        if rank is None or rank == 1 or rank % step == 0:
            x, y = start
            x, y = (x, y - 14) if frame.narrow else (x - 14, y)
            text = MISSING if rank is None else f"{rank}"
            chart.text(x, y, text, 12, "ink-faint", anchor="middle")


def _draw_column_names(chart: Chart, frame: _Frame, all_columns: Sequence[Column]) -> None:
    """Write the names of the columns: at the left if narrow, else slanted below the lines."""
    for i, column in enumerate(all_columns):
        first, *others = column.names
        name = shorten(first, NAME if frame.narrow else _SLANTED_NAME)
        name += f" +{len(others)}" if others else ""
        x, y = frame.position(chart, i, 1)
        if frame.narrow:
            chart.text(x - 22, y, name, 12, "ink-soft", anchor="end")
        else:
            chart.text(x, chart.height + 20, name, 12, "ink-soft", anchor="end", slanted=True)


def _draw_model_names(chart: Chart, frame: _Frame, marks: Sequence[_Mark], *, at_end: bool) -> None:
    """Write the names at one end of the lines, apart from each other."""
    across = 0 if frame.narrow else 1
    places = {m: frame.position(chart, m.column, m.exact_rank)[across] for m in marks}
    ordered = sorted(marks, key=places.__getitem__)
    extent = chart.width if frame.narrow else chart.height
    positions = spread([places[mark] for mark in ordered], extent)
    for mark, position in zip(ordered, positions, strict=True):
        name, colour = shorten(mark.model, NAME), mark.style.colour
        with chart.group(mark.model):
            if frame.narrow:
                y = chart.height + 14 if at_end else -30
                anchor: Anchor = "end" if at_end else "start"
                chart.text(position, y, name, 13, colour, anchor=anchor, bold=True, slanted=True)
            else:
                x = chart.width + 14 if at_end else -28
                anchor = "start" if at_end else "end"
                chart.text(x, position, name, 13, colour, anchor=anchor, bold=True)
