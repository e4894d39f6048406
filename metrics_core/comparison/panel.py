"""Compute the convention panel: each primary label under the definitions of all presets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from concord.metrics_core.comparison.aligned import AlignedValues, align
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import is_share, margin_interval
from concord.metrics_core.evaluation.panel import Definition, changed_conventions, panel
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.results import comparison_parts as parts
from concord.metrics_core.results.comparison_parts import (
    Difference,
    ExcludedPreset,
    PanelEntry,
    or_nan,
)
from concord.metrics_core.stats.floating_point import difference, scale_of
from concord.metrics_core.stats.paired_test import paired_tests
from concord.metrics_core.stats.verdict import verdict

PINNED = "as configured"
TOP = 2


def compute_panels(inputs: ComparisonInput, differences: Sequence[Difference]) -> list[PanelEntry]:
    """Return one entry per primary label, with verdicts; empty without a panel."""
    if not inputs.config.panel:
        return []
    tables = {
        model: [each.panel for each in result.replicate_results]
        for model, result in inputs.models.items()
    }
    aligned = align(tables, inputs.on_label_read, inputs.aligned.unit_mean)
    labels = [each for each in inputs.config.primary_labels if not each.metric.is_of_values]
    return [_panel_entry(inputs, differences, aligned, label) for label in labels]


def _panel_entry(
    inputs: ComparisonInput,
    differences: Sequence[Difference],
    aligned: AlignedValues,
    label: Label,
) -> PanelEntry:
    """Return the entry of a label; `aligned` are the values under the definitions of presets."""
    config, text = inputs.config, str(label)
    definitions = panel(label, config.conventions)
    first, *others = definitions.definitions
    means = {model: result.mean(text) for model, result in inputs.models.items()}
    values = inputs.aligned.values(text, label.conventions(config.conventions).undefined)
    levels = {d.a: d.level for d in differences if d.vs_baseline and d.label == text}
    verdicts = _verdicts(inputs, first, values, means, aligned=inputs.aligned, levels=levels)
    pinned = _panel_definition(config, first, means, verdicts, None)
    rows = [pinned]
    for definition in others:
        means = _definition_means(inputs, definition)
        undefined = label.conventions(definition.conventions).undefined
        values = aligned.values(definition.column, undefined)
        verdicts = _verdicts(inputs, definition, values, means, aligned=aligned, levels=levels)
        rows.append(_panel_definition(config, definition, means, verdicts, pinned))
    excluded = tuple(ExcludedPreset(name, why) for name, why in definitions.excluded.items())
    return PanelEntry(text, tuple(_merge(rows)), excluded)


def _definition_means(inputs: ComparisonInput, definition: Definition) -> dict[str, float | None]:
    text, column = str(definition.label), definition.column
    return {
        model: next(
            each["mean"]
            for each in result.summary["panel"][text]["definitions"]
            if each["column"] == column
        )
        for model, result in inputs.models.items()
    }


def _verdicts(
    inputs: ComparisonInput,
    definition: Definition,
    values: Mapping[str, Floats],
    means: Mapping[str, float | None],
    *,
    aligned: AlignedValues,
    levels: Mapping[str, float],
) -> dict[str, parts.Verdict]:
    """Return the verdicts against the baseline under a definition.

    `levels` are those of the models' intervals under the configured conventions.
    """
    label, config = definition.label, inputs.config
    pairs = [(model, config.baseline) for model in levels]
    effect = config.min_effects[str(label)]
    results = paired_tests(
        values,
        pairs,
        confidence=config.confidence,
        clusters=aligned.clusters_for(label, definition.conventions),
        bounds=label.bounds(definition.conventions),
        unlisted=inputs.unlisted,
        share_of=config.baseline if is_share(effect) else None,
    )
    if is_pooled(label, definition.conventions):
        results = [
            result.with_means(or_nan(means[a]), or_nan(means[b]))
            for (a, b), result in zip(pairs, results, strict=True)
        ]
    mean = or_nan(means[config.baseline])
    verdicts = {}
    for (model, _), result in zip(pairs, results, strict=True):
        interval, margin = margin_interval(result, effect, mean, levels[model])
        verdicts[model] = verdict(
            result,
            interval,
            alpha=1 - levels[model],
            min_effect=margin,
            higher_is_better=label.metric.higher_is_better,
        )
    return verdicts


def _panel_definition(
    config: ComparisonConfig,
    definition: Definition,
    values: Mapping[str, float | None],
    verdicts: Mapping[str, parts.Verdict],
    pinned: parts.Definition | None,
) -> parts.Definition:
    scale = scale_of(definition.label.bounds(definition.conventions))
    ranks = _ranks(values, scale, higher_is_better=definition.label.metric.higher_is_better)
    pinned_ranks, pinned_verdicts = (
        (ranks, verdicts) if pinned is None else (pinned.ranks, pinned.verdicts)
    )
    return parts.Definition(
        name=PINNED if pinned is None else definition.presets[0],
        presets=tuple(definition.presets),
        changed=changed_conventions(definition.label, definition.conventions, config.conventions),
        values=values,
        ranks=ranks,
        top_two_hold=_top_two_hold(pinned_ranks, ranks),
        flips=tuple(_flips(pinned_ranks, ranks)),
        verdicts=verdicts,
        verdicts_changed=tuple(m for m in verdicts if verdicts[m] != pinned_verdicts.get(m)),
    )


def _ranks(
    values: Mapping[str, float | None], scale: float, *, higher_is_better: bool
) -> dict[str, int | None]:
    """Return the rank of each model, 1 for the best; None without a value. Ties share a rank."""
    sign = 1 if higher_is_better else -1
    defined = {model: sign * value for model, value in values.items() if value is not None}
    return {
        model: 1 + sum(difference(other, defined[model], scale) > 0 for other in defined.values())
        if model in defined
        else None
        for model in values
    }


def _top_two_hold(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> bool:
    """True if the first two models still have a value and no other model overtook them.

    A tie is not overtaking.
    """
    first = {model for model, rank in before.items() if rank is not None and rank <= TOP}
    overtaken = {above for above, _ in _flips(before, after)}
    return not first & overtaken and all(after[model] is not None for model in first)


def _flips(
    before: Mapping[str, int | None], after: Mapping[str, int | None]
) -> list[tuple[str, str]]:
    """Return the pairs (a, b) with a ranked above b before, and below b after."""
    return [
        (a, b)
        for a in before
        for b in before
        if _is_above(before[a], before[b]) and _is_above(after[b], after[a])
    ]


def _is_above(a: int | None, b: int | None) -> bool:
    return a is not None and b is not None and a < b


def _merge(definitions: Sequence[parts.Definition]) -> list[parts.Definition]:
    """Return the definitions; those with the same values and verdicts of all models become one."""
    merged: dict[str, parts.Definition] = {}
    for each in definitions:
        key = repr((each.values, each.verdicts))
        first = merged.get(key)
        presets = first.presets if first else ()
        merged[key] = replace(first or each, presets=presets + each.presets)
    return list(merged.values())
