"""The JSON Schema of params.yaml, for editors: completion, allowed values and what a key means."""

from typing import Any

from concord.metrics_core.conventions.candidates import FORM, MOST_ITEMS, MOST_NEGATIVES, UNIFORM
from concord.metrics_core.conventions.conventions import (
    FAIR_TARGETS,
    KNOBS,
    PROPENSITY,
    UNIT_MEANS,
    Knob,
)
from concord.pipeline.params.model import Params


def params_schema() -> dict[str, Any]:
    """What pydantic knows of the keys, and every convention with its values."""
    schema = Params.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "params.yaml of Concord"
    schema["properties"]["conventions"] = _conventions()
    return schema


def _conventions() -> dict[str, Any]:
    knobs = {knob.name: _knob(knob) for knob in KNOBS}
    return {
        "type": "object",
        "description": "What each number means, by value.",
        "properties": {
            "preset": {
                "type": "string",
                "description": "checked against the values; custom: no check",
            },
            **knobs,
            "propensity": {
                "type": "object",
                "description": f"relevant items count by the inverse of how probably they came to be known: {PROPENSITY}",
            },
            "unit_mean": {
                "description": "over what means are taken; with data.unit, and only then\n"
                + "\n".join(f"{word}: {means}" for word, means in UNIT_MEANS.items()),
                "enum": list(UNIT_MEANS),
            },
            "fairness_target": {
                "description": "which share of the attention a group of items should have, for AWRF\n"
                + "\n".join(f"{word}: {means}" for word, means in FAIR_TARGETS.items()),
                "enum": list(FAIR_TARGETS),
            },
            "overrides": {
                "type": "object",
                "description": "conventions of one metric: {RR: {ties: input}}; RR@k: of its labels with a cutoff",
                "additionalProperties": {"type": "object", "properties": knobs},
            },
            "candidates": _candidates(),
        },
        "required": ["preset", *knobs],
        "additionalProperties": False,
    }


def _candidates() -> dict[str, Any]:
    bounds = {"negatives": (1, MOST_NEGATIVES), "catalogue": (2, MOST_ITEMS)}
    whole = {
        name: {"type": "integer", "minimum": least, "maximum": most}
        for name, (least, most) in bounds.items()
    }
    return {
        "type": "object",
        "description": f"lists that rank the relevant item among sampled ones, how these were drawn: {FORM}",
        "properties": {**whole, "sampling": {"enum": [UNIFORM]}},
        "required": [*whole, "sampling"],
        "additionalProperties": False,
    }


def _knob(knob: Knob) -> dict[str, Any]:
    words = {"enum": list(knob.values)} if knob.values else {}
    meaning = [knob.sentence, *(f"{word}: {means}" for word, means in knob.values.items() if means)]
    described = {"description": "\n".join([*meaning, *([knob.form] if knob.form else [])])}
    if not knob.form:
        return described | words
    return described | {"anyOf": [*([words] if words else []), {"not": {"type": "string"}}]}
