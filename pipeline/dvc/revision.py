"""The project at a git revision: its files, results and models, renamed ones included."""

import hashlib
import re
import shlex
import shutil
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
from concord.metrics_core.comparison.replicates import combine_results
from concord.metrics_core.conventions.values_version import values_version_problem
from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.files import load_json
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.commands.parser import COMMAND_LINE
from concord.pipeline.dvc.cache import DvcCache, hash_in_folder
from concord.pipeline.dvc.git import (
    REPAIR,
    UNREADABLE,
    find_commit,
    is_shallow,
    read_blobs,
    read_files,
)
from concord.pipeline.dvc.lock import LOCK, RESULT_SUFFIXES, DvcLock, as_mapping, replicates_of
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.repository import normalized_path
from concord.pipeline.params.yaml_files import load_yaml

COMPARISON = "comparison.json"
_RELATIVE_OR_SHORT = re.compile(r"[~^@:]|^[0-9a-f]{4,39}$")  # no server knows such names
Entries = Mapping[str, Any]  # of `models` in params.yaml


def renamed_lists(current: Entries, previous: Entries) -> dict[str, str]:
    """Return new entry of `models` -> former entry that it continues.

    An entry continues the one that its `was` names, or the only vanished one with the same path.
    """
    new = [name for name in current if name not in previous]
    vanished = [name for name in previous if name not in current]
    renamed = {name: was for name in new if (was := _text(current[name], "was")) in vanished}
    new = [name for name in new if name not in renamed]
    vanished = [name for name in vanished if name not in renamed.values()]
    for name in new:
        path = _path(current[name])
        candidates = [other for other in vanished if _path(previous[other]) == path]
        is_unique = [_path(current[other]) for other in new].count(path) == 1
        if path is not None and len(candidates) == 1 and is_unique:
            renamed[name] = candidates[0]
    return renamed


def _path(entry: Any) -> str | None:
    path = _text(entry, "path") or _text(entry, "values")
    return None if path is None else normalized_path(path)


def _text(entry: Any, key: str) -> str | None:
    value = as_mapping(entry).get(key)
    return value if isinstance(value, str) else None


def list_owners(lists: Iterable[str], replicates: ReplicateNames) -> list[str]:
    """Return the models that lists belong to, each once."""
    owner = {name: model for model, names in replicates.items() for name in names.values()}
    return list(dict.fromkeys(owner.get(name, name) for name in lists))


@dataclass(frozen=True)
class ModelMatch:
    """Models of a revision, and which of them the current models continue.

    Attributes
    ----------
    models : list of str
        Compared models, by their names at the revision.
    lists : mapping
        Current model -> its entries of `models` at the revision; models that it lacks are left out.
    renamed : mapping
        Entry of `models` -> the former entry that it continues (`renamed_lists`).
    former_names : mapping
        Current model -> its name at the revision, if it was another one.
    """

    models: list[str]
    lists: Mapping[str, list[str]]
    renamed: Mapping[str, str]
    former_names: Mapping[str, str]


def match_models(
    current: Entries,
    current_replicates: ReplicateNames,
    previous: Entries,
    replicates: ReplicateNames,
) -> ModelMatch:
    """Return which models of a revision the current ones continue.

    A model has the replicates that the revision configured, or else those of the current ones
    that existed. A model that the revision lacks may continue a renamed one.
    """
    renamed = renamed_lists(current, previous)

    def former_lists(model: str, *, follow: bool = True) -> list[str]:
        if model in replicates:
            return list(replicates[model].values())
        if model in previous:
            return [model]
        names = list(current_replicates.get(model, {model: model}).values())
        if existing := [name for name in names if name in previous]:
            return existing
        owners = list_owners([renamed[name] for name in names if name in renamed], replicates)
        return former_lists(owners[0], follow=False) if follow and len(owners) == 1 else []

    models = model_names(previous, {**current_replicates, **replicates})
    current_models = model_names(current, current_replicates)
    lists = {model: names for model in current_models if (names := former_lists(model))}
    owners = {model: list_owners(names, replicates) for model, names in lists.items()}
    former_names = {
        model: names[0]
        for model, names in owners.items()
        if len(names) == 1 and names[0] in models and names[0] not in current_models
    }
    return ModelMatch(models, lists, renamed, former_names)


