"""Settings that changed: names and values as text, with the models that they concern."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from concord.metrics_core.results.history import Setting

MISSING = "none"
Settings = Mapping[str, str]  # name -> value
SettingChange = tuple[str, str, str]  # name, value then, value now


def flatten(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the dotted key and the text of every value that is not a mapping."""
    if isinstance(value, Mapping):
        for name, nested in value.items():
            yield from flatten(f"{key}.{name}" if key else str(name), nested)
    elif value is not None:
        yield key, as_text(value)


def as_text(value: Any) -> str:
    """Return a value as text; lists and mappings as JSON without quotes."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str).replace('"', "")


def setting_changes(previous: Settings, current: Settings) -> Iterator[SettingChange]:
    """Yield the name and both values of settings that changed."""
    for name in dict.fromkeys([*previous, *current]):
        if previous.get(name) != current.get(name):
            yield name, previous.get(name, MISSING), current.get(name, MISSING)


def group_by_change(changes: Iterable[tuple[str, SettingChange]]) -> tuple[Setting, ...]:
    """Return the changes of models, each once with its models."""
    models: dict[SettingChange, list[str]] = {}
    for model, change in changes:
        models.setdefault(change, []).append(model)
    return tuple(Setting(*change, tuple(names)) for change, names in models.items())
