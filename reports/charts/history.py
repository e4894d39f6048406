"""Line plot of the models' means over the revisions of a project.

Lines are broken where conventions or ground truth changed.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.history import History, Revision, Standing
from concord.reports.charts.model_styles import N_COLOURED, model_styles
from concord.reports.charts.primitives import (
    FILL,
    HOVER,
    STROKE,
    TAG,
    Domain,
    Row,
    end_names,
    interval_columns,
    number_axis,
    padded_domain,
    pixels_from_top,
    plot,
    plot_width,
    scale,
    shorten,
    tag,
    text_layer,
    x_at,
    y2_at,
    y_at,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text import history as text
from concord.reports.text.numbers import interval, number
from concord.reports.text.verdict_styles import VERDICTS

_BREAKS = {"truth", "conventions"}  # changes after which means cannot be compared
_NAMED_OF_MANY = 3  # models, with the baseline, if colours run out
_SHIFT = 0.07  # of a revision's width, so that intervals of models do not cover each other
_LARGE, _SMALL = 130, 60  # square pixels of a mark of a new verdict
_MIN_WIDTH = 14  # pixels of a revision that fit a large mark
_LETTER = 7.5  # pixels of a letter in a name
_NOTE_ROW = 16  # pixels of a line of what changed
_MAX_LANES, _MAX_NOTE = 4, 36  # lines of what changed, letters of one


def points(history: History, label: str) -> list[Row]:
    """Return the means of a label; after each break a model has a new line."""
    colours = _colours(history, label)
    digits = text.decimals(history, label)
    middle = (len(colours) - 1) / 2
    shift = {model: _SHIFT * (i - middle) for i, model in enumerate(colours)}
    previous_verdicts: dict[str, str | None] = {}
    part = 0
    rows: list[Row] = []
    for i, revision in enumerate(history.revisions):
        part += is_break(revision)
        for standing in revision.standings_of(label):
            if standing.mean is None:
                continue
            model, verdict = standing.model, standing.verdict
            previous = previous_verdicts.get(model, verdict)
            previous_verdicts[model] = verdict
            rows.append(
                _point(revision, standing, digits)
                | {
                    "revision": i + shift.get(model, 0.0),
                    "is_last": i == len(history.revisions) - 1,
                    "line": f"{model}\n{part}",
                    "is_new": i == 0 or is_break(revision) or model not in revision.same,
                    "has_new_verdict": None not in (verdict, previous) and verdict != previous,
                    "colour": colours.get(model, light("line-strong")),
                    "is_named": model in colours,
                }
            )
    return rows


def is_break(revision: Revision) -> bool:
    """True if the numbers of a revision cannot be compared with those of the revision before."""
    return any(each.kind in _BREAKS for each in revision.changed)


def _point(revision: Revision, standing: Standing, digits: int) -> Row:
    mean = number(standing.mean, digits)
    ends = interval(standing.ci_low, standing.ci_high, digits)
    word = f", {VERDICTS[standing.verdict].word}" if standing.verdict else ""
    hover = (
        f"{text.revision_name(revision)}, {standing.model}: "
        f"{mean}{f' ({ends})' if ends else ''}{word}"
    )
    return {
        **interval_columns(standing),
        "model": standing.model,
        "verdict": standing.verdict or "",
        "plain": f"{standing.model}: {mean}{word}",
        "hover": tag(hover, standing.model),
        "tag": tag("", standing.model),
    }


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
    rows = points(history, label)
    margins = {"left": 44, "right": 104 if narrow else 140, "top": 12, "bottom": 48}
    size = plot_width(margins, narrow=narrow), 220 if narrow else 300
    notes = _change_notes(history, size[0], size[0] + margins["right"])
    margins["top"] += _NOTE_ROW * max((each["lane"] + 1 for each in notes), default=0)
    domain = padded_domain((row[end] for row in rows for end in ("low", "high")), 0.06)
    n = len(history.revisions)
    x = alt.X("revision:Q", axis=None, scale=scale(-0.5, n - 0.5))
    y = alt.Y("mean:Q", scale=scale(*domain), axis=number_axis(domain, 5))
    layers = [
        *_change_lines(history, x, size[1], {each["revision"]: each["lane"] for each in notes}),
        *_lines(rows, x, y, _LARGE if size[0] / n >= _MIN_WIDTH else _SMALL),
        *_model_names(rows, domain, size),
        *_revision_names(history, size),
        *_change_texts(notes),
    ]
    title = f"{label} at each revision, by model"
    description = "; ".join(row["plain"] for row in rows if row["is_last"])
    return render_svg(layers, size, margins, title, description)


def has_history(history: History, label: str) -> bool:
    """True if a model has a mean of the metric at a revision."""
    return any(each.mean is not None for r in history.revisions for each in r.standings_of(label))


def is_broken(history: History) -> bool:
    """True if conventions or ground truth changed at a revision."""
    return any(is_break(each) for each in history.revisions[1:])


def new_verdicts(history: History, label: str) -> set[str]:
    """Return the verdicts to which a model changed at a revision."""
    return {row["verdict"] for row in points(history, label) if row["has_new_verdict"]}


def _change_lines(
    history: History, x: alt.X, height: int, lanes: Mapping[int, int]
) -> list[alt.Chart]:
    """Return a line up to the words where inputs changed, dashed where means are not comparable."""
    layers = []
    for i, revision in enumerate(history.revisions):
        inputs = text.changed_inputs(revision)
        if not i or not inputs:
            continue
        broken = is_break(revision)
        dash = [4, 4] if broken else alt.Undefined
        rule = plot([{"revision": i - 0.5, "hover": tag(inputs)}]).mark_rule(
            strokeWidth=1.25 if broken else 1, strokeDash=dash, aria=True
        )
        layers.append(
            rule.encode(
                x=x,
                y=y_at(-_NOTE_ROW * (lanes[i] + 1) if i in lanes else 0),
                y2=y2_at(height),
                stroke=alt.value(light("ink-faint" if broken else "line-strong")),
                description=HOVER,
            )
        )
    return layers


def _change_notes(history: History, width: int, right: int) -> list[Row]:
    """Return the words on what changed, the latest first, each above all that it would cover."""
    n = len(history.revisions)
    rows: list[Row] = []
    for i in range(n - 1, 0, -1):
        words = shorten(text.changed_inputs(history.revisions[i]), _MAX_NOTE)
        length = _LETTER * len(words)
        start = max(0.0, min(width * i / n + 4, right - length))
        lane = max((each["lane"] + 1 for each in rows if each["x"] < start + length), default=0)
        if words and lane < _MAX_LANES:
            rows.append({"revision": i, "lane": lane, "text": words, "x": start})
    return rows


def _change_texts(notes: Sequence[Row]) -> list[alt.Chart]:
    texts = partial(text_layer, field="text", size=12, colour="ink-soft", align="left")
    return [
        texts([each], x=x_at(each["x"]), y=y_at(-8 - _NOTE_ROW * each["lane"])) for each in notes
    ]


def _lines(rows: Sequence[Row], x: alt.X, y: alt.Y, size: int) -> list[alt.Chart]:
    lines = plot(sorted(rows, key=lambda row: row["is_named"]))
    interval_rows = [
        row
        for row in rows
        if row["is_named"] and (row["is_new"] or row["has_new_verdict"] or row["is_last"])
    ]
    intervals = plot(interval_rows).mark_rule(strokeWidth=1.25, opacity=0.5, aria=True)
    dots = plot(row for row in interval_rows if not row["has_new_verdict"])
    new_verdict_rows = [row for row in rows if row["has_new_verdict"]]
    return [
        lines.mark_line(strokeWidth=1.75, aria=True).encode(
            x=x, y=y, detail=alt.Detail("line:N"), stroke=STROKE, description=TAG
        ),
        intervals.encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high"), stroke=STROKE, description=TAG),
        dots.mark_point(size=22, shape="circle", opacity=1, strokeWidth=1, aria=True).encode(
            x=x, y=y, stroke=STROKE, fill=FILL, description=HOVER
        ),
        *(
            plot(row for row in new_verdict_rows if row["verdict"] == name)
            .mark_point(size=size, shape=verdict.path, opacity=1, strokeWidth=1.75, aria=True)
            .encode(
                x=x,
                y=y,
                stroke=STROKE,
                fill=FILL if verdict.filled else alt.value(light("raised")),
                description=HOVER,
            )
            for name, verdict in VERDICTS.items()
            if any(row["verdict"] == name for row in new_verdict_rows)
        ),
    ]


def _model_names(rows: Sequence[Row], domain: Domain, size: tuple[int, int]) -> list[alt.Chart]:
    """Return the names at the right, level with the last known mean."""
    last = {row["model"]: row for row in rows if row["is_named"]}
    ends = [{**row, "name": shorten(model, 13)} for model, row in last.items()]
    return end_names(ends, [pixels_from_top(row["mean"], domain, size[1]) for row in ends], size)


def _revision_names(history: History, size: tuple[int, int]) -> list[alt.Chart]:
    """Return as many names and dates as fit: the last revision, the first, tags, then others."""
    width, height = size
    n = len(history.revisions)
    used_ranges: list[tuple[float, float]] = []
    texts = partial(
        text_layer,
        field="text",
        size=12,
        colour="ink-faint",
        align="center",
        baseline="top",
    )
    layers = []
    tagged = [i for i in range(n) if history.revisions[i].tags]
    for i in dict.fromkeys([n - 1, 0, *tagged[::-1], *range(n)]):
        revision = history.revisions[i]
        name = shorten(revision.tags[0] if revision.tags else revision.name, 12)
        date = revision.date[-10:]  # the last day of several revisions
        centre, half = width * (i + 0.5) / n, _LETTER * max(len(name), len(date)) / 2 + 6
        if all(centre + half <= low or centre - half >= high for low, high in used_ranges):
            used_ranges.append((centre - half, centre + half))
            layers += [
                texts([{"text": line}], x=x_at(centre), y=y_at(height + 12 + 15 * row))
                for row, line in enumerate(filter(None, (name, date)))
            ]
    return layers
