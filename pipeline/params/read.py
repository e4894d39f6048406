"""Reading params.yaml, and all that is wrong with it at once."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from concord.metrics_core.errors import InputError, ParamsKeys, refuse
from concord.metrics_core.metrics.own import load_metrics, set_metric_file
from concord.pipeline.params.checks import (
    early_findings,
    model_name_findings,
    nested_findings,
    shape_findings,
    value_findings,
)
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.paths import place_findings, refuse_outside, result_findings
from concord.pipeline.params.repository import where_to_run
from concord.pipeline.params.yaml_files import Finding, read_yaml


def read_params(path: Path = PARAMS) -> Params:
    """The checked params.yaml.

    Raises
    ------
    InputError : the file is missing, is no YAML, or says something that Concord cannot honour; all of it at once
    """
    params, refusal = examined(path)
    if refusal is not None or params is None:
        raise refusal or InputError([])
    return params


def examined(path: Path = PARAMS) -> tuple[Params | None, InputError | None]:
    """What the file says, where its shape is right, and what is wrong with it.

    Raises
    ------
    InputError : the file is missing or is no YAML
    """
    yaml = read_yaml(path)
    if "concord" not in yaml.content and not isinstance(yaml.content.get("conventions"), dict):
        raise refuse(str(path), "is not a params.yaml of Concord", where_to_run(path.parent))
    if other := [*_version_findings(yaml.content.get("concord"))]:
        return None, yaml.refusal(other)
    models = yaml.content.get("models")
    names = [*model_name_findings(models), *nested_findings(models)]
    try:
        params = Params.model_validate(yaml.content)
    except ValidationError as error:
        shapes = shape_findings(Params, error.errors(), told={keys for keys, _, _ in names})
        return None, yaml.refusal([*names, *shapes, *early_findings(yaml.content, shapes)])
    found = [
        *names,
        *_own_metrics(params, path.parent),
        *value_findings(params),
        *result_findings(path, vars(params.results)),
    ]
    found += place_findings(params, path.parent)
    return params, yaml.refusal(found) if found else None


def _own_metrics(params: Params, folder: Path) -> Iterator[Finding]:
    """Runs the file of one's own metrics, so that labels may name them; says what is wrong with it."""
    set_metric_file(None)
    if params.own_metrics is None:
        return
    file = folder / params.own_metrics
    try:
        refuse_unfit(params, file)
        load_metrics(file)
    except InputError as error:
        for each in error.problems:
            yield ("background", "metrics", "path"), f"{each.where}: {each.what}", each.fix
    else:
        set_metric_file(file)


def refuse_unfit(params: Params, own_metrics: Path) -> None:
    """Refuses a file of one's own metrics that is not there, or lies outside the repository."""
    from concord.metrics_core.data.source import check_path

    key = "background.metrics"
    refuse_outside(key, own_metrics, allow_outside=params.input.allow_outside)
    check_path(own_metrics, ParamsKeys(key))


def _version_findings(made_for: Any) -> Iterator[Finding]:
    """Another version may compute other numbers, or know other keys."""
    if made_for is not None and made_for != (installed := version("concord-eval")):
        what = f"was made for Concord {made_for}, and {installed} is installed"
        fix = f"`pip install concord-eval=={made_for}`, or `concord init --upgrade`"
        yield ("concord",), what, fix
