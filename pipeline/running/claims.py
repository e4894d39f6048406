"""Claims on files: locks that the kernel releases when their process ends, however it ends."""

import fcntl
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from metrics_core.problems import refuse

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
    path = _claim_file(stage)
    with path.open("a+", encoding="utf-8") as file:
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


def _claim_file(stage: str) -> Path:
    """In DVC's own folder for such things, which git does not see; elsewhere without DVC."""
    here = Path.cwd()
    root = Path(os.environ.get("DVC_ROOT") or here)
    mark = hashlib.sha256(f"{here}\0{stage}".encode()).hexdigest()[:8]
    folder = root / ".dvc" / "tmp" if (root / ".dvc").is_dir() else Path(tempfile.gettempdir())
    name = re.sub(r"[^\w-]+", "-", stage, flags=re.ASCII)[:80]
    try:
        folder = folder / "concord"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}-{mark}.lock"
        path.touch()
    except OSError as error:
        fix = "make the folder writable for the user who runs `dvc repro`"
        raise refuse(str(folder), f"cannot be written: {error.strerror}", fix) from None
    return path


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
