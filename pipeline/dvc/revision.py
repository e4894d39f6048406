"""The project at another revision: its files, its results and its models, also renamed ones."""

import os
import os.path
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.replicate_config import REPLICATES, ReplicateNames, model_names
from concord.metrics_core.comparison.replicated_models import replicated
from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.files import load_json
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.dvc.cache import DvcCache, hash_in_folder
from concord.pipeline.dvc.git import REPAIR, UNREADABLE, blobs_at, commit_of, files_at
from concord.pipeline.dvc.lock import LOCK, DvcLock, replicates_of
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.yaml_files import load_yaml

Entries = Mapping[str, Any]  # of `models` in params.yaml


def renamed_lists(now: Entries, then: Entries) -> dict[str, str]:
    """Return new entry of `models` -> the former entry that it continues: by `was`, or as the only two of the same file."""
    new = [name for name in now if name not in then]
    vanished = [name for name in then if name not in now]
    renamed = {name: was for name in new if (was := _value(now[name], "was")) in vanished}
    left = [name for name in vanished if name not in renamed.values()]
    rest = [name for name in new if name not in renamed]
    for name in rest:
        path = _path(now[name])
        same = _of_file(path, then, left)
        if path is not None and len(same) == 1 and len(_of_file(path, now, rest)) == 1:
            renamed[name] = same[0]
    return renamed


def _of_file(path: str | None, entries: Entries, names: Sequence[str]) -> list[str]:
    return [name for name in names if _path(entries[name]) == path]


def _path(entry: Any) -> str | None:
    path = _value(entry, "path")
    return None if path is None else os.path.normpath(path)


def _value(entry: Any, key: str) -> str | None:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else None


PLACE = "command line"


class RevisionFiles:
    """Files of the project in a folder, at a revision.

    Raises
    ------
    InputError : there is no such revision
    """

    def __init__(self, revision: str, folder: Path = Path()) -> None:
        self.where = PLACE if folder == Path() else str(folder)
        self.revision = revision
        commit = commit_of(revision, folder)
        if commit is None:
            what = f"{revision!r} is no revision of a git repository here"
            fix = "name a commit, a branch or a tag: `git log --oneline`, `git tag`"
            raise refuse(self.where, what, fix)
        self._commit, self._folder, self._cache = commit, folder, DvcCache(folder)

    @cached_property
    def lock(self) -> DvcLock:
        """Return dvc.lock; an empty one if the revision has none.

        Raises
        ------
        InputError : it cannot be read
        """
        lock = DvcLock(self.read_text(LOCK) or "")
        if lock.fault is not None:
            fix = "name a revision whose results were committed after `dvc repro`"
            raise refuse(f"{LOCK} of {self.revision}", lock.fault, fix)
        return lock

    def read_text(self, name: str) -> str | None:
        """Return the text of a file of git; None if there is none.

        Raises
        ------
        InputError : git cannot read it
        """
        (file,) = files_at([self._commit], name, self._folder)
        if file.is_unreadable:
            raise refuse(f"{name} of {self.revision}", UNREADABLE, REPAIR)
        return file.text

    def fetch(self, path: Path, into: Path) -> Problem | None:
        """Copy a result; return the problem if it is missing, or does not have its hash in dvc.lock."""
        return self._copy(path, into, self.lock.output(path))

    def fetch_from_folder(self, folder: Path, name: str, into: Path) -> Problem | None:
        """Copy a file of a folder that is one output; otherwise as `fetch`."""
        folder_hash = self.lock.output(folder)
        try:
            md5 = hash_in_folder(self._cache.fetch, folder_hash, name)
        except InputError as error:
            return self._damaged(folder, error)
        return self._copy(folder / name, into, md5)

    def _copy(self, path: Path, into: Path, md5: str | None) -> Problem | None:
        """Copy a file that DVC knows by its hash, or that git has."""
        again = f"check out {self.revision}, run `dvc repro` and come back"
        try:
            cached = None if md5 is None else self._cache.fetch(md5)
        except InputError as error:
            return self._damaged(path, error)
        if cached is not None:
            into.symlink_to(cached.resolve())
            return None
        (blob,) = blobs_at([self._commit], path.as_posix(), self._folder)
        if blob is None:
            what = f"belongs to {self.revision}, and neither the cache of DVC nor a remote has it"
            return Problem(str(path), what, f"`dvc fetch --all-commits`, or {again}")
        into.write_bytes(blob)
        if md5 is None or hash_content(into).md5 == md5:
            return None
        what = f"is damaged: its content in git does not have its hash in {LOCK}"
        return Problem(f"{path} of {self.revision}", what, again)

    def _damaged(self, path: Path, error: InputError) -> Problem:
        """Return the problem of a file of DVC's cache, with the path of the result."""
        return replace(error.problems[0], location=f"{path} of {self.revision}")


