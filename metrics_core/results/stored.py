"""Write and read comparison.json and cases.json: a Comparison and Cases as versioned JSON."""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from concord.metrics_core.errors import refuse, report_missing_extra
from concord.metrics_core.files import load_json
from concord.metrics_core.results.base import to_plain
from concord.metrics_core.results.comparison import FILE_KEYS, Comparison
from concord.metrics_core.results.error_analysis import Cases

CASES = "cases.json"
SCHEMA = 9
# Schema 4 has no replicates. 4 and 5 hold sentences, 6 those of warnings, 7 those of the panel and
# of the conventions. 8 has other keys (`_RENAMED`).
_READABLE = (4, 5, 6, 7, 8, SCHEMA)
_READABLE_CASES = (6, 7, 8, SCHEMA)
_IGNORED_KEYS = {"schema", "examples"}  # older files have `examples`
EVALUATE_AGAIN = "evaluate again"  # the fix unless a caller knows the command


def to_content(comparison: Comparison) -> dict[str, Any]:
    """Return the content of comparison.json."""
    content = to_plain(comparison, keep_nan=True)  # a NaN is a bug, which `_text` refuses
    return {"schema": SCHEMA} | {FILE_KEYS.get(name, name): part for name, part in content.items()}


def to_json(comparison: Comparison) -> str:
    """Return the text of comparison.json; raise ValueError for NaN and infinity."""
    return _text(to_content(comparison))


def cases_to_json(cases: Cases) -> str:
    """Return the text of cases.json."""
    return _text({"schema": SCHEMA, **to_plain(cases, keep_nan=True)})


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def from_content(
    content: Mapping[str, Any], where: str = "comparison", fix: str = EVALUATE_AGAIN
) -> Comparison:
    """Return the comparison with this content of comparison.json.

    Raises
    ------
    InputError
        The content is not that of a comparison, or has a schema that this version cannot read.
    """
    _refuse_other_schema(content, where, _READABLE, fix)
    if content["schema"] < SCHEMA:
        for path in _SENTENCES:
            content = _without(content, path)
        definitions = ("panel", _EACH, "definitions", _EACH)
        content = _modify(content, definitions, _with_changed_conventions)
        content = _with_renamed_keys(_with_warning_codes(content), _RENAMED)
    if field_names := [name for name in FILE_KEYS if name in content]:
        raise refuse(where, f"{field_names[0]}: Unexpected keyword argument", fix)
    fields_of = {key: name for name, key in FILE_KEYS.items()}
    values = {
        fields_of.get(key, key): part for key, part in content.items() if key not in _IGNORED_KEYS
    }
    comparison: Comparison = _validate(Comparison, values, where, fix)
    return comparison


_EACH = "*"  # every entry of a list
_SENTENCES = (  # of older schemas; reports now derive them from the numbers
    ("covers",),
    ("panel", _EACH, "sentence"),
    ("panel", _EACH, "definitions", _EACH, "stands_for"),
    ("conventions", "knobs", _EACH, "sentence"),
    ("verdicts",),
    ("replicates", "answers"),
    ("segments", _EACH, "flags"),
    ("gate", "lines"),
    ("gate", "models", _EACH, "guardrails", _EACH, "why"),
)


_Renamed = tuple[tuple[tuple[str, ...], Mapping[str, str]], ...]  # path -> old key -> new key
_RENAMED: _Renamed = (
    (("conventions",), {"knobs": "values"}),
    (("gate", "models", _EACH, "guardrails", _EACH), {"asked": "margin_setting"}),
    (("panel", _EACH), {"left_out": "excluded"}),
    (("panel", _EACH, "excluded", _EACH), {"why": "reason"}),
    (("replicates", "scores", _EACH), {"sd_trainings": "sd_replicates"}),
    (
        ("replicates", "pairs", _EACH),
        {
            "trainings_a": "n_replicates_a",
            "trainings_b": "n_replicates_b",
            "trainings_df": "replicates_df",
            "turned": "n_reversed",
            "of": "n_pairs",
            "trainings_needed": "replicates_needed",
        },
    ),
    (("segments", _EACH, "cells", _EACH), {"turns": "is_reversed"}),
)
_RENAMED_IN_CASES: _Renamed = (
    (("cases", _EACH), {"seen": "metric_values"}),
    (
        ("item_cases", _EACH),
        {"n_wanted": "n_relevant", "found_a": "hits_a", "found_b": "hits_b"},
    ),
)


