"""How far a stage is, on one line of the terminal; nothing where stderr is no terminal."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

import pyarrow as pa

from concord.pipeline.running.announce import LOG, says_progress, terminal

_EVERY = 0.25  # seconds between two pictures
_WIDTH = 80


class Progress:
    """Counts what is done; draws at most a few times a second."""

    def __init__(self, title: str, unit: str, total: int | None = None) -> None:
        self._title, self._unit, self._total = title, unit, total
        self._done, self._began, self._drawn = 0, time.monotonic(), 0.0
        self._shown = says_progress() and sys.stderr.isatty()
        self._lock = threading.Lock()

    def __enter__(self) -> "Progress":
        self._draw()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("\r\x1b[K")

    def advance(self, count: int) -> None:
        """So many more are done; may be called from any thread."""
        with self._lock:
            self._done += count
            if self._shown and time.monotonic() - self._drawn > _EVERY:
                self._draw()

    def _draw(self) -> None:
        if self._shown:
            self._drawn = time.monotonic()
            self._write(f"\r{self.line()[: max(_columns() - 1, 1)]}\x1b[K")

    def line(self) -> str:
        """`load popularity: 120,000 of 400,000 rows, 3 s left`."""
        if not self._done:
            return f"{self._title} …"
        if not self._total:
            return f"{self._title}: {self._done:,} {self._unit}"
        elapsed = time.monotonic() - self._began
        left = elapsed * max(self._total - self._done, 0) / self._done
        return f"{self._title}: {self._done:,} of {self._total:,} {self._unit}, {left:.0f} s left"

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            terminal(sys.stderr).write(text)
            sys.stderr.flush()


@contextmanager
def counted(
    batches: pa.RecordBatchReader | None, title: str, total: int | None
) -> Iterator[pa.RecordBatchReader | None]:
    """The same batches; their rows are counted as they are read."""
    began = time.monotonic()
    if batches is None:
        yield None
    else:
        with Progress(title, "rows", total) as progress:
            yield _passing(batches, progress)
    LOG.debug("%s in %.1f s", title, time.monotonic() - began)


def _passing(batches: pa.RecordBatchReader, progress: Progress) -> pa.RecordBatchReader:
    def counting() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            progress.advance(len(batch))
            yield batch

    return pa.RecordBatchReader.from_batches(batches.schema, counting())


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH
