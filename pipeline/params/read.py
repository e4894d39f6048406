"""Read params.yaml, and report all its problems at once."""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.conventions.values_version import (
    VALUES_VERSION,
    values_version_problem,
)
from concord.metrics_core.deprecation import with_new_keys
from concord.metrics_core.errors import InputError, Location, Problem, params_keys, refuse
from concord.metrics_core.metrics.custom_metric import load_metrics, loaded_digest
from concord.metrics_core.metrics.label import set_value_labels
from concord.pipeline.params.checks import (
    misplaced_replicates,
    params_problems,
    section_problems,
)
from concord.pipeline.params.model import PARAMS, TAGS, Params
from concord.pipeline.params.model_names import model_name_problems
from concord.pipeline.params.paths import check_inside, path_problems, result_folder_problems
from concord.pipeline.params.repository import VERSION_KEY, rerun_command, run_hint
from concord.pipeline.params.values import has_values, misplaced_sections, with_absent_sections
from concord.pipeline.params.yaml_files import read_yaml


def read_params(path: Path = PARAMS, *, needs_lists: bool = False) -> Params:
    """Return the validated params.yaml.

    Parameters
    ----------
    path : Path
        The file.
    needs_lists : bool
        True to refuse models with values of another tool.

    Raises
    ------
    InputError
        If the file is missing, is not YAML, or has invalid keys or values; all problems at once.
    """
    params, error = check_params(path)
    if error is not None or params is None:
        raise error or InputError([])
    if needs_lists:
        refuse_values(params)
    return params


def refuse_values(params: Params) -> None:
    """Raise InputError if the models have values of another tool: there are no lists."""
    if params.has_values:
        problem = "have values of another tool, and this needs recommendations and ground truth"
        raise refuse(f"{PARAMS}: models", problem, "run it where the models have recommendations")


def check_params(path: Path = PARAMS) -> tuple[Params | None, InputError | None]:
    """Return the parameters, and an error with all problems.

    Returns
    -------
    params : Params or None
        None if keys are missing or unknown.
    error : InputError or None
        None if there are no problems.

    Raises
    ------
    InputError
        If the file is missing or is not YAML.
    """
    yaml = read_yaml(path)
    yaml = replace(yaml, content=with_new_keys(str(PARAMS), yaml.content))
    if VERSION_KEY not in yaml.content and not isinstance(yaml.content.get("conventions"), dict):
        raise refuse(str(path), "is not a params.yaml of Concord", run_hint(path.parent))
    version_problems = [*_version_problems(yaml.content, path.parent)]
    if version_problems and VERSION_KEY in yaml.content:  # keys may have another meaning there
        return None, yaml.error(version_problems)
    if places := [*yaml.fill_in_problems()]:
        return None, yaml.error(places)
    models = yaml.content.get("models")
    problems = [
        *version_problems,
        *model_name_problems(models),
        *misplaced_replicates(models),
        *misplaced_sections(yaml.content),
    ]
    of_values = has_values(yaml.content)
    try:
        params = Params.model_validate(
            with_absent_sections(yaml.content) if of_values else yaml.content, context=yaml.content
        )
    except ValidationError as error:
        known = {problem.location for problem in problems}
        problems += schema_problems(Params, error, known)
        return None, yaml.error([*problems, *section_problems(yaml.content, problems)])
    set_value_labels(params.value_labels)
    own_metrics = [*_own_metric_problems(params, path.parent)]
    problems += [
        *own_metrics,
        *([] if own_metrics else params_problems(params)),  # their names would be unknown
        *result_folder_problems(path, vars(params.results)),
        *path_problems(params, path.parent),
    ]
    return params, yaml.error(problems) if problems else None


def _own_metric_problems(params: Params, folder: Path) -> Iterator[Problem]:
    """Load the file of own metrics, so that labels may name them; yield its problems."""
    if params.own_metrics is None:
        return
    file = folder / params.own_metrics
    try:
        check_metric_file(params, file)
        load_metrics(file)
    except InputError as error:
        location = ("background", "metrics", "path")
        for problem in error.problems:
            yield Problem(location, f"{problem.where}: {problem.message}", problem.fix)


