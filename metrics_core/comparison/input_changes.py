"""Changes between the inputs of two comparisons of one project, in words."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from concord.metrics_core.files import NO_FOLD, content_id
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.history import InputChange
from concord.metrics_core.results.text_format import join_names

CONCORD = "concord-eval"


def find_comparison_changes(
    then: Comparison, now: Comparison, renamed: Mapping[str, str] | None = None
) -> Iterator[InputChange]:
    """Yield the changes of models, lists, ground truth, conventions, rules and Concord's version.

    Parameters
    ----------
    then, now : Comparison
        Two comparisons of one project.
    renamed : dict, optional
        Model -> its former name.
    """
    names = former_names(then.lists, now.lists, renamed or {})
    yield from model_changes(then.lists, now.lists, renamed or {})
    changed = [
        model for model, name in names.items() if _content_id(then, name) != _content_id(now, model)
    ]
    if changed:
        yield InputChange("lists", f"other lists: {join_names(changed)}")
    if _truths(then) != _truths(now):
        yield InputChange("truth", "another ground truth")
    for name, old, new in _changed_conventions(then, now):
        yield InputChange("conventions", f"{name}: {old} → {new}")
    for name, old, new in _changed_rules(then, now):
        yield InputChange("rules", f"{name}: {old} → {new}")
    old, new = (each.provenance.versions.get(CONCORD, "unknown") for each in (then, now))
    if old != new:
        yield InputChange("version", f"Concord {old} → {new}")


def former_names(
    then: Collection[str], now: Iterable[str], renamed: Mapping[str, str]
) -> dict[str, str]:
    """Return model -> its name in `then`, for models that both have."""
    names = {model: model if model in then else renamed.get(model, model) for model in now}
    return {model: name for model, name in names.items() if name in then}


def model_changes(
    then: Collection[str], now: Collection[str], renamed: Mapping[str, str]
) -> Iterator[InputChange]:
    """Yield new, removed and renamed models."""
    names = former_names(then, now, renamed)
    if new := [model for model in now if model not in names]:
        yield InputChange("models", f"new: {join_names(new)}")
    if removed := [model for model in then if model not in names.values()]:
        yield InputChange("models", f"removed: {join_names(removed)}")
    if others := [f"{model} was {name}" for model, name in names.items() if model != name]:
        yield InputChange("models", f"renamed: {join_names(others)}")


def _content_id(comparison: Comparison, table: str) -> str | None:
    return content_id(comparison.quality.get(table, {}))


def _truths(comparison: Comparison) -> dict[str, str | None]:
    """Return fold -> content id of its ground truth."""
    quality = comparison.quality.get("truth", {})
    return {
        fold: content_id(each) for fold, each in quality.get("folds", {NO_FOLD: quality}).items()
    }


def _changed_conventions(then: Comparison, now: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield name, old value and new value."""
    old, new = _convention_texts(then), _convention_texts(now)
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield name, old.get(name, "none"), new.get(name, "none")


def _convention_texts(comparison: Comparison) -> dict[str, str]:
    """Return convention -> value; `gain of nDCG` for an override of one metric."""
    general = {each.name: _format(each.value) for each in comparison.conventions.values}
    overrides: Mapping[str, Mapping[str, Any]] = comparison.conventions.overrides
    return general | {
        f"{name} of {metric}": _format(value)
        for metric, conventions in overrides.items()
        for name, value in conventions.items()
    }


def _changed_rules(then: Comparison, now: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield name, old value and new value."""
    for name in ("baseline", "primary", "confidence"):
        old, new = (getattr(each, name) for each in (then, now))
        if old != new:
            yield name, _format(old), _format(new)
    old_effects, new_effects = (
        {label: each.metric(label).min_effect for label in each.primary} for each in (then, now)
    )
    for label, effect in new_effects.items():
        if (old := old_effects.get(label, effect)) != effect:
            yield f"minimum relevant difference on {label}", old, effect


def _format(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False).replace('"', "")
