"""Line plot of the models' means over the revisions of a project.

Lines are broken where conventions or ground truth changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from concord.metrics_core.results.history import History, Revision, Standing
from concord.metrics_core.results.text_format import group_values
from concord.reports.charts.plots import (
    Linear,
    draw_axis,
    draw_end_names,
    draw_verdict,
    interval_ends,
    number_ticks,
    padded_scale,
    plot_width,
    shorten,
)
from concord.reports.charts.svg import CIRCLE, N_COLOURED, Chart, model_styles
from concord.reports.text import history as text
from concord.reports.text.numbers import interval, number
from concord.reports.text.verdict_styles import VERDICTS

_BREAKS = {"truth", "conventions"}  # changes after which means cannot be compared
_NAMED_OF_MANY = 3  # models, with the baseline, if colours run out
_SHIFT = 0.07  # of a revision's width, so that intervals of models do not cover each other
_LARGE, _SMALL = 5.7, 3.87  # radius of a mark of a new verdict
_MIN_WIDTH = 14  # pixels of a revision that fit a large mark
_LETTER = 7.5  # pixels of a letter in a name
_NOTE_ROW = 16  # pixels of a line of what changed
_MAX_LANES, _MAX_NOTE = 4, 36  # lines of what changed, letters of one


@dataclass(frozen=True)
class _Point:
    """A model at a revision.

    Attributes
    ----------
    position : float
        Number of the revision, shifted so that intervals do not cover each other.
    part : int
        Number of breaks before: a line joins points of one part.
    colour : str or None
        None if the model is not named.
    is_new : bool
        True if its values changed.
    """

    revision: Revision
    standing: Standing
    mean: float
    position: float
    part: int
    colour: str | None
    is_last: bool
    is_new: bool
    has_new_verdict: bool

    @property
    def ends(self) -> tuple[float, float]:
        return interval_ends(self.standing, self.mean)


def _points(history: History, label: str) -> list[_Point]:
    """Return the means of a label; after each break a model has a new line."""
    colours = _colours(history, label)
    middle = (len(colours) - 1) / 2
    shift = {model: _SHIFT * (i - middle) for i, model in enumerate(colours)}
    previous_verdicts: dict[str, str | None] = {}
    part = 0
    points = []
    for i, revision in enumerate(history.revisions):
        part += is_break(revision)
        for standing in revision.standings_of(label):
            if standing.mean is None:
                continue
            model = standing.model
            verdict = standing.verdict and VERDICTS[standing.verdict].word
            previous = previous_verdicts.get(model, verdict)
            previous_verdicts[model] = verdict
            points.append(
                _Point(
                    revision,
                    standing,
                    standing.mean,
                    i + shift.get(model, 0.0),
                    part,
                    colours.get(model),
                    is_last=i == len(history.revisions) - 1,
                    is_new=i == 0 or is_break(revision) or model not in revision.same,
                    has_new_verdict=None not in (verdict, previous) and verdict != previous,
                )
            )
    return points


def is_break(revision: Revision) -> bool:
    """True if the numbers of a revision cannot be compared with those of the revision before."""
    return any(each.kind in _BREAKS for each in revision.changed)


def _colours(history: History, label: str) -> dict[str, str]:
    """Return the colours of the named models; the best only, if colours run out.

    The order of models is that of the last comparison that could be read.
    """
    latest = history.revisions[::-1]
    last = next((each for each in latest if each.baseline is not None), latest[0])
    models = dict.fromkeys(each.model for r in (last, *latest) for each in r.standings)
    styles = model_styles(models, last.baseline)
    named = [model for model in models if model != last.baseline]
    if len(named) > N_COLOURED:
        best = [each.model for each in last.standings_of(label) if each.model != last.baseline]
        named = best[:_NAMED_OF_MANY]
    return {m: styles[m].colour for m in models if m in {last.baseline, *named}}


def history_chart(history: History, label: str, *, narrow: bool) -> Markup:
    """Return the line plot of means with intervals; a large mark shows a new verdict."""
    points, digits = _points(history, label), text.decimals(history, label)
    left, right = 44, 104 if narrow else 140
    width, height = plot_width(left, right, narrow=narrow), 220 if narrow else 300
    notes = _change_notes(history, width, width + right)
    top = 12 + _NOTE_ROW * max((note.lane + 1 for note in notes.values()), default=0)
    chart = Chart(width, height, left=left, right=right, top=top, bottom=48)
    n = len(history.revisions)
    x = Linear(-0.5, n - 0.5, 0, width)
    y = padded_scale((end for p in points for end in p.ends), height, 0, share=0.06)
    draw_axis(chart, y, number_ticks(y, 5), upright=True)
    _draw_changes(chart, x, history, notes)
    _draw_lines(chart, x, y, points)
    radius = _LARGE if width / n >= _MIN_WIDTH else _SMALL
    _draw_marks(chart, x, y, points, digits=digits, radius=radius)
    last = {p.standing.model: p for p in points if p.colour}
    ends = [(model, y(point.mean), point.colour or "") for model, point in last.items()]
    draw_end_names(chart, ends)
    _draw_revision_names(chart, history)
    title = f"{label} at each revision, by model"
    return chart.markup(title, "; ".join(_plain(p, digits) for p in points if p.is_last))


def has_history(history: History, label: str) -> bool:
    """True if a model has a mean of the metric at a revision."""
    return any(each.mean is not None for r in history.revisions for each in r.standings_of(label))


def is_broken(history: History) -> bool:
    """True if conventions or ground truth changed at a revision."""
    return any(is_break(each) for each in history.revisions[1:])


def new_verdicts(history: History, label: str) -> set[str]:
    """Return the verdicts to which a model changed at a revision."""
    return {p.standing.verdict or "" for p in _points(history, label) if p.has_new_verdict}


def _plain(point: _Point, digits: int) -> str:
    return f"{point.standing.model}: {number(point.mean, digits)}{_verdict_text(point)}"


def _hover(point: _Point, digits: int) -> str:
    standing = point.standing
    ends = interval(standing.ci_low, standing.ci_high, digits)
    value_text = f"{number(point.mean, digits)}{f' ({ends})' if ends else ''}{_verdict_text(point)}"
    return f"{text.revision_name(point.revision)}, {standing.model}: {value_text}"


def _verdict_text(point: _Point) -> str:
    verdict = point.standing.verdict
    return f", {VERDICTS[verdict].word}" if verdict else ""


@dataclass(frozen=True)
class _Note:
    """Words on what changed; lane 0 is just above the plot."""

    words: str
    x: float
    lane: int


def _change_notes(history: History, width: int, right: int) -> dict[int, _Note]:
    """Return revision -> its note, the latest first, each above all that it would cover."""
    n = len(history.revisions)
    notes: dict[int, _Note] = {}
    for i in range(n - 1, 0, -1):
        words = shorten(text.changed_inputs(history.revisions[i]), _MAX_NOTE)
        length = _LETTER * len(words)
        start = max(0.0, min(width * i / n + 4, right - length))
        lane = max((note.lane + 1 for note in notes.values() if note.x < start + length), default=0)
        if words and lane < _MAX_LANES:
            notes[i] = _Note(words, start, lane)
    return notes


def _draw_changes(chart: Chart, x: Linear, history: History, notes: dict[int, _Note]) -> None:
    """Draw a line up to the words where inputs changed, dashed where means are not comparable."""
    for i, revision in enumerate(history.revisions):
        inputs = text.changed_inputs(revision)
        if not i or not inputs:
            continue
        note = notes.get(i)
        at, top = x(i - 0.5), -_NOTE_ROW * (note.lane + 1) if note else 0
        ends = [(at, top), (at, chart.height)]
        with chart.group(hover=inputs):
            if is_break(revision):
                chart.line(ends, "ink-faint", 1.25, dash="4,4")
            else:
                chart.line(ends, "line-strong")
        if note:
            chart.text(note.x, -8 - _NOTE_ROW * note.lane, note.words, 12, "ink-soft")


def _draw_lines(chart: Chart, x: Linear, y: Linear, points: Sequence[_Point]) -> None:
    """Draw the lines of models between breaks, those of named models on top."""
    lines = group_values(((p.colour is not None, p.standing.model, p.part), p) for p in points)
    for (_, model, _), line in sorted(lines.items(), key=lambda each: each[0][0]):
        with chart.group(model):
            ends = [(x(point.position), y(point.mean)) for point in line]
            chart.line(ends, line[0].colour or "line-strong", 1.75)


def _draw_marks(
    chart: Chart, x: Linear, y: Linear, points: Sequence[_Point], *, digits: int, radius: float
) -> None:
    """Draw the intervals of named models where values changed, and the marks of new verdicts."""
    for point in points:
        at = x(point.position), y(point.mean)
        colour, verdict = point.colour or "line-strong", point.standing.verdict
        is_shown = point.colour and (point.is_new or point.has_new_verdict or point.is_last)
        if not is_shown and not point.has_new_verdict:
            continue
        with chart.group(point.standing.model):
            if is_shown:
                chart.line([(at[0], y(end)) for end in point.ends], colour, 1.25, opacity=0.5)
            with chart.group(hover=_hover(point, digits)):
                if point.has_new_verdict and verdict:
                    draw_verdict(chart, at, verdict, radius, "raised", colour=colour)
                else:
                    chart.symbol(at, CIRCLE, 2.35, stroke=colour, fill=colour)


def _draw_revision_names(chart: Chart, history: History) -> None:
    """Write as many names and dates as fit: the last revision, the first, tags, then others."""
    n = len(history.revisions)
    used_ranges: list[tuple[float, float]] = []
    tagged = [i for i in range(n) if history.revisions[i].tags]
    for i in dict.fromkeys([n - 1, 0, *tagged[::-1], *range(n)]):
        revision = history.revisions[i]
        name = shorten(revision.tags[0] if revision.tags else revision.name, 12)
        date = revision.date[-10:]  # the last day of several revisions
        centre = chart.width * (i + 0.5) / n
        half = _LETTER * max(len(name), len(date)) / 2 + 6
        if all(centre + half <= low or centre - half >= high for low, high in used_ranges):
            used_ranges.append((centre - half, centre + half))
            for row, line in enumerate(filter(None, (name, date))):
                y = chart.height + 17 + 15 * row
                chart.text(centre, y, line, 12, "ink-faint", anchor="middle")
