"""Claims on files: locks that the kernel releases when their process ends, however it ends."""

import errno
import fcntl
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from concord.metrics_core.checking.problems import refuse
from concord.pipeline.params.repository import original_repository

WAIT = 5.0  # seconds for a dying process to let go
_STEP = 0.05
_HELD: set[int] = set()  # the files of the claims that this process holds


@contextmanager
def only_one(stage: str) -> Iterator[str | None]:
    """Hold the claim on a stage of this project; yields the process that was killed in it before, if one was.

    Raises
    ------
    InputError : another process runs the stage
    """
    with _claim_file(stage) as file:
        path = Path(file.name)
        _wait_for(file.fileno(), stage, path)
        file.seek(0)
        killed = file.read().strip() or None
        _note(file.fileno(), f"{os.getpid()}\n")
        _HELD.add(file.fileno())
        try:
            yield killed
        finally:
            _HELD.discard(file.fileno())
            _note(file.fileno(), "")


def forget_claims() -> None:
    """Called by a process that ends in order: the next one need not explain why it was killed."""
    for descriptor in [*_HELD]:
        _note(descriptor, "")


def claim(descriptor: int) -> bool:
    """Take the lock of an open file; False if another process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


def lock_file(path: Path) -> TextIO:
    """Opened, and made if need be. No link is followed: whoever planted it would choose what is written over.

    Raises
    ------
    OSError : the folder may not be written, or a link, a pipe or the like has the file's name
    """
    how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, how, 0o666)
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        if not is_file:
            os.close(descriptor)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        is_file = False
    if not is_file:
        raise OSError(errno.EPERM, f"{path.name} is a link or no file: remove it", str(path))
    return open(path, "r+", encoding="utf-8", opener=lambda *_: descriptor)


def _claim_file(stage: str) -> TextIO:
    here = Path.cwd()
    mark = hashlib.sha256(f"{here}\0{stage}".encode()).hexdigest()[:8]
    name = re.sub(r"[^\w-]+", "-", stage, flags=re.ASCII)[:80]
    dvc = original_repository() / ".dvc"
    folder = dvc / "tmp" / "concord" if dvc.is_dir() else _private_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return lock_file(folder / f"{name}-{mark}.lock")
    except OSError as error:
        fix = "make the folder writable for the user who runs `dvc repro`"
        raise refuse(str(folder), f"cannot be written: {error.strerror}", fix) from None


def _private_folder() -> Path:
    """Without DVC: in the folder for temporary files, where others may write too.

    Raises
    ------
    InputError : somebody else has made it, or can write to it
    """
    folder = Path(tempfile.gettempdir()) / f"concord-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700)
    try:
        found = folder.lstat()
    except OSError as error:
        what = f"cannot be made: {error.strerror}"
        raise refuse(str(folder), what, "set TMPDIR to a folder that can be written") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        what = "is not a folder that this user alone may write to, so locks there are not safe"
        raise refuse(str(folder), what, "remove it, or set TMPDIR to a folder of your own")
    return folder


def _wait_for(descriptor: int, stage: str, path: Path) -> None:
    end = time.monotonic() + WAIT
    while not claim(descriptor):
        if time.monotonic() > end:
            with suppress(OSError):
                owner = path.read_text(encoding="utf-8").strip()
            what = f"is being run by process {owner or '?'}"
            raise refuse(f"stage {stage!r}", what, "wait until it has ended, then `dvc repro`")
        time.sleep(_STEP)


def _note(descriptor: int, text: str) -> None:
    """Best effort: a full disk must not keep a stage from ending in order."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
