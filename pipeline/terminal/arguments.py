"""What the command line names: a model with its results, a label, a preset."""

from pathlib import Path

from concord.metrics_core.checking.problems import InputError, refuse
from concord.metrics_core.conventions.conventions import Conventions, nearest
from concord.metrics_core.conventions.presets import preset, presets
from concord.metrics_core.metrics.catalogue import Label, parse
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.read import read_params

PLACE = "command line"


def model_files(params: Params, model: str) -> tuple[Path, Path]:
    """The lists of a model and the truth, as the load stages left them."""
    if model not in params.models:
        known = ", ".join(params.models)
        raise refuse(PLACE, f"{model!r} is not among the models", f"name one of: {known}")
    lists = Path(params.results.lists) / f"{model}.parquet"
    truth = Path(params.results.data) / "truth.parquet"
    for path in (lists, truth):
        if not path.exists():
            raise refuse(str(path), "is not there yet", "run `dvc repro` first")
    return lists, truth


def label_named(text: str) -> Label:
    """The label, refused with what would be one."""
    try:
        return parse(text)
    except ValueError as error:
        raise refuse(PLACE, str(error), "`concord metrics` lists the metrics") from None


def preset_named(name: str) -> Conventions:
    """A preset's conventions; `params.yaml` names what is pinned in this project."""
    if name == PARAMS.name:
        return read_params().pinned
    if name not in presets():
        fix = nearest(name, {*presets(), PARAMS.name})
        raise refuse(PLACE, f"{name!r} is not a preset", fix)
    return preset(name)


def refused(error: ValueError, fix: str) -> InputError:
    """What the library refuses, as an error of the command line."""
    return error if isinstance(error, InputError) else refuse(PLACE, str(error), fix)
