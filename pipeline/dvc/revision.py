"""The project at a git revision: its files, its results and its models, also renamed ones."""

import hashlib
import os.path
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
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
from concord.pipeline.dvc.lock import LOCK, RESULT_SUFFIXES, DvcLock, mapping, replicates_of
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.yaml_files import load_yaml
from concord.pipeline.terminal.parser import COMMAND_LINE

COMPARISON = "comparison.json"
Entries = Mapping[str, Any]  # of `models` in params.yaml


def renamed_lists(now: Entries, then: Entries) -> dict[str, str]:
    """Return new entry of `models` -> the former entry that it continues: by `was`, or as the only two of the same file."""
    new = [name for name in now if name not in then]
    vanished = [name for name in then if name not in now]
    renamed = {name: was for name in new if (was := _text(now[name], "was")) in vanished}
    new = [name for name in new if name not in renamed]
    vanished = [name for name in vanished if name not in renamed.values()]
    for name in new:
        path = _path(now[name])
        same_file = [other for other in vanished if _path(then[other]) == path]
        is_only_one = [_path(now[other]) for other in new].count(path) == 1
        if path is not None and len(same_file) == 1 and is_only_one:
            renamed[name] = same_file[0]
    return renamed


def _path(entry: Any) -> str | None:
    path = _text(entry, "path")
    return None if path is None else os.path.normpath(path)


def _text(entry: Any, key: str) -> str | None:
    value = mapping(entry).get(key)
    return value if isinstance(value, str) else None


def list_owners(lists: Iterable[str], replicates: ReplicateNames) -> list[str]:
    """Return the models of lists, each once."""
    owner = {name: model for model, names in replicates.items() for name in names.values()}
    return list(dict.fromkeys(owner.get(name, name) for name in lists))


class RevisionFiles:
    """Files of the project in a folder at a revision: from git, DVC's cache or its remote.

    Parameters
    ----------
    revision : str
        Commit, branch or tag.
    copies : Path
        Folder for copies of files that only git has.
    folder : Path
        Folder of the project.

    Raises
    ------
    InputError
        There is no such revision, or the folder is in no DVC repository.
    """

    def __init__(self, revision: str, copies: Path, folder: Path = Path()) -> None:
        self.location = COMMAND_LINE if folder == Path() else str(folder)
        self.revision = revision
        commit = commit_of(revision, folder)
        if commit is None:
            raise unknown_revision(revision, self.location)
        self._commit, self._copies, self._folder = commit, copies, folder
        self._cache = DvcCache(folder)

    @cached_property
    def lock(self) -> DvcLock:
        """Return dvc.lock; an empty one if the revision has none.

        Raises
        ------
        InputError
            It cannot be read.
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
        InputError
            Git cannot read it.
        """
        (file,) = files_at([self._commit], name, self._folder)
        if file.is_unreadable:
            raise refuse(f"{name} of {self.revision}", UNREADABLE, REPAIR)
        return file.text

    def read_params(self, results: Iterable[str]) -> tuple[Mapping[str, Any], dict[str, Path]]:
        """Return params.yaml, which may be of an older version, and folders of results.

        Raises
        ------
        InputError
            The revision has no params.yaml, or that names no such results.
        """
        text = self.read_text(PARAMS.name)
        try:
            content = load_yaml(text or "", str(PARAMS))
            folders = content["results"]
            return content, {name: Path(folders[name]) for name in results}
        except (KeyError, TypeError, InputError):
            problem = f"{self.revision} holds no {PARAMS} with results"
            fix = "name a revision in which this folder was a project of Concord"
            raise refuse(self.location, problem, fix) from None

    def fetch(self, path: Path, *, output: Path | None = None) -> Path:
        """Return a file with the content of a result.

        Parameters
        ----------
        path : Path
            The result, relative to the project.
        output : Path, optional
            The folder that dvc.lock names instead of the file.

        Raises
        ------
        InputError
            The result is missing, or does not have its hash in dvc.lock.
        """
        md5 = self.lock.output(output or path)
        try:
            if output is not None:
                md5 = hash_in_folder(self._cache.fetch, md5, path.name)
            cached = None if md5 is None else self._cache.fetch(md5)
        except InputError as error:
            raise InputError(
                [replace(error.problems[0], location=f"{output or path} of {self.revision}")]
            ) from None
        return cached or self._copy_from_git(path, md5)

    def _copy_from_git(self, path: Path, md5: str | None) -> Path:
        evaluate_again = f"check out {self.revision}, run `dvc repro` and come back"
        (blob,) = blobs_at([self._commit], path.as_posix(), self._folder)
        if blob is None:
            problem = (
                f"belongs to {self.revision}, and neither the cache of DVC nor a remote has it"
            )
            raise refuse(str(path), problem, f"`dvc fetch --all-commits`, or {evaluate_again}")
        copy = self._copies / hashlib.sha256(path.as_posix().encode()).hexdigest()
        copy.write_bytes(blob)
        if md5 is not None and hash_content(copy).md5 != md5:
            problem = f"is damaged: its content in git does not have its hash in {LOCK}"
            raise refuse(f"{path} of {self.revision}", problem, evaluate_again)
        return copy


def unknown_revision(revision: str, location: str = COMMAND_LINE) -> InputError:
    """Return the error of a revision that git does not know."""
    problem = f"{revision!r} is no revision of a git repository here"
    fix = "name a commit, a branch or a tag: `git log --oneline`, `git tag`"
    return refuse(location, problem, fix)


def read_list_result(files: Mapping[str, Path], fix: str, fold: object = None) -> ModelResult:
    """Return the results of one entry of `models` from the file of each kind of result."""
    values, summary = files["per_user"], load_json(files["summary"], fix)
    quality = {} if fold is None else {"fold": str(fold)}
    return ModelResult(values, values, files.get("lists", values), summary, quality)


