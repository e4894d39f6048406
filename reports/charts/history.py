"""How the models of a project fared from revision to revision: one line each, broken where numbers cannot be compared."""

from typing import Any

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.history import History, Revision, Standing
from concord.reports.charts.curves import spread
from concord.reports.charts.svg import (
    SERIES,
    axis,
    light,
    nice_ticks,
    picture,
    shortened,
    tick_digits,
    told,
    values,
    x_at,
    y2_at,
    y_at,
)
from concord.reports.writing import history as written
from concord.reports.writing.numbers import interval, number
from concord.reports.writing.verdicts import VERDICTS

BREAKS = {"truth", "conventions"}  # what makes means of another kind
_NAMED_IN_A_CROWD = 3  # models, beside the baseline, where colours run out
_BESIDE = 0.07  # of the room of a revision, so that intervals of models do not cover each other
Rows = list[dict[str, Any]]


def points(history: History, label: str) -> Rows:
    """Those of a label; lines have another name behind each break."""
    colours = _colours(history, label)
    digits = written.digits(history, label)
    middle = (len(colours) - 1) / 2
    beside = {model: _BESIDE * (i - middle) for i, model in enumerate(colours)}
    before: dict[str, str | None] = {}
    part = 0
    rows: Rows = []
    for at, revision in enumerate(history.revisions):
        part += is_break(revision)
        for standing in revision.of(label):
            if standing.mean is None:
                continue
            known = standing.verdict
            was = before.get(standing.model, known)
            before[standing.model] = known
            rows.append(
                _point(revision, standing, digits)
                | {
                    "at": at + beside.get(standing.model, 0.0),
                    "last": at == len(history.revisions) - 1,
                    "line": f"{standing.model}\n{part}",
                    "marked": at == 0 or is_break(revision) or standing.model not in revision.same,
                    "turned": known is not None and was is not None and known != was,
                    "colour": colours.get(standing.model, light("line-strong")),
                    "named": standing.model in colours,
                }
            )
    return rows


def is_break(revision: Revision) -> bool:
    """Are its numbers of another kind than those before?"""
    return any(each.kind in BREAKS for each in revision.changed)


def _point(revision: Revision, at: Standing, digits: int) -> dict[str, Any]:
    mean = number(at.mean, digits)
    span = interval(at.ci_low, at.ci_high, digits)
    word = "" if at.verdict is None else f", {VERDICTS[at.verdict].word}"
    name = written.name(revision)
    return {
        "model": at.model,
        "mean": at.mean,
        "low": at.mean if at.ci_low is None else at.ci_low,
        "high": at.mean if at.ci_high is None else at.ci_high,
        "verdict": at.verdict or "",
        "spoken": f"{at.model}: {mean}{word}",
        "about": told(f"{name}, {at.model}: {mean}{f' ({span})' if span else ''}{word}", at.model),
        "whose": told("", at.model),
    }


def _colours(history: History, label: str) -> dict[str, str]:
    """The baseline in grey; the others in colours by their first appearance, or only the last best where colours run out."""
    last = history.revisions[-1]
    every = list(dict.fromkeys(x.model for r in history.revisions for x in r.standings))
    others = [model for model in every if model != last.baseline]
    if len(others) >= len(SERIES):
        best = [each.model for each in last.of(label) if each.model != last.baseline]
        others = [model for model in others if model in best[:_NAMED_IN_A_CROWD]]
    grey = {last.baseline: light(SERIES[0])} if last.baseline in every else {}
    known = {model: light(SERIES[i]) for i, model in enumerate(others, 1)}
    return {**{str(model): colour for model, colour in grey.items()}, **known}


_LARGE, _SMALL = 130, 60  # square pixels of a mark where a verdict turned
_ROOM = 14  # pixels of a revision, from which on it has room for a large one
_LETTER = 7.5  # pixels of a name


def history_chart(history: History, label: str, *, narrow: bool) -> Markup:
    """Means with their intervals over the revisions; a mark of its own where a verdict turned."""
    rows = points(history, label)
    margins = {"left": 44, "right": 104 if narrow else 140, "top": 12, "bottom": 34}
    size = (350 if narrow else 940) - margins["left"] - margins["right"], 220 if narrow else 300
    low, high = _domain(rows)
    n = len(history.revisions)
    x = alt.X("at:Q", axis=None, scale=alt.Scale(domain=[-0.5, n - 0.5], nice=False, zero=False))
    ticks = nice_ticks(low, high, 5)
    y = alt.Y(
        "mean:Q",
        scale=alt.Scale(domain=[low, high], nice=False, zero=False),
        axis=axis(ticks, f"format(datum.value, '.{tick_digits(ticks)}f')", grid=True),
    )
    layers = [
        *_breaks(history, x, size[1]),
        *_lines(rows, x, y, _LARGE if size[0] / n >= _ROOM else _SMALL),
        *_names(rows, (low, high), size),
        *_revisions(history, size),
    ]
    title = f"{label} at each revision, by model"
    ends = "; ".join(row["spoken"] for row in rows if row["last"])
    return picture(layers, size, margins, title, ends)


