"""The commits of a branch that changed dvc.lock."""

from collections.abc import Sequence
from dataclasses import dataclass

from concord.metrics_core.errors import refuse
from concord.pipeline.diffing.dvc_lock import LOCK
from concord.pipeline.diffing.git import commit_of, commits_of, git

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


def since(revision: str) -> set[str]:
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
