"""Line plots of differences to the baseline over the cutoff k: one per primary metric."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.reports.charts.model_styles import N_COLOURED, model_styles
from concord.reports.charts.primitives import (
    FILL,
    HOVER,
    SHAPE,
    STROKE,
    TAG,
    Domain,
    Row,
    axis,
    end_names,
    padded_domain,
    pixels_from_top,
    plot,
    scale,
    shorten,
    signed_axis,
    spread,
    tag,
    x2_at,
    x_at,
)
from concord.reports.charts.svg import light, render_svg
from concord.reports.text.numbers import difference_with_interval, number, signed
from concord.reports.text.tables import min_effect
from concord.reports.text.verdict_styles import VERDICTS

_NAMED_OF_MANY = 3  # best models, with the baseline, if there are more models than colours
_SIZE = (200, 190)
_MARGINS = {"left": 48, "right": 102, "top": 10, "bottom": 30}
_MAX_NAME = 13  # characters of a name
_MAX_CHANGES = 4  # changes of the leader in a sentence


@dataclass(frozen=True)
class Series:
    """Style of a model in all line plots."""

    model: str
    colour: str
    shape: str
    is_named: bool


def all_series(comparison: Comparison) -> list[Series]:
    """Return the baseline and the others in their colours; the best only, if colours run out."""
    ranked, baseline = comparison.compared_models, comparison.baseline
    coloured = ranked if len(ranked) <= N_COLOURED else ranked[:_NAMED_OF_MANY]
    styles = model_styles(comparison.model_order, baseline)
    others = [
        Series(model, light("line-strong"), "circle", is_named=False)
        for model in ranked
        if model not in coloured
    ]
    named_models = [baseline, *(model for model in comparison.models if model in coloured)]
    return others + [Series(model, **vars(styles[model]), is_named=True) for model in named_models]


def curve_stems(comparison: Comparison) -> list[str]:
    """Return the primary metrics, without cutoffs, that have differences at two or more."""
    stems = dict.fromkeys(comparison.metric(label).stem for label in comparison.primary)
    return [stem for stem in stems if len(_compared(comparison, stem)) > 1]


def curve_labels(comparison: Comparison, stem: str) -> dict[int, str]:
    """Return cutoff -> label of a curve, by rising cutoff."""
    labels = {m.k: m.label for m in comparison.metrics if m.stem == stem and m.k is not None}
    return dict(sorted(labels.items()))


def _compared(comparison: Comparison, stem: str) -> list[str]:
    """Return the labels of a curve that have differences to the baseline, by rising cutoff."""
    return [
        label
        for label in curve_labels(comparison, stem).values()
        if any(pair.difference is not None for pair in comparison.against_baseline(label))
    ]


def leader_changes(comparison: Comparison) -> str:
    """Return at which cutoffs of any metric another model leads than at the main cutoff.

    A lead below the minimum relevant difference is no change.
    """
    stems = dict.fromkeys(metric.stem for metric in comparison.metrics)
    changes = [
        change
        for stem in stems
        for label in _compared(comparison, stem)
        if (change := _leader_change(comparison, label, stem))
    ]
    if not changes:
        return (
            "The same model leads at every k, or is behind by less than the minimum relevant "
            "difference."
        )
    more = f"; and {len(changes) - _MAX_CHANGES} more" if len(changes) > _MAX_CHANGES else ""
    return "; ".join(changes[:_MAX_CHANGES]) + more + "."


def _leader_change(comparison: Comparison, label: str, stem: str) -> str:
    """Return who leads at a label instead of the leader at the main cutoff; empty if nobody."""
    labels = curve_labels(comparison, stem)
    main_label = labels.get(comparison.main_cutoff or 0, list(labels.values())[-1])
    leaders, others = comparison.leaders(label), comparison.leaders(main_label)
    if not leaders or not others or set(leaders) & set(others):
        return ""
    leader, other = leaders[0], others[0]
    mean, other_mean = (comparison.score(model, label).mean for model in (leader, other))
    if other_mean is None or abs((mean or 0.0) - other_mean) <= min_effect(comparison, label):
        return ""
    digits, pair = comparison.decimals[label], comparison.difference(leader, other, label)
    word = VERDICTS[pair.verdict].word if pair else "not tested"
    values = f"{number(mean, digits)} against {number(other_mean, digits)} of {other}"
    return f"{label}: {leader} leads ({values}, {word})"


def curve_chart(comparison: Comparison, stem: str) -> Markup:
    """Return the line plot of a metric: differences by cutoff, with intervals of named models."""
    labels = _compared(comparison, stem)
    rows = [row for line in all_series(comparison) for row in _points(comparison, line, labels)]
    ks = [k for k, label in curve_labels(comparison, stem).items() if label in labels]
    effects = [min_effect(comparison, label) for label in labels]
    band = [{"k": k, "low": -e, "high": e} for k, e in zip(ks, effects, strict=True)]
    domain = padded_domain([0.0, *(row[end] for row in [*rows, *band] for end in ("low", "high"))])
    last_rows = [row for row in rows if row["k"] == ks[-1] and row["is_named"]]
    baseline = {
        "mean": 0.0,
        "name": shorten(comparison.baseline, _MAX_NAME),
        "colour": light("ink-soft"),
        "tag": tag("", comparison.baseline),
    }
    return render_svg(
        [*_layers(rows, band, ks, domain), *_names([*last_rows, baseline], domain)],
        _SIZE,
        _MARGINS,
        f"{stem}: difference to {comparison.baseline} by cutoff k",
        "; ".join(row["plain"] for row in last_rows),
    )


def curve_text(comparison: Comparison, model: str, label: str) -> str:
    """Return the difference of a model to the baseline as text."""
    pair = comparison.difference(model, comparison.baseline, label)
    return signed(pair.difference if pair else None, comparison.decimals[label])


def _points(comparison: Comparison, line: Series, labels: Sequence[str]) -> list[Row]:
    rows = []
    for label in labels:
        pair = comparison.difference(line.model, comparison.baseline, label)
        if pair is None or pair.difference is None:
            continue
        digits = comparison.decimals[label]
        word = VERDICTS[pair.verdict].word
        rows.append(
            {
                **vars(line),
                "k": comparison.metric(label).k,
                "mean": pair.difference,
                "low": pair.difference if pair.ci_low is None else pair.ci_low,
                "high": pair.difference if pair.ci_high is None else pair.ci_high,
                "name": shorten(line.model, _MAX_NAME),
                "plain": f"{line.model}, {label}: {signed(pair.difference, digits)}, {word}",
                "hover": tag(
                    f"{line.model}, {label}: {difference_with_interval(pair, digits)}, {word}",
                    line.model,
                ),
                "tag": tag("", line.model),
            }
        )
    return rows


def _layers(rows: list[Row], band: list[Row], ks: list[int], domain: Domain) -> list[alt.Chart]:
    x = alt.X(
        "k:Q",
        scale=alt.Scale(type="log", base=2, domain=[ks[0], ks[-1]], nice=False, padding=6),
        axis=axis(_ticks(ks), "format(datum.value, 'd')", grid=False),
    )
    y = alt.Y("mean:Q", scale=scale(*domain), axis=signed_axis(domain, 5))
    low, high, detail = alt.Y("low:Q"), alt.Y2("high"), alt.Detail("model:N")
    named_rows = [row for row in rows if row["is_named"]]
    other_rows = [row for row in rows if not row["is_named"]]
    zero = plot([{"mean": 0.0}]).mark_rule(color=light("ink-soft"), strokeWidth=1)
    intervals = plot(named_rows).mark_area(fillOpacity=0.14, aria=True)
    points = plot(named_rows).mark_point(size=40, opacity=1, strokeWidth=1, aria=True)
    return [
        plot(band).mark_area(color=light("band")).encode(x=x, y=low, y2=high),
        zero.encode(y=y),
        intervals.encode(x=x, y=low, y2=high, detail=detail, fill=FILL, description=TAG),
        *(
            plot(part)
            .mark_line(strokeWidth=width, aria=True)
            .encode(x=x, y=y, detail=detail, stroke=STROKE, description=TAG)
            for part, width in ((other_rows, 1.25), (named_rows, 1.75))
        ),
        points.encode(x=x, y=y, shape=SHAPE, stroke=STROKE, fill=FILL, description=HOVER),
    ]


def _names(ends: list[Row], domain: Domain) -> list[alt.Chart]:
    """Return the names at the right, each with a leader line to the end of its curve."""
    width, height = _SIZE
    per_pixel = (domain[1] - domain[0]) / height
    ends = sorted(ends, key=lambda row: -float(row["mean"]))
    positions = [pixels_from_top(row["mean"], domain, height) for row in ends]
    leaders = [
        {**row, "name_at": domain[1] - position * per_pixel}
        for row, position in zip(ends, spread(positions, height), strict=True)
    ]
    leader_lines = plot(leaders).mark_rule(strokeWidth=1, opacity=0.6, aria=True)
    return [
        leader_lines.encode(
            x=x_at(width),
            x2=x2_at(width + 10),
            y=alt.Y("mean:Q"),
            y2=alt.Y2("name_at"),
            stroke=STROKE,
            description=TAG,
        ),
        *end_names(ends, positions, _SIZE),
    ]


def _ticks(ks: list[int]) -> list[int]:
    """Return the cutoffs whose labels fit on a logarithmic axis, always with the last one."""
    min_distance = 20 / _SIZE[0] * (math.log(ks[-1] / ks[0]) or 1)
    ticks = [ks[-1]]
    for k in reversed(ks[:-1]):
        if math.log(ticks[-1] / k) >= min_distance:
            ticks.append(k)
    return ticks[::-1]
