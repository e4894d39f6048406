"""What changed between two comparisons of one project, in words."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from concord.metrics_core.files import NO_FOLD, content_id
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.history import InputChange
from concord.metrics_core.results.words import listed

CONCORD = "concord-eval"


def what_changed(
    then: Comparison, now: Comparison, renamed: Mapping[str, str] | None = None
) -> Iterator[InputChange]:
    """Yield the changes of models, lists, ground truth, conventions, rules and Concord's version.

    Parameters
    ----------
    then, now : Comparison
        Two comparisons of one project.
    renamed : mapping of str to str, optional
        Entry of `models` -> its former name.
    """
    names = former_names(then.lists, now.lists, renamed or {})
    yield from models_changed(then.lists, now.lists, renamed or {})
    if other := [m for m, was in names.items() if _content_id(then, was) != _content_id(now, m)]:
        yield InputChange("lists", f"other lists: {listed(other)}")
    if _truths(then) != _truths(now):
        yield InputChange("truth", "another truth")
    for name, was, is_now in _conventions(then, now):
        yield InputChange("conventions", f"{name}: {was} → {is_now}")
    for name, was, is_now in _rules(then, now):
        yield InputChange("rules", f"{name}: {was} → {is_now}")
    was, is_now = (each.provenance.versions.get(CONCORD, "unknown") for each in (then, now))
    if was != is_now:
        yield InputChange("version", f"Concord {was} → {is_now}")


def former_names(
    then: Collection[str], now: Iterable[str], renamed: Mapping[str, str]
) -> dict[str, str]:
    """Return each model that both have -> its name in `then`."""
    names = {model: model if model in then else renamed.get(model, model) for model in now}
    return {model: name for model, name in names.items() if name in then}


def models_changed(
    then: Collection[str], now: Collection[str], renamed: Mapping[str, str]
) -> Iterator[InputChange]:
    """Yield new, removed and renamed models."""
    names = former_names(then, now, renamed)
    if new := [model for model in now if model not in names]:
        yield InputChange("models", f"new: {listed(new)}")
    if removed := [model for model in then if model not in names.values()]:
        yield InputChange("models", f"removed: {listed(removed)}")
    if others := [f"{model} was {name}" for model, name in names.items() if model != name]:
        yield InputChange("models", f"renamed: {listed(others)}")


def _content_id(comparison: Comparison, table: str) -> str | None:
    return content_id(comparison.quality.get(table, {}))


def _truths(comparison: Comparison) -> dict[str, str | None]:
    """Return fold -> content id of its ground truth."""
    quality = comparison.quality.get("truth", {})
    return {
        fold: content_id(each) for fold, each in quality.get("folds", {NO_FOLD: quality}).items()
    }


def _conventions(then: Comparison, now: Comparison) -> Iterator[tuple[str, str, str]]:
    was, is_now = _convention_texts(then), _convention_texts(now)
    for name in dict.fromkeys([*was, *is_now]):
        if was.get(name) != is_now.get(name):
            yield name, was.get(name, "none"), is_now.get(name, "none")


def _convention_texts(comparison: Comparison) -> dict[str, str]:
    """Return convention -> value; `gain of nDCG` for an override of one metric."""
    general = {each.name: _plain(each.value) for each in comparison.conventions.values}
    special: Mapping[str, Mapping[str, Any]] = comparison.conventions.overrides
    return general | {
        f"{name} of {metric}": _plain(value)
        for metric, changed in special.items()
        for name, value in changed.items()
    }


def _rules(then: Comparison, now: Comparison) -> Iterator[tuple[str, str, str]]:
    for name in ("baseline", "primary", "confidence"):
        was, is_now = (getattr(each, name) for each in (then, now))
        if was != is_now:
            yield name, _plain(was), _plain(is_now)
    effects = [{x: each.metric(x).min_effect for x in each.primary} for each in (then, now)]
    for label, effect in effects[1].items():
        if (was := effects[0].get(label, effect)) != effect:
            yield f"smallest difference that matters on {label}", was, effect


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False).replace('"', "")
