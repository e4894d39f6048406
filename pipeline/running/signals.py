"""A stage ends with its parent; a signal stops it with a shell's exit code."""

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_PR_SET_PDEATHSIG = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_stop_signals: list["StopSignal"] = []


class StopSignal(KeyboardInterrupt):
    """Ctrl-C or SIGTERM; no `except Exception` catches it, so temporary files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.name = signal.Signals(number).name
        self.exit_code = 128 + number  # 130 for Ctrl-C, 143 for SIGTERM, as in shells


def prepare_process() -> None:
    """Prepare a process before its imports: until `raise_on_signal`, a signal ends it at once."""
    die_with_parent()
    gc.disable()  # until `without_garbage_collection` ends
    end_on_signal()


def end_on_signal() -> None:
    """Let a signal end this process at once, with a shell's exit code and no traceback."""
    for number in _SIGNALS:
        signal.signal(number, lambda current, _: os._exit(128 + current))


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Import without garbage collection, which takes a seventh of the time and removes nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def raise_on_signal() -> None:
    """Let the first signal raise StopSignal in the main thread, and ignore later ones."""
    _stop_signals.clear()
    for number in _SIGNALS:
        signal.signal(number, _raise)


def stop_signal() -> StopSignal | None:
    """Return the signal that stopped this process: libraries may replace its exception."""
    return _stop_signals[0] if _stop_signals else None


def die_with_parent() -> None:
    """Let Linux kill this process when its parent dies, so that only one `dvc repro` writes."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _raise(number: int, _: FrameType | None) -> None:
    for other in _SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    _stop_signals.append(StopSignal(number))
    raise _stop_signals[0]