def _with_renamed_keys(content: Mapping[str, Any], renamed: _Renamed) -> Mapping[str, Any]:
    for path, keys in renamed:
        content = _modify(content, path, partial(_rename, keys))
    return content


def _rename(keys: Mapping[str, str], part: Mapping[str, Any]) -> Mapping[str, Any]:
    return {keys.get(key, key): each for key, each in part.items()}


def _with_changed_conventions(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a definition with {"gain": "exp2", …} instead of the text `gain: exp2; …`."""
    text = definition.get("says")
    if not isinstance(text, str):
        return definition
    changed = dict(pair.split(": ", 1) for pair in text.split("; ") if ": " in pair)
    return {key: part for key, part in definition.items() if key != "says"} | {"changed": changed}


def _without(content: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the content without the key at `path`."""
    *outer, removed = path
    return _modify(
        content, tuple(outer), lambda part: {k: v for k, v in part.items() if k != removed}
    )


def _modify(part: Any, path: tuple[str, ...], change: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Return the content with the mappings at `path` changed; other shapes stay as they are."""
    if path and path[0] == _EACH:
        return (
            [_modify(each, path[1:], change) for each in part] if isinstance(part, list) else part
        )
    if not isinstance(part, Mapping):
        return part
    if not path:
        return change(part)
    key = path[0]
    return {**part, key: _modify(part[key], path[1:], change)} if key in part else part


def _with_warning_codes(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content with the texts of warnings as their details.

    Content of another shape is returned as it is; the validation refuses it.
    """
    warnings = content.get("warnings", [])
    keys = {"kind": "code", "severity": "severity", "who": "models"}
    if not isinstance(warnings, list) or not all(
        isinstance(warning, Mapping) and {*keys, "sentence", "fix"} == {*warning}
        for warning in warnings
    ):
        return content
    coded = [
        {key: warning[old] for old, key in keys.items()}
        | {"details": {"sentence": str(warning["sentence"]), "fix": str(warning["fix"])}}
        for warning in warnings
    ]
    return {**content, "warnings": coded}


def _validate(kind: type, values: Mapping[str, Any], where: str, fix: str) -> Any:
    with report_missing_extra():
        from pydantic import ValidationError  # takes 0.1 s

    try:
        return _adapter(kind).validate_python(values, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(FILE_KEYS.get(str(part), str(part)) for part in first["loc"])
        raise refuse(where, f"{key}: {first['msg']}", fix) from None


def read_comparison(path: Path, fix: str = EVALUATE_AGAIN) -> Comparison:
    """Return the comparison of a file.

    Raises
    ------
    InputError
        As `from_content`; or the file does not exist or is not JSON.
    """
    return from_content(load_json(path, fix), str(path), fix)


def read_cases(path: Path, fix: str = EVALUATE_AGAIN) -> Cases:
    """Return the error analysis of a file; raise as `read_comparison`."""
    content: Mapping[str, Any] = load_json(path, fix)
    _refuse_other_schema(content, str(path), _READABLE_CASES, fix)
    if content["schema"] < SCHEMA:
        content = _with_renamed_keys(content, _RENAMED_IN_CASES)
    values = {key: part for key, part in content.items() if key != "schema"}
    cases: Cases = _validate(Cases, values, str(path), fix)
    return cases


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of comparison.json."""
    schema = _adapter(Comparison).json_schema()
    properties = {FILE_KEYS.get(name, name): part for name, part in schema["properties"].items()}
    required = [FILE_KEYS.get(name, name) for name in schema["required"]]
    return schema | {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "comparison.json",
        "properties": {"schema": {"const": SCHEMA}, **properties},
        "required": ["schema", *required],
    }


@cache
def _adapter(kind: type) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _refuse_other_schema(content: Any, where: str, readable: tuple[int, ...], fix: str) -> None:
    schema = content.get("schema") if isinstance(content, Mapping) else None
    if schema not in readable:
        is_newer = isinstance(schema, int) and schema > SCHEMA
        fix = f"update Concord, or {fix}" if is_newer else fix
        raise refuse(where, f"has schema {schema}, and this version reads {SCHEMA}", fix)
