"""Locks of files, with the functions of Unix and with those of Windows."""

import os
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from concord.pipeline.running import locks
from concord.pipeline.running.messages import LOG

_held: set[int] = set()


def _locking(number: int, mode: int, size: int) -> None:
    """Lock a file for one owner, as `msvcrt.locking` does; `os.fstat` names the file."""
    assert (mode, size, os.lseek(number, 0, os.SEEK_CUR)) == (2, 1, 0)
    if (inode := os.fstat(number).st_ino) in _held:
        raise PermissionError
    _held.add(inode)


@pytest.fixture(params=["unix", "windows"])
def functions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the functions of the module as a system loads them."""
    if request.param == "unix":
        return vars(locks)
    _held.clear()
    monkeypatch.setitem(sys.modules, "fcntl", None)  # missing
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=_locking))
    monkeypatch.setattr(sys, "platform", "win32")
    return runpy.run_path(locks.__file__)


def test_a_second_owner_says_once_that_it_waits_and_gets_the_lock(
    functions: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    open_locked: Callable[..., Any] = functions["open_locked"]
    file, events = tmp_path / "lock", []
    LOG.propagate = True
    first = open_locked(file, waiting="not said")

    def second() -> None:
        with open_locked(file, waiting="waiting"):
            events.append("second")

    thread = Thread(target=second)
    with caplog.at_level("INFO", LOG.name):
        thread.start()
        while not caplog.messages:
            time.sleep(0.01)
        events.append("first ends")
        first.close()
        _held.clear()
        thread.join()

    assert events == ["first ends", "second"]
    assert caplog.messages == ["waiting"]


def test_a_removed_lock_is_made_again(functions: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with functions["open_locked"](file) as lock:
        functions["remove_locked"](lock, file)
        assert not file.exists()
        _held.clear()

        with functions["open_locked"](file):
            assert file.exists()
