"""States of a project: the commits that changed its comparison."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.history import WORKING_TREE
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.dvc.cache import FindFile, hash_in_folder
from concord.pipeline.dvc.git import UNREADABLE, FileAtCommit, commit_of, commits_of, files_at, git
from concord.pipeline.dvc.lock import LOCK, DvcLock
from concord.pipeline.dvc.revision import COMPARISON, unknown_revision

_FIELDS = ("%H", "%h", "%as", "%s")


@dataclass(frozen=True)
class Commit:
    """A commit; `tags` are its own, and those of later commits that left dvc.lock as it was."""

    name: str
    short: str
    date: str
    subject: str
    tags: tuple[str, ...]


def commits() -> list[Commit]:
    """Return the commits of the branch (first parents) that changed dvc.lock of this folder, the oldest first.

    Raises
    ------
    InputError
        There is no git repository here, or no commit in it.
    """
    if commit_of("HEAD") is None:
        fix = "`git init`, commit dvc.lock after `dvc repro`, and come back"
        raise refuse("git", "there is no commit here, so no history", fix)
    options = ("--no-show-signature", "--no-follow", "--encoding=UTF-8", "--first-parent", "--reverse")  # fmt: skip
    output = git("log", "-z", *options, f"--format={'%x00'.join(_FIELDS)}", "HEAD", "--", LOCK)
    fields = output.split("\0")[:-1]
    rows = [fields[at : at + len(_FIELDS)] for at in range(0, len(fields), len(_FIELDS))]
    tags = _tags({name for name, *_ in rows})
    return [
        Commit(name, short, date, subject, tuple(tags.get(name, ())))
        for name, short, date, subject in rows
    ]


def commits_since(revision: str) -> set[str]:
    """Return the commits of the branch after a revision.

    Raises
    ------
    InputError
        There is no such revision.
    """
    start = revision.removesuffix("..")
    if commit_of(start) is None:
        raise unknown_revision(revision)
    return {*git("rev-list", "--first-parent", "--end-of-options", f"{start}..HEAD", "--").split()}


def is_shallow() -> bool:
    """True if the checkout holds the last commits only, as in many CI jobs."""
    return git("rev-parse", "--is-shallow-repository").strip() == "true"


def _tags(commits: Collection[str]) -> dict[str, list[str]]:
    """Return commit -> tags of it and of later ones before the next of `commits`."""
    lines = git("for-each-ref", "refs/tags", "--sort=version:refname", "--format=%(refname)")
    references = lines.split("\n")[:-1]
    if not references:
        return {}
    previous: dict[str, str] = {}  # commit of the branch -> the last of `commits` up to it
    last = ""
    for commit in git("rev-list", "--first-parent", "--reverse", "HEAD", "--").split():
        last = commit if commit in commits else last
        previous[commit] = last
    tags: dict[str, list[str]] = {}
    for name, tagged in zip(references, commits_of(references), strict=True):
        if tagged is not None and tagged in previous:
            tags.setdefault(previous[tagged], []).append(name.removeprefix("refs/tags/"))
    return tags


_WORKING_TREE = Commit("", WORKING_TREE, "", "", ())
_PRIMARY = "primary.json"  # of the report, in git


@dataclass(frozen=True)
class State:
    """A revision that changed the comparison, or whose dvc.lock cannot be read.

    Attributes
    ----------
    content_id : str
        Hash of the comparison's folder; empty if dvc.lock cannot be read.
    comparison : Comparison or None
        None if it cannot be read.
    gone : str
        Why the comparison cannot be read; empty if it can.
    primary : dict
        Means and verdicts as git has them, if the comparison cannot be read.
    """

    commit: Commit
    lock: DvcLock
    content_id: str
    comparison: Comparison | None
    gone: str
    primary: dict[str, Any] = field(default_factory=dict)


def states(find: FindFile) -> list[State]:
    """Return the states of the branch, the oldest first; the working tree is the last if it differs."""
    branch = commits()
    locks = [*zip(branch, files_at([each.name for each in branch], LOCK), strict=True)]
    path = Path(LOCK)
    if path.is_file():
        text = path.read_text(encoding="utf-8", errors="replace")
        if not locks or text != locks[-1][1].text:
            locks.append((_WORKING_TREE, FileAtCommit(text)))
    every_state: list[State] = []
    comparisons: dict[str, tuple[Comparison | None, str]] = {}
    for commit, file in locks:
        lock = DvcLock(file.text or "")
        fault = UNREADABLE if file.is_unreadable else lock.fault
        last = every_state[-1] if every_state else None
        if fault is not None:
            gone = f"{LOCK} cannot be read: {fault}"
            every_state.append(State(commit, DvcLock(""), "", None, gone))
        elif (folder_hash := lock.comparison) and not (last and last.content_id == folder_hash):
            if folder_hash not in comparisons:
                comparisons[folder_hash] = _read_comparison(find, folder_hash)
            every_state.append(State(commit, lock, folder_hash, *comparisons[folder_hash]))
        elif last is not None and commit.tags:  # the comparison is the same
            tags = (*last.commit.tags, *commit.tags)
            every_state[-1] = replace(last, commit=replace(last.commit, tags=tags))
    return _with_primary(every_state)


def _read_comparison(find: FindFile, folder_hash: str) -> tuple[Comparison | None, str]:
    """Return the comparison, or None and why it cannot be read."""
    damaged = "its results in DVC's cache are damaged"
    try:
        md5 = hash_in_folder(find, folder_hash, COMPARISON)
        path = None if md5 is None else find(md5)
    except InputError as error:
        problem = error.problems[0]
        return None, f"its comparison cannot be read: it {problem.message}; {problem.fix}"
    except (ValueError, KeyError, TypeError):
        return None, damaged
    if path is None:
        return None, "its results are not in DVC's cache"
    try:
        return read_comparison(path), ""
    except InputError as error:
        return None, f"its comparison cannot be read: it {error.problems[0].message}"
    except (OSError, ValueError, KeyError, TypeError):
        return None, damaged


def _with_primary(every_state: Sequence[State]) -> list[State]:
    """Return the states; those without a comparison get the primary.json that git has of their report."""
    commits_by_path: dict[str, list[str]] = {}
    for state in every_state:
        if state.content_id and state.comparison is None and state.commit.name:
            path = f"{state.lock.folder('report', 'report')}/{_PRIMARY}"
            commits_by_path.setdefault(path, []).append(state.commit.name)
    primary = {
        commit: _parse_primary(file.text or "")
        for path, names in commits_by_path.items()
        for commit, file in zip(names, files_at(names, path), strict=True)
    }
    return [replace(state, primary=primary.get(state.commit.name, {})) for state in every_state]


def _parse_primary(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    labels = content if isinstance(content, dict) else {}
    return {label: means for label, means in labels.items() if isinstance(means, dict)}
