"""What killed processes leave behind, removed at the next start: half-written files and folders for spilling."""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from concord.pipeline.running.claims import claim

PART = ".part"
_OWN: set[Path] = set()  # what this process is writing
_SPILL = "concord-spill-"
_EVERY = 0.2  # seconds between two looks at what was spilled
_AT_MOST = [0]  # bytes that were spilled at a time by this process


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Marks a file as being written by this process, until the block ends."""
    descriptor = _claimed(path, os.O_RDWR | os.O_CREAT)
    _OWN.add(path)
    try:
        yield
    finally:
        _OWN.discard(path)
        os.close(descriptor)


def _claimed(path: Path, how: int) -> int:
    """Opened and claimed; again if a sweep of another process came between the two."""
    while True:
        descriptor = os.open(path, how | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with suppress(FileNotFoundError):
            if claim(descriptor) and os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def remove_own() -> None:
    """What this process is writing and will not finish."""
    for path in [*_OWN]:
        with suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def sweep(folder: Path) -> None:
    """Removes half-written files that no living process claims."""
    for part in folder.glob(f".*{PART}"):
        _remove_unclaimed(part)


@contextmanager
def spill_folder() -> Iterator[str]:
    """A folder for DuckDB's temporary files that goes with the block, or at the latest with the next one."""
    for old in Path(tempfile.gettempdir()).glob(f"{_SPILL}*"):
        _remove_unclaimed(old)
    folder, descriptor = _made()
    _OWN.add(folder)
    ended = threading.Event()
    threading.Thread(target=_weigh, args=(folder, ended), daemon=True).start()
    try:
        yield str(folder)
    finally:
        ended.set()
        shutil.rmtree(folder, ignore_errors=True)
        _OWN.discard(folder)
        os.close(descriptor)


def spilled() -> int:
    """Bytes that DuckDB held on disk at most, as far as they stood there when they were looked at."""
    return _AT_MOST[0]


def _weigh(folder: Path, ended: threading.Event) -> None:
    while not ended.wait(_EVERY):
        size = 0
        with suppress(OSError):  # files come and go
            for file in folder.iterdir():
                size += file.stat().st_size
        _AT_MOST[0] = max(_AT_MOST[0], size)


def _made() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_SPILL))
        with suppress(FileNotFoundError):  # swept away before it was claimed
            return folder, _claimed(folder, os.O_RDONLY)


def _remove_unclaimed(path: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if claim(descriptor):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        finally:
            os.close(descriptor)
