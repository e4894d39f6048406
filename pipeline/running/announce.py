"""What a stage says beside its results: on stderr, as much and in the form that was asked for. Nothing of it is tracked."""

import codecs
import io
import json
import logging
import os
import resource
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO, cast

from concord.pipeline.running.disk import in_bytes

VARIABLE = "CONCORD_LOG"
FLAGS = {
    "-q": "quiet",
    "--quiet": "quiet",
    "-v": "verbose",
    "--verbose": "verbose",
    "--log-json": "json",
}
LOG = logging.getLogger("concord")
_STAYS = "\n\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"  # as between a number and its unit
_LEVELS = {"quiet": logging.ERROR, "verbose": logging.DEBUG}


def set_up(arguments: list[str]) -> list[str]:
    """Chooses how much is said, by flags or else by CONCORD_LOG; the arguments without the flags."""
    _open_what_is_closed()
    sys.stdout, sys.stderr = _told(sys.stdout), _told(sys.stderr)
    asked = {*os.environ.get(VARIABLE, "").lower().replace(",", " ").split()}
    asked |= {FLAGS[argument] for argument in arguments if argument in FLAGS}
    logging.raiseExceptions = False  # a closed stderr is no reason to fail
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_AsJson() if "json" in asked else logging.Formatter("%(message)s"))
    LOG.handlers[:] = [handler]
    LOG.propagate = False
    LOG.setLevel(min((_LEVELS[word] for word in asked & _LEVELS.keys()), default=logging.INFO))
    return [argument for argument in arguments if argument not in FLAGS]


def _open_what_is_closed() -> None:
    """After `>&-` the next file that is opened would be taken for stdout."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _told(stream: TextIO) -> TextIO:
    if isinstance(stream, io.TextIOWrapper):
        is_ascii = codecs.lookup(stream.encoding).name == "ascii"
        stream.reconfigure(encoding="utf-8" if is_ascii else None, errors="backslashreplace")
    return stream if isinstance(stream, _Plain) else cast("TextIO", _Plain(stream))


class _Plain(io.TextIOBase):
    """A stream on which nothing is a command to the terminal, whoever writes: servers and files choose words too."""

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
    """The text with every character that cannot be printed shown by its code; lines and hard spaces stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _STAYS else ascii(c)[1:-1] for c in text)


def terminal(stream: TextIO) -> TextIO:
    """The stream below, for those who draw on it and see to the text themselves."""
    return getattr(stream, "stream", stream)


def says_progress() -> bool:
    """A line that is drawn over itself belongs neither among JSON nor where quiet was asked for."""
    return LOG.isEnabledFor(logging.INFO) and not any(
        isinstance(handler.formatter, _AsJson) for handler in LOG.handlers
    )


def ended(stage: str, said: str | None, seconds: float, spilled: int) -> None:
    """The line with which a stage ends: what it did, how long it took, how much memory and, where it spilled, disk."""
    megabytes = peak_memory() / 1e6
    what = f"{stage}: {said}" if said else stage
    known = {"stage": stage, "seconds": round(seconds, 3), "megabytes": round(megabytes)}
    disk = f", {in_bytes(spilled)} spilled to disk" if spilled else ""
    known |= {"spilled_megabytes": round(spilled / 1e6)} if spilled else {}
    LOG.info("%s; %.1f s, %.0f MB%s", what, seconds, megabytes, disk, extra={"known": known})


def say(text: str) -> None:
    """A line on stdout; a reader who has gone (`| head`) must not stop the work."""
    _whatever_the_reader(lambda: print(text, flush=True))


def show(print_it: Callable[[], None]) -> None:
    """What is printed beside the work, unless quiet was asked for; a reader who has gone must not fail it."""
    if LOG.isEnabledFor(logging.INFO):
        _whatever_the_reader(print_it)


def _whatever_the_reader(print_it: Callable[[], None]) -> None:
    try:
        print_it()
        sys.stdout.flush()
    except BrokenPipeError:
        forget_stdout()
    except OSError as error:
        forget_stdout()
        LOG.warning("what was to be printed is lost: stdout: %s", error.strerror)


def flush() -> None:
    """Before the process ends, which would complain of a reader who has gone, in words and with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def forget_stdout() -> None:
    """Whatever is still to be printed goes nowhere, without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def peak_memory() -> int:
    """Bytes at most resident; of this program alone, not of the one that started it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


class _AsJson(logging.Formatter):
    """A line a message."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": time, "level": record.levelname.lower()}
        line |= getattr(record, "known", {})
        return json.dumps({**line, "message": plain(record.getMessage())}, ensure_ascii=False)
