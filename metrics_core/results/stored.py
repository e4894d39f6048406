"""comparison.json, and cases.json beside it: a Comparison and Cases as JSON, with a version; read back as the same."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from concord.metrics_core.errors import refuse, report_missing_extra
from concord.metrics_core.files import load_json
from concord.metrics_core.results.base import plain
from concord.metrics_core.results.comparison import FILE_KEYS, Comparison
from concord.metrics_core.results.error_analysis import Cases

CASES = "cases.json"
SCHEMA = 7
_READ = (4, 5, 6, SCHEMA)  # 4 has no replicates; 4 and 5 hold sentences, 6 those of warnings
_READ_CASES = (6, SCHEMA)
_SKIPPED = {"schema", "examples"}  # keys that are not read; older files have `examples`


def to_content(comparison: Comparison) -> dict[str, Any]:
    """Return the content of comparison.json."""
    content = plain(comparison, keep_nan=True)  # a NaN is a bug, which `_text` refuses
    return {"schema": SCHEMA} | {FILE_KEYS.get(name, name): part for name, part in content.items()}


def to_json(comparison: Comparison) -> str:
    """Return the text of comparison.json; raise ValueError for NaN and infinity."""
    return _text(to_content(comparison))


def cases_to_json(cases: Cases) -> str:
    """Return the text of cases.json."""
    return _text({"schema": SCHEMA, **plain(cases, keep_nan=True)})


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def from_content(content: Mapping[str, Any], where: str = "comparison") -> Comparison:
    """The comparison that a file holds.

    Raises
    ------
    InputError : it was written by an older or a newer Concord, or it is no comparison
    """
    _refuse_another_version(content, where, _READ)
    if content["schema"] < SCHEMA:
        for path in _SENTENCES:
            content = _without(content, path)
        content = _with_warning_codes(content)
    if field_names := [name for name in FILE_KEYS if name in content]:
        raise refuse(where, f"{field_names[0]}: Unexpected keyword argument", _AGAIN)
    fields_of = {key: name for name, key in FILE_KEYS.items()}
    values = {fields_of.get(key, key): part for key, part in content.items() if key not in _SKIPPED}
    found: Comparison = _validated(Comparison, values, where)
    return found


_EACH = "*"  # of a list
_SENTENCES = (  # of schemas 4 and 5; they are made from the numbers
    ("verdicts",),
    ("replicates", "answers"),
    ("segments", _EACH, "flags"),
    ("gate", "lines"),
    ("gate", "models", _EACH, "guardrails", _EACH, "why"),
)


def _without(part: Any, path: tuple[str, ...]) -> Any:
    """Return a part of the content without the key at `path`; what has another shape is left for the validation."""
    key, *inner = path
    if key == _EACH:
        return [_without(each, tuple(inner)) for each in part] if isinstance(part, list) else part
    if not isinstance(part, Mapping) or key not in part:
        return part
    if inner:
        return {**part, key: _without(part[key], tuple(inner))}
    return {name: value for name, value in part.items() if name != key}


def _with_warning_codes(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content with the texts of warnings as their details; what has another shape is left for the validation."""
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


def _validated(kind: type, values: Mapping[str, Any], where: str) -> Any:
    with report_missing_extra():
        from pydantic import ValidationError  # 0.1 s that only a reader spends

    try:
        return _adapter(kind).validate_python(values, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(FILE_KEYS.get(str(part), str(part)) for part in first["loc"])
        raise refuse(where, f"{key}: {first['msg']}", _AGAIN) from None


def read_comparison(path: Path) -> Comparison:
    """The comparison of a file; raises as `from_content`, and where there is no such file or it is no JSON."""
    return from_content(load_json(path, _AGAIN), str(path))


def read_cases(path: Path) -> Cases:
    """Return the error analysis of a file; raise as `read_comparison`."""
    content = load_json(path, _AGAIN)
    _refuse_another_version(content, str(path), _READ_CASES)
    values = {key: part for key, part in content.items() if key != "schema"}
    found: Cases = _validated(Cases, values, str(path))
    return found


def json_schema() -> dict[str, Any]:
    """The JSON schema of comparison.json."""
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


_AGAIN = "run `dvc repro compare`"


def _refuse_another_version(content: Any, where: str, known: tuple[int, ...]) -> None:
    found = content.get("schema") if isinstance(content, Mapping) else None
    if found not in known:
        newer = isinstance(found, int) and found > SCHEMA
        fix = f"update Concord, or {_AGAIN}" if newer else _AGAIN
        raise refuse(where, f"has schema {found}, and this version reads {SCHEMA}", fix)