_SUFFIXES = {"per_user": ".parquet", "summary": ".json", "lists": ".parquet"}  # of results
_COMPARISON = "comparison.json"


@dataclass(frozen=True)
class RevisionResults:
    """A revision: its params.yaml, its models, and the results of the requested ones.

    evaluations  : model, by its name of now -> its results; of several trainings together
    lists        : list, by its name of now -> its results: of a model, or of each of its trainings
    former_names : model -> its name at the revision, if that was another one
    replicates   : model of the revision -> number of the training -> list
    """

    name: str
    params: Mapping[str, Any]
    models: list[str]
    evaluations: Mapping[str, ModelResult]
    lists: Mapping[str, ModelResult] = field(default_factory=dict)
    former_names: Mapping[str, str] = field(default_factory=dict)
    replicates: ReplicateNames = field(default_factory=dict)

    def vanished(self, models: Collection[str]) -> list[str]:
        """Return the models of the revision that are not among these: by no name, and by none of their trainings."""
        continued = {*models, *self.former_names.values()}
        names = {name: {name, *self.replicates.get(name, {}).values()} for name in self.models}
        return [name for name, own in names.items() if not own & continued]


@contextmanager
def load_revision(
    revision: str,
    params: Params,
    config: ComparisonConfig,
    models: Sequence[str],
    *,
    lists: bool = False,
) -> Iterator[RevisionResults]:
    """The results of a revision, in files that live as long as the block; with the models' lists, if they are read.

    A model has the trainings that the revision says it had, or else those that it has now, as far as they were there.
    A model that the revision lacks may continue a model of another name (`renamed_lists`).

    Raises
    ------
    InputError : there is no such revision, it holds no project, or its results are gone
    """
    files = RevisionFiles(revision)
    content, folders = _read_params(files, _SUFFIXES)
    known = _mapping(content.get("models"))
    named = list(known)
    then = replicates_of(_mapping(content.get("comparison")).get(REPLICATES), named)
    entries = {name: entry.model_dump() for name, entry in params.models.items()}
    renamed = renamed_lists(entries, known)
    current = model_names(entries, config.replicates)
    all_names = {
        model: own for model in current if (own := _lists(model, then, config, named, renamed))
    }
    names = {model: all_names[model] for model in models if model in all_names}
    every = [name for own in names.values() for name in own]
    with TemporaryDirectory() as name:
        folder = Path(name)
        problems = [
            files.fetch(path, folder / f"{model}.{kind}")
            for model in every
            for kind, path in _paths(folders, model, lists=lists).items()
        ]
        if found_problems := [each for each in problems if each is not None]:
            raise InputError(found_problems)
        found = {name: _evaluation(folder, name, content) for name in every}
        evaluations = {
            model: _together(config, {name: found[name] for name in own}, revision)
            for model, own in names.items()
        }
        compared = model_names(named, {**config.replicates, **then})
        vanished = [name for name in compared if name not in current]
        owners = {model: list_owners(own, then) for model, own in all_names.items()}
        current_names = {former_name: name for name, former_name in renamed.items()}
        yield RevisionResults(
            name=revision,
            params=content,
            models=compared,
            evaluations=evaluations,
            lists={current_names.get(name, name): each for name, each in found.items()},
            former_names={
                m: of[0] for m, of in owners.items() if len(of) == 1 and of[0] in vanished
            },
            replicates=then,
        )