def combine_replicates(lists: Mapping[str, ModelResult], config: ComparisonConfig) -> ModelResult:
    """Return the results of a model from those of its lists, on the labels that all of them have."""
    first, *others = lists.values()
    if not others:
        return first
    labels = [
        label
        for label in config.labels
        if all(str(label) in each.summary["metrics"] for each in lists.values())
    ]
    return replicated(
        lists, labels=labels, conventions=config.conventions, confidence=config.confidence
    )


@dataclass(frozen=True)
class RevisionResults:
    """A revision: its params.yaml, its models, and the results of the requested ones.

    Attributes
    ----------
    models : list of str
        Compared models of the revision, by their names then.
    evaluations : dict
        Model, by its name of now -> its results; those of replicates combined.
    lists : dict
        Entry of `models`, by its name of now -> its results.
    former_names : dict
        Model -> its name at the revision, if that was another one.
    replicates : dict
        Model of the revision -> number of the replicate -> entry of `models`.
    """

    name: str
    params: Mapping[str, Any]
    models: list[str]
    evaluations: Mapping[str, ModelResult]
    lists: Mapping[str, ModelResult] = field(default_factory=dict)
    former_names: Mapping[str, str] = field(default_factory=dict)
    replicates: ReplicateNames = field(default_factory=dict)

    def vanished(self, models: Collection[str]) -> list[str]:
        """Return the models of the revision that are not among these: by no name, and by none of their replicates."""
        continued = {*models, *self.former_names.values()}
        return [
            name
            for name in self.models
            if continued.isdisjoint({name, *self.replicates.get(name, {}).values()})
        ]


@contextmanager
def load_revision(
    revision: str,
    params: Params,
    config: ComparisonConfig,
    models: Sequence[str],
    *,
    with_lists: bool = False,
) -> Iterator[RevisionResults]:
    """Yield the results of a revision, in files that live as long as the block.

    A model has the replicates that the revision says it had, or else those that it has now, as far as they were there.
    A model that the revision lacks may continue a model of another name (`renamed_lists`).

    Parameters
    ----------
    models : sequence of str
        Models whose results are read.
    with_lists : bool
        True if the recommendations are read too.

    Raises
    ------
    InputError
        There is no such revision, it holds no project, or its results are gone.
    """
    with TemporaryDirectory() as copies:
        files = RevisionFiles(revision, Path(copies))
        content, folders = files.read_params(RESULT_SUFFIXES)
        entries = mapping(content.get("models"))
        replicates = replicates_of(mapping(content.get("comparison")).get(REPLICATES), [*entries])
        current_entries = {name: entry.model_dump() for name, entry in params.models.items()}
        renamed = renamed_lists(current_entries, entries)
        current_models = model_names(current_entries, config.replicates)
        former_lists = {
            model: lists
            for model in current_models
            if (lists := _former_lists(model, replicates, config, entries, renamed))
        }
        requested = {model: former_lists[model] for model in models if model in former_lists}
        fetched: dict[str, dict[str, Path]] = {}
        problems: list[Problem] = []
        for name, kind in product(chain(*requested.values()), RESULT_SUFFIXES):
            if with_lists or kind != "lists":
                path = folders[kind] / f"{name}{RESULT_SUFFIXES[kind]}"
                try:
                    fetched.setdefault(name, {})[kind] = files.fetch(path)
                except InputError as error:
                    problems += error.problems
        if problems:
            raise InputError(problems)
        fix = "evaluate that revision again"
        results = {
            name: read_list_result(paths, fix, mapping(entries[name]).get("fold"))
            for name, paths in fetched.items()
        }
        compared = model_names(entries, {**config.replicates, **replicates})
        owners = {model: list_owners(lists, replicates) for model, lists in former_lists.items()}
        current_names = {was: name for name, was in renamed.items()}
        yield RevisionResults(
            name=revision,
            params=content,
            models=compared,
            evaluations={
                # Their names tell them from the replicates of now.
                model: combine_replicates({f"{n} at {revision}": results[n] for n in lists}, config)
                for model, lists in requested.items()
            },
            lists={current_names.get(name, name): each for name, each in results.items()},
            former_names={
                model: names[0]
                for model, names in owners.items()
                if len(names) == 1 and names[0] in compared and names[0] not in current_models
            },
            replicates=replicates,
        )


def _former_lists(
    model: str,
    replicates: ReplicateNames,
    config: ComparisonConfig,
    entries: Entries,
    renamed: Mapping[str, str],
) -> list[str]:
    """Return the entries of `models` that a model had at a revision; empty if it had no such model."""
    if model in replicates:
        return list(replicates[model].values())
    if model in entries:
        return [model]
    lists = list(config.replicates.get(model, {model: model}).values())
    if known := [name for name in lists if name in entries]:
        return known
    owners = list_owners([renamed[name] for name in lists if name in renamed], replicates)
    return _former_lists(owners[0], replicates, config, entries, {}) if len(owners) == 1 else []


def comparison_at(revision: str, folder: Path = Path()) -> Comparison:
    """Return the comparison of the project in a folder at a revision.

    Raises
    ------
    InputError
        There is no such revision, it holds no project, or its comparison is gone, damaged or of another version.
    """
    with TemporaryDirectory() as copies:
        files = RevisionFiles(revision, Path(copies), folder)
        _, folders = files.read_params(["comparison"])
        path = folders["comparison"] / COMPARISON
        file = files.fetch(path, output=path.parent)
        try:
            return read_comparison(file)
        except InputError as error:
            fix = "evaluate it again with this Concord, or name another revision"
            raise InputError(
                Problem(f"{path} of {revision}", problem.message, fix) for problem in error.problems
            ) from None
