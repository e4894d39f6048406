"""The convention panel of comparison.json: each primary label under every definition that some preset has."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics_core.conventions.presets import describe
from metrics_core.metrics.catalogue import Label, is_pooled
from metrics_core.scoring.panel import Definition, differing, panel
from metrics_core.statistics.pairs import adjust, compare, pairs, verdict
from pipeline.comparing.aligned import Aligned, Floats, align
from pipeline.comparing.choices import Choices, absolute
from pipeline.comparing.differences import Row
from pipeline.comparing.evaluations import Evaluation
from pipeline.params.model import Params

PINNED = "as pinned"
TOP = 2


@dataclass(frozen=True)
class _Found:
    """What `compare` has found so far; `pinned` holds the values as pinned, `aligned` those of the definitions."""

    params: Params
    choices: Choices
    evaluations: Mapping[str, Evaluation]
    differences: list[Row]
    pinned: Aligned
    aligned: Aligned


def panel_rows(
    params: Params,
    choices: Choices,
    evaluations: Mapping[str, Evaluation],
    differences: list[Row],
    pinned: Aligned,
) -> list[Row]:
    """One entry a primary label; nothing if params.yaml switches the panel off. Verdicts here are always by Holm."""
    if not params.evaluation.panel:
        return []
    aligned = align({model: evaluation.panel for model, evaluation in evaluations.items()})
    found = _Found(params, choices, evaluations, differences, pinned, aligned)
    labels = {str(label): label for label in choices.labels}
    return [_entry(found, labels[text]) for text in choices.primary]


def _entry(found: _Found, label: Label) -> Row:
    definitions = panel(label, found.params.pinned)
    pinned = _pinned(found, definitions.definitions[0])
    others = []
    for definition in definitions.definitions[1:]:
        means = _means(found, definition)
        own = label.conventions(definition.conventions)
        verdicts = _verdicts(
            found, definition, found.aligned.values(definition.column, own.undefined), means
        )
        others.append(_row(found.params, definition, means, verdicts, pinned))
    merged = _merged([pinned, *others])
    return {
        "metric": str(label),
        "sentence": _sentence(merged, len(found.evaluations), found.params.comparison.adjustment),
        "definitions": merged,
        "left_out": [{"preset": name, "why": why} for name, why in definitions.left_out.items()],
    }


def _pinned(found: _Found, definition: Definition) -> Row:
    text = str(definition.label)
    means = {model: evaluation.mean(text) for model, evaluation in found.evaluations.items()}
    undefined = definition.label.conventions(found.params.pinned).undefined
    verdicts = _verdicts(found, definition, found.pinned.values(text, undefined), means)
    return _row(found.params, definition, means, verdicts, None)


def _means(found: _Found, definition: Definition) -> dict[str, float | None]:
    text, column = str(definition.label), definition.column
    return {
        model: next(
            each["mean"]
            for each in evaluation.summary["panel"][text]["definitions"]
            if each["column"] == column
        )
        for model, evaluation in found.evaluations.items()
    }


def _verdicts(
    found: _Found,
    definition: Definition,
    values: Mapping[str, Floats],
    means: Mapping[str, float | None],
) -> dict[str, str]:
    """Each model against the baseline, as the report would say by Holm had this definition been pinned."""
    label, comparison = definition.label, found.params.comparison
    named = pairs(list(means), comparison.baseline)
    results = compare(values, named, confidence=comparison.confidence)
    if is_pooled(label, definition.conventions):
        results = [
            result.of_means(_or_nan(means[a]), _or_nan(means[b]))
            for (a, b), result in zip(named, results, strict=True)
        ]
    others = [d["p"] for d in found.differences if d["primary"] and d["label"] != str(label)]
    family = np.array([*(r.p for r in results), *map(_or_nan, others)], dtype=np.float64)
    adjusted = adjust(family, np.ones(len(family), dtype=bool))
    effect = absolute(found.choices.min_effects[str(label)], _or_nan(means[comparison.baseline]))
    return {
        a: verdict(
            result,
            float(p),
            alpha=1 - comparison.confidence,
            min_effect=effect,
            higher_is_better=label.metric.higher_is_better,
        )
        for (a, b), result, p in zip(named, results, adjusted, strict=False)
        if b == comparison.baseline
    }


def _row(
    params: Params,
    definition: Definition,
    values: Mapping[str, float | None],
    verdicts: Mapping[str, str],
    pinned: Row | None,
) -> Row:
    ranks = _ranks(values, higher_is_better=definition.label.metric.higher_is_better)
    before = ranks if pinned is None else pinned["ranks"]
    agreed = verdicts if pinned is None else pinned["verdicts"]
    changed = differing(definition.label, definition.conventions, params.pinned)
    return {
        "name": PINNED if pinned is None else definition.presets[0],
        "presets": list(definition.presets),
        "says": "; ".join(_in_words(name, value) for name, value in changed.items()),
        "stands_for": [describe(name) for name in definition.presets],
        "values": dict(values),
        "ranks": ranks,
        "top_two_hold": _top_two_hold(before, ranks),
        "flips": _flips(before, ranks),
        "verdicts": dict(verdicts),
        "verdicts_changed": [m for m in verdicts if verdicts[m] != agreed.get(m)],
    }


def _in_words(knob: str, value: Any) -> str:
    text = ", ".join(f"{n} {v:g}" for n, v in value.items()) if isinstance(value, dict) else value
    return f"{knob}: {'null' if text is None else text}"


def _ranks(values: Mapping[str, float | None], *, higher_is_better: bool) -> dict[str, int | None]:
    """1 for the best; equal values share a rank; a model without a value has none."""
    sign = 1 if higher_is_better else -1
    defined = {model: sign * value for model, value in values.items() if value is not None}
    return {
        model: 1 + sum(other > defined[model] for other in defined.values())
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


def _merged(rows: list[Row]) -> list[Row]:
    """Definitions that give every model the same value, and the same verdict, are told once."""
    kept: dict[str, Row] = {}
    for row in rows:
        same = kept.setdefault(repr((row["values"], row["verdicts"])), row)
        if same is not row:
            same["presets"] += row["presets"]
            same["stands_for"] += row["stands_for"]
    return list(kept.values())


def _sentence(rows: list[Row], n_models: int, adjustment: str) -> str:
    total = len(rows)
    hold = sum(row["top_two_hold"] for row in rows)
    firm = sum(not row["verdicts_changed"] for row in rows)
    if n_models < TOP:
        return f"{total} definitions, one model: there is no order to change."
    order = f"The order of the top two holds under {hold} of {total} definitions"
    by = "" if adjustment == "holm" else ", here by Holm's correction"
    return f"{order}; all verdicts against the baseline{by} hold under {firm} of {total}."


def _or_nan(number: float | None) -> float:
    return math.nan if number is None else number
