"""Results of this project as another revision left them, from DVC's cache or remote."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.comparing.evidence.evaluated import Evaluated
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.stored import from_content
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import repository
from concord.pipeline.params.safe_yaml import load_yaml

PLACE = "command line"
_SUFFIXES = {"per_user": ".parquet", "summary": ".json", "lists": ".parquet"}  # of results


@dataclass(frozen=True)
class Former:
    """A revision: its params.yaml, the models that it named, and the evaluations of those that were asked for."""

    name: str
    params: Mapping[str, Any]
    models: list[str]
    evaluations: dict[str, Evaluated]


@contextmanager
def former(revision: str, models: Sequence[str], *, lists: bool = False) -> Iterator[Former]:
    """The results of a revision, in files that live as long as the block; with the models' lists, if they are read.

    Raises
    ------
    InputError : there is no such revision, it holds no project, or its results are gone
    """
    _refuse_unknown(revision)
    from dvc.api import DVCFileSystem

    files = DVCFileSystem(".", rev=revision)
    params, named, folders = _read_params(files, revision)
    asked = [model for model in models if model in named]
    with TemporaryDirectory() as name:
        folder = Path(name)
        lost = [
            path
            for model in asked
            for kind, path in _paths(folders, model, lists=lists).items()
            if not _fetched(files, path, folder / f"{model}.{kind}")
        ]
        if lost:
            raise InputError([_lost(path, revision) for path in lost])
        yield Former(
            revision, params, named, {model: _evaluation(folder, model) for model in asked}
        )


def comparison_at(revision: str) -> Comparison:
    """The comparison that a revision left.

    Raises
    ------
    InputError : there is no such revision, it holds no project, or its comparison is gone or of another version
    """
    _refuse_unknown(revision)
    from dvc.api import DVCFileSystem

    files = DVCFileSystem(".", rev=revision)
    params, *_ = _read_params(files, revision)
    path = Path(params["results"]["comparison"]) / "comparison.json"
    try:
        text = files.read_text(_in_repository(path), encoding="utf-8")
    except FileNotFoundError:
        raise InputError([_lost(path, revision)]) from None
    return from_content(json.loads(text), f"{path} of {revision}")


def _lost(path: Path, revision: str) -> Problem:
    what = f"belongs to {revision}, and neither the cache of DVC nor a remote has it"
    fix = f"`dvc fetch --rev {revision}`, or check out {revision}, run `dvc repro` and come back"
    return Problem(str(path), what, fix)


def _refuse_unknown(revision: str) -> None:
    command = ["git", "rev-parse", "--quiet", "--verify", f"{revision}^{{commit}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        what = f"{revision!r} is no revision of a git repository here"
        fix = "name a commit, a branch or a tag: `git log --oneline`, `git tag`"
        raise refuse(PLACE, what, fix)


def _read_params(
    files: Any, revision: str
) -> tuple[Mapping[str, Any], list[str], Mapping[str, Path]]:
    """All of it, models, and folders of values, summaries and lists; all else may be of an older version."""
    try:
        text = files.read_text(_in_repository(PARAMS), encoding="utf-8")
        content = load_yaml(text, str(PARAMS))
        folders = content["results"]
        return content, list(content["models"]), {kind: Path(folders[kind]) for kind in _SUFFIXES}
    except (OSError, KeyError, TypeError, UnicodeDecodeError, InputError):
        what = f"{revision} holds no {PARAMS} with models and results"
        fix = "name a revision in which this folder was a project of Concord"
        raise refuse(PLACE, what, fix) from None


def _in_repository(path: Path) -> str:
    """As DVC names a file of this folder at another revision."""
    return (Path.cwd().resolve().relative_to(repository()) / path).as_posix()


def _paths(folders: Mapping[str, Path], model: str, *, lists: bool) -> dict[str, Path]:
    """Kind of result -> its file."""
    return {
        kind: folders[kind] / f"{model}{suffix}"
        for kind, suffix in _SUFFIXES.items()
        if lists or kind != "lists"
    }


def _fetched(files: Any, path: Path, into: Path) -> bool:
    try:
        files.get_file(_in_repository(path), str(into))
    except FileNotFoundError:
        return False
    return True


def _evaluation(folder: Path, model: str) -> Evaluated:
    summary = json.loads((folder / f"{model}.summary").read_text(encoding="utf-8"))
    return Evaluated(folder / f"{model}.per_user", folder, folder / f"{model}.lists", summary, {})