def _lists(
    model: str,
    then: ReplicateNames,
    config: ComparisonConfig,
    named: Sequence[str],
    renamed: Mapping[str, str],
) -> list[str]:
    """The lists of a model at a revision; none where it had no such model."""
    if model in then:
        return list(then[model].values())
    if model in named:
        return [model]
    own = list(config.replicates.get(model, {model: model}).values())
    if known := [name for name in own if name in named]:
        return known
    owners = list_owners([renamed[name] for name in own if name in renamed], then)
    return _lists(owners[0], then, config, named, {}) if len(owners) == 1 else []


def list_owners(lists: Iterable[str], replicates: ReplicateNames) -> list[str]:
    """Return the models of lists, each once."""
    owner = {name: model for model, of in replicates.items() for name in of.values()}
    return list(dict.fromkeys(owner.get(name, name) for name in lists))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _together(
    config: ComparisonConfig, lists: Mapping[str, ModelResult], revision: str
) -> ModelResult:
    """One model of its trainings, which are not taken for those of now."""
    first, *others = lists.values()
    if not others:
        return first
    labels = [
        label
        for label in config.labels
        if all(str(label) in each.summary["metrics"] for each in lists.values())
    ]
    return replicated(
        {f"{name} at {revision}": each for name, each in lists.items()},
        labels=labels,
        conventions=config.conventions,
        confidence=config.confidence,
    )


def comparison_at(revision: str, folder: Path = Path()) -> Comparison:
    """The comparison that a revision of the project in a folder left.

    Raises
    ------
    InputError : there is no such revision, it holds no project, or its comparison is gone, damaged or of another version
    """
    files = RevisionFiles(revision, folder)
    _, folders = _read_params(files, ["comparison"])
    place = folders["comparison"]
    with TemporaryDirectory() as name:
        copy = Path(name) / _COMPARISON
        if problem := files.fetch_from_folder(place, _COMPARISON, copy):
            raise InputError([problem])
        try:
            return read_comparison(copy)
        except InputError as error:
            told = f"{place / _COMPARISON} of {revision}"
            fix = "evaluate it again with this Concord, or name another revision"
            raise InputError(
                Problem(told, problem.what, fix) for problem in error.problems
            ) from None


def _read_params(
    files: RevisionFiles, kinds: Iterable[str]
) -> tuple[Mapping[str, Any], dict[str, Path]]:
    """All of it, and folders of results; all else may be of an older version."""
    text = files.read_text(PARAMS.name)
    try:
        content = load_yaml(text or "", str(PARAMS))
        folders = content["results"]
        return content, {kind: Path(folders[kind]) for kind in kinds}
    except (KeyError, TypeError, InputError):
        what = f"{files.revision} holds no {PARAMS} with results"
        fix = "name a revision in which this folder was a project of Concord"
        raise refuse(files.where, what, fix) from None


def _paths(folders: Mapping[str, Path], model: str, *, lists: bool) -> dict[str, Path]:
    """Kind of result -> its file."""
    return {
        kind: folders[kind] / f"{model}{suffix}"
        for kind, suffix in _SUFFIXES.items()
        if lists or kind != "lists"
    }


def _evaluation(folder: Path, model: str, params: Mapping[str, Any]) -> ModelResult:
    summary = load_json(folder / f"{model}.summary", "evaluate that revision again")
    entry = params["models"][model]
    fold = entry.get("fold") if isinstance(entry, Mapping) else None
    quality = {} if fold is None else {"fold": str(fold)}
    values, lists = (folder / f"{model}.{kind}" for kind in ("per_user", "lists"))
    return ModelResult(values, folder, lists, summary, quality)
