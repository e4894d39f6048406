"""Read params.yaml, with all that is wrong with it at once."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from concord.metrics_core.errors import InputError, ParamsKeys, Problem, refuse
from concord.metrics_core.metrics.custom_metric import load_metrics, set_metric_file
from concord.pipeline.params.checks import (
    model_name_problems,
    nested_problems,
    params_problems,
    section_problems,
)
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.paths import check_inside, place_problems, result_problems
from concord.pipeline.params.repository import run_hint
from concord.pipeline.params.validation_errors import shape_problems
from concord.pipeline.params.yaml_files import read_yaml


def read_params(path: Path = PARAMS) -> Params:
    """Return the validated params.yaml.

    Raises
    ------
    InputError
        The file is missing, is not YAML, or has invalid keys or values; all problems at once.
    """
    params, refusal = check_params(path)
    if refusal is not None or params is None:
        raise refusal or InputError([])
    return params


def check_params(path: Path = PARAMS) -> tuple[Params | None, InputError | None]:
    """Return the parameters, None if keys are missing or unknown, and the error with all that is wrong.

    Raises
    ------
    InputError
        The file is missing or is not YAML.
    """
    yaml = read_yaml(path)
    if "concord" not in yaml.content and not isinstance(yaml.content.get("conventions"), dict):
        raise refuse(str(path), "is not a params.yaml of Concord", run_hint(path.parent))
    if other := [*_version_problems(yaml.content.get("concord"))]:
        return None, yaml.error(other)
    models = yaml.content.get("models")
    problems = [*model_name_problems(models), *nested_problems(models)]
    try:
        params = Params.model_validate(yaml.content)
    except ValidationError as error:
        known = {problem.location for problem in problems}
        problems += shape_problems(Params, error, known)
        return None, yaml.error([*problems, *section_problems(yaml.content, problems)])
    problems += [
        *_own_metric_problems(params, path.parent),
        *params_problems(params),
        *result_problems(path, vars(params.results)),
        *place_problems(params, path.parent),
    ]
    return params, yaml.error(problems) if problems else None


def _own_metric_problems(params: Params, folder: Path) -> Iterator[Problem]:
    """Load the file of own metrics, so that labels may name them; yield what is wrong with it."""
    set_metric_file(None)
    if params.own_metrics is None:
        return
    file = folder / params.own_metrics
    try:
        check_metric_file(params, file)
        load_metrics(file)
    except InputError as error:
        for each in error.problems:
            location = ("background", "metrics", "path")
            yield Problem(location, f"{each.where}: {each.what}", each.fix)
    else:
        set_metric_file(file)


def check_metric_file(params: Params, own_metrics: Path) -> None:
    """Raise InputError if the file of own metrics is missing, or outside the repository."""
    from concord.metrics_core.data.source import check_path

    key = "background.metrics"
    check_inside(key, own_metrics, allow_outside=params.input.allow_outside)
    check_path(own_metrics, ParamsKeys(key))


def _version_problems(made_for: Any) -> Iterator[Problem]:
    """Yield another version: it may compute other numbers, or know other keys."""
    if made_for is not None and made_for != (installed := version("concord-eval")):
        what = f"was made for Concord {made_for}, and {installed} is installed"
        fix = f"`pip install concord-eval=={made_for}`, or `concord init --upgrade`"
        yield Problem(("concord",), what, fix)
