"""States of a project: commits that changed its comparison, and reuse of the ground truth."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from concord.metrics_core.comparison.replicate_config import ReplicateNames, model_names
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.errors import InputError, format_count, refuse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.history import WORKING_TREE, Reuse
from concord.metrics_core.results.stored import read_comparison
from concord.metrics_core.results.text_format import group_values, percent
from concord.metrics_core.stats.adjustment import chance_of_false_winner, reuse_severity
from concord.pipeline.dvc.cache import FindFile, hash_in_folder
from concord.pipeline.dvc.git import (
    UNREADABLE,
    FileAtCommit,
    find_commit,
    git,
    read_files,
)
from concord.pipeline.dvc.lock import LOCK, DvcLock
from concord.pipeline.dvc.revision import COMPARISON, unknown_revision

_FIELDS = ("%H", "%h", "%as", "%s")


@dataclass(frozen=True)
class Commit:
    """A commit; `tags` include those of later commits that did not change dvc.lock."""

    name: str
    short: str
    date: str
    subject: str
    tags: tuple[str, ...]


def list_commits() -> list[Commit]:
    """Return the commits that changed dvc.lock, along first parents, the oldest first.

    Raises
    ------
    InputError
        If there is no git repository here, or it has no commit.
    """
    if find_commit("HEAD") is None:
        fix = "`git init`, and commit dvc.lock after `dvc repro`"
        raise refuse("git", "there is no commit here, so no history", fix)
    rows = _log(_FIELDS, "HEAD", "--", LOCK)
    tags = _tags({name for name, *_ in rows})
    return [
        Commit(name, short, date, subject, tuple(sorted(tags.get(name, ()))))
        for name, short, date, subject in rows
    ]


def _log(fields: Sequence[str], *arguments: str) -> list[list[str]]:
    """Return the fields of commits along first parents, the oldest first."""
    options = ("-z", "--no-show-signature", "--no-follow", "--encoding=UTF-8")
    form = f"--format={'%x00'.join(fields)}"
    output = git("log", *options, "--first-parent", "--reverse", form, *arguments)
    values = output.split("\0")[:-1]
    return [values[i : i + len(fields)] for i in range(0, len(values), len(fields))]


def commits_since(revision: str) -> set[str]:
    """Return the commits of the branch after a revision.

    Raises
    ------
    InputError
        If the revision is unknown.
    """
    start = revision.removesuffix("..")
    if find_commit(start) is None:
        raise unknown_revision(revision)
    return {*git("rev-list", "--first-parent", "--end-of-options", f"{start}..HEAD", "--").split()}


def _tags(commits: Collection[str]) -> dict[str, list[str]]:
    """Return commit -> tags of it and of later commits before the next of `commits`."""
    tags: dict[str, list[str]] = {}
    last = ""
    decorations = ("--decorate=full", "--decorate-refs=refs/tags/", "HEAD", "--")
    for commit, names in _log(("%H", "%D"), *decorations):
        last = commit if commit in commits else last
        new = [name.removeprefix("tag: refs/tags/") for name in names.split(", ") if name]
        tags.setdefault(last, []).extend(new)
    return tags


_WORKING_TREE = Commit("", WORKING_TREE, "", "", ())
_PRIMARY = "primary.json"  # file of the report that git tracks


@dataclass(frozen=True)
class State:
    """A revision that changed the comparison, or whose dvc.lock cannot be read.

    Attributes
    ----------
    content_id : str
            Hash of the comparison's folder; empty if dvc.lock cannot be read.
        comparison : Comparison or None
            None if it cannot be read.
        read_error : str
            Why the comparison cannot be read; empty if it can be.
        primary : dict
            Means and verdicts of primary.json in git, if the comparison cannot be read.
    """

    commit: Commit
    lock: DvcLock
    content_id: str
    comparison: Comparison | None
    read_error: str
    primary: dict[str, Any] = field(default_factory=dict)


def read_states(find: FindFile) -> list[State]:
    """Return the states of the branch, the oldest first; the working tree last, if it differs."""
    branch = list_commits()
    names = [commit.name for commit in branch]
    locks = [*zip(branch, read_files(names, LOCK), strict=True)]
    path = Path(LOCK)
    if path.is_file():
        text = path.read_text(encoding="utf-8", errors="replace")
        if not locks or text != locks[-1][1].text:
            locks.append((_WORKING_TREE, FileAtCommit(text)))
    states: list[State] = []
    comparisons: dict[str, tuple[Comparison | None, str]] = {}
    for commit, file in locks:
        lock = DvcLock(file.text or "")
        fault = UNREADABLE if file.is_unreadable else lock.fault
        last = states[-1] if states else None
        if fault is not None:
            read_error = f"{LOCK} cannot be read: {fault}"
            states.append(State(commit, DvcLock(""), "", None, read_error))
        elif (folder_hash := lock.comparison) and not (last and last.content_id == folder_hash):
            if folder_hash not in comparisons:
                comparisons[folder_hash] = _read_comparison(find, lock, folder_hash)
            states.append(State(commit, lock, folder_hash, *comparisons[folder_hash]))
        elif last is not None and commit.tags:  # the comparison is the same
            tags = (*last.commit.tags, *commit.tags)
            states[-1] = replace(last, commit=replace(last.commit, tags=tags))
    return _with_primary(states)


def _read_comparison(
    find: FindFile, lock: DvcLock, folder_hash: str
) -> tuple[Comparison | None, str]:
    """Return the comparison, or None and the reason why it cannot be read."""
    if version := lock.other_values:
        return None, f"its values have version {version}, not {VALUES_VERSION}"
    try:
        md5 = hash_in_folder(find, folder_hash, COMPARISON)
        path = None if md5 is None else find(md5)
        if path is None:
            return None, "its results are not in DVC's cache"
        return read_comparison(path, "evaluate it again with this Concord"), ""
    except InputError as error:
        problem = error.problems[0]
        return None, f"its comparison cannot be read: it {problem.message}; {problem.fix}"
    except (OSError, ValueError, KeyError, TypeError):
        return None, "its results in DVC's cache are damaged"


def _with_primary(states: Sequence[State]) -> list[State]:
    """Return the states; those without a comparison get the primary.json of their commit."""
    commits_by_path = group_values(
        (f"{state.lock.folder('report', 'report')}/{_PRIMARY}", state.commit.name)
        for state in states
        if state.content_id and state.comparison is None and state.commit.name
        if not state.lock.other_values
    )
    primary = {
        commit: _parse_primary(file.text or "")
        for path, names in commits_by_path.items()
        for commit, file in zip(names, read_files(names, path), strict=True)
    }
    return [replace(state, primary=primary.get(state.commit.name, {})) for state in states]


def _parse_primary(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    labels = content if isinstance(content, dict) else {}
    return {label: means for label, means in labels.items() if isinstance(means, dict)}


ListHashes = frozenset[str | None]
# Hashes of the lists of a model and of the baseline, label, conventions.
ListDecision = tuple[ListHashes, ListHashes, str, str]


def count_reuse(states: Sequence[State], confidence: float) -> Reuse | None:
    """Return how many decisions used the current ground truth; None if it has no hash."""
    truth = states[-1].lock.truth if states else None
    if truth is None:
        return None
    decisions: set[ListDecision] = set()
    n_comparisons = 0
    for state in states:
        if state.lock.truth == truth:
            new = {*_decisions(state.lock)} - decisions
            n_comparisons += bool(new)
            decisions |= new
    chance = chance_of_false_winner(n_comparisons, 1 - confidence)
    return Reuse(
        truth,
        n_comparisons,
        len(decisions),
        chance,
        reuse_severity(chance),
        _reuse_sentence(n_comparisons, len(decisions), chance),
    )


def _decisions(lock: DvcLock) -> Iterator[ListDecision]:
    """Yield the decisions by dvc.lock, so that those whose results are lost count too."""
    params = lock.comparison_params
    baseline = _list_hashes(lock, params.replicates, params.baseline or "")
    for model in model_names(params.models, params.replicates):
        if model != params.baseline:
            hashes = _list_hashes(lock, params.replicates, model)
            for label in params.primary:
                yield hashes, baseline, label, params.conventions


def _list_hashes(lock: DvcLock, replicates: ReplicateNames, model: str) -> ListHashes:
    return frozenset(map(lock.lists, replicates.get(model, {"": model}).values()))


def _reuse_sentence(n_comparisons: int, n_decisions: int, chance: float) -> str:
    times = "once" if n_decisions == 1 else f"{n_decisions:,} times"
    counts = (
        f"This ground truth was used in {format_count(n_comparisons, 'comparison')} to decide "
        f"{times} whether a model is better than the baseline on a primary metric"
    )
    severity = reuse_severity(chance)
    if severity is None:
        return f"{counts}."
    risk = (
        f"{counts}: if no model were better, at least one would still be called better with "
        f"probability up to {percent(chance)}"
    )
    if severity == "notice":
        return (
            f"{risk}. Each reuse makes a winner by chance more likely: keep another ground truth "
            "for the final decision."
        )
    return (
        f"{risk}, and more if models were tuned on these results. A lead on this ground truth "
        "alone is no longer evidence: use a new ground truth (other users, or a later time) for "
        "this decision and the next ones."
    )
