"""Write a file whole or not at all: beside its place, flushed to disk, then renamed."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concord.pipeline.params.model import Results
from concord.pipeline.running.announce import LOG
from concord.pipeline.running.disk import named, try_writing
from concord.pipeline.running.leftovers import PART, claimed, sweep

if TYPE_CHECKING:
    import polars as pl


def prepare(results: Results, *folders: str) -> None:
    """Before any work: the folders can be written, and no results folder holds what a killed process left."""
    for folder in vars(results).values():
        sweep(Path(folder))
    for folder in folders:
        try_writing(Path(folder))


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends without an error."""
    beside = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    try:
        with named(path, beside):
            path.parent.mkdir(parents=True, exist_ok=True)
            with claimed(beside):
                yield beside
                with beside.open("rb") as written:
                    os.fsync(written.fileno())
                beside.replace(path)
                LOG.debug("wrote %s", path)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with whole(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, content: Any) -> None:
    """JSON with keys in the given order; NaN and infinity are refused, null stands for a missing number."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_parquet(path: Path, table: "pl.DataFrame") -> None:
    _write(path, lambda beside: table.write_parquet(beside, row_group_size=131_072))


def write_csv(path: Path, table: "pl.DataFrame") -> None:
    _write(path, table.write_csv)


def _write(path: Path, write: Callable[[Path], None]) -> None:
    with whole(path) as beside:
        write(beside)
