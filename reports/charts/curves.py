"""Line plots of differences to the baseline over the cutoff k: one per primary metric."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.reports.charts.plots import (
    Linear,
    draw_axis,
    draw_end_names,
    interval_ends,
    padded_scale,
    signed_ticks,
)
from concord.reports.charts.svg import CIRCLE, N_COLOURED, Chart, model_styles
from concord.reports.text.numbers import difference_with_interval, min_effect_text, number, signed
from concord.reports.text.tables import min_effect
from concord.reports.text.verdict_styles import VERDICTS, phrase

_NAMED_OF_MANY = 3  # best models, with the baseline, if there are more models than colours
_WIDTH, _HEIGHT = 200, 190
_INSET = 6  # pixels between the edges and the first and last cutoff
_TICK_DISTANCE = 20  # pixels, at least
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
        Series(model, "line-strong", CIRCLE, is_named=False)
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
    word = phrase(pair.verdict, min_effect_text(comparison, label)) if pair else "not tested"
    values = f"{number(mean, digits)} against {number(other_mean, digits)} of {other}"
    return f"{label}: {leader} leads ({values}, {word})"


def curve_chart(comparison: Comparison, stem: str) -> Markup:
    """Return the line plot of a metric: differences by cutoff, with intervals of named models."""
    labels = _compared(comparison, stem)
    ks = {label: k for k, label in curve_labels(comparison, stem).items() if label in labels}
    effects = {label: min_effect(comparison, label) for label in labels}
    curves = {
        line: pairs
        for line in all_series(comparison)
        if (pairs := _differences(comparison, line.model, labels))
    }
    pairs = [pair for curve in curves.values() for pair in curve]
    reach = [sign * effect for effect in effects.values() for sign in (-1, 1)]
    ends = [end for each in pairs for end in (each.difference, each.ci_low, each.ci_high)]
    chart = Chart(_WIDTH, _HEIGHT, left=48, right=102, top=10, bottom=30)
    first, *_, last_k = ks.values()
    x = Linear(math.log(first), math.log(last_k), _INSET, _WIDTH - _INSET)
    y = padded_scale([0.0, *reach, *ends], _HEIGHT, 0)
    draw_axis(chart, lambda k: x(math.log(k)), _ticks(list(ks.values())), grid=False)
    draw_axis(chart, y, signed_ticks(y, 5), upright=True)
    at = {label: x(math.log(k)) for label, k in ks.items()}
    chart.area(_outline([(at[label], y(-e), y(e)) for label, e in effects.items()]), "band")
    chart.line([(0, y(0)), (_WIDTH, y(0))], "ink-soft")
    _draw_curves(chart, at, y, curves, comparison)
    last = [
        (line, pair)
        for line, curve in curves.items()
        for pair in curve[-1:]
        if line.is_named and pair.label == labels[-1]
    ]
    names = [(line.model, y(pair.difference or 0.0), line.colour) for line, pair in last]
    draw_end_names(chart, [*names, (comparison.baseline, y(0), "ink-soft")], leaders=True)
    plain = [f"{pair.a}, {pair.label}: {_found(comparison, pair)}" for _, pair in last]
    title = f"{stem}: difference to {comparison.baseline} by cutoff k"
    return chart.markup(title, "; ".join(plain))


def curve_text(comparison: Comparison, model: str, label: str) -> str:
    """Return the difference of a model to the baseline as text."""
    pair = comparison.difference(model, comparison.baseline, label)
    return signed(pair.difference if pair else None, comparison.decimals[label])


def _differences(comparison: Comparison, model: str, labels: Sequence[str]) -> list[Difference]:
    """Return the differences of a model to the baseline, by rising cutoff."""
    pairs = (comparison.difference(model, comparison.baseline, label) for label in labels)
    return [pair for pair in pairs if pair is not None and pair.difference is not None]


def _found(comparison: Comparison, pair: Difference) -> str:
    value = signed(pair.difference, comparison.decimals[pair.label])
    return f"{value}, {VERDICTS[pair.verdict].word}"


def _draw_curves(
    chart: Chart,
    at: Mapping[str, float],
    y: Linear,
    curves: Mapping[Series, Sequence[Difference]],
    comparison: Comparison,
) -> None:
    """Draw the intervals of named models, then all lines, then the marks of named models."""
    named = {line: pairs for line, pairs in curves.items() if line.is_named}
    for line, pairs in named.items():
        with chart.group(line.model):
            intervals = [(at[p.label], *interval_ends(p, p.difference or 0.0)) for p in pairs]
            spans = [(k, y(low), y(high)) for k, low, high in intervals]
            chart.area(_outline(spans), line.colour, opacity=0.14)
    for line, pairs in curves.items():
        with chart.group(line.model):
            points = [(at[pair.label], y(pair.difference or 0.0)) for pair in pairs]
            chart.line(points, line.colour, 1.75 if line.is_named else 1.25)
    for line, pairs in named.items():
        for pair in pairs:
            digits = comparison.decimals[pair.label]
            value_text = f"{difference_with_interval(pair, digits)}, {VERDICTS[pair.verdict].word}"
            with chart.group(line.model, hover=f"{line.model}, {pair.label}: {value_text}"):
                place = at[pair.label], y(pair.difference or 0.0)
                chart.symbol(place, line.shape, 3.16, stroke=line.colour, fill=line.colour)


def _outline(spans: Sequence[tuple[float, float, float]]) -> list[tuple[float, float]]:
    """Return the outline of an area from its spans (x, one end, the other end)."""
    return [(x, end) for x, end, _ in spans] + [(x, end) for x, _, end in reversed(spans)]


def _ticks(ks: Sequence[int]) -> list[tuple[float, str]]:
    """Return the cutoffs whose labels fit on a logarithmic axis, always with the last one."""
    min_distance = _TICK_DISTANCE / _WIDTH * (math.log(ks[-1] / ks[0]) or 1)
    ticks = [ks[-1]]
    for k in reversed(ks[:-1]):
        if math.log(ticks[-1] / k) >= min_distance:
            ticks.append(k)
    return [(k, f"{k}") for k in reversed(ticks)]
