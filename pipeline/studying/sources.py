"""The comparison of each project that a study names: as it lies there, or as a revision left it in DVC's cache."""

import subprocess
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from concord.metrics_core.checking.files import open_file
from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.stored import read_comparison
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import repository
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
    return _read_revision(Path(project.project), project.rev)


def _read_revision(folder: Path, rev: str) -> Comparison:
    _refuse_unknown(folder, rev)
    from dvc.api import DVCFileSystem

    root = repository(folder)
    below = PurePosixPath(folder.resolve().relative_to(root).as_posix())
    files = DVCFileSystem(str(root), rev=rev)
    try:
        text = files.read_text(str(below / PARAMS.as_posix()), encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        what = f"{rev} holds no {PARAMS} in this folder"
        raise refuse(str(folder), what, "name a revision in which it was a project") from None
    path = below / _folder(text, f"{folder} at {rev}", "comparison") / _FILE
    with TemporaryDirectory() as name:
        into = Path(name) / _FILE
        try:
            files.get_file(str(path), str(into))
        except FileNotFoundError:
            what = f"belongs to {rev}, and neither the cache of DVC nor a remote has it"
            fix = f"in {folder}: check out {rev}, run `dvc repro` and `dvc push`"
            raise refuse(str(path), what, fix) from None
        return _of_revision(into, f"{path} of {rev}")


def _of_revision(file: Path, told: str) -> Comparison:
    """The comparison; what is refused names the revision's file instead of the copy."""
    try:
        return read_comparison(file)
    except InputError as error:
        fix = "evaluate it again with this Concord, or name another revision"
        raise InputError(Problem(told, problem.what, fix) for problem in error.problems) from None


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


def _refuse_unknown(folder: Path, rev: str) -> None:
    command = ["git", "rev-parse", "--quiet", "--verify", "--end-of-options", f"{rev}^{{commit}}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        what = f"{rev!r} is no revision of a git repository there"
        raise refuse(str(folder), what, "name a commit, a branch or a tag: `git log --oneline`, `git tag`")  # fmt: skip
