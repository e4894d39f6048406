"""Training settings: what dvc.lock records of the stages that made a model's recommendations."""

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from concord.metrics_core.results.history import Setting
from concord.metrics_core.results.text_format import group_values
from concord.pipeline.dvc.git import find_commit, git, read_files, run_git
from concord.pipeline.dvc.lock import LOCK, DvcLock, Stage, as_mapping, parse_yaml
from concord.pipeline.dvc.revision import Entries, RevisionResults, renamed_lists
from concord.pipeline.params.model import PARAMS, Params

MISSING = "none"
Settings = Mapping[str, str]  # name -> value
SettingChange = tuple[str, str, str]  # name, value then, value now


def flatten(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the dotted key and the text of every value that is not a mapping."""
    if isinstance(value, Mapping):
        for name, nested in value.items():
            yield from flatten(f"{key}.{name}" if key else str(name), nested)
    elif value is not None:
        yield key, as_text(value)


def as_text(value: Any) -> str:
    """Return a value as text; lists and mappings as JSON without quotes."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str).replace('"', "")


def setting_changes(previous: Settings, current: Settings) -> Iterator[SettingChange]:
    """Yield the name and both values of settings that changed."""
    for name in dict.fromkeys([*previous, *current]):
        if previous.get(name) != current.get(name):
            yield name, previous.get(name, MISSING), current.get(name, MISSING)


def group_by_change(changes: Iterable[tuple[str, SettingChange]]) -> tuple[Setting, ...]:
    """Return the changes of models, each once with its models."""
    models = group_values((change, model) for model, change in changes)
    return tuple(Setting(*change, tuple(names)) for change, names in models.items())


_STAGES = "dvc.yaml"
_OPTION = re.compile(r"--?[A-Za-z]")
_FLAG = "set"  # value of an option without one


@dataclass(frozen=True)
class _LocatedStage:
    """A stage; its paths are relative to `folder`, which is relative to the repository's root."""

    name: str
    folder: str
    stage: Stage

    def path(self, path: str) -> str:
        return _join(self.folder, path)


@dataclass(frozen=True)
class Training:
    """Parameters and command-line options of the stages that led to a model's recommendations."""

    params: Settings
    options: Settings


@dataclass(frozen=True)
class RepositoryStages:
    """The stages of all dvc.lock files of the git repository at one time.

    Attributes
    ----------
    project : str
        Folder of the project, relative to the repository's root.
    locks : mapping
        Folder of a dvc.lock -> its text and that of dvc.yaml.
    """

    project: str
    locks: Mapping[str, tuple[str, str]]

    @cached_property
    def _stages(self) -> list[_LocatedStage]:
        return [
            _LocatedStage(name, _join(folder, folders.get(name.partition("@")[0], ".")), stage)
            for folder, (lock_text, stages_text) in self.locks.items()
            for lock, folders in [(DvcLock(lock_text), _working_folders(stages_text))]
            for name, stage in lock.stages.items()
        ]

    @cached_property
    def _by_output(self) -> Mapping[str, list[_LocatedStage]]:
        """Path of an output, or of a folder around outputs -> the stages that write them."""
        return group_values(
            (path, located)
            for located in self._stages
            for output in located.stage.outs
            for path in _with_parents(located.path(output))
        )

    @cached_property
    def _outputs(self) -> set[str]:
        return {located.path(output) for located in self._stages for output in located.stage.outs}

    def _makers(self, path: str) -> Sequence[_LocatedStage]:
        """Return the stages that write a path, a folder around it, or files in it."""
        around = next((each for each in _with_parents(path) if each in self._outputs), path)
        return self._by_output.get(around, ())

    def _upstream(self, path: str) -> Iterator[_LocatedStage]:
        """Yield the stages that lead to a path of the project, the nearest first."""
        paths = [_join(self.project, path)]
        visited: set[tuple[str, str]] = set()
        for each in paths:  # grows
            for located in self._makers(each):
                if (key := (located.folder, located.name)) not in visited:
                    visited.add(key)
                    paths += map(located.path, located.stage.deps)
                    yield located

    def training(self, path: str) -> Training | None:
        """Return what led to a path of the project; None if no stage did."""
        stages = [*self._upstream(path)]
        params: dict[str, str] = {}
        options: dict[str, str] = {}
        for located in stages:  # the nearest stage counts
            for file, values in located.stage.param_files.items():
                prefix = self._file_prefix(located.path(file))
                for key, value in flatten("", values):
                    params.setdefault(f"{prefix}{key}", value)
            for key, value in _command_options(located.stage.command):
                options.setdefault(f"{located.name.partition('@')[0]} {key}", value)
        return Training(params, options) if stages else None

    def _file_prefix(self, path: str) -> str:
        """Return `conf/als.json:`, as DVC names parameters; empty for the project's params.yaml."""
        name = posixpath.relpath(path, self.project)
        return "" if name == PARAMS.name else f"{name}:"


def read_repository_stages(commits: Sequence[str]) -> list[RepositoryStages]:
    """Return the stages at each commit, oldest first; "" is the working tree."""
    root = Path(git("rev-parse", "--show-toplevel").rstrip("\n"))
    project = git("rev-parse", "--show-prefix").rstrip("\n").rstrip("/") or "."
    folders = {commit: _lock_folders(commit) for commit in commits}
    locks: dict[str, dict[str, tuple[str, str]]] = {commit: {} for commit in commits}
    for folder in dict.fromkeys(chain.from_iterable(folders.values())):
        having = [commit for commit in folders if folder in folders[commit]]
        texts = [_read_texts(having, _join(folder, name), root) for name in (LOCK, _STAGES)]
        for commit, lock, stages in zip(having, *texts, strict=True):
            locks[commit][folder] = lock, stages
    return [RepositoryStages(project, locks[commit]) for commit in commits]


def _read_texts(commits: Sequence[str], path: str, root: Path) -> list[str]:
    """Return the text of a file at each commit; empty if it is missing or unreadable."""
    committed = [commit for commit in commits if commit]
    texts = {
        commit: file.text or ""
        for commit, file in zip(committed, read_files(committed, path, root), strict=True)
    }
    if (root / path).is_file():
        texts[""] = (root / path).read_text(encoding="utf-8", errors="replace")
    return [texts.get(commit, "") for commit in commits]


def _lock_folders(commit: str) -> list[str]:
    """Return the folders of the repository that have a dvc.lock; none if git fails."""
    arguments = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit]
    if not commit:
        options = ("-z", "--cached", "--others", "--exclude-standard", "--full-name")
        arguments = ["ls-files", *options, "--", f":(top,glob)**/{LOCK}"]
    paths = run_git(*arguments).stdout.split("\0")
    return [posixpath.dirname(path) or "." for path in paths if posixpath.basename(path) == LOCK]


