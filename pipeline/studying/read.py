"""Reading study.yaml, and all that is wrong with it at once."""

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from concord.metrics_core.checking.addresses import is_address
from concord.metrics_core.checking.problems import refuse
from concord.pipeline.params.checks import shape_findings
from concord.pipeline.params.model import MODEL_NAME
from concord.pipeline.params.yaml_lines import Finding, read_yaml
from concord.pipeline.studying.model import StudyFile

_START = "write `datasets: {one: ../one, other: ../other}`; docs/how-to/study.md has the rest"


def read_study(path: Path) -> StudyFile:
    """The checked study.yaml of the working directory.

    Raises
    ------
    InputError : the file is missing, is no YAML, or says something that Concord cannot honour; all of it at once
    """
    if not path.is_file():
        raise refuse(str(path), "there is no such file in this folder", _START)
    yaml = read_yaml(path, start=_START)
    try:
        study = StudyFile.model_validate(yaml.content)
    except ValidationError as error:
        raise yaml.refusal(shape_findings(StudyFile, error.errors())) from None
    if found := [*_name_findings(study), *_place_findings(study)]:
        raise yaml.refusal(found)
    return study


def _name_findings(study: StudyFile) -> Iterator[Finding]:
    fix = "use letters, digits, `_` and `-`, at most 100, starting with a letter or digit"
    for name in study.datasets:
        if re.fullmatch(MODEL_NAME, name) is None:
            yield ("datasets", name), f"{name!r} is no name of a data set", fix


def _place_findings(study: StudyFile) -> Iterator[Finding]:
    """Where the report may go, and projects that are no folders."""
    here = Path.cwd().resolve()
    place = (here / study.report).resolve()
    if is_address(study.report) or place == here or not place.is_relative_to(here):
        what = f"{study.report!r} is no folder below that of study.yaml"
        yield ("report",), what, "name one, such as `study`"
    elif any(each.is_file() for each in (place, *place.parents)):
        yield ("report",), f"{study.report!r} is a file, or below one", "name a folder of its own"
    elif (place / "params.yaml").exists() or (place / "__init__.py").exists():
        yield ("report",), f"{study.report!r} holds a project or code", "name a folder of its own"
    for name, each in study.datasets.items():
        keys = ("datasets", name, "project")
        if is_address(each.project):
            yield keys, f"{each.project!r} is an address", "name a folder; clone or mount it first"
        elif not Path(each.project).is_dir():
            yield keys, f"there is no folder {each.project!r}", "name a folder, as seen from study.yaml"  # fmt: skip
