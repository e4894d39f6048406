"""A stage ends with its parent, and with a clear exit code when it is told to stop."""

import ctypes
import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_PR_SET_PDEATHSIG = 1
_STOP = (signal.SIGINT, signal.SIGTERM)
_ADDRESSES = (
    2_000_000_000  # bytes that libraries reserve at least; below, they crash in words of their own
)
_PATIENCE = 5.0  # seconds to leave in order, once told to stop


class Stopped(KeyboardInterrupt):
    """Ctrl-C or SIGTERM; passes through every `except Exception`, so that temporary files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.name = signal.Signals(number).name

    @property
    def exit_code(self) -> int:
        """130 for Ctrl-C, 143 for SIGTERM, as shells count."""
        return 128 + self.number


class _Told:
    """By which signal this process was told to stop; libraries turn the exception into others."""

    by: Stopped | None = None


def begin() -> None:
    """From the first moment: there is nothing to tidy up yet, so a signal ends the process at once."""
    die_with_parent()
    refuse_few_addresses()
    gc.disable()  # until what the stage needs is imported
    better = {}
    if sys.getfilesystemencoding() == "ascii":  # LC_ALL=POSIX and UTF-8 mode forbidden
        better["PYTHONUTF8"] = "1"
    if os.environ.get("PYTHONOPTIMIZE", "") not in ("", "0", "1"):  # Altair needs its docstrings
        better["PYTHONOPTIMIZE"] = "1"
    if better:
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **better})
    for number in _STOP:
        signal.signal(number, _leave_at_once)


@contextmanager
def importing() -> Iterator[None]:
    """Modules live as long as the process: searching them for garbage takes a seventh of the time of their import."""
    gc.disable()  # it may be already, since `begin`
    try:
        yield
    finally:
        gc.enable()


def refuse_few_addresses() -> None:
    """Ends the process where `ulimit -v` leaves the native libraries too little, before they are imported."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < _ADDRESSES:
        sys.exit(
            f"limit of addresses (ulimit -v): is {limit:,} bytes, and native libraries reserve more than they use\n"
            f"  fix: raise it to {_ADDRESSES:,} at least; CONCORD_MEMORY limits what DuckDB really holds"
        )


def stop_in_order(tidy: Callable[[], None]) -> None:
    """From now on a signal raises `Stopped` in the main thread; further ones are ignored meanwhile.

    Native code, such as a long query, may keep the main thread from hearing it: then, after some seconds, `tidy`
    removes what is half-written and the process leaves.
    """
    for number in _STOP:
        signal.signal(number, _raise)
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    threading.Thread(target=_leave_in_time, args=(heard, tidy), daemon=True).start()


def _leave_in_time(heard: int, tidy: Callable[[], None]) -> None:
    while (number := os.read(heard, 1)) and number[0] not in _STOP:
        pass
    if number:
        time.sleep(_PATIENCE)
        tidy()
        os._exit(128 + number[0])


def told_to_stop() -> Stopped | None:
    return _Told.by


def die_with_parent() -> None:
    """Linux kills this process when its parent dies: no orphan writes beside the next `dvc repro`."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent or _adopted():
        os.kill(os.getpid(), signal.SIGKILL)


def _adopted() -> bool:
    """Had the parent died before the call above? DVC starts stages in its own session; what adopts orphans has another."""
    if "DVC_STAGE" not in os.environ:
        return False
    try:
        return os.getsid(os.getppid()) != os.getsid(0)
    except OSError:
        return True


def _leave_at_once(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


def _raise(number: int, _: FrameType | None) -> None:
    for other in _STOP:
        signal.signal(other, signal.SIG_IGN)
    _Told.by = Stopped(number)
    raise _Told.by
