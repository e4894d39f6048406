"""How a metric grows with k: one small picture per metric, lines named at their ends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
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
    x2_at,
    x_at,
)
from concord.reports.writing import numbers
from concord.reports.writing.numbers import interval, number

SHAPES = [
    "square",
    "circle",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    "triangle-right",
    "triangle-left",
]
_NAMED_IN_A_CROWD = (
    3  # the best models, beside the baseline, when there are more models than colours
)
_SIZE = (164, 164)
_MARGINS = {"left": 38, "right": 102, "top": 10, "bottom": 30}
_LINE_HEIGHT = 14  # pixels between two names


@dataclass(frozen=True)
class Series:
    """How one model is drawn in every picture of curves."""

    model: str
    colour: str
    shape: str
    named: bool


def all_series(comparison: Comparison) -> list[Series]:
    """The baseline in grey; the others in colours, or only the best of them where colours run out."""
    ranked = comparison.challengers
    coloured = ranked if len(ranked) < len(SERIES) else ranked[:_NAMED_IN_A_CROWD]
    named = [comparison.baseline, *coloured]
    crowd = [
        Series(m, light("line-strong"), "circle", named=False) for m in ranked if m not in named
    ]
    # Colours go by the order of params.yaml, so that a model keeps its own when another overtakes it.
    given = [model for model in comparison.models if model in coloured]
    order = [comparison.baseline, *given]
    return crowd + [Series(m, light(SERIES[i]), SHAPES[i], named=True) for i, m in enumerate(order)]


def curve_stems(comparison: Comparison) -> list[str]:
    """The labels without their cutoff that have values at two cutoffs or more, in report order."""
    stems = [
        metric.stem
        for metric in comparison.metrics
        if metric.k is not None
        and any(score.mean is not None for score in comparison.scores_of(metric.label))
    ]
    return [stem for stem in dict.fromkeys(stems) if stems.count(stem) > 1]


def curve_labels(comparison: Comparison, stem: str) -> dict[int, str]:
    """Cutoff -> label of one curve, by rising cutoff."""
    of_stem = {m.k: m.label for m in comparison.metrics if m.stem == stem and m.k is not None}
    return dict(sorted(of_stem.items()))


def curve_ks(comparison: Comparison) -> list[int]:
    """The cutoffs of all curves, rising."""
    return sorted({k for stem in curve_stems(comparison) for k in curve_labels(comparison, stem)})


def curve_chart(comparison: Comparison, stem: str) -> Markup:
    series = all_series(comparison)
    by_k = curve_labels(comparison, stem)
    ks, labels = list(by_k), list(by_k.values())
    rows = [row for line in series for row in _points(comparison, line, labels)]
    top = max((row["high"] for row in rows), default=1.0) or 1.0
    bottom = min(0.0, *(row["low"] for row in rows)) if rows else 0.0
    title = f"{stem} by cutoff k"
    ends = "; ".join(row["spoken"] for row in rows if row["k"] == ks[-1] and row["named"])
    return picture(_layers(rows, ks, (bottom, top * 1.04)), _SIZE, _MARGINS, title, ends)


def _points(comparison: Comparison, line: Series, labels: Sequence[str]) -> list[dict[str, Any]]:
    found = [(comparison.metric(label), comparison.score(line.model, label)) for label in labels]
    digits = numbers.digits_of(comparison, labels[-1])
    return [
        {
            "model": line.model,
            "k": metric.k,
            "mean": row.mean,
            "low": row.mean if row.ci_low is None else row.ci_low,
            "high": row.mean if row.ci_high is None else row.ci_high,
            "colour": line.colour,
            "shape": line.shape,
            "named": line.named,
            "spoken": f"{line.model}, {metric.label}: {number(row.mean, digits)}",
            "about": told(
                f"{line.model}, {metric.label}: {number(row.mean, digits)}"
                f" ({interval(row.ci_low, row.ci_high, digits)})",
                line.model,
            ),
            "whose": told("", line.model),
        }
        for metric, row in found
        if row.mean is not None
    ]


def _layers(
    rows: list[dict[str, Any]], ks: list[int], domain: tuple[float, float]
) -> list[alt.Chart]:
    ticks = nice_ticks(*domain, 4)
    x = alt.X(
        "k:Q",
        scale=alt.Scale(type="log", base=2, domain=[ks[0], ks[-1]], nice=False, padding=6),
        axis=axis(_apart(ks), "format(datum.value, 'd')", grid=False),
    )
    y = alt.Y(
        "mean:Q",
        scale=alt.Scale(domain=list(domain), nice=False, zero=False),
        axis=axis(ticks, f"format(datum.value, '.{tick_digits(ticks)}f')", grid=True),
    )
    crowd = [row for row in rows if not row["named"]]
    named = [row for row in rows if row["named"]]
    colour, shape = alt.Stroke("colour:N", scale=None), alt.Shape("shape:N", scale=None)
    fill = alt.Fill("colour:N", scale=None)
    lines = [
        values(part)
        .mark_line(strokeWidth=width, aria=True)
        .encode(description=alt.Description("whose:N"))
        for part, width in ((crowd, 1.25), (named, 1.75))
    ]
    return [
        *(line.encode(x=x, y=y, detail=alt.Detail("model:N"), stroke=colour) for line in lines),
        values(named)
        .mark_rule(strokeWidth=1.25, opacity=0.55, aria=True)
        .encode(
            x=x,
            y=alt.Y("low:Q"),
            y2=alt.Y2("high"),
            stroke=colour,
            description=alt.Description("whose:N"),
        ),
        values(named)
        .mark_point(size=40, opacity=1, strokeWidth=1, aria=True)
        .encode(
            x=x, y=y, shape=shape, stroke=colour, fill=fill, description=alt.Description("about:N")
        ),
        *_names(named, ks[-1], domain),
    ]


def _names(rows: list[dict[str, Any]], last_k: int, domain: tuple[float, float]) -> list[alt.Chart]:
    """The names at the right, pushed apart where lines end close together, each tied to its line."""
    ends = sorted((row for row in rows if row["k"] == last_k), key=lambda row: -float(row["mean"]))
    width, height = _SIZE
    per_pixel = (domain[1] - domain[0]) / height
    wanted = [(domain[1] - row["mean"]) / per_pixel for row in ends]
    placed = values(
        [
            {**row, "place": domain[1] - at * per_pixel, "text": shortened(row["model"], 13)}
            for row, at in zip(ends, spread(wanted, height), strict=True)
        ]
    )
    ties = placed.mark_rule(strokeWidth=1, opacity=0.6, aria=True).encode(
        description=alt.Description("whose:N"),
        x=x_at(width),
        x2=x2_at(width + 10),
        y=alt.Y("mean:Q"),
        y2=alt.Y2("place"),
        stroke=alt.Stroke("colour:N", scale=None),
    )
    names = placed.mark_text(
        align="left", baseline="middle", fontSize=12, limit=0, aria=True
    ).encode(
        description=alt.Description("whose:N"),
        x=x_at(width + 14),
        y=alt.Y("place:Q"),
        text=alt.Text("text:N"),
        color=alt.Color("colour:N", scale=None),
    )
    return [ties, names]


def spread(wanted: Sequence[float], height: float) -> list[float]:
    """Places at least a line apart and in the same order, as near to the wanted ones as one sweep each way gets."""
    places = list(wanted)
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + _LINE_HEIGHT)
    overflow = max(0.0, places[-1] - height) if places else 0.0
    if overflow:
        places[-1] -= overflow
    for i in reversed(range(len(places) - 1)):
        places[i] = min(places[i], places[i + 1] - _LINE_HEIGHT)
    return places


def _apart(ks: list[int]) -> list[int]:
    """Cutoffs whose labels have room on a logarithmic axis, the last one always among them."""
    room = 20 / _SIZE[0] * (math.log(ks[-1] / ks[0]) or 1)
    kept = [ks[-1]]
    for k in reversed(ks[:-1]):
        if math.log(kept[-1] / k) >= room:
            kept.append(k)
    return kept[::-1]
