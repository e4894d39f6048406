"""Errors of pydantic as problems: unknown keys with what may be meant, values with what is allowed."""

import difflib
import re
from collections.abc import Collection, Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from concord.metrics_core.conventions.convention import shown
from concord.metrics_core.errors import Location, Problem
from concord.pipeline.params.model import TAGS

_TYPES = {
    "list_type": "write a list, in brackets: […]",
    "string_type": "write a text",
    "dict_type": "write a mapping, keys with values",
    "model_type": "write a mapping, keys with values",
    "bool_type": "write true or false",
}
_LIMITS = {
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
    "too_long": ("a list of at most", "max_length"),
}


def shape_problems(
    model: type[BaseModel], error: ValidationError, known: Collection[Location] = ()
) -> list[Problem]:
    """Return the problems of pydantic, except below locations that are known; a mistyped key is not missing as well."""
    errors = {tuple(each["loc"]): each for each in error.errors()}
    mistyped = {
        (*keys[:-1], near)
        for keys, each in errors.items()
        if each["type"] == "extra_forbidden"
        for near in difflib.get_close_matches(str(keys[-1]), _keys_at(model, keys), n=1)
    }
    return [
        _problem(model, keys, each)
        for keys, each in errors.items()
        if not (each["type"] == "missing" and keys in mistyped)
        and not any(keys[:n] in known for n in range(len(keys) + 1))
    ]


def _problem(model: type[BaseModel], location: tuple[Any, ...], error: Any) -> Problem:
    keys = tuple(key for key in location if key not in TAGS)
    kind = error["type"]
    if kind == "extra_forbidden":
        known = _keys_at(model, location)
        near = difflib.get_close_matches(str(keys[-1]), known, n=1)
        fix = f"did you mean {near[0]!r}?" if near else "remove it"
        fix += f"; known here: {', '.join(known)}" if known and not near else ""
        return Problem(keys, "is not a key that Concord knows", fix)
    if kind == "missing":
        return Problem(keys, "is missing", f"add `{keys[-1]}:` there")
    fix = _TYPES.get(kind) or error["msg"].removeprefix("Value error, ")
    if kind in _LIMITS:
        words, limit = _LIMITS[kind]
        fix = f"write {words} {error['ctx'][limit]:,}"
    elif kind == "literal_error" and isinstance(error["input"], str):
        allowed = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        near = difflib.get_close_matches(error["input"], allowed, n=1)
        fix += f"; did you mean {near[0]!r}?" if near else ""
    return Problem(keys, f"is {shown(error['input'])}", fix[:1].lower() + fix[1:])


def _keys_at(model: Any, location: tuple[Any, ...]) -> list[str]:
    """Return the keys that are allowed where the last key of a location is."""
    for key in location[:-1]:
        model = _below(model, key)
    models = [each for each in _members(model) if _is_model(each)]
    return sorted({name for each in models for name in each.model_fields})


def _below(model: Any, key: Any) -> Any:
    for each in _members(model):
        if _is_model(each) and key in each.model_fields:
            return each.model_fields[key].annotation
        if get_origin(each) is dict:
            return get_args(each)[1]
    return model  # the tag of a union


def _members(annotation: Any) -> Iterator[Any]:
    """Yield a type and the members of a union, however deep it is wrapped."""
    yield annotation
    for part in get_args(annotation) if get_origin(annotation) is not dict else ():
        yield from _members(part)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
