"""A disk that is full or must not be written: one line with the path, the free space and what to do."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota is used up",
    errno.EFBIG: "the limit of file sizes (ulimit -f) is reached",
}
REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_BLOCK = 4096  # bytes that must fit before work begins


class DiskError(OSError):
    """One clear line; nothing half-written is left."""


@contextmanager
def explain_disk_errors(path: Path, part: Path) -> Iterator[None]:
    """Turn what the disk refuses while `part` is written into a line that names `path`."""
    try:
        yield
    except DiskError:
        raise
    except Exception as error:  # polars and DuckDB have errors of their own for it
        number = full_disk(error)
        if number is not None:
            raise DiskError(_full(path, part, FULL[number])) from None
        if isinstance(error, OSError) and error.errno in REFUSED:
            raise DiskError(_refused(path, error)) from None
        raise


def full_disk(error: BaseException) -> int | None:
    """Return the error number of a full disk, a used-up quota or a limit of file sizes; None for other errors."""
    for number in FULL:
        if getattr(error, "errno", None) == number or os.strerror(number) in str(error):
            return number
    return None


def refuse_unwritable(folder: Path) -> None:
    """Refuse a folder before any work is done whose results could not be written to it."""
    probe = folder / f".writable.{os.getpid()}.part"
    with explain_disk_errors(folder, probe):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            probe.write_bytes(bytes(_BLOCK))
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)


def _full(path: Path, part: Path, reason: str) -> str:
    written = part.stat().st_size if part.is_file() else 0
    whole = path.absolute()
    folder = next(each for each in (whole, *whole.parents) if each.is_dir())
    free = in_bytes(shutil.disk_usage(folder).free)
    return (
        f"{path}: {reason}: {free} are free, {in_bytes(written)} were written and more is needed;"
        " nothing half-written is left; fix: free space there, then `dvc repro`"
    )


def _refused(path: Path, error: OSError) -> str:
    reason = os.strerror(error.errno or 0)
    return f"{path}: cannot be written: {reason}; fix: make it writable for the user who runs `dvc repro`, or name another folder under `results:` in params.yaml"


def in_bytes(count: float) -> str:
    """1,536 -> '1.5 kB'."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:  # noqa: PLR2004
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
