"""Tables of what stands around the numbers: other definitions, findings in the files, conventions, inputs."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

Comparison = Mapping[str, Any]
Row = dict[str, Any]
Types = Mapping[str, type[pl.DataType]]
Tables = Mapping[str, tuple[Callable[[Comparison], Iterator[Row]], Types]]

_TEXT, _NUMBER, _COUNT, _FLAG = pl.String, pl.Float64, pl.Int64, pl.Boolean


def _panel(comparison: Comparison) -> Iterator[Row]:
    """One row a primary label, definition and model."""
    for entry in comparison.get("panel") or []:
        for definition in entry["definitions"]:
            for model, value in definition["values"].items():
                yield {
                    "label": entry["metric"],
                    "definition": definition["name"],
                    "says": definition["says"],
                    "top_two_hold": definition["top_two_hold"],
                    "model": model,
                    "value": value,
                    "rank": definition["ranks"][model],
                    "verdict": definition["verdicts"].get(model),
                }


def _panel_presets(comparison: Comparison) -> Iterator[Row]:
    """One row a primary label and preset: the definition that gives its values, or why it has none."""
    for entry in comparison.get("panel") or []:
        for definition in entry["definitions"]:
            told = zip(definition["presets"], definition["stands_for"], strict=True)
            for preset, stands_for in told:
                yield {
                    "label": entry["metric"],
                    "preset": preset,
                    "definition": definition["name"],
                    "stands_for": stands_for,
                }
        for each in entry["left_out"]:
            yield {"label": entry["metric"], "preset": each["preset"], "left_out": each["why"]}


def _quality(comparison: Comparison) -> Iterator[Row]:
    """One row a finding, such as `users.without_list`: a number or a text."""
    for role, found in (comparison.get("quality") or {}).items():
        for finding, value in _leaves(found, ""):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            yield {
                "role": role,
                "finding": finding,
                "number": value if is_number else None,
                "text": None if is_number or value is None else _written(value),
            }


def _leaves(content: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Dotted path -> value of everything in nested mappings and lists; entries of a list are numbered from 1."""
    if isinstance(content, list):
        content = {str(n): each for n, each in enumerate(content, 1)}
    if isinstance(content, Mapping):
        for name, inner in content.items():
            yield from _leaves(inner, f"{path}.{name}" if path else name)
    else:
        yield path, content


def _conventions(comparison: Comparison) -> Iterator[Row]:
    """One row a convention; those that are overridden for one metric name it."""
    conventions = comparison.get("conventions") or {"knobs": [], "overrides": {}}
    for knob in conventions["knobs"]:
        yield {
            "convention": knob["name"],
            "value": _written(knob["value"]),
            "meaning": knob["sentence"],
            "changes": ", ".join(knob["changes"]),
        }
    for metric, changed in conventions["overrides"].items():
        for name, value in changed.items():
            yield {"convention": name, "metric": metric, "value": _written(value)}


def _written(value: Any) -> str:
    """A value as text: words as they are, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _inputs(comparison: Comparison) -> Iterator[Row]:
    yield from (comparison.get("provenance") or {"inputs": []})["inputs"]


CIRCUMSTANCES: Tables = {
    "panel": (
        _panel,
        {
            "label": _TEXT,
            "definition": _TEXT,
            "says": _TEXT,
            "top_two_hold": _FLAG,
            "model": _TEXT,
            "value": _NUMBER,
            "rank": _COUNT,
            "verdict": _TEXT,
        },
    ),
    "panel_presets": (
        _panel_presets,
        {
            "label": _TEXT,
            "preset": _TEXT,
            "definition": _TEXT,
            "stands_for": _TEXT,
            "left_out": _TEXT,
        },
    ),
    "quality": (
        _quality,
        {"role": _TEXT, "finding": _TEXT, "number": _NUMBER, "text": _TEXT},
    ),
    "conventions": (
        _conventions,
        {
            "convention": _TEXT,
            "metric": _TEXT,
            "value": _TEXT,
            "meaning": _TEXT,
            "changes": _TEXT,
        },
    ),
    "inputs": (_inputs, {"role": _TEXT, "path": _TEXT, "sha256": _TEXT}),
}
