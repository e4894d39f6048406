"""The comparison of each project that a study names: as it lies there, or as a revision left it in DVC's cache."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from concord.metrics_core.checking.files import open_file
from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.stored import read_comparison
from concord.pipeline.diffing.revision import comparison_at
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.safe_yaml import load_yaml
from concord.pipeline.studying.model import Project

_FILE = "comparison.json"


def read_comparisons(projects: Mapping[str, Project]) -> dict[str, Comparison]:
    """Data set -> its comparison.

    Raises
    ------
    InputError : what is wrong with any of them, all at once
    """
    found: dict[str, Comparison] = {}
    problems: list[Problem] = []
    for name, project in projects.items():
        try:
            found[name] = _read(project)
        except InputError as error:
            problems += [Problem(f"{name}, {p.where}", p.what, p.fix) for p in error.problems]
    if problems:
        raise InputError(problems)
    return found


def results_of(project: Project, kind: str) -> Path | None:
    """The folder of a kind of result in a project as it lies there; None at another revision."""
    if project.rev is not None:
        return None
    return Path(project.project) / _folder(_text_of(project), project.source, kind)


def _read(project: Project) -> Comparison:
    if project.rev is None:
        folder = Path(project.project) / _folder(_text_of(project), project.source, "comparison")
        if not (folder / _FILE).is_file():
            what = "there is no such file: this project is not evaluated"
            raise refuse(str(folder / _FILE), what, f"run `dvc repro` in {project.project}")
        return read_comparison(folder / _FILE)
    return comparison_at(project.rev, Path(project.project))


def _text_of(project: Project) -> str:
    file = Path(project.project) / PARAMS
    fix = "name the folder of an evaluation"
    try:
        with open_file(file, fix, encoding="utf-8") as opened:
            return str(opened.read())
    except (OSError, UnicodeDecodeError):
        what = "there is no such file: this folder is no project of Concord"
        raise refuse(str(file), what, fix) from None


def _folder(text: str, told: str, kind: str) -> Path:
    """`results.<kind>` of a params.yaml; all else may be of an older version."""
    content: Any = load_yaml(text, f"{told}: {PARAMS}")
    results = content.get("results") if isinstance(content, dict) else None
    folder = results.get(kind) if isinstance(results, dict) else None
    if not isinstance(folder, str):
        raise refuse(f"{told}: {PARAMS}", f"has no `results.{kind}`", "name the folder of an evaluation")  # fmt: skip
    return Path(folder)
