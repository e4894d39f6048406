"""Messages and progress on stderr; no output that DVC tracks depends on them."""

import codecs
import io
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from concord.metrics_core.errors import printable

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
_LEVELS = {"quiet": logging.ERROR, "verbose": logging.DEBUG}


def set_up_logging(arguments: list[str]) -> list[str]:
    """Set the verbosity by flags or CONCORD_LOG; return the arguments without the flags."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: the next opened file would get its number
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    set_up_encodings()
    words = {*os.environ.get(VARIABLE, "").lower().replace(",", " ").split()}
    words |= {FLAGS[argument] for argument in arguments if argument in FLAGS}
    logging.raiseExceptions = False  # a closed stderr does not fail the work
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if "json" in words else _TextFormatter())
    for logger in (LOG, logging.getLogger("py.warnings")):
        logger.handlers[:] = [handler]
        logger.propagate = False
    logging.captureWarnings(capture=True)
    logging.lastResort = handler  # for messages of other packages
    LOG.setLevel(min((_LEVELS[word] for word in words & _LEVELS.keys()), default=logging.INFO))
    return [argument for argument in arguments if argument not in FLAGS]


def set_up_encodings() -> None:
    """Print all characters: ASCII and the code pages of Windows become UTF-8, others escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            encoding = "utf-8" if is_ascii or sys.platform == "win32" else None
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def supports_escape_codes(stream: TextIO) -> bool:
    """True for a terminal with colours and links; consoles of Windows may print the codes."""
    return stream.isatty() and os.environ.get("TERM") != "dumb" and sys.platform != "win32"


def is_quiet() -> bool:
    """True if only errors are printed."""
    return not LOG.isEnabledFor(logging.WARNING)


def shows_progress() -> bool:
    """True if progress may be drawn: messages are neither JSON nor errors only."""
    return not is_quiet() and not any(
        isinstance(handler.formatter, _JsonFormatter) for handler in LOG.handlers
    )


def log_stage_end(stage: str, summary: str | None, seconds: float) -> None:
    """Log the last line of a stage: its summary, time and peak memory."""
    cost, fields = f"{seconds:.1f} s", {"stage": stage, "seconds": round(seconds, 3)}
    if (memory := peak_memory()) is not None:
        cost += f", {memory / 1e6:.0f} MB"
        fields["megabytes"] = round(memory / 1e6)
    LOG.info("%s; %s", f"{stage}: {summary}" if summary else stage, cost, extra={"fields": fields})


def print_text(text: str) -> None:
    """Print a text on stdout: names in it cannot control the terminal."""
    print(printable(text, keep="\n"), flush=True)


def print_line(text: str) -> None:
    """Print a text on stdout as `print_unless_quiet` does."""
    print_unless_quiet(lambda: print_text(text))


def print_unless_quiet(print_text: Callable[[], None]) -> None:
    """Print unless only errors are printed; a closed pipe (`| head`) does not stop the work."""
    if is_quiet():
        return
    try:
        print_text()
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output(sys.stdout)
    except OSError as error:
        discard_output(sys.stdout)
        LOG.warning("the output is lost: stdout: %s", error.strerror)


def flush() -> None:
    """Flush before exit: Python would report a closed pipe by another exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            discard_output(stream)


def discard_output(stream: TextIO) -> None:
    """Redirect further output to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def peak_memory() -> int | None:
    """Return the peak resident memory of this process in bytes, without that before exec.

    None on Windows, where Python has no function for it.
    """
    if sys.platform == "win32":
        return None
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        import resource  # Windows has none

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def escape_unprintable(text: str, keep: str = "") -> str:
    """Return JSON with unprintable characters escaped, except `keep`; others stay readable."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else json.dumps(c)[1:-1] for c in text)


class _TextFormatter(logging.Formatter):
    """Format each message as printable text."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record), keep="\n")


class _JsonFormatter(logging.Formatter):
    """Format each message as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": time, "level": record.levelname.lower()}
        line |= getattr(record, "fields", {})
        line["message"] = record.getMessage()
        return escape_unprintable(json.dumps(line, ensure_ascii=False))


_DRAWING_INTERVAL = 0.25  # seconds
_WIDTH = 80


class Progress:
    """A progress line, drawn at most four times a second."""

    def __init__(self, title: str, unit: str, total: int | None = None) -> None:
        self._title, self._unit, self._total = title, unit, total
        self._done, self._start, self._drawn = 0, time.monotonic(), 0.0
        self._is_shown = shows_progress() and supports_escape_codes(sys.stderr)
        self._lock = threading.Lock()

    def __enter__(self) -> "Progress":
        self._draw()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            self._write("\r\x1b[K")

    def advance(self, count: int) -> None:
        """Add to the count; may be called from any thread."""
        with self._lock:
            self._done += count
            if self._is_shown and time.monotonic() - self._drawn > _DRAWING_INTERVAL:
                self._draw()

    def _draw(self) -> None:
        if self._is_shown:
            self._drawn = time.monotonic()
            self._write(f"\r{printable(self.line())[: max(_columns() - 1, 1)]}\x1b[K")

    def line(self) -> str:
        """Return a text such as `load popularity: 120,000 of 400,000 rows, 3 s left`."""
        if not self._done:
            return f"{self._title} …"
        if not self._total:
            return f"{self._title}: {self._done:,} {self._unit}"
        elapsed = time.monotonic() - self._start
        known = min(self._done, self._total)  # users whom only lists have are not in the total
        seconds = elapsed * (self._total - known) / known
        done = f"{known:,} of {self._total:,} {self._unit}"
        return f"{self._title}: {done}, {seconds:.0f} s left"

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


@contextmanager
def count_rows(
    batches: "pa.RecordBatchReader | None", title: str, total: int | None
) -> Iterator["pa.RecordBatchReader | None"]:
    """Yield the same batches; their rows are counted when they are read."""
    start = time.monotonic()
    if batches is None:
        yield None
    else:
        with Progress(title, "rows", total) as progress:
            yield _counting_reader(batches, progress)
    LOG.debug("%s in %.1f s", title, time.monotonic() - start)


def _counting_reader(batches: "pa.RecordBatchReader", progress: Progress) -> "pa.RecordBatchReader":
    import pyarrow as pa  # slow: not needed for messages alone

    def count() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            progress.advance(len(batch))
            yield batch

    return pa.RecordBatchReader.from_batches(batches.schema, count())


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH
