"""Run `concord` with what Linux can imitate of Windows: `python -m tests.as_on_windows …`.

No module of Unix, no functions that `os` and `signal` lack there, no rename or removal of a file
that this process holds open, no flush of a file that is open for reading only, and no text file
without an encoding. Paths stay those of Linux. Packages are imported before, since they would look
for parts of them that only Windows has.
"""

import asyncio  # noqa: F401
import ctypes
import os
import shutil
import signal
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb  # noqa: F401
import jinja2  # noqa: F401
import numpy as np  # noqa: F401
import polars as pl  # noqa: F401
import pyarrow.parquet  # noqa: F401
import pydantic  # noqa: F401
import ruamel.yaml  # noqa: F401
import scipy.special
import scipy.stats  # noqa: F401

_MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "syslog")
_FUNCTIONS = (
    *("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "getpgid", "killpg", "setsid"),
    *("mkfifo", "uname", "nice", "getloadavg", "chown", "lchown", "fchown", "fchmod"),
    *("sched_getaffinity", "sync", "pread", "pwrite", "sendfile"),
)
_SIGNALS = ("SIGKILL", "SIGHUP", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD")


def _msvcrt() -> ModuleType:
    """Return a module that locks one byte at the start of a file for as long as it is open."""
    module: Any = ModuleType("msvcrt")
    module.LK_NBLCK = 2

    def locking(number: int, mode: int, size: int) -> None:
        at = os.lseek(number, 0, os.SEEK_CUR)
        assert (mode, size, at) == (module.LK_NBLCK, 1, 0)

    module.locking = locking
    return module


class _Kernel32:
    """The calls by which Windows says whether a process runs: none of another number does."""

    @staticmethod
    def OpenProcess(access: int, inherit: bool, process: int) -> int:  # noqa: N802
        return int(process == os.getpid())

    @staticmethod
    def CloseHandle(handle: int) -> None:  # noqa: N802
        assert handle


def _refuse_open(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise as Windows does if a file that is replaced or removed is open here."""
    paths = {"os.rename": arguments[:2], "os.remove": arguments[:1]}.get(event, ())
    for path in map(os.fspath, paths):
        if os.path.isfile(path) and os.path.realpath(path) in _open_files():  # noqa: PTH113
            raise PermissionError(13, "is used by another process (this one)", path)


def _open_files() -> set[str]:
    numbers = os.listdir("/proc/self/fd")  # noqa: PTH208
    links = [f"/proc/self/fd/{number}" for number in numbers]
    opened = {os.readlink(link) for link in links if os.path.lexists(link)}  # noqa: PTH115
    with open("/proc/self/maps", encoding="utf-8") as maps:  # noqa: PTH123
        return opened | {line.split(maxsplit=5)[-1].strip() for line in maps}


def _fsync(fd: Any, sync: Any = os.fsync) -> None:
    flags = Path(f"/proc/self/fdinfo/{fd}").read_text(encoding="utf-8").split("flags:")[1]
    if int(flags.split()[0], 8) & (os.O_WRONLY | os.O_RDWR) == 0:
        raise OSError(9, "Bad file descriptor")
    sync(fd)


def _become_windows() -> None:
    sys.modules.update(dict.fromkeys(_MODULES))  # type: ignore[arg-type]  # None: no such module
    sys.modules["msvcrt"] = _msvcrt()
    for name in _FUNCTIONS:
        delattr(os, name)
    for name in _SIGNALS:
        delattr(signal, name)
    os.fsync = _fsync
    windows: Any = ctypes
    windows.WinDLL = lambda *_, **__: _Kernel32
    windows.get_last_error = lambda: 87  # no such process
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    sys.platform = "win32"
    sys.addaudithook(_refuse_open)
    warnings.filterwarnings("error", category=EncodingWarning, module="concord")


if __name__ == "__main__":
    _become_windows()
    from concord.pipeline.commands.cli import main

    sys.argv = ["concord", *sys.argv[1:]]
    main(sys.argv[1:])
