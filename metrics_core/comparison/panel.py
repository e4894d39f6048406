"""The convention panel: each primary label under every definition that some preset has."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from concord.metrics_core.comparison.aligned import AlignedValues, align
from concord.metrics_core.comparison.config import Adjustment, ComparisonConfig
from concord.metrics_core.comparison.min_effect import absolute
from concord.metrics_core.conventions.presets import describe
from concord.metrics_core.evaluation.model_result import Models
from concord.metrics_core.evaluation.panel import UNWEIGHED, Definition, differing, panel
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.results import comparison_parts as parts
from concord.metrics_core.results.comparison_parts import Difference, LeftOut, PanelEntry, or_nan
from concord.metrics_core.stats.adjustment import adjust
from concord.metrics_core.stats.paired_test import paired_tests
from concord.metrics_core.stats.tolerance import difference
from concord.metrics_core.stats.verdict import model_pairs, verdict

PINNED = "as pinned"
TOP = 2
_UNWEIGHED = "As pinned, but that all relevant items count alike, whatever their propensities."


@dataclass(frozen=True)
class _Found:
    """What has been found so far; `pinned` holds the values as pinned, `aligned` those of the definitions.

    unlisted : models that lack the lists of most users
    """

    config: ComparisonConfig
    models: Models
    differences: Sequence[Difference]
    pinned: AlignedValues
    aligned: AlignedValues
    unlisted: Collection[str]


def panels(
    config: ComparisonConfig,
    models: Models,
    differences: Sequence[Difference],
    pinned: AlignedValues,
    unlisted: Collection[str] = (),
) -> list[PanelEntry]:
    """One a primary label; nothing if the panel is switched off. Verdicts here are always by Holm."""
    if not config.panel:
        return []
    tables = {model: [each.panel for each in found.each] for model, found in models.items()}
    aligned = align(tables, pinned.on_label_read, pinned.unit_mean)
    found = _Found(config, models, differences, pinned, aligned, unlisted)
    labels = {str(label): label for label in config.labels}
    return [_entry(found, labels[text]) for text in config.primary]


def _entry(found: _Found, label: Label) -> PanelEntry:
    definitions = panel(label, found.config.conventions)
    pinned = _pinned(found, definitions.definitions[0])
    others = []
    for definition in definitions.definitions[1:]:
        means = _means(found, definition)
        own = label.conventions(definition.conventions)
        values = found.aligned.values(definition.column, own.undefined)
        verdicts = _verdicts(found, definition, values, means, found.aligned)
        others.append(_told(found.config, definition, means, verdicts, pinned))
    merged = _merged([pinned, *others])
    return PanelEntry(
        str(label),
        _sentence(merged, len(found.models), found.config.adjustment),
        tuple(merged),
        tuple(LeftOut(name, why) for name, why in definitions.left_out.items()),
    )


def _pinned(found: _Found, definition: Definition) -> parts.Definition:
    text = str(definition.label)
    means = {model: evaluated.mean(text) for model, evaluated in found.models.items()}
    undefined = definition.label.conventions(found.config.conventions).undefined
    values = found.pinned.values(text, undefined)
    verdicts = _verdicts(found, definition, values, means, found.pinned)
    return _told(found.config, definition, means, verdicts, None)


def _means(found: _Found, definition: Definition) -> dict[str, float | None]:
    text, column = str(definition.label), definition.column
    return {
        model: next(
            each["mean"]
            for each in evaluated.summary["panel"][text]["definitions"]
            if each["column"] == column
        )
        for model, evaluated in found.models.items()
    }


def _verdicts(
    found: _Found,
    definition: Definition,
    values: Mapping[str, Floats],
    means: Mapping[str, float | None],
    aligned: AlignedValues,
) -> dict[str, parts.Verdict]:
    """Each model against the baseline, as the report would say by Holm had this definition been pinned."""
    label, config = definition.label, found.config
    named = model_pairs(list(means), config.baseline)
    results = paired_tests(
        values,
        named,
        confidence=config.confidence,
        clusters=aligned.clusters_for(label, definition.conventions),
        bounds=label.bounds(definition.conventions),
        unlisted=found.unlisted,
    )
    if is_pooled(label, definition.conventions):
        results = [
            result.with_means(or_nan(means[a]), or_nan(means[b]))
            for (a, b), result in zip(named, results, strict=True)
        ]
    others = [d.p for d in found.differences if d.primary and d.label != str(label)]
    family = np.array([*(r.p for r in results), *map(or_nan, others)], dtype=np.float64)
    adjusted = adjust(family, np.ones(len(family), dtype=bool))
    effect = absolute(config.min_effects[str(label)], or_nan(means[config.baseline]))
    return {
        a: verdict(
            result,
            float(p),
            alpha=config.alpha,
            min_effect=effect,
            higher_is_better=label.metric.higher_is_better,
            tests=int(np.count_nonzero(~np.isnan(family))),
        )
        for (a, b), result, p in zip(named, results, adjusted, strict=False)
        if b == config.baseline
    }


def _told(
    config: ComparisonConfig,
    definition: Definition,
    values: Mapping[str, float | None],
    verdicts: Mapping[str, parts.Verdict],
    pinned: parts.Definition | None,
) -> parts.Definition:
    ranks = _ranks(values, higher_is_better=definition.label.metric.higher_is_better)
    before = ranks if pinned is None else pinned.ranks
    agreed = verdicts if pinned is None else pinned.verdicts
    changed = differing(definition.label, definition.conventions, config.conventions)
    return parts.Definition(
        name=PINNED if pinned is None else definition.presets[0],
        presets=tuple(definition.presets),
        says="; ".join(_in_words(name, value) for name, value in changed.items()),
        stands_for=tuple(map(_stands_for, definition.presets)),
        values=values,
        ranks=ranks,
        top_two_hold=_top_two_hold(before, ranks),
        flips=tuple(_flips(before, ranks)),
        verdicts=verdicts,
        verdicts_changed=tuple(m for m in verdicts if verdicts[m] != agreed.get(m)),
    )


def _stands_for(name: str) -> str:
    return _UNWEIGHED if name == UNWEIGHED else describe(name)


def _in_words(name: str, value: Any) -> str:
    text = ", ".join(f"{n} {v:g}" for n, v in value.items()) if isinstance(value, dict) else value
    return f"{name}: {'null' if text is None else text}"


def _ranks(values: Mapping[str, float | None], *, higher_is_better: bool) -> dict[str, int | None]:
    """1 for the best; equal values share a rank; a model without a value has none."""
    sign = 1 if higher_is_better else -1
    defined = {model: sign * value for model, value in values.items() if value is not None}
    return {
        model: 1 + sum(difference(other, defined[model]) > 0 for other in defined.values())
        if model in defined
        else None
        for model in values
    }


def _top_two_hold(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> bool:
    """Does each of the first two still have a value, and none above it that stood below? Ties turn nothing round."""
    first = {model for model, rank in before.items() if rank is not None and rank <= TOP}
    overtaken = {above for above, _ in _flips(before, after)}
    return not first & overtaken and all(after[model] is not None for model in first)


def _flips(
    before: Mapping[str, int | None], after: Mapping[str, int | None]
) -> list[tuple[str, str]]:
    """Pairs (a, b) of which a stood above b under the pinned definition, and now stands below."""
    return [
        (a, b)
        for a in before
        for b in before
        if _above(before[a], before[b]) and _above(after[b], after[a])
    ]


def _above(a: int | None, b: int | None) -> bool:
    return a is not None and b is not None and a < b


def _merged(definitions: Sequence[parts.Definition]) -> list[parts.Definition]:
    """Definitions that give every model the same value, and the same verdict, are told once."""
    kept: dict[str, parts.Definition] = {}
    for each in definitions:
        key = repr((each.values, each.verdicts))
        same = kept.get(key)
        kept[key] = each if same is None else _joined(same, each)
    return list(kept.values())


def _joined(one: parts.Definition, other: parts.Definition) -> parts.Definition:
    names, meanings = one.presets + other.presets, one.stands_for + other.stands_for
    return replace(one, presets=names, stands_for=meanings)


def _sentence(
    definitions: Sequence[parts.Definition], n_models: int, adjustment: Adjustment
) -> str:
    total = len(definitions)
    hold = sum(each.top_two_hold for each in definitions)
    firm = sum(not each.verdicts_changed for each in definitions)
    if n_models < TOP:
        return f"{total} definitions, one model: there is no order to change."
    order = f"The order of the top two holds under {hold} of {total} definitions"
    by = "" if adjustment == "holm" else ", here by Holm's correction"
    return f"{order}; all verdicts against the baseline{by} hold under {firm} of {total}."
