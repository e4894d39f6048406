"""Results of this project as another revision left them, from DVC's cache or remote."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evaluated import Evaluated
from concord.metrics_core.comparing.evidence.replicated import replicated
from concord.metrics_core.comparing.evidence.replicating import KEY, Named, models_of
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.stored import from_content
from concord.pipeline.diffing.dvc_lock import replicates_of
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import repository
from concord.pipeline.params.safe_yaml import load_yaml

PLACE = "command line"
_SUFFIXES = {"per_user": ".parquet", "summary": ".json", "lists": ".parquet"}  # of results


@dataclass(frozen=True)
class Former:
    """A revision: its params.yaml, the models that it named, and the evaluations of those that were asked for.

    evaluations : model -> its results; of several trainings together
    lists       : list -> its results: of a model, or of each of its trainings
    """

    name: str
    params: Mapping[str, Any]
    models: list[str]
    evaluations: Mapping[str, Evaluated]
    lists: Mapping[str, Evaluated] = field(default_factory=dict)


@contextmanager
def former(
    revision: str, asked: Asked, models: Sequence[str], *, lists: bool = False
) -> Iterator[Former]:
    """The results of a revision, in files that live as long as the block; with the models' lists, if they are read.

    A model has the trainings that the revision says it had, or else those that it has now, as far as they were there.

    Raises
    ------
    InputError : there is no such revision, it holds no project, or its results are gone
    """
    _refuse_unknown(revision)
    from dvc.api import DVCFileSystem

    files = DVCFileSystem(".", rev=revision)
    params, named, folders = _read_params(files, revision)
    section = params.get("comparison")
    then = replicates_of(section.get(KEY) if isinstance(section, Mapping) else None, named)
    names = {model: own for model in models if (own := _lists(model, then, asked, named))}
    every = [name for own in names.values() for name in own]
    with TemporaryDirectory() as name:
        folder = Path(name)
        lost = [
            path
            for model in every
            for kind, path in _paths(folders, model, lists=lists).items()
            if not _fetched(files, path, folder / f"{model}.{kind}")
        ]
        if lost:
            raise InputError([_lost(path, revision) for path in lost])
        found = {name: _evaluation(folder, name, params) for name in every}
        evaluations = {
            model: _together(asked, {name: found[name] for name in own}, revision)
            for model, own in names.items()
        }
        yield Former(revision, params, models_of(named, {**asked.replicates, **then}), evaluations, found)  # fmt: skip


def _lists(model: str, then: Named, asked: Asked, named: Sequence[str]) -> list[str]:
    """The lists of a model at a revision; none where it had no such model."""
    if model in then:
        return list(then[model].values())
    if model in named:
        return [model]
    return [name for name in asked.replicates.get(model, {}).values() if name in named]


def _together(asked: Asked, lists: Mapping[str, Evaluated], revision: str) -> Evaluated:
    """One model of its trainings, which are not taken for those of now."""
    first, *others = lists.values()
    if not others:
        return first
    labels = [
        label
        for label in asked.labels
        if all(str(label) in each.summary["metrics"] for each in lists.values())
    ]
    return replicated(
        {f"{name} at {revision}": each for name, each in lists.items()},
        labels=labels,
        conventions=asked.conventions,
        confidence=asked.confidence,
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


def _evaluation(folder: Path, model: str, params: Mapping[str, Any]) -> Evaluated:
    summary = json.loads((folder / f"{model}.summary").read_text(encoding="utf-8"))
    entry = params["models"][model]
    fold = entry.get("fold") if isinstance(entry, Mapping) else None
    quality = {} if fold is None else {"fold": str(fold)}
    values, lists = (folder / f"{model}.{kind}" for kind in ("per_user", "lists"))
    return Evaluated(values, folder, lists, summary, quality)