def has_history(history: History, label: str) -> bool:
    """Is any mean known?"""
    return any(each.mean is not None for r in history.revisions for each in r.of(label))


def is_broken(history: History) -> bool:
    """Were conventions or truth others at some revision?"""
    return any(is_break(each) for each in history.revisions[1:])


def turned(history: History, label: str) -> set[str]:
    """The verdicts that a model came to at a revision, having had another before."""
    return {row["verdict"] for row in points(history, label) if row["turned"]}


def _domain(rows: Rows) -> tuple[float, float]:
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    room = 0.06 * (high - low) or 0.01
    return low - room, high + room


def _breaks(history: History, x: alt.X, height: int) -> list[alt.Chart]:
    """An upright line where the numbers on both sides were made under other conventions or on another truth."""
    rows = [
        {"at": at - 0.5, "about": told("; ".join(e.what for e in r.changed if e.kind in BREAKS))}
        for at, r in enumerate(history.revisions)
        if at and is_break(r)
    ]
    rule = values(rows).mark_rule(strokeWidth=1.25, strokeDash=[4, 4], aria=True)
    return [
        rule.encode(
            x=x,
            y=y_at(0),
            y2=y2_at(height),
            stroke=alt.value(light("ink-faint")),
            description=alt.Description("about:N"),
        )
    ]


def _lines(rows: Rows, x: alt.X, y: alt.Y, size: int) -> list[alt.Chart]:
    colour, fill = alt.Stroke("colour:N", scale=None), alt.Fill("colour:N", scale=None)
    whose, about = alt.Description("whose:N"), alt.Description("about:N")
    ordered = sorted(rows, key=lambda row: row["named"])
    named = [row for row in rows if row["named"]]
    marked = [row for row in named if row["marked"] or row["turned"] or row["last"]]
    plain = [row for row in marked if not row["turned"]]
    lines = values(ordered).mark_line(strokeWidth=1.75, aria=True)
    whiskers = values(marked).mark_rule(strokeWidth=1.25, opacity=0.5, aria=True)
    dots = values(plain).mark_point(size=22, shape="circle", opacity=1, strokeWidth=1, aria=True)
    return [
        lines.encode(x=x, y=y, detail=alt.Detail("line:N"), stroke=colour, description=whose),
        whiskers.encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high"), stroke=colour, description=whose),
        dots.encode(x=x, y=y, stroke=colour, fill=fill, description=about),
        *(
            values([row for row in rows if row["turned"] and row["verdict"] == name])
            .mark_point(size=size, shape=verdict.path, opacity=1, strokeWidth=1.75, aria=True)
            .encode(
                x=x,
                y=y,
                stroke=colour,
                fill=fill if verdict.filled else alt.value(light("raised")),
                description=about,
            )
            for name, verdict in VERDICTS.items()
            if any(row["turned"] and row["verdict"] == name for row in rows)
        ),
    ]


def _names(rows: Rows, domain: tuple[float, float], size: tuple[int, int]) -> list[alt.Chart]:
    """At the right, pushed apart, each tied to the end of its line where it reaches the last revision."""
    width, height = size
    last: dict[str, dict[str, Any]] = {row["model"]: row for row in rows if row["named"]}
    ends = sorted(last.values(), key=lambda row: -float(row["mean"]))
    per_pixel = (domain[1] - domain[0]) / height
    wanted = [(domain[1] - row["mean"]) / per_pixel for row in ends]
    texts = [
        {**row, "y": at, "text": shortened(row["model"], 13)}
        for row, at in zip(ends, spread(wanted, height), strict=True)
    ]
    return [
        values([row])
        .mark_text(align="left", baseline="middle", fontSize=12, limit=0, aria=True)
        .encode(
            x=x_at(width + 14),
            y=y_at(row["y"]),
            text=alt.Text("text:N"),
            color=alt.Color("colour:N", scale=None),
            description=alt.Description("whose:N"),
        )
        for row in texts
    ]


def _revisions(history: History, size: tuple[int, int]) -> list[alt.Chart]:
    """Names of revisions below: the last, the first, tags and then others, as many as have room."""
    width, height = size
    n = len(history.revisions)
    taken: list[tuple[float, float]] = []
    rows = []
    tagged = [at for at in range(n) if history.revisions[at].tags]
    for at in dict.fromkeys([n - 1, 0, *tagged[::-1], *range(n)]):
        revision = history.revisions[at]
        text = shortened(revision.tags[0] if revision.tags else revision.name, 12)
        place, half = width * (at + 0.5) / n, _LETTER * len(text) / 2 + 6
        if all(place + half <= low or place - half >= high for low, high in taken):
            taken.append((place - half, place + half))
            rows.append({"text": text, "x": place})
    return [
        values([row])
        .mark_text(align="center", baseline="top", fontSize=12, limit=0)
        .encode(
            x=x_at(row["x"]),
            y=y_at(height + 12),
            text=alt.Text("text:N"),
            color=alt.value(light("ink-faint")),
        )
        for row in rows
    ]
