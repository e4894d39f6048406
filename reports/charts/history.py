"""How the models of a project changed from revision to revision: one line each, broken where numbers cannot be compared."""

from collections.abc import Sequence

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.history import History, Revision, Standing
from concord.reports.charts.primitives import (
    FILL,
    HOVER,
    STROKE,
    TAG,
    Domain,
    Row,
    end_names,
    number_axis,
    padded,
    plot_width,
    scale,
    shortened,
    tag,
    text,
    values,
    x_at,
    y2_at,
    y_at,
)
from concord.reports.charts.svg import SERIES, light, picture
from concord.reports.text import history as written
from concord.reports.text.numbers import interval, number
from concord.reports.text.verdict_styles import VERDICTS

BREAKS = {"truth", "conventions"}  # changes after which means cannot be compared
_NAMED_OF_MANY = 3  # models, with the baseline, if colours run out
_SHIFT = 0.07  # of the room of a revision, so that intervals of models do not cover each other


def points(history: History, label: str) -> list[Row]:
    """Return the means of a label; after each break a model's line has another name."""
    colours = _colours(history, label)
    digits = written.decimals(history, label)
    middle = (len(colours) - 1) / 2
    shift = {model: _SHIFT * (i - middle) for i, model in enumerate(colours)}
    previous_verdicts: dict[str, str | None] = {}
    part = 0
    rows: list[Row] = []
    for at, revision in enumerate(history.revisions):
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
                    "at": at + shift.get(model, 0.0),
                    "last": at == len(history.revisions) - 1,
                    "line": f"{model}\n{part}",
                    "marked": at == 0 or is_break(revision) or model not in revision.same,
                    "turned": None not in (verdict, previous) and verdict != previous,
                    "colour": colours.get(model, light("line-strong")),
                    "named": model in colours,
                }
            )
    return rows


def is_break(revision: Revision) -> bool:
    """True if its numbers cannot be compared with those before."""
    return any(each.kind in BREAKS for each in revision.changed)


def _point(revision: Revision, standing: Standing, digits: int) -> Row:
    mean = number(standing.mean, digits)
    ends = interval(standing.ci_low, standing.ci_high, digits)
    word = f", {VERDICTS[standing.verdict].word}" if standing.verdict else ""
    hover = (
        f"{written.revision_name(revision)}, {standing.model}: "
        f"{mean}{f' ({ends})' if ends else ''}{word}"
    )
    return {
        "model": standing.model,
        "mean": standing.mean,
        "low": standing.mean if standing.ci_low is None else standing.ci_low,
        "high": standing.mean if standing.ci_high is None else standing.ci_high,
        "verdict": standing.verdict or "",
        "plain": f"{standing.model}: {mean}{word}",
        "hover": tag(hover, standing.model),
        "tag": tag("", standing.model),
    }


def _colours(history: History, label: str) -> dict[str, str]:
    """Return the baseline in grey, the others in colours by first appearance, or only the best if colours run out."""
    last = history.revisions[-1]
    models = dict.fromkeys(each.model for r in history.revisions for each in r.standings)
    others = [model for model in models if model != last.baseline]
    if len(others) >= len(SERIES):
        best = [each.model for each in last.standings_of(label) if each.model != last.baseline]
        others = [model for model in others if model in best[:_NAMED_OF_MANY]]
    colours = {str(last.baseline): light(SERIES[0])} if last.baseline in models else {}
    return colours | {model: light(SERIES[i]) for i, model in enumerate(others, 1)}


_LARGE, _SMALL = 130, 60  # square pixels of a mark where a verdict turned
_ROOM = 14  # pixels of a revision, from which on it has room for a large one
_LETTER = 7.5  # pixels of a name


def history_chart(history: History, label: str, *, narrow: bool) -> Markup:
    """Return means with intervals over the revisions; a mark of its own where a verdict changed."""
    rows = points(history, label)
    margins = {"left": 44, "right": 104 if narrow else 140, "top": 12, "bottom": 34}
    size = plot_width(margins, narrow=narrow), 220 if narrow else 300
    domain = padded((row[end] for row in rows for end in ("low", "high")), 0.06)
    n = len(history.revisions)
    x = alt.X("at:Q", axis=None, scale=scale(-0.5, n - 0.5))
    y = alt.Y("mean:Q", scale=scale(*domain), axis=number_axis(domain, 5))
    layers = [
        *_breaks(history, x, size[1]),
        *_lines(rows, x, y, _LARGE if size[0] / n >= _ROOM else _SMALL),
        *_names(rows, domain, size),
        *_revisions(history, size),
    ]
    title = f"{label} at each revision, by model"
    ends = "; ".join(row["plain"] for row in rows if row["last"])
    return picture(layers, size, margins, title, ends)


