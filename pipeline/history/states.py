"""The project as each revision left it: from dvc.lock in git, and comparison.json in DVC's cache."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from concord.metrics_core.errors import InputError
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.history import WORKING_TREE
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.diffing.dvc_lock import LOCK, DvcLock
from concord.pipeline.diffing.git import UNREADABLE, FileAtCommit, files_at
from concord.pipeline.history.cache import Cached, in_folder
from concord.pipeline.history.commits import Commit, commits

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


def states(cached: Cached) -> list[State]:
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
                comparisons[mark] = _comparison(cached, mark)
            comparison, gone = comparisons[mark]
            found.append(State(commit, lock, mark, comparison, {}, gone))
        elif found and commit.tags:  # the comparison is that of before
            found[-1] = _tagged(found[-1], commit.tags)
    return list(_with_primary(found))


def _tagged(state: State, tags: Sequence[str]) -> State:
    return replace(state, commit=replace(state.commit, tags=(*state.commit.tags, *tags)))


def _comparison(cached: Cached, mark: str) -> tuple[Comparison | None, str]:
    """The comparison, or why there is none."""
    try:
        path = in_folder(cached, mark, "comparison.json")
        if path is None:
            return None, "its results are not in DVC's cache"
        return read_comparison(path), ""
    except InputError as error:
        return None, f"its comparison cannot be read: it {error.problems[0].what}"
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
