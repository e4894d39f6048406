"""Write a file whole or not at all: to a temporary file beside it, flushed to disk, then renamed."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concord.pipeline.params.model import Results
from concord.pipeline.running.announce import LOG
from concord.pipeline.running.disk import explain_disk_errors, refuse_unwritable
from concord.pipeline.running.temporary_files import part_of, remove_stale_parts

if TYPE_CHECKING:
    import polars as pl

MAKE_AGAIN = "run `dvc repro`, which makes it again"  # what to do about an output that is damaged


def prepare(results: Results, *folders: str) -> None:
    """Check that the folders can be written, and remove what a killed run left in any results folder."""
    for folder in vars(results).values():
        remove_stale_parts(Path(folder))
    for folder in folders:
        refuse_unwritable(Path(folder))


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends without an error; a stream's own path."""
    if is_stream(path):
        with explain_disk_errors(path, path):
            yield path
        return
    part = part_of(path)
    try:
        with explain_disk_errors(path, part):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield part
            flush_to_disk(part)
            part.replace(path)
            LOG.debug("wrote %s", path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def flush_to_disk(path: Path) -> None:
    with path.open("rb") as written:
        os.fsync(written.fileno())


def is_stream(path: Path) -> bool:
    """True for a device, a pipe or a link of the system to an open file (`/dev/stdout`): a rename would replace it."""
    if path.is_symlink() and path.parent.resolve().parts[1:2] in {("dev",), ("proc",)}:
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def write_text(path: Path, text: str) -> None:
    with whole(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, content: Any) -> None:
    """JSON with keys in the given order; NaN and infinity are refused, null stands for a missing number."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_parquet(path: Path, table: "pl.DataFrame") -> None:
    with whole(path) as part:
        table.write_parquet(part, row_group_size=131_072)


def write_csv(path: Path, table: "pl.DataFrame") -> None:
    with whole(path) as part:
        table.write_csv(part)
