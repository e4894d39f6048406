"""What params.yaml may not say, in words: names of models, values beside their shape, values that contradict each other."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import BaseModel

from metrics_core.catalogue import expand, idle_overrides
from metrics_core.conventions import ConventionError
from metrics_core.presets import departures

if TYPE_CHECKING:
    from pipeline.params import Params
    from pipeline.params_yaml import Finding

TRUTH = "truth"  # its files stand beside those of the models
BACKGROUND = ("train", "items", "users")  # what is known beside lists and truth
_SHAPES = {  # in pydantic's own words: "Input should be a valid list"
    "list_type": "write a list, such as [10]",
    "string_type": "write a text",
    "dict_type": "write a mapping, keys with values",
    "model_type": "write a mapping, keys with values",
    "bool_type": "write true or false",
}
MODEL_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_-]*$")


def model_name_findings(models: Any) -> Iterator[Finding]:
    """DVC drops names that are no text without a word, and stumbles over dots, `@` and slashes."""
    fix = (
        "use letters, digits, `_` and `-`, starting with a letter or digit; quote a name of digits only; "
        f"{', '.join(map(repr, (TRUTH, *BACKGROUND)))} are taken"
    )
    alike = defaultdict(list)
    for name in models if isinstance(models, dict) else []:
        if not _is_model_name(name):
            yield ("models", name), f"{name!r} is no name of a model", fix
        else:
            alike[name.lower()].append(name)
    for first, *others in alike.values():
        for name in others:
            what = f"{name!r} and {first!r} differ in capitals alone: their files are one on many disks"
            yield ("models", name), what, "give one of them another name"


def _is_model_name(name: Any) -> bool:
    return (
        isinstance(name, str)
        and MODEL_NAME.fullmatch(name) is not None
        and name.lower() not in {TRUTH, *BACKGROUND}
    )


def shape_findings(shape: type[BaseModel], found: Sequence[Any]) -> list[Finding]:
    """All that pydantic found; a key that is missing because it is mistyped is told once."""
    lacking = {tuple(each["loc"]) for each in found if each["type"] == "missing"}
    mistyped = {
        (*keys[:-1], near)
        for each in found
        if each["type"] == "extra_forbidden" and (keys := tuple(each["loc"]))
        for near in _near(str(keys[-1]), _keys_at(shape, keys))
    }
    told_twice = lacking & mistyped
    return [_finding(shape, each) for each in found if tuple(each["loc"]) not in told_twice]


def _finding(shape: type[BaseModel], found: Any) -> Finding:
    """What pydantic found, as a finding: unknown keys with what may be meant, values with what is allowed."""
    keys = tuple(found["loc"])
    if found["type"] == "extra_forbidden":
        return keys, "is not a key that Concord knows", _meant(str(keys[-1]), _keys_at(shape, keys))
    if found["type"] == "missing":
        return keys, "is missing", f"add `{keys[-1]}:` there"
    fix = _SHAPES.get(found["type"]) or found["msg"].removeprefix("Value error, ")
    if found["type"] == "literal_error" and isinstance(found["input"], str):
        allowed = re.findall(r"'([^']*)'", found["ctx"]["expected"])
        near = difflib.get_close_matches(found["input"], allowed, n=1)
        fix += f"; did you mean {near[0]!r}?" if near else ""
    return keys, f"is {found['input']!r}", fix[:1].lower() + fix[1:]


def _meant(key: str, known: list[str]) -> str:
    near = _near(key, known)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"remove it; known here: {', '.join(known)}" if known else "remove it"


def _near(key: str, known: list[str]) -> list[str]:
    return difflib.get_close_matches(key, known, n=1)


def _keys_at(shape: Any, keys: tuple[Any, ...]) -> list[str]:
    """The keys that may stand where the last of `keys` does."""
    for key in keys[:-1]:
        shape = _below(shape, key)
    found = [s for s in (shape, *_parts(shape)) if _is_shape(s)]
    return sorted({name for each in found for name in each.model_fields})


def _below(shape: Any, key: Any) -> Any:
    for each in (shape, *_parts(shape)):
        if _is_shape(each) and key in each.model_fields:
            return each.model_fields[key].annotation
        if get_origin(each) is dict:
            return get_args(each)[1]
    return shape  # a tag of a union: it names no key


def _parts(shape: Any) -> Iterator[Any]:
    """The members of a union, however deep it is wrapped."""
    for part in get_args(shape) if get_origin(shape) is not dict else ():
        yield part
        yield from _parts(part)


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, BaseModel)


def value_findings(params: Params) -> list[Finding]:
    """What the values say of each other, once their shape is right."""
    return [
        *_convention_findings(params),
        *_segment_findings(params),
        *_comparison_findings(params),
        *_training_findings(params),
    ]


def _convention_findings(params: Params) -> list[Finding]:
    try:
        differing, idle = departures(params.pinned), idle_overrides(params.pinned)
    except ConventionError as error:
        return [(("conventions", *key.split(".")), what, fix) for key, what, fix in error.problems]
    if idle:
        return [(("conventions", *key.split(".")), what, fix) for key, what, fix in idle]
    name = params.pinned.preset
    return [
        (
            ("conventions", knob),
            f"is {pinned!r}, but preset {name!r} has {named!r}",
            f"set it to {named!r}, or `preset: custom`",
        )
        for knob, (pinned, named) in differing.items()
    ]


def _segment_findings(params: Params) -> Iterator[Finding]:
    for name, segmentation in params.segments.items():
        keys, needs, ends = ("segments", name), segmentation.needs, segmentation.ends
        if needs not in params.background:
            fix = f"name the file as `background.{needs}`, or remove the entry"
            yield keys, f"needs {needs}, which background does not name", fix
        if any(low >= high for low, high in pairwise(ends)):
            yield keys, f"{ends} does not rise", "give each end once, smallest first"


def _comparison_findings(params: Params) -> Iterator[Finding]:
    ks = params.evaluation.ks
    try:
        expand(params.evaluation.metrics, ks)
    except ValueError as error:
        yield ("evaluation", "metrics"), str(error), "`concord metrics` lists the metrics"
    if len(set(ks)) < len(ks):
        yield ("evaluation", "ks"), f"repeats a cutoff: {ks}", "name each k once"
    if params.comparison.baseline not in params.models:
        near = difflib.get_close_matches(params.comparison.baseline, params.models, n=1)
        fix = f"did you mean {near[0]!r}?" if near else f"name one of: {', '.join(params.models)}"
        what = f"{params.comparison.baseline!r} is not among the models"
        yield ("comparison", "baseline"), what, fix


def _training_findings(params: Params) -> Iterator[Finding]:
    """Of two models on one training run, the metrics of the second would hide those of the first."""
    seen: dict[str, str] = {}
    for name, model in params.models.items():
        run_id = model.training_run_id
        if run_id and params.mlflow.attach == "metrics" and run_id in seen:
            what = f"{run_id!r} is the training run of {seen[run_id]} too"
            fix = "name another run, or set `mlflow.attach: child`"
            yield ("models", name, "training_run_id"), what, fix
        if run_id:
            seen[run_id] = name
