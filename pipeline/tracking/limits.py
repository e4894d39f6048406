"""Requests that end in time: MLflow's own limit holds for each read, so that a server that drips never meets it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from concord.metrics_core.checking.problems import refuse

if TYPE_CHECKING:
    from mlflow import MlflowClient

RETRIES, TIMEOUT = "MLFLOW_HTTP_REQUEST_MAX_RETRIES", "MLFLOW_HTTP_REQUEST_TIMEOUT"
_BETWEEN = 3  # seconds that MLflow rests at most before its first retry
_SLOWEST = 50_000  # bytes a second; an artifact takes its time to be sent


class _Late(BaseException):
    """Passes through every handler of libraries, which would try again."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Ends the block by a TimeoutError after so many seconds, however little is missing; in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> NoReturn:
        raise _Late

    before = signal.signal(signal.SIGALRM, stop)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)  # it may still ring before this is done
    except _Late:
        msg = "timed out"
        raise TimeoutError(msg) from None
    finally:
        signal.signal(signal.SIGALRM, before)


class Limited:
    """A client of a server, none of whose calls lasts longer than its requests may take with their retries."""

    def __init__(self, client: MlflowClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def called(*arguments: Any, **named: Any) -> Any:
            with within(_limit() + _sending(name, arguments)):
                return method(*arguments, **named)

        return called


def _limit() -> float:
    retries, timeout = _number_of(RETRIES), _number_of(TIMEOUT)
    return timeout * (retries + 1) + _BETWEEN * retries


def _number_of(variable: str) -> int:
    given = os.environ.get(variable) or "1"
    if not given.strip().isdecimal():
        raise refuse(variable, f"is {given!r}", "set it to a whole number, or unset it")
    return int(given)


def _sending(name: str, arguments: tuple[Any, ...]) -> float:
    return Path(arguments[1]).stat().st_size / _SLOWEST if name == "log_artifact" else 0
