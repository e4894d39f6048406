"""The forest: a model's difference to the baseline on each data set, as found and as shrunk, and the mean of all."""

from typing import Any

import altair as alt
from markupsafe import Markup

from concord.metrics_core.studying.parts import Pair, Shrunk
from concord.metrics_core.studying.study import Study
from concord.reports.charts.palette import light
from concord.reports.charts.scales import nice_ticks, shortened, tick_digits
from concord.reports.charts.svg import axis, picture, told, values, x_at
from concord.reports.studying.told import digits
from concord.reports.writing.numbers import signed, signed_interval
from concord.reports.writing.verdicts import VERDICTS

_SIGNED = "datum.value === 0 ? '0' : format(datum.value, '+.{digits}f')"
_ROW = 24
MOST_MODELS = 8  # that are drawn
Row = dict[str, Any]


def forest_chart(study: Study, label: str, *, narrow: bool) -> Markup:
    """The best models by mean rank, one below the other: a line a data set, then the mean over data sets with its interval."""
    rows = _rows(study, label)
    ends = [row[key] for row in rows for key in ("low", "high", "found") if row[key] is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = 0.04 * (high - low) or 0.01
    left, right = (104, 4) if narrow else (200, 200)
    width = (350 if narrow else 940) - left - right
    ticks = nice_ticks(low - room, high + room, 3 if narrow else 6)
    x = alt.X(
        "value:Q",
        scale=alt.Scale(domain=[low - room, high + room], nice=False, zero=False),
        axis=axis(ticks, _SIGNED.format(digits=tick_digits(ticks)), grid=True),
    )
    domain = [len(rows) - 0.5, -0.5]
    y = alt.Y("row:Q", axis=None, scale=alt.Scale(domain=domain, nice=False, zero=False))
    layers = [*_marks(rows, x, y), *_words(rows, y, left, width, narrow=narrow)]
    title = f"{label}: differences to {study.baseline} over data sets"
    spoken = "; ".join(row["spoken"] for row in rows if row["spoken"])
    margins = {"left": left, "right": right, "top": 6, "bottom": 30}
    return picture(layers, (width, _ROW * len(rows)), margins, title, spoken)


def _rows(study: Study, label: str) -> list[Row]:
    places = digits(study, label)
    rows: list[Row] = []
    known = {each.model for each in study.shrunk if each.label == label}
    for model in [m for m in study.ranked(label) if m in known][:MOST_MODELS]:
        own = [s for s in study.shrunk if (s.label, s.model) == (label, model)]
        (pair,) = [p for p in study.pairs if (p.label, p.a, p.vs_baseline) == (label, model, True)]
        rows += [_head(model), *(_of_dataset(each, places) for each in own), _mean(pair, places)]
    for i, row in enumerate(rows):
        row["row"] = i
    return rows


def _head(model: str) -> Row:
    nothing = dict.fromkeys(("value", "low", "high", "found"))
    return {**nothing, "kind": "head", "name": model, "written": "", "about": "", "spoken": "", "colour": light("ink")}  # fmt: skip


def _of_dataset(each: Shrunk, places: int) -> Row:
    span = signed_interval(each.shrunk_low, each.shrunk_high, places)
    text = f"{each.model} on {each.dataset}: shrunk {signed(each.shrunk, places)} ({span}), found {signed(each.difference, places)}"  # fmt: skip
    return {
        "kind": "dataset",
        "name": each.dataset,
        "value": each.shrunk,
        "low": each.shrunk_low,
        "high": each.shrunk_high,
        "found": each.difference,
        "written": signed(each.shrunk, places),
        "about": told(text, each.model),
        "spoken": text,
        "colour": light("open"),
    }


def _mean(pair: Pair, places: int) -> Row:
    verdict = VERDICTS[pair.verdict]
    span = signed_interval(pair.ci_low, pair.ci_high, places)
    text = f"{pair.a}, mean over data sets: {signed(pair.difference, places)} ({span}), {verdict.word}"  # fmt: skip
    return {
        "kind": "mean",
        "name": "all data sets",
        "value": pair.difference,
        "low": pair.ci_low,
        "high": pair.ci_high,
        "found": None,
        "written": f"{signed(pair.difference, places)} {verdict.word}",
        "about": told(text, pair.a),
        "spoken": text,
        "colour": light(verdict.tone),
    }


def _marks(rows: list[Row], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    shown = [row for row in rows if row["value"] is not None]
    means = [row for row in shown if row["kind"] == "mean"]
    own = [row for row in shown if row["kind"] == "dataset"]
    colour = alt.Color("colour:N", scale=None)
    about = alt.Description("about:N")
    zero = values([{"zero": 0}]).mark_rule(color=light("ink-soft"), strokeWidth=1)
    line = values(shown).mark_rule(strokeWidth=2, strokeCap="round", aria=True)
    found = values(own).mark_tick(color=light("ink-faint"), thickness=2, size=12)
    dots = values(own).mark_circle(size=60, opacity=1, aria=True)
    diamonds = values(means).mark_point(shape="diamond", filled=True, size=150, opacity=1, aria=True)  # fmt: skip
    return [
        zero.encode(x=alt.X("zero:Q")),
        line.encode(x=alt.X("low:Q"), x2=alt.X2("high"), y=y, color=colour, description=about),
        found.encode(x=alt.X("found:Q"), y=y),
        dots.encode(x=x, y=y, color=colour, description=about),
        diamonds.encode(x=x, y=y, color=colour, description=about),
    ]


def _words(rows: list[Row], y: alt.Y, left: int, width: int, *, narrow: bool) -> list[alt.Chart]:
    fits = 14 if narrow else 26
    of = [{**row, "name": shortened(row["name"], fits)} for row in rows]
    heads = [row for row in of if row["kind"] == "head"]
    names = [row for row in of if row["kind"] != "head"]
    layers = [
        values(heads).mark_text(align="left", fontSize=14, fontWeight=600, color=light("ink"), limit=0)
        .encode(x=x_at(-left), y=y, text=alt.Text("name:N")),
        values(names).mark_text(align="left", fontSize=12, color=light("ink-soft"), limit=0)
        .encode(x=x_at(-left + 12), y=y, text=alt.Text("name:N")),
    ]  # fmt: skip
    if not narrow:
        text = values(names).mark_text(align="left", fontSize=13, fontWeight=600, limit=0)
        layers.append(
            text.encode(x=x_at(width + 16), y=y, text=alt.Text("written:N"), color=alt.Color("colour:N", scale=None))
        )  # fmt: skip
    return layers
