"""Run git: commits of a repository, and files at them."""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from concord.metrics_core.errors import refuse


def run_git(
    *arguments: str, stdin: str = "", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git; texts are UTF-8, and line ends are kept. A missing git counts as a failure."""
    command = ["git", *arguments]
    try:
        process = subprocess.run(
            command, input=stdin.encode(), cwd=folder, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))
    stdout, stderr = (
        output.decode("utf-8", errors="replace") for output in (process.stdout, process.stderr)
    )
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


UNREADABLE = "git cannot read it: an object is missing or damaged"
REPAIR = "find the damage by `git fsck`; `git fetch --refetch` restores objects from a remote"
_TRUST = re.compile(r"git config --global --add safe\.directory .+")
_HEADER = re.compile(rb"([0-9a-f]{40,64}) ([a-z]+) ([0-9]+)")
_WITHOUT_NETWORK = {"GIT_ALLOW_PROTOCOL": "none"}


@dataclass(frozen=True)
class FileAtCommit:
    """A file of a commit; `text` is None if it does not exist or git cannot read it."""

    text: str | None
    is_unreadable: bool = False


def git(*arguments: str, stdin: str = "") -> str:
    """Return the output of git.

    Raises
    ------
    InputError
        If git fails.
    """
    process = run_git(*arguments, stdin=stdin)
    refuse_other_owner(process.stderr)
    if process.returncode:
        problem = f"`git {arguments[0]}` failed: {' '.join(process.stderr.split())}"
        raise refuse("git", problem, REPAIR)
    return process.stdout


def find_commit(revision: str, folder: Path | None = None) -> str | None:
    """Return the commit of a revision in the repository of a folder; None if it is unknown.

    Raises
    ------
    InputError
        If git reads no repository of another user.
    """
    options = ("--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    process = run_git("rev-parse", *options, folder=folder)
    refuse_other_owner(process.stderr)
    return None if process.returncode else process.stdout.strip()


def refuse_other_owner(stderr: str) -> None:
    """Raise InputError if git does not trust the owner of the checkout, as in containers."""
    if command := _TRUST.search(stderr):
        problem = stderr.splitlines()[0].removeprefix("fatal: ")
        raise refuse("git", problem, f"run `{command[0]}`")


def is_shallow(folder: Path | None = None) -> bool:
    """True if the checkout has only the last commits, as in many CI jobs."""
    return run_git("rev-parse", "--is-shallow-repository", folder=folder).stdout.strip() == "true"


def read_files(commits: Sequence[str], path: str, folder: Path | None = None) -> list[FileAtCommit]:
    """Return a file of a folder at each commit; in a partial clone, git fetches it."""
    return [
        FileAtCommit(None, is_unreadable=_may_exist(commit, path, folder))
        if blob is None
        else FileAtCommit(blob.decode("utf-8", errors="replace").replace("\r\n", "\n"))
        for commit, blob in zip(commits, read_blobs(commits, path, folder), strict=True)
    ]


def read_blobs(commits: Sequence[str], path: str, folder: Path | None = None) -> list[bytes | None]:
    """Return the content of a file at each commit; None if it is missing or damaged.

    Commits are in order of time, the oldest first.
    """
    if "\n" in path:  # git reads one name per line
        return [None] * len(commits)
    newest_first = commits[::-1]  # a partial clone has the newest files
    blobs: list[bytes | None] = []
    environment = {**os.environ}
    while len(blobs) < len(commits):
        names = "".join(f"{commit}:./{path}\n" for commit in newest_first[len(blobs) :])
        answer = subprocess.run(
            ["git", "cat-file", "--batch"],
            input=names.encode(),
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
        )
        blobs += _blobs(answer.stdout)
        if not answer.stdout and _WITHOUT_NETWORK.items() <= environment.items():
            break  # two blobs in a row are only on a remote: so are older ones
        if len(blobs) < len(commits):  # git stops at a blob that it cannot fetch
            blobs.append(None)
            environment |= _WITHOUT_NETWORK
    return [*[None] * (len(commits) - len(blobs)), *blobs[::-1]]


def _blobs(answer: bytes) -> Iterator[bytes | None]:
    """Yield the blobs in lines `<object> <type> <size>` with content; None for `<name> missing`."""
    start = 0
    while (end := answer.find(b"\n", start)) >= 0:
        header = _HEADER.fullmatch(answer[start:end])
        start = end + 1
        if header is None:
            yield None
            continue
        name, kind, size = header.groups()
        content = answer[start : start + int(size)]
        if len(content) < int(size):  # git stopped within a damaged blob
            return
        start += len(content) + 1
        yield content if kind == b"blob" and _hash(content, name) == name else None


def _hash(content: bytes, name: bytes) -> bytes:
    """Return the name of a blob by the hash algorithm of the repository."""
    algorithm = "sha1" if len(name) == 40 else "sha256"  # noqa: PLR2004 - digits
    header = f"blob {len(content)}\0".encode()
    return hashlib.new(algorithm, header + content, usedforsecurity=False).hexdigest().encode()


def _may_exist(commit: str, path: str, folder: Path | None) -> bool:
    """True if a commit has a file of this name, or git fails."""
    process = run_git("ls-tree", commit, "--", path, folder=folder)
    return process.returncode != 0 or bool(process.stdout)
