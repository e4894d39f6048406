"""Run git, and read files of a folder at commits."""

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from concord.metrics_core.errors import refuse

UNREADABLE = "git cannot read it: an object is missing or damaged"
REPAIR = (
    "find out what is damaged by `git fsck`; `git fetch --refetch` brings it back from a remote"
)
_HEADER = re.compile(rb"([0-9a-f]{40,64}) ([a-z]+) ([0-9]+)")
_WITHOUT_NETWORK = {"GIT_ALLOW_PROTOCOL": "none"}


@dataclass(frozen=True)
class FileAtCommit:
    """A file of a commit; its text is None if it does not exist, or git cannot read it."""

    text: str | None
    is_unreadable: bool = False


def run_git(
    *arguments: str, stdin: str = "", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git; texts are UTF-8, and line ends stay as they are."""
    command = ["git", *arguments]
    done = subprocess.run(
        command, input=stdin.encode(), cwd=folder, capture_output=True, check=False
    )
    stdout, stderr = (each.decode("utf-8", errors="replace") for each in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(command, done.returncode, stdout, stderr)


def git(*arguments: str, stdin: str = "") -> str:
    """Return the output of git.

    Raises
    ------
    InputError
        Git fails.
    """
    done = run_git(*arguments, stdin=stdin)
    if done.returncode:
        raise refuse("git", f"`git {arguments[0]}` failed: {' '.join(done.stderr.split())}", REPAIR)
    return done.stdout


def commit_of(revision: str, folder: Path | None = None) -> str | None:
    """Return the commit of a revision in the repository of a folder; None if there is no such revision."""
    options = ("--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    done = run_git("rev-parse", *options, folder=folder)
    return None if done.returncode else done.stdout.strip()


def commits_of(references: Sequence[str]) -> list[str | None]:
    """Return the commit of each reference; None if it does not lead to one."""
    names = "".join(f"{name}^{{commit}}\n" for name in references)
    answers = git("cat-file", "--batch-check=%(objectname)", stdin=names).split("\n")[:-1]
    return [None if answer.endswith(" missing") else answer for answer in answers]


def files_at(commits: Sequence[str], path: str, folder: Path | None = None) -> list[FileAtCommit]:
    """Return a file of a folder at each commit; a partial clone fetches it."""
    return [
        FileAtCommit(None, is_unreadable=_may_exist(commit, path, folder))
        if blob is None
        else FileAtCommit(blob.decode("utf-8", errors="replace").replace("\r\n", "\n"))
        for commit, blob in zip(commits, blobs_at(commits, path, folder), strict=True)
    ]


def blobs_at(commits: Sequence[str], path: str, folder: Path | None = None) -> list[bytes | None]:
    """Return the content of a file at commits, the oldest first; None if it is missing, damaged or no file."""
    if "\n" in path:  # git reads one name a line
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
            break  # two blobs in a row that are only on a remote: older ones are too
        if len(blobs) < len(commits):  # git ends at a blob that it cannot fetch
            blobs.append(None)
            environment |= _WITHOUT_NETWORK
    return [*[None] * (len(commits) - len(blobs)), *blobs[::-1]]


def _blobs(answer: bytes) -> Iterator[bytes | None]:
    """Yield blobs from lines `<object> <type> <size>`, their content and a line end; or `<name> missing`."""
    start = 0
    while (end := answer.find(b"\n", start)) >= 0:
        header = _HEADER.fullmatch(answer[start:end])
        start = end + 1
        if header is None:
            yield None
            continue
        name, kind, size = header.groups()
        content = answer[start : start + int(size)]
        if len(content) < int(size):  # git ended within a damaged blob
            return
        start += len(content) + 1
        yield content if kind == b"blob" and _hash(content, name) == name else None


def _hash(content: bytes, name: bytes) -> bytes:
    """Return the name of a blob, by the algorithm of the repository."""
    algorithm = "sha1" if len(name) == 40 else "sha256"  # noqa: PLR2004 - digits
    header = f"blob {len(content)}\0".encode()
    return hashlib.new(algorithm, header + content, usedforsecurity=False).hexdigest().encode()


def _may_exist(commit: str, path: str, folder: Path | None) -> bool:
    """True if a commit has a file of this name, or if git cannot tell."""
    done = run_git("ls-tree", commit, "--", path, folder=folder)
    return done.returncode != 0 or bool(done.stdout)
