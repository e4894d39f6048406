"""Locks on files: of several processes, one works at a time."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from concord.pipeline.running.messages import LOG

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_POLL = 0.1  # seconds between two attempts on Windows, which cannot wait for a lock


def open_locked(file: Path, *, waiting: str = "") -> IO[bytes]:
    """Open a file and lock it until it is closed; log `waiting` if another process holds it.

    It tries again if the last owner removed the file meanwhile.
    """
    while True:
        lock = file.open("ab")
        try:
            if not _try_lock(lock):
                if waiting:
                    LOG.info("%s", waiting)
                _wait_for_lock(lock)
            if sys.platform == "win32" or _has_name(lock, file):
                return lock
        except BaseException:
            lock.close()
            raise
        lock.close()


def _has_name(lock: IO[bytes], file: Path) -> bool:
    """True unless the opened file was removed; Windows removes no open file."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock.fileno()), file.stat())
    return False


def remove_locked(lock: IO[bytes], file: Path) -> None:
    """Remove a file that `open_locked` opened; in a shared folder it may be another user's."""
    if sys.platform == "win32":  # where the next line fails if another process has opened it
        lock.close()
    with suppress(OSError):
        file.unlink()


if sys.platform == "win32":

    def _try_lock(lock: IO[bytes]) -> bool:
        lock.seek(0)
        try:
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _wait_for_lock(lock: IO[bytes]) -> None:
        while not _try_lock(lock):
            time.sleep(_POLL)

else:

    def _try_lock(lock: IO[bytes]) -> bool:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_for_lock(lock: IO[bytes]) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