def check_metric_file(params: Params, own_metrics: Path) -> None:
    """Raise InputError if the file of own metrics is missing, or outside the repository."""
    from concord.metrics_core.data.formats import check_path

    key = "background.metrics"
    check_inside(key, own_metrics, allow_outside=params.input.allow_outside)
    check_path(own_metrics, params_keys(key))


def refuse_other_metrics(params: Params, loaded: Mapping[str, Any]) -> None:
    """Raise InputError if the own metrics of this process are not those that a stage loaded.

    Parameters
    ----------
    params : Params
        The parameters that this process read.
    loaded : mapping
        The file's description in the results, with its `sha256`.
    """
    file = params.own_metrics
    if file is not None and loaded_digest(file) not in {None, loaded["sha256"]}:
        fix = f"run `{rerun_command()}`, which reads it again"
        raise refuse(str(file), "changed after it was read", fix)


def _version_problems(content: Mapping[str, Any], folder: Path) -> Iterator[Problem]:
    """Yield a missing version of values, or another than that of this Concord."""
    location, command = (VERSION_KEY,), rerun_command(folder=folder)
    if VERSION_KEY not in content:
        fix = f"add `{VERSION_KEY}: {VALUES_VERSION}`: the version of the values of this Concord"
        yield Problem(location, "is missing", fix)
        return
    fix = f"write `{VERSION_KEY}: {VALUES_VERSION}` and run `{command}`"
    if problem := values_version_problem(content[VERSION_KEY], fix):
        yield Problem(location, *problem)


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


def schema_problems(
    model: type[BaseModel], error: ValidationError, known: Collection[Location] = ()
) -> list[Problem]:
    """Return the problems that pydantic found.

    A mistyped key is not reported as missing as well.

    Parameters
    ----------
    model : type
        The model that was validated.
    error : ValidationError
        The error of pydantic.
    known : collection of Location, optional
        Locations that have a problem already; problems below them are not reported.
    """
    errors = {tuple(detail["loc"]): detail for detail in error.errors()}
    mistyped = {
        (*keys[:-1], near)
        for keys, detail in errors.items()
        if detail["type"] == "extra_forbidden"
        for near in difflib.get_close_matches(str(keys[-1]), _allowed_keys(model, keys), n=1)
    }
    return [
        _schema_problem(model, keys, detail)
        for keys, detail in errors.items()
        if not (detail["type"] == "missing" and keys in mistyped)
        and not any(keys[:n] in known for n in range(len(keys) + 1))
    ]


def _schema_problem(model: type[BaseModel], location: tuple[Any, ...], error: Any) -> Problem:
    keys = tuple(key for key in location if key not in TAGS)
    kind = error["type"]
    if kind == "extra_forbidden":
        known = _allowed_keys(model, location)
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
    return Problem(keys, f"is {format_value(error['input'])}", fix[:1].lower() + fix[1:])


def _allowed_keys(model: Any, location: tuple[Any, ...]) -> list[str]:
    """Return the keys that are allowed beside the last key of a location."""
    for key in location[:-1]:
        model = _child_type(model, key)
    models = [member for member in _union_members(model) if _is_model(member)]
    return sorted({name for member in models for name in member.model_fields})


def _child_type(model: Any, key: Any) -> Any:
    for member in _union_members(model):
        if key in TAGS and Tag(key) in getattr(member, "__metadata__", ()):
            return get_args(member)[0]
        if _is_model(member) and key in member.model_fields:
            return member.model_fields[key].annotation
        if get_origin(member) is dict:
            return get_args(member)[1]
    return model  # the tag of a union


def _union_members(annotation: Any) -> Iterator[Any]:
    """Yield a type and, at any depth, the members of its unions."""
    yield annotation
    for part in get_args(annotation) if get_origin(annotation) is not dict else ():
        yield from _union_members(part)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
