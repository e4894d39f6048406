"""Names on the command line: models, labels, presets, and files that an option names."""

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import preset, presets
from concord.metrics_core.conventions.validation import nearest
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.metrics.label import Label, canonical_label, did_you_mean, parse
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.read import read_params
from concord.pipeline.params.result_files import ModelFiles, truth_file
from concord.pipeline.running.outputs import is_stream, write_text
from concord.pipeline.running.tables import escape_formulas
from concord.pipeline.terminal.parser import PLACE

if TYPE_CHECKING:
    import polars as pl


def model_files(params: Params, model: str) -> tuple[Path, Path]:
    """The lists of a model and the truth, as the load stages left them."""
    refuse_unknown_model(params.models, model)
    lists = ModelFiles.of_model(params.results, model).lists
    truth = truth_file(params, params.models[model].fold)
    for path in (lists, truth):
        if not path.exists():
            raise refuse(str(path), "is not there yet", "run `dvc repro` first")
    return lists, truth


def refuse_unknown_model(models: Collection[str], model: str) -> None:
    """With the model that may be meant."""
    if model not in models:
        near = difflib.get_close_matches(model, models, n=1)
        known = f"name one of: {', '.join(models)}"
        fix = f"did you mean {near[0]!r}?" if near else known
        raise refuse(PLACE, f"{model!r} is not among the models", fix)


def evaluated_label(text: str, evaluated: Collection[str]) -> str:
    """A label of the results as they spell it, refused with the one that is meant."""
    label = canonical_label(text)
    if label not in evaluated:
        raise refuse(PLACE, f"{text!r} is not evaluated", did_you_mean(text, evaluated))
    return label


def label_named(text: str) -> Label:
    """The label, refused with what would be one."""
    try:
        return parse(text)
    except ValueError as error:
        raise refused(error, "`concord metrics` lists the metrics") from None


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


def as_options(error: InputError, options: Mapping[str, str]) -> InputError:
    """The refusal of the library, its arguments named as the options that they come from."""
    return InputError(
        replace(problem, location=f"{PLACE}: {options[problem.where]}")
        if problem.where in options
        else problem
        for problem in error.problems
    )


# What all files of a kind have in common: a page's policy, a picture's font, a table's header, a comment's marker.
_BEGINNING = re.compile(r"<!doctype .*?script-src|<svg .*? width=|[^\n]*", re.DOTALL)


def refuse_folder(option: str, path: str | None) -> None:
    """Refuse a folder where an option has to name a file.

    Raises
    ------
    InputError : the path is a folder
    """
    if path is not None and Path(path).is_dir():
        raise refuse(f"{PLACE}: {option}", f"{path!r} is a folder", "name a file to write")


def write_named(option: str, path: str, text: str, *, force: bool) -> None:
    """Write the file that an option names.

    Raises
    ------
    InputError : a file is there that does not begin as Concord's files of this kind, and `force` is not set
    """
    file = Path(path)
    if not force and file.is_file() and not is_stream(file) and not _is_own(file, text):
        what = f"{path!r} is not a file that this command writes"
        raise refuse(f"{PLACE}: {option}", what, "name another file, or add --force to overwrite it")  # fmt: skip
    write_text(file, text)


def write_named_table(option: str, path: str, table: "pl.DataFrame", *, force: bool) -> None:
    """Write a table as CSV, in which no text is a formula; raises as `write_named`."""
    write_named(option, path, escape_formulas(table).write_csv(), force=force)


def _is_own(file: Path, text: str) -> bool:
    beginning = _BEGINNING.match(text)
    assert beginning
    expected = beginning[0].encode()
    with file.open("rb") as written:
        return written.read(len(expected)) in {expected, b""}
