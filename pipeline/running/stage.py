"""Start and end of stages and commands: logging, signals and exit codes."""

import atexit
import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from concord.metrics_core.errors import InputError, Problem
from concord.pipeline.running import messages
from concord.pipeline.running.failures import (
    DEBUG,
    error_message,
    exit_code,
    report_damaged_results,
    without_credentials,
)
from concord.pipeline.running.messages import LOG
from concord.pipeline.running.signals import StopSignal, end_on_signal, raise_on_signal, stop_signal

_OBJECTS = 200_000  # between two garbage collections: what imports make stays
BROKEN_PIPE = 141  # exit code of shells for SIGPIPE


def run_stage(
    main: Callable[[], str | None], print_end: Callable[[], None] | None = None
) -> NoReturn:
    """Run a stage and exit.

    Parameters
    ----------
    main : callable
        The stage; returns its summary.
    print_end : callable, optional
        Prints after all messages of the stage, unless only errors are printed.
    """

    def work() -> None:
        run_timed(_command(), main)
        if print_end is not None:
            messages.print_unless_quiet(print_end)

    end_process(_exit_code(work))


def run_timed(stage: str, main: Callable[[], str | None]) -> None:
    """Run a stage such as `load als`, and log its last line."""
    start = time.monotonic()
    with report_damaged_results(_result_problems):
        summary = main()
    messages.log_stage_end(stage, summary, time.monotonic() - start)


def run_and_exit(work: Callable[[], object], *, error_code: int | None = None) -> NoReturn:
    """Run and exit: 0 success, 2 invalid input or params, 130 Ctrl-C, 143 SIGTERM, 1 other errors.

    Parameters
    ----------
    work : callable
        The work; if it returns an integer, that is the exit code.
    error_code : int, optional
        Exit code of all errors.
    """
    gc.set_threshold(_OBJECTS)
    end_process(_exit_code(work, error_code))


def _exit_code(work: Callable[[], object], error_code: int | None = None) -> int:
    """Run, log an error, and return the exit code."""
    debug = DEBUG in sys.argv
    arguments = messages.set_up_logging(sys.argv)
    sys.argv = [argument for argument in arguments if argument != DEBUG]
    try:
        raise_on_signal()
        result = work()
        sys.stdout.flush()
    except BrokenPipeError:
        messages.discard_output(sys.stdout)
        return BROKEN_PIPE
    except (Exception, KeyboardInterrupt, SystemExit) as error:  # the outermost frame
        if signal := stop_signal():
            _stop(signal)
        if debug:
            LOG.error("%s", without_credentials(traceback.format_exc()).rstrip())
        else:
            LOG.error("%s", without_credentials(error_message(error)))
        messages.flush()
        return exit_code(error) if error_code is None else error_code
    if signal := stop_signal():
        _stop(signal)
    return result if isinstance(result, int) else 0


def _result_problems(_: Exception) -> list[Problem]:
    from concord.pipeline.params.read import read_params  # only after an error
    from concord.pipeline.running.outputs import unreadable_results

    try:
        return unreadable_results(read_params().results)
    except InputError:  # params.yaml is invalid
        return []


def _stop(signal: StopSignal) -> NoReturn:
    LOG.error("%s: stopped by %s; nothing half-written is left", _command(), signal.name)
    with suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(signal.exit_code)  # at once: libraries would report unfinished work


def end_process(code: int) -> NoReturn:
    """End without Python's teardown of modules, which takes a tenth of a stage's CPU time.

    After an error, DuckDB would also name the objects that the traceback keeps.
    """
    end_on_signal()
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does
    atexit._run_exitfuncs()
    messages.flush()
    os._exit(code)


def _command() -> str:
    """Return `load popularity` for `concord stage load popularity`."""
    return " ".join(sys.argv)
