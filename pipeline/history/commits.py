"""The commits of a branch that changed dvc.lock, and what they hold, each kind in one run of git."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from concord.metrics_core.checking.problems import refuse
from concord.pipeline.diffing.dvc_lock import LOCK

PLACE = "command line"
_APART = "\x1f"


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
    if not git("rev-parse", "--quiet", "--verify", "HEAD^{commit}", may_fail=True).strip():
        fix = "`git init`, commit dvc.lock after `dvc repro`, and come back"
        raise refuse("git", "there is no commit here, so no history", fix)
    form = _APART.join(("%H", "%h", "%as", "%s"))
    lines = git("log", "--first-parent", "--reverse", f"--format={form}", "HEAD", "--", LOCK)
    found = [line.split(_APART, 3) for line in lines.splitlines()]
    tags = _tags([name for name, *_ in found])
    return [
        Commit(name, short, date, subject, tuple(tags.get(name, ())))
        for name, short, date, subject in found
    ]


def since(revision: str) -> set[str]:
    """The commits of the branch that came after a revision.

    Raises
    ------
    InputError : there is no such revision
    """
    start = revision.removesuffix("..")
    if start.startswith("-") or not git("rev-parse", "--quiet", "--verify", f"{start}^{{commit}}", may_fail=True):  # fmt: skip
        fix = "name a commit, a branch or a tag: `git log --oneline`, `git tag`"
        raise refuse(PLACE, f"{revision!r} is no revision of a git repository here", fix)
    return set(git("rev-list", "--first-parent", f"{start}..HEAD").split())


def is_shallow() -> bool:
    """Does the checkout hold the last commits only, as those of many CI jobs do?"""
    return git("rev-parse", "--is-shallow-repository").strip() == "true"


def contents(commits: Sequence[str], path: str) -> list[str | None]:
    """What a file of this folder held at each commit; None where there was none, or no text."""
    asked = "".join(f"{commit}:./{path}\n" for commit in commits)
    done = subprocess.run(
        ["git", "cat-file", "--batch"], input=asked.encode(), capture_output=True, check=True
    )
    return list(_texts(done.stdout, len(commits)))


def _texts(answer: bytes, n: int) -> list[str | None]:
    """`<object> blob <size>`, the bytes and a line's end; or `<name> missing`."""
    found: list[str | None] = []
    at = 0
    for _ in range(n):
        end = answer.index(b"\n", at)
        *_, kind, size = [b"", *answer[at:end].split()]
        at = end + 1
        if kind == b"blob":
            found.append(answer[at : at + int(size)].decode("utf-8", errors="replace"))
            at += int(size) + 1
        else:
            found.append(None)
    return found


def _tags(rows: Sequence[str]) -> dict[str, list[str]]:
    """Commit of `rows` -> tags of it and of the commits until the next one."""
    form = "%(refname:short) %(objectname) %(*objectname)"
    listed = [line.split() for line in git("for-each-ref", "refs/tags", "--sort=version:refname", f"--format={form}").splitlines()]  # fmt: skip
    if not listed:
        return {}
    known = set(rows)
    row_of: dict[str, str] = {}
    last = ""
    for commit in git("rev-list", "--first-parent", "--reverse", "HEAD").split():
        last = commit if commit in known else last
        row_of[commit] = last
    found: dict[str, list[str]] = {}
    for name, *objects in listed:  # of an annotated tag the last is the commit
        if objects[-1] in row_of:
            found.setdefault(row_of[objects[-1]], []).append(name)
    return found


def git(*arguments: str, may_fail: bool = False) -> str:
    """What git says; nothing where it fails and may."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, errors="replace")  # fmt: skip
    if done.returncode and not may_fail:
        raise refuse("git", " ".join(done.stderr.split()), f"`git {arguments[0]}` must work here")
    return "" if done.returncode else done.stdout
