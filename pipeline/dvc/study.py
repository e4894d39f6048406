"""`concord study [study.yaml]`: one report over several evaluated projects."""

import re
from collections.abc import Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationError, field_validator

from concord.metrics_core.analyses.study.result import LeftOut, Study, StudyDataset
from concord.metrics_core.analyses.study.study import study
from concord.metrics_core.comparison.min_effect import EFFECT_FIX, Effect, is_effect
from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.files import described_schema, is_address
from concord.metrics_core.results.base import frame_of
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.dvc.revision import COMPARISON, comparison_at
from concord.pipeline.params.model import MAX_NAMES, PARAMS, Section
from concord.pipeline.params.model_names import MODEL_NAME
from concord.pipeline.params.read import schema_problems
from concord.pipeline.params.repository import rerun_command
from concord.pipeline.params.yaml_files import read_yaml, value_at
from concord.pipeline.running.messages import print_line
from concord.pipeline.running.outputs import (
    escape_formulas,
    write_csv,
    write_json,
    write_parquet,
    write_text,
)
from concord.pipeline.terminal import print_result

if TYPE_CHECKING:
    import polars as pl

MAX_DATASETS = 100
_START = "write `datasets: {one: ../one, other: ../other}`; see docs/how-to/study.md"
Text = Annotated[str, Field(min_length=1)]


class Project(Section):
    """An evaluated project: a folder with a params.yaml, and optionally a git revision `rev`."""

    project: Text
    rev: Text | None = None

    @property
    def source(self) -> str:
        """Name of the project in messages and reports."""
        return self.project if self.rev is None else f"{self.project} at {self.rev}"


class StudyFile(Section):
    """Content of study.yaml; paths are relative to its folder."""

    title: Text = "Study"
    datasets: dict[str, Project] = Field(min_length=1, max_length=MAX_DATASETS)
    models: list[Text] | None = Field(default=None, min_length=1)
    primary: list[Text] | None = Field(default=None, min_length=1, max_length=MAX_NAMES)
    baseline: Text | None = None
    min_effect: Effect = 0.0
    report: Text = "study"

    @field_validator("datasets", mode="before")
    @classmethod
    def _expand_folders(cls, value: Any) -> Any:
        """Accept a plain text as the folder of a project."""
        if not isinstance(value, dict):
            return value
        return {
            name: {"project": entry} if isinstance(entry, str) else entry
            for name, entry in value.items()
        }

    @field_validator("min_effect", mode="before")
    @classmethod
    def _check_effect(cls, value: Any) -> Any:
        if not is_effect(value):
            raise ValueError(EFFECT_FIX)
        return value


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of study.yaml, for editors."""
    schema = StudyFile.model_json_schema()
    datasets = schema["properties"]["datasets"]
    folder = {"type": "string", "minLength": 1}
    datasets["additionalProperties"] = {"anyOf": [folder, datasets["additionalProperties"]]}
    return described_schema(schema | {"title": "study.yaml of Concord"}, "study")


def read_study_file(path: Path) -> StudyFile:
    """Return the validated study.yaml of the working directory.

    Raises
    ------
    InputError
        If the file is missing, or its content is invalid; all problems at once.
    """
    if not path.is_file():
        raise refuse(str(path), "there is no such file in this folder", _START)
    yaml = read_yaml(path, start=_START)
    try:
        study = StudyFile.model_validate(yaml.content)
    except ValidationError as error:
        raise yaml.error(schema_problems(StudyFile, error)) from None
    if problems := [*_report_problems(study.report), *_dataset_problems(study.datasets)]:
        raise yaml.error(problems)
    return study


def _report_problems(report: str) -> Iterator[Problem]:
    current = Path.cwd().resolve()
    folder = (current / report).resolve()
    fix = "name a separate folder, such as `study`"
    if is_address(report) or folder == current or not folder.is_relative_to(current):
        yield Problem(("report",), f"{report!r} is not below the folder of study.yaml", fix)
    elif any(path.is_file() for path in (folder, *folder.parents)):
        yield Problem(("report",), f"{report!r} is a file, or below one", fix)
    elif (folder / "params.yaml").exists() or (folder / "__init__.py").exists():
        yield Problem(("report",), f"{report!r} contains a project or code", fix)


def _dataset_problems(datasets: Mapping[str, Project]) -> Iterator[Problem]:
    for name, project in datasets.items():
        if re.fullmatch(MODEL_NAME, name) is None:
            fix = "use letters, digits, `_` and `-`, at most 100, starting with a letter or digit"
            yield Problem(("datasets", name), f"{name!r} is not a valid name", fix)
        keys = ("datasets", name, "project")
        if is_address(project.project):
            fix = "name a folder; clone or mount it first"
            yield Problem(keys, f"{project.project!r} is an address", fix)
        elif not Path(project.project).is_dir():
            fix = "name a folder, relative to that of study.yaml"
            yield Problem(keys, f"there is no folder {project.project!r}", fix)


def read_comparisons(projects: Mapping[str, Project]) -> dict[str, Comparison]:
    """Return the comparison of each data set.

    Raises
    ------
    InputError
        If a comparison cannot be read; the problems of all data sets at once.
    """
    comparisons: dict[str, Comparison] = {}
    problems: list[Problem] = []
    for name, project in projects.items():
        try:
            comparisons[name] = _read_comparison(project)
        except InputError as error:
            problems += [Problem(f"{name}, {p.where}", p.message, p.fix) for p in error.problems]
    raise_problems(problems)
    return comparisons


def _read_comparison(project: Project) -> Comparison:
    folder, fix = Path(project.project), "name the folder of an evaluation"
    if project.rev is not None:
        return comparison_at(project.rev, folder)
    if not (folder / PARAMS).is_file():
        problem = "there is no such file: this folder is not a project of Concord"
        raise refuse(str(folder / PARAMS), problem, fix)
    results = value_at(read_yaml(folder / PARAMS).content, "results.comparison")
    if not isinstance(results, str):
        raise refuse(str(folder / PARAMS), "has no `results.comparison`", fix)
    file = folder / results / COMPARISON
    if not file.is_file():
        problem = "there is no such file: this project is not evaluated"
        command = rerun_command(folder=folder)
        raise refuse(str(file), problem, f"run `{command}` in {project.project}")
    return read_comparison(file)


def run_study(file: str) -> None:
    """Write and print the study."""
    path = Path(file)
    if not path.parent.is_dir():
        raise refuse(file, "there is no such folder", "name a study.yaml")
    with chdir(path.parent):
        config = read_study_file(Path(path.name))
        result = study(
            read_comparisons(config.datasets),
            primary=config.primary,
            models=config.models,
            baseline=config.baseline,
            min_effect=config.min_effect,
            title=config.title,
            sources={name: project.source for name, project in config.datasets.items()},
        )
        _write(result, Path(config.report))
        print_result(result)
        print_line(f"report: {path.parent / config.report / 'report.html'}")


def _write(result: Study, folder: Path) -> None:
    write_json(folder / "study.json", result.to_dict())
    for name, table in _tables(result).items():
        write_csv(folder / f"{name}.csv", escape_formulas(table))
        write_parquet(folder / f"{name}.parquet", table)
    write_text(folder / "report.html", result.to_html())


def _tables(result: Study) -> "dict[str, pl.DataFrame]":
    return {
        "table": result.to_frame(),
        "aggregations": result.aggregations,
        "differences": result.differences,
        "left_out": frame_of(LeftOut, result.left_out),
        "datasets": frame_of(StudyDataset, result.datasets),
    }