def training_changes_since(previous: RevisionResults, params: Params) -> tuple[Setting, ...]:
    """Return the training parameters that changed since a revision, of the entries it has."""
    former, current = read_repository_stages([find_commit(previous.name) or "", ""])
    entries = {name: entry.model_dump() for name, entry in params.models.items()}
    paths = continued_paths(as_mapping(previous.params.get("models")), entries)
    evaluated = {name: path for name, path in paths.items() if name in previous.lists}
    return training_changes(former, current, evaluated)


def continued_paths(previous: Entries, current: Entries) -> dict[str, tuple[str, str]]:
    """Return entry of `models` -> its paths at the revision and now, of entries that both have."""
    renamed = renamed_lists(current, previous)
    return {
        name: (str(former.get("path")), str(as_mapping(entry).get("path")))
        for name, entry in current.items()
        if (former := as_mapping(previous.get(renamed.get(name, name))))
    }


def training_changes(
    previous: RepositoryStages,
    current: RepositoryStages,
    paths: Mapping[str, tuple[str, str]],
) -> tuple[Setting, ...]:
    """Return the training parameters that changed, with the models that they concern.

    A command-line option is left out if a parameter has the same change: its value came from there.

    Parameters
    ----------
    paths : mapping
        Entry of `models` -> its paths at the revision and now.
    """
    changes: list[tuple[str, SettingChange]] = []
    for name, (previous_path, path) in paths.items():
        former, now = previous.training(previous_path), current.training(path)
        if former is None or now is None:
            continue
        params = [*setting_changes(former.params, now.params)]
        values = {change[1:] for change in params}
        options = setting_changes(former.options, now.options)
        changes += [(name, change) for change in params]
        changes += [(name, change) for change in options if change[1:] not in values]
    return group_by_change(changes)


def _command_options(command: str) -> Iterator[tuple[str, str]]:
    """Yield the options of a command: `--alpha 2`, `--alpha=2`, `alpha=2` and `--implicit`."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for word, following in pairwise([*words, ""]):
        name, equals, value = word.partition("=")
        if equals:
            yield name, value
        elif _OPTION.match(word):
            yield word, _FLAG if not following or _OPTION.match(following) else following


def _working_folders(text: str) -> dict[str, str]:
    """Return stage -> `wdir` by a dvc.yaml."""
    if "wdir" not in text:
        return {}
    stages = as_mapping(as_mapping(parse_yaml(text)).get("stages"))
    folders = {
        name: as_mapping(as_mapping(stage).get("do", stage)).get("wdir")
        for name, stage in stages.items()
    }
    return {name: str(folder) for name, folder in folders.items() if folder}


def _join(folder: str, path: str) -> str:
    return path if "://" in path else posixpath.normpath(posixpath.join(folder, path))


def _with_parents(path: str) -> Iterator[str]:
    yield path
    while (parent := posixpath.dirname(path)) not in {"", path}:
        path = parent
        yield path
