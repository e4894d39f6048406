"""What killed processes leave behind, removed at the next start: half-written files and folders for spilling."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.running.claims import claim

PART = ".part"
_OWN: set[Path] = set()  # what this process is writing
_SPILL = "concord-spill-"


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Marks a file as being written by this process, until the block ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    _OWN.add(path)
    try:
        claim(descriptor)
        yield
    finally:
        _OWN.discard(path)
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
    with tempfile.TemporaryDirectory(prefix=_SPILL, ignore_cleanup_errors=True) as folder:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        _OWN.add(Path(folder))
        try:
            claim(descriptor)
            yield folder
        finally:
            _OWN.discard(Path(folder))
            os.close(descriptor)


def _remove_unclaimed(path: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if claim(descriptor):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        finally:
            os.close(descriptor)
