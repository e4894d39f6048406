"""Commits and what each left: the states of a project."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.history import WORKING_TREE
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.dvc.cache import FindFile, hash_in_folder
from concord.pipeline.dvc.git import UNREADABLE, FileAtCommit, commit_of, commits_of, files_at, git
from concord.pipeline.dvc.lock import LOCK, DvcLock

PLACE = "command line"
_FIELDS = ("%H", "%h", "%as", "%s")


@dataclass(frozen=True)
class Commit:
    """`tags` are its own, and those of later commits of the branch that left dvc.lock as it was."""

    name: str
    short: str
    date: str
    subject: str
    tags: tuple[str, ...]


def commits() -> list[Commit]:
    """Those of the first-parent history of HEAD in which dvc.lock of this folder is another, oldest first.

    Raises
    ------
    InputError : there is no git repository here, or no commit in it
    """
    if commit_of("HEAD") is None:
        fix = "`git init`, commit dvc.lock after `dvc repro`, and come back"
        raise refuse("git", "there is no commit here, so no history", fix)
    options = ("--no-show-signature", "--no-follow", "--encoding=UTF-8", "--first-parent", "--reverse")  # fmt: skip
    output = git("log", "-z", *options, f"--format={'%x00'.join(_FIELDS)}", "HEAD", "--", LOCK)
    fields = output.split("\0")[:-1]
    rows = [fields[at : at + len(_FIELDS)] for at in range(0, len(fields), len(_FIELDS))]
    tags = _tags([name for name, *_ in rows])
    return [
        Commit(name, short, date, subject, tuple(tags.get(name, ())))
        for name, short, date, subject in rows
    ]


def commits_since(revision: str) -> set[str]:
    """The commits of the branch that came after a revision.

    Raises
    ------
    InputError : there is no such revision
    """
    start = revision.removesuffix("..")
    if commit_of(start) is None:
        fix = "name a commit, a branch or a tag: `git log --oneline`, `git tag`"
        raise refuse(PLACE, f"{revision!r} is no revision of a git repository here", fix)
    return set(
        git("rev-list", "--first-parent", "--end-of-options", f"{start}..HEAD", "--").split()
    )


def is_shallow() -> bool:
    """Does the checkout hold the last commits only, as those of many CI jobs do?"""
    return git("rev-parse", "--is-shallow-repository").strip() == "true"


def _tags(rows: Sequence[str]) -> dict[str, list[str]]:
    """Commit of `rows` -> tags of it and of the commits until the next one."""
    listed = git("for-each-ref", "refs/tags", "--sort=version:refname", "--format=%(refname)")
    names = listed.split("\n")[:-1]
    if not names:
        return {}
    known = set(rows)
    row_of: dict[str, str] = {}
    last = ""
    for commit in git("rev-list", "--first-parent", "--reverse", "HEAD", "--").split():
        last = commit if commit in known else last
        row_of[commit] = last
    found: dict[str, list[str]] = {}
    for name, tagged in zip(names, commits_of(names), strict=True):
        if tagged is not None and tagged in row_of:
            found.setdefault(row_of[tagged], []).append(name.removeprefix("refs/tags/"))
    return found


_UNCOMMITTED = Commit("", WORKING_TREE, "", "", ())
_PRIMARY = "primary.json"  # of the report: it stands in git


@dataclass(frozen=True)
class State:
    """A revision that changed the comparison, or whose dvc.lock cannot be read.

    mark       : the hash of the comparison's folder; empty if dvc.lock cannot be read
    comparison : None where it cannot be read; `gone` says why
    primary    : means and verdicts as git has them, where the comparison cannot be read
    """

    commit: Commit
    lock: DvcLock
    mark: str
    comparison: Comparison | None
    primary: dict[str, Any]
    gone: str


def states(find: FindFile) -> list[State]:
    """Those of the branch, oldest first; the working tree last, where it differs."""
    branch = commits()
    locks = [*zip(branch, files_at([each.name for each in branch], LOCK), strict=True)]
    path = Path(LOCK)
    if path.is_file():
        text = path.read_text(encoding="utf-8", errors="replace")
        if not locks or text != locks[-1][1].text:
            locks.append((_UNCOMMITTED, FileAtCommit(text)))
    found: list[State] = []
    comparisons: dict[str, tuple[Comparison | None, str]] = {}
    for commit, file in locks:
        lock = DvcLock(file.text or "")
        fault = UNREADABLE if file.is_unreadable else lock.fault
        if fault is not None:
            why = f"{LOCK} cannot be read: {fault}"
            found.append(State(commit, DvcLock(""), "", None, {}, why))
        elif (mark := lock.comparison) is not None and not (found and found[-1].mark == mark):
            if mark not in comparisons:
                comparisons[mark] = _comparison(find, mark)
            comparison, gone = comparisons[mark]
            found.append(State(commit, lock, mark, comparison, {}, gone))
        elif found and commit.tags:  # the comparison is that of before
            found[-1] = _tagged(found[-1], commit.tags)
    return list(_with_primary(found))


def _tagged(state: State, tags: Sequence[str]) -> State:
    return replace(state, commit=replace(state.commit, tags=(*state.commit.tags, *tags)))


def _comparison(find: FindFile, folder_hash: str) -> tuple[Comparison | None, str]:
    """Return the comparison, or None and why it cannot be read."""
    unreadable = "its comparison cannot be read: it"
    try:
        md5 = hash_in_folder(find, folder_hash, "comparison.json")
        path = None if md5 is None else find(md5)
    except InputError as error:
        problem = error.problems[0]
        return None, f"{unreadable} {problem.what}; {problem.fix}"
    except (ValueError, KeyError, TypeError):
        return None, "its results in DVC's cache are damaged"
    if path is None:
        return None, "its results are not in DVC's cache"
    try:
        return read_comparison(path), ""
    except InputError as error:
        return None, f"{unreadable} {error.problems[0].what}"
    except (OSError, ValueError, KeyError, TypeError):
        return None, "its results in DVC's cache are damaged"


def _with_primary(found: Sequence[State]) -> Iterator[State]:
    """Those that cannot be read get what git has of their report."""
    lost = [each for each in found if each.mark and each.comparison is None and each.commit.name]
    names = [f"{each.lock.folder('report', 'report')}/{_PRIMARY}" for each in lost]
    texts = {
        each.commit.name: file.text
        for path in dict.fromkeys(names)
        for each, file in zip(
            lost, files_at([each.commit.name for each in lost], path), strict=True
        )
        if file.text is not None
    }
    for each in found:
        primary = texts.get(each.commit.name)
        yield each if primary is None else replace(each, primary=_parsed(primary))


def _parsed(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    known = content if isinstance(content, dict) else {}
    return {label: means for label, means in known.items() if isinstance(means, dict)}