def has_history(history: History, label: str) -> bool:
    """True if a mean is known."""
    return any(each.mean is not None for r in history.revisions for each in r.standings_of(label))


def is_broken(history: History) -> bool:
    """True if conventions or ground truth changed at a revision."""
    return any(is_break(each) for each in history.revisions[1:])


def turned(history: History, label: str) -> set[str]:
    """Return the verdicts to which a model changed at a revision."""
    return {row["verdict"] for row in points(history, label) if row["turned"]}


def _breaks(history: History, x: alt.X, height: int) -> list[alt.Chart]:
    """Return an upright line where conventions or ground truth changed."""
    rows = [
        {"at": at - 0.5, "hover": tag("; ".join(e.text for e in r.changed if e.kind in BREAKS))}
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
            description=HOVER,
        )
    ]


def _lines(rows: Sequence[Row], x: alt.X, y: alt.Y, size: int) -> list[alt.Chart]:
    ordered = sorted(rows, key=lambda row: row["named"])
    named = [row for row in rows if row["named"]]
    marked = [row for row in named if row["marked"] or row["turned"] or row["last"]]
    plain = [row for row in marked if not row["turned"]]
    lines = values(ordered).mark_line(strokeWidth=1.75, aria=True)
    whiskers = values(marked).mark_rule(strokeWidth=1.25, opacity=0.5, aria=True)
    dots = values(plain).mark_point(size=22, shape="circle", opacity=1, strokeWidth=1, aria=True)
    return [
        lines.encode(x=x, y=y, detail=alt.Detail("line:N"), stroke=STROKE, description=TAG),
        whiskers.encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high"), stroke=STROKE, description=TAG),
        dots.encode(x=x, y=y, stroke=STROKE, fill=FILL, description=HOVER),
        *(
            values([row for row in rows if row["turned"] and row["verdict"] == name])
            .mark_point(size=size, shape=verdict.path, opacity=1, strokeWidth=1.75, aria=True)
            .encode(
                x=x,
                y=y,
                stroke=STROKE,
                fill=FILL if verdict.filled else alt.value(light("raised")),
                description=HOVER,
            )
            for name, verdict in VERDICTS.items()
            if any(row["turned"] and row["verdict"] == name for row in rows)
        ),
    ]


def _names(rows: Sequence[Row], domain: Domain, size: tuple[int, int]) -> list[alt.Chart]:
    """Return the names at the right, level with the last known mean."""
    last = {row["model"]: row for row in rows if row["named"]}
    ends = [{**row, "name": shortened(model, 13)} for model, row in last.items()]
    per_pixel = (domain[1] - domain[0]) / size[1]
    return end_names(ends, [(domain[1] - row["mean"]) / per_pixel for row in ends], size)


def _revisions(history: History, size: tuple[int, int]) -> list[alt.Chart]:
    """Return the names of revisions: the last, the first, tags and then others, as many as have room."""
    width, height = size
    n = len(history.revisions)
    used_ranges: list[tuple[float, float]] = []
    rows = []
    tagged = [at for at in range(n) if history.revisions[at].tags]
    for at in dict.fromkeys([n - 1, 0, *tagged[::-1], *range(n)]):
        revision = history.revisions[at]
        name = shortened(revision.tags[0] if revision.tags else revision.name, 12)
        centre, half = width * (at + 0.5) / n, _LETTER * len(name) / 2 + 6
        if all(centre + half <= low or centre - half >= high for low, high in used_ranges):
            used_ranges.append((centre - half, centre + half))
            rows.append({"text": name, "x": centre})
    return [
        text([row], "text", 12, "ink-faint", align="center", baseline="top").encode(
            x=x_at(row["x"]), y=y_at(height + 12)
        )
        for row in rows
    ]
