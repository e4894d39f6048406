"""A disk that is full or may not be written: named with the place, the space and what to do."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_BLOCK = 4096  # bytes that must fit before work begins


class DiskError(OSError):
    """One clear line; nothing half-written is left."""


@contextmanager
def named(path: Path, beside: Path) -> Iterator[None]:
    """What the disk refuses while `beside` is written becomes a line that names `path`."""
    try:
        yield
    except DiskError:
        raise
    except Exception as error:  # polars and DuckDB have errors of their own for it
        if is_full(error):
            raise DiskError(_full(path, beside, error)) from None
        if isinstance(error, OSError) and error.errno in REFUSED:
            raise DiskError(_refused(path, error)) from None
        raise


def is_full(error: BaseException) -> bool:
    """Is it a full disk, a used-up quota or a limit of file sizes that speaks here?"""
    number = error.errno if isinstance(error, OSError) else None
    text = str(error)
    return number in FULL or any(
        f"os error {full}" in text or os.strerror(full) in text for full in FULL
    )


def try_writing(folder: Path) -> None:
    """Refuses before any work is done where it could not be kept afterwards."""
    probe = folder / f".writable.{os.getpid()}.part"
    with named(folder, probe):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            probe.write_bytes(bytes(_BLOCK))
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)


def _full(path: Path, beside: Path, error: Exception) -> str:
    written = _size(beside)
    reason = "the quota is used up" if _is(error, errno.EDQUOT) else "the disk is full"
    if _is(error, errno.EFBIG):
        reason = "the limit of file sizes (ulimit -f) is reached"
    free = f"{in_bytes(_free(path))} are free, {in_bytes(written)} were written and more is needed"
    return f"{path}: {reason}: {free}; nothing half-written is left; fix: free space there, then `dvc repro`"


def _is(error: Exception, number: int) -> bool:
    return getattr(error, "errno", None) == number or os.strerror(number) in str(error)


def _refused(path: Path, error: OSError) -> str:
    reason = os.strerror(error.errno or 0)
    return f"{path}: cannot be written: {reason}; fix: make it writable for the user who runs `dvc repro`, or name another folder under `results:` in params.yaml"


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _free(path: Path) -> int:
    existing = next((folder for folder in path.absolute().parents if folder.is_dir()), Path("/"))
    return shutil.disk_usage(existing).free


def in_bytes(count: float) -> str:
    """1,536 -> '1.5 kB'."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:  # noqa: PLR2004
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
