"""Reading params.yaml, and all that is wrong with it at once."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.params.boundaries import result_findings
from concord.pipeline.params.checks import (
    early_findings,
    model_name_findings,
    shape_findings,
    text_findings,
    value_findings,
)
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.places import place_findings
from concord.pipeline.params.yaml_lines import Finding, read_yaml


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
    names = [*text_findings(yaml.content), *model_name_findings(yaml.content.get("models"))]
    try:
        params = Params.model_validate(yaml.content)
    except ValidationError as error:
        shapes = shape_findings(Params, error.errors(), told={keys for keys, _, _ in names})
        return None, yaml.refusal([*names, *shapes, *early_findings(yaml.content, shapes)])
    found = [
        *_version_findings(params),
        *names,
        *value_findings(params),
        *result_findings(path, vars(params.results)),
    ]
    found += place_findings(params, path.parent)
    return params, yaml.refusal(found) if found else None


def _version_findings(params: Params) -> Iterator[Finding]:
    """Another version may compute other numbers, or know other keys."""
    installed = version("concord-eval") if params.concord else None
    if params.concord != installed:
        what = f"was made for Concord {params.concord}, and {installed} is installed"
        fix = f"`pip install concord-eval=={params.concord}`, or `concord init --upgrade`"
        yield ("concord",), what, fix
