"""JSON Schema of params.yaml for editors: completion, allowed values and meaning of keys."""

from typing import Any

from concord.metrics_core.comparison.warnings.acknowledge import CODES
from concord.metrics_core.conventions.convention import Convention, Key
from concord.metrics_core.conventions.registry import CONVENTIONS, PRESET_CONVENTIONS
from concord.metrics_core.files import described_schema
from concord.pipeline.params.model import Params
from concord.pipeline.params.values import SECTIONS_OF_LISTS


def params_schema() -> dict[str, Any]:
    """Return the schema that pydantic makes of the keys, with every convention and its values."""
    schema = Params.model_json_schema()
    schema["title"] = "params.yaml of Concord"
    schema["properties"]["conventions"] = _conventions()
    of_lists = [name for name in schema["required"] if name in SECTIONS_OF_LISTS]
    schema["required"] = [name for name in schema["required"] if name not in of_lists]
    schema["anyOf"] = [{"required": of_lists}, {"required": ["metrics"]}]
    schema["properties"]["acknowledge"]["propertyNames"] = {"enum": sorted(CODES)}
    return described_schema(schema, "params")


def _conventions() -> dict[str, Any]:
    schemas = {each.name: _convention(each) for each in CONVENTIONS}
    del schemas["exclude"]  # params.yaml has it in the section data
    required = [each.name for each in PRESET_CONVENTIONS if not each.omits_default]
    overridable = {each.name: schemas[each.name] for each in PRESET_CONVENTIONS}
    return {
        "type": "object",
        "description": "What each number means, by value.",
        "properties": {
            "preset": {
                "type": "string",
                "description": "checked against the values; custom: no check",
            },
            **schemas,
            "overrides": {
                "type": "object",
                "description": "conventions of one metric: {RR: {ties: input}}; "
                "RR@k: of its labels with a cutoff",
                "additionalProperties": {"type": "object", "properties": overridable},
            },
        },
        "required": ["preset", *required],
        "additionalProperties": False,
    }


def _convention(convention: Convention) -> dict[str, Any]:
    """Return the JSON Schema of a convention's value."""
    meanings = [f"{word}: {meaning}" for word, meaning in convention.values.items() if meaning]
    form = [convention.form] if convention.form else []
    described = {"description": "\n".join([convention.meaning, *meanings, *form])}
    if convention.keys:
        return described | {
            "type": "object",
            "properties": {name: _key(key) for name, key in convention.keys.items()},
            "required": [name for name, key in convention.keys.items() if key.is_required],
            "additionalProperties": False,
        }
    words = {"enum": list(convention.values)} if convention.values else {}
    if not convention.form:
        return described | words
    return described | {"anyOf": [*([words] if words else []), {"not": {"type": "string"}}]}


def _key(key: Key) -> dict[str, Any]:
    """Return the JSON Schema of the values of a key."""
    words = [{"enum": list(key.words)}] if key.words else []
    schemas = [key.schema, *words] if key.schema else words
    schema = {"anyOf": schemas} if len(schemas) > 1 else schemas[0]
    return {"description": key.form, **schema}
