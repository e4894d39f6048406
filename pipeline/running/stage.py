"""How every stage and command starts and ends: set up, and with an exit code that says what happened."""

import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from concord.metrics_core.errors import InputError, Problem, refuse
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.running import messages as announce
from concord.pipeline.running.failures import (
    DEBUG,
    damaged_results_named,
    exit_code,
    in_words,
    without_credentials,
)
from concord.pipeline.running.messages import LOG
from concord.pipeline.running.signals import Stopped, raise_on_signal, signal_received

BROKEN_PIPE = 141  # as shells count SIGPIPE


def run(main: Callable[[], str | None], then: Callable[[], None] | None = None) -> NoReturn:
    """Run a stage and leave the process; `main` returns a summary of what it did.

    `then` prints what is worth a look, after all other messages of the stage; not where quiet was chosen.
    """

    def work() -> None:
        began = time.monotonic()
        with damaged_results_named(_unreadable_results):
            summary = main()
        announce.ended(_name(), summary, time.monotonic() - began)
        if then is not None:
            announce.show(then)
        if "duckdb" not in sys.modules:  # whose binding takes for leaks what nobody collects
            gc.freeze()  # Python need not search all modules for garbage as it ends

    leave(work)


def leave(work: Callable[[], object], *, errors: int | None = None) -> NoReturn:
    """Work and leave the process: 0 done, 2 input or params refused, 130 Ctrl-C, 143 SIGTERM, 1 anything else.

    Work that returns a whole number leaves with it; `errors` is then the exit code of whatever goes wrong.
    """
    debug = DEBUG in sys.argv
    arguments = announce.set_up(sys.argv)
    sys.argv = [argument for argument in arguments if argument != DEBUG]
    try:
        raise_on_signal()
        result = work()
        sys.stdout.flush()
    except BrokenPipeError:
        announce.discard(sys.stdout)
        sys.exit(BROKEN_PIPE)
    except (
        Exception,
        KeyboardInterrupt,
        SystemExit,
    ) as error:  # the outermost frame: nothing is hidden
        if stopped := signal_received():
            _stop(stopped)
        if debug:
            print(without_credentials(traceback.format_exc()), end="", file=sys.stderr)
        else:
            LOG.error("%s", without_credentials(in_words(error)))
        announce.flush()
        sys.exit(exit_code(error) if errors is None else errors)
    if stopped := signal_received():
        _stop(stopped)
    sys.exit(result if isinstance(result, int) else 0)


def model_argument(params: Params) -> str:
    """Return the model that the command line names."""
    return argument(list(params.models), "a model")


def argument(known: Sequence[str], kind: str) -> str:
    """Return the one argument of the command line; refuse it if params.yaml does not name it."""
    names = sys.argv[1:]
    if len(names) == 1 and names[0] in known:
        return names[0]
    given = " ".join(names) if names else "nothing"
    fix = f"name one of those in {PARAMS}: {', '.join(known)}"
    raise refuse("command line", f"{given!r} is not {kind}", fix)


def _unreadable_results(_: Exception) -> list[Problem]:
    from concord.pipeline.params.read import read_params  # after an error alone
    from concord.pipeline.running.outputs import unreadable_results

    try:
        return unreadable_results(read_params().results)
    except InputError:  # params.yaml names no results
        return []


def _stop(signal: Stopped) -> NoReturn:
    LOG.error("%s: stopped by %s; nothing half-written is left", _name(), signal.name)
    with suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(signal.exit_code)  # at once: messages of libraries about unfinished work help nobody


def _name() -> str:
    """`load popularity`, from `concord stage load popularity`."""
    return " ".join(sys.argv)
