"""Messages and progress on stderr: how many and in which form. None of them is tracked."""

import codecs
import io
import json
import logging
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    import pyarrow as pa


VARIABLE = "CONCORD_LOG"
FLAGS = {
    "-q": "quiet",
    "--quiet": "quiet",
    "-v": "verbose",
    "--verbose": "verbose",
    "--log-json": "json",
}
LOG = logging.getLogger("concord")
_UNCHANGED = "\n\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"  # as between a number and its unit
_LEVELS = {"quiet": logging.ERROR, "verbose": logging.DEBUG}


def set_up(arguments: list[str]) -> list[str]:
    """Choose how much is logged, by flags or else by CONCORD_LOG; return the arguments without the flags."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: the next file that is opened would take its number
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    sys.stdout, sys.stderr = _printable(sys.stdout), _printable(sys.stderr)
    options = {*os.environ.get(VARIABLE, "").lower().replace(",", " ").split()}
    options |= {FLAGS[argument] for argument in arguments if argument in FLAGS}
    logging.raiseExceptions = False  # a closed stderr is no reason to fail
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_AsJson() if "json" in options else logging.Formatter("%(message)s"))
    LOG.handlers[:] = [handler]
    LOG.propagate = False
    LOG.setLevel(min((_LEVELS[word] for word in options & _LEVELS.keys()), default=logging.INFO))
    return [argument for argument in arguments if argument not in FLAGS]


def _printable(stream: TextIO) -> TextIO:
    if isinstance(stream, io.TextIOWrapper):
        is_ascii = codecs.lookup(stream.encoding).name == "ascii"
        stream.reconfigure(encoding="utf-8" if is_ascii else None, errors="backslashreplace")
    return stream if isinstance(stream, _Plain) else cast("TextIO", _Plain(stream))


class _Plain(io.TextIOBase):
    """A stream without commands to the terminal: servers and files choose words too."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(plain(text))

    def flush(self) -> None:
        self.stream.flush()

    def fileno(self) -> int:
        return self.stream.fileno()

    def isatty(self) -> bool:
        return self.stream.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.stream.encoding


def plain(text: str) -> str:
    """Return the text with the code of every character that cannot be printed; lines and hard spaces stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _UNCHANGED else ascii(c)[1:-1] for c in text)


def terminal(stream: TextIO) -> TextIO:
    """Return the stream below, for those who draw on it and escape the text themselves."""
    return getattr(stream, "stream", stream)


def says_progress() -> bool:
    """True if a line may be drawn over itself: neither among JSON nor where quiet was chosen."""
    return LOG.isEnabledFor(logging.INFO) and not any(
        isinstance(handler.formatter, _AsJson) for handler in LOG.handlers
    )


def ended(stage: str, summary: str | None, seconds: float) -> None:
    """Log the last line of a stage: what it did, how long it took and how much memory."""
    megabytes = peak_memory() / 1e6
    message = f"{stage}: {summary}" if summary else stage
    known = {"stage": stage, "seconds": round(seconds, 3), "megabytes": round(megabytes)}
    LOG.info("%s; %.1f s, %.0f MB", message, seconds, megabytes, extra={"known": known})


def say(text: str) -> None:
    """Print a line on stdout; a reader who has gone (`| head`) must not stop the work."""
    _print_if_possible(lambda: print(text, flush=True))


def show(print_it: Callable[[], None]) -> None:
    """Print beside the work, unless quiet was chosen; a reader who has gone must not fail it."""
    if LOG.isEnabledFor(logging.INFO):
        _print_if_possible(print_it)


def _print_if_possible(print_it: Callable[[], None]) -> None:
    try:
        print_it()
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError as error:
        discard(sys.stdout)
        LOG.warning("the output is lost: stdout: %s", error.strerror)


def flush() -> None:
    """Flush before the process ends, which would report a reader who has gone with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            discard(stream)


def discard(stream: TextIO) -> None:
    """Let what is still to be printed go nowhere, without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def peak_memory() -> int:
    """Return the most bytes that were resident, of this program alone and not of the one that started it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


class _AsJson(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": time, "level": record.levelname.lower()}
        line |= getattr(record, "known", {})
        return json.dumps({**line, "message": plain(record.getMessage())}, ensure_ascii=False)


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
    batches: "pa.RecordBatchReader | None", title: str, total: int | None
) -> Iterator["pa.RecordBatchReader | None"]:
    """The same batches; their rows are counted as they are read."""
    began = time.monotonic()
    if batches is None:
        yield None
    else:
        with Progress(title, "rows", total) as progress:
            yield _passing(batches, progress)
    LOG.debug("%s in %.1f s", title, time.monotonic() - began)


def _passing(batches: "pa.RecordBatchReader", progress: Progress) -> "pa.RecordBatchReader":
    import pyarrow as pa  # not where messages are all that is needed

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