class RevisionFiles:
    """Files of a project at a revision: from git, DVC's cache or its remote.

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
        If the revision is unknown, or the folder is not in a DVC repository.
    """

    def __init__(self, revision: str, copies: Path, folder: Path = Path()) -> None:
        self.location = COMMAND_LINE if folder == Path() else str(folder)
        self.revision = revision
        commit = find_commit(revision, folder)
        if commit is None:
            raise unknown_revision(revision, self.location, folder)
        self._commit, self._copies, self._folder = commit, copies, folder
        self._cache = DvcCache(folder)

    @cached_property
    def lock(self) -> DvcLock:
        """Content of dvc.lock; empty if the revision has none.

        Raises
        ------
        InputError
            If it cannot be read.
        """
        lock = DvcLock(self.read_text(LOCK) or "")
        if lock.fault is not None:
            fix = "name a revision whose results were committed after `dvc repro`"
            raise refuse(f"{LOCK} of {self.revision}", lock.fault, fix)
        return lock

    def read_text(self, name: str) -> str | None:
        """Return the text of a file in git; None if there is none.

        Raises
        ------
        InputError
            If git cannot read it.
        """
        (file,) = read_files([self._commit], name, self._folder)
        if file.is_unreadable:
            raise refuse(f"{name} of {self.revision}", UNREADABLE, REPAIR)
        return file.text

    def read_params(self, results: Iterable[str]) -> tuple[Mapping[str, Any], dict[str, Path]]:
        """Return params.yaml, which may be of an older version, and the named folders of results.

        Raises
        ------
        InputError
            If the revision has no params.yaml with these results.
        """
        text = self.read_text(PARAMS.name)
        try:
            content = load_yaml(text or "", str(PARAMS))
            folders = content["results"]
            return content, {name: Path(folders[name]) for name in results}
        except (KeyError, TypeError, InputError):
            problem = f"{self.revision} has no {PARAMS} with results"
            fix = "name a revision in which this folder was a project of Concord"
            raise refuse(self.location, problem, fix) from None

    def find(self, path: Path, *, output: Path | None = None) -> Path | None:
        """Return a file with the content of a result; None if the result is missing.

        Parameters
        ----------
        path : Path
            The result, relative to the project.
        output : Path, optional
            The tracked folder of the result, if dvc.lock does not name the file.

        Raises
        ------
        InputError
            If the result does not match its hash in dvc.lock.
        """
        md5 = self.lock.output(output or path)
        try:
            if output is not None:
                md5 = hash_in_folder(self._cache.fetch, md5, path.name)
            cached = None if md5 is None else self._cache.fetch(md5)
        except InputError as error:
            location = f"{output or path} of {self.revision}"
            raise InputError([replace(error.problems[0], location=location)]) from None
        return cached or self._copy_from_git(path, md5)

    def _copy_from_git(self, path: Path, md5: str | None) -> Path | None:
        (blob,) = read_blobs([self._commit], path.as_posix(), self._folder)
        if blob is None:
            return None
        copy = self._copies / hashlib.sha256(path.as_posix().encode()).hexdigest()
        copy.write_bytes(blob)
        if md5 is not None and hash_content(copy).md5 != md5:
            problem = f"is damaged: its content in git does not match its hash in {LOCK}"
            raise refuse(f"{path} of {self.revision}", problem, _rerun(self.revision))
        return copy


def missing_results(files: RevisionFiles, paths: Sequence[Path]) -> Problem:
    """Return the problem of results that are neither in git nor in DVC's cache or remote."""
    revision = files.revision
    if not files.lock.text:
        problem = f"no {LOCK} of this folder is in git at that revision"
        fix = f"commit {LOCK} after `dvc repro`, and name that revision"
        return Problem(f"results of {revision}", problem, fix)
    problem = f"{paths[0]} is neither in DVC's cache nor on a remote"
    if len(paths) > 1:
        problem = f"{len(paths)} files are neither in DVC's cache nor on a remote, first {paths[0]}"
    fix = f"run `dvc fetch --all-commits`, or {_rerun(revision)}"
    return Problem(f"results of {revision}", problem, fix)


def _rerun(revision: str) -> str:
    return f"check out {revision} and run `dvc repro`"


def unknown_revision(
    revision: str, location: str = COMMAND_LINE, folder: Path = Path()
) -> InputError:
    """Return the error for a revision that git does not know in the repository of a folder."""
    if shutil.which("git") is None:
        return refuse(location, f"git is not installed, so {revision!r} is unknown", "install git")
    if is_shallow(folder):
        problem = (
            f"{revision!r} is not in this checkout, which is shallow: older commits are missing"
        )
        fix = "`git fetch --unshallow --tags` fetches all commits of this branch"
        if not _RELATIVE_OR_SHORT.search(revision):
            name = revision.removeprefix("origin/").removesuffix("..")
            fix = (
                f"run `git fetch --depth=1 origin {shlex.quote(name)}`, and name FETCH_HEAD; {fix}"
            )
        return refuse(location, problem, fix)
    problem = f"{revision!r} is not a revision of a git repository here"
    fix = "name a commit, a branch or a tag: `git log --oneline`, `git tag`"
    return refuse(location, problem, fix)


def read_list_result(files: Mapping[str, Path], fix: str, fold: object = None) -> ModelResult:
    """Return the results of one entry of `models` from its files by kind of result."""
    values, summary = files["per_user"], load_json(files["summary"], fix)
    quality = {} if fold is None else {"fold": str(fold)}
    return ModelResult(values, values, files.get("lists", values), summary, quality)


