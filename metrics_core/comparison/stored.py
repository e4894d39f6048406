"""comparison.json: a Comparison as JSON, with a version; read back as the same Comparison."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from concord.metrics_core.checking.extras import extra_named
from concord.metrics_core.checking.problems import InputError, refuse
from concord.metrics_core.comparison.comparison import Comparison

SCHEMA = 5
_READ = (4, SCHEMA)  # 4 knew no replicates
_NAMES = {"scores": "leaderboard", "pairs": "differences"}  # field -> key of the file


def to_content(comparison: Comparison) -> dict[str, Any]:
    """The content of comparison.json."""
    content = {"schema": SCHEMA, **plain(comparison)}
    return {_NAMES.get(name, name): part for name, part in content.items()}


def to_json(comparison: Comparison) -> str:
    """The text of comparison.json; NaN and infinity have no place in it."""
    return json.dumps(to_content(comparison), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def from_content(content: Mapping[str, Any], where: str = "comparison") -> Comparison:
    """The comparison that a file holds.

    Raises
    ------
    InputError : it was written by an older or a newer Concord, or it is no comparison
    """
    found = content.get("schema") if isinstance(content, Mapping) else None
    if found not in _READ:
        raise _of_another_version(where, found)
    if odd := [name for name in _NAMES if name in content]:
        raise refuse(where, f"{odd[0]}: Unexpected keyword argument", _AGAIN)
    fields_of = {key: name for name, key in _NAMES.items()}
    given = {fields_of.get(key, key): part for key, part in content.items() if key != "schema"}
    with extra_named():
        from pydantic import ValidationError  # 0.1 s that only a reader spends

    try:
        return _adapter().validate_python(given, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(_NAMES.get(str(part), str(part)) for part in first["loc"])
        raise refuse(where, f"{key}: {first['msg']}", _AGAIN) from None


def read_comparison(path: Path) -> Comparison:
    """The comparison of a file; raises as `from_content`, and where there is no such file or it is no JSON."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        raise refuse(str(path), "there is no such file", _AGAIN) from None
    except (ValueError, RecursionError) as error:
        raise refuse(str(path), f"is not valid JSON: {error}", _AGAIN) from None
    return from_content(content, str(path))


def json_schema() -> dict[str, Any]:
    """The JSON schema of comparison.json."""
    schema = _adapter().json_schema()
    properties = {_NAMES.get(name, name): part for name, part in schema["properties"].items()}
    required = [_NAMES.get(name, name) for name in schema["required"]]
    return schema | {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "comparison.json",
        "properties": {"schema": {"const": SCHEMA}, **properties},
        "required": ["schema", *required],
    }


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Comparison)


_AGAIN = "run `dvc repro compare`"


def _of_another_version(where: str, found: Any) -> InputError:
    newer = isinstance(found, int) and found > SCHEMA
    fix = f"update Concord, or {_AGAIN}" if newer else _AGAIN
    return refuse(where, f"has schema {found}, and this version reads {SCHEMA}", fix)


def plain(part: Any) -> Any:
    """Types as JSON has them; `dataclasses.asdict` would copy every leaf."""
    if is_dataclass(part):
        values = ((field, getattr(part, field.name)) for field in fields(part))
        return {
            field.name: plain(value)
            for field, value in values
            if value is not None or not field.metadata
        }
    if isinstance(part, tuple | list):
        return [plain(each) for each in part]
    if isinstance(part, Mapping):
        return {name: plain(each) for name, each in part.items()}
    return part