def combine_replicates(lists: Mapping[str, ModelResult], config: ComparisonConfig) -> ModelResult:
    """Return a model's results from those of its lists, on the labels that all of them have."""
    first, *others = lists.values()
    if not others:
        return first
    labels = [
        label
        for label in config.labels
        if all(str(label) in result.summary["metrics"] for result in lists.values())
    ]
    return combine_results(lists, labels, config)


@dataclass(frozen=True)
class RevisionResults:
    """Results of a revision, with its params.yaml and models.

    Attributes
    ----------
    name : str
        Name of the revision.
    params : mapping
        Content of its params.yaml.
    models : list of str
        Compared models, by their names at the revision.
    evaluations : mapping
        Model, by its current name -> its results, replicates combined.
    lists : mapping
        Entry of `models`, by its current name -> its results.
    former_names : mapping
        Model -> its name at the revision, if it was another one.
    replicates : mapping
        Model of the revision -> number of the replicate -> entry of `models`.
    """

    name: str
    params: Mapping[str, Any]
    models: list[str]
    evaluations: Mapping[str, ModelResult]
    lists: Mapping[str, ModelResult] = field(default_factory=dict)
    former_names: Mapping[str, str] = field(default_factory=dict)
    replicates: ReplicateNames = field(default_factory=dict)

    def vanished_models(self, models: Collection[str]) -> list[str]:
        """Return the models of the revision that none of these models continues."""
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
    """Yield the results of a revision; their files exist until the end of the block.

    Parameters
    ----------
    revision : str
        Commit, branch or tag.
    params : Params
        The current content of params.yaml.
    config : ComparisonConfig
        The current configuration of the comparison.
    models : sequence of str
        Models whose results are read.
    with_lists : bool, default=False
        Whether recommendations are read too.

    Raises
    ------
    InputError
        If the revision is unknown or has no project, or if results are missing or have values of
        another version.
    """
    with TemporaryDirectory() as copies:
        files = RevisionFiles(revision, Path(copies))
        content, folders = files.read_params(RESULT_SUFFIXES)
        entries = as_mapping(content.get("models"))
        rules = as_mapping(content.get("comparison"))
        replicates = replicates_of(rules.get(REPLICATES), [*entries])
        current = {name: entry.model_dump() for name, entry in params.models.items()}
        match = match_models(current, config.replicates, entries, replicates)
        requested = {model: match.lists[model] for model in models if model in match.lists}
        names = list(dict.fromkeys(chain(*requested.values())))
        kinds = [kind for kind in RESULT_SUFFIXES if with_lists or kind != "lists"]
        fix = "evaluate that revision again"
        results = {
            name: read_list_result(paths, fix, as_mapping(entries[name]).get("fold"))
            for name, paths in _find_results(files, folders, names, kinds).items()
        }
        fix = "evaluate it again with this Concord, or name another revision"
        raise_problems(
            Problem(f"{folders['summary'] / name}.json of {revision}", *problem)
            for name, result in results.items()
            if (problem := values_version_problem(result.summary.get("values_version"), fix))
        )
        current_names = {former: name for name, former in match.renamed.items()}
        yield RevisionResults(
            name=revision,
            params=content,
            models=match.models,
            evaluations={
                # These names differ from those of the current replicates.
                model: combine_replicates({f"{n} at {revision}": results[n] for n in names}, config)
                for model, names in requested.items()
            },
            lists={current_names.get(name, name): result for name, result in results.items()},
            former_names=match.former_names,
            replicates=replicates,
        )


def _find_results(
    files: RevisionFiles,
    folders: Mapping[str, Path],
    names: Iterable[str],
    kinds: Collection[str],
) -> dict[str, dict[str, Path]]:
    """Return the file of each kind of result; raise InputError for all that are missing."""
    found: dict[str, dict[str, Path]] = {}
    problems: list[Problem] = []
    missing: list[Path] = []
    for name, kind in product(names, kinds):
        path = folders[kind] / f"{name}{RESULT_SUFFIXES[kind]}"
        try:
            file = files.find(path)
        except InputError as error:
            problems += error.problems
            continue
        if file is None:
            missing.append(path)
        else:
            found.setdefault(name, {})[kind] = file
    if missing:
        problems.append(missing_results(files, missing))
    raise_problems(problems)
    return found


def comparison_at(revision: str, folder: Path = Path()) -> Comparison:
    """Return the comparison of the project in a folder at a revision.

    Raises
    ------
    InputError
        If the revision is unknown or has no project, or if its comparison is missing, damaged or
        of another version.
    """
    with TemporaryDirectory() as copies:
        files = RevisionFiles(revision, Path(copies), folder)
        _, folders = files.read_params(["comparison"])
        path = folders["comparison"] / COMPARISON
        file = files.find(path, output=path.parent)
        if file is None:
            raise InputError([missing_results(files, [path])])
        try:
            return read_comparison(file)
        except InputError as error:
            fix = "evaluate it again with this Concord, or name another revision"
            raise InputError(
                Problem(f"{path} of {revision}", problem.message, fix) for problem in error.problems
            ) from None
