"""How every stage starts and ends: alone, announced, and with an exit code that says what happened."""

import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from concord.metrics_core.checking.problems import refuse
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.running import announce
from concord.pipeline.running.announce import LOG
from concord.pipeline.running.claims import forget_claims, only_one
from concord.pipeline.running.credentials import without_credentials
from concord.pipeline.running.failures import DEBUG, exit_code, in_words, killed_before
from concord.pipeline.running.leftovers import remove_own, spilled
from concord.pipeline.running.lifetime import Stopped, stop_in_order, told_to_stop

BROKEN_PIPE = 141  # as shells count SIGPIPE


def run(main: Callable[[], str | None], then: Callable[[], None] | None = None) -> NoReturn:
    """Run a stage, the only one of its name, and leave the process; `main` says what it did.

    `then` prints what is worth a look, after all else that the stage says; not where quiet was asked for.
    """

    def alone() -> None:
        began, stage = time.monotonic(), _name()
        with only_one(stage) as killed:
            if killed:
                LOG.warning("%s: %s", stage, killed_before(killed))
            said = main()
        announce.ended(stage, said, time.monotonic() - began, spilled())
        if then is not None:
            announce.show(then)
        if "duckdb" not in sys.modules:  # whose binding takes for leaks what nobody collects
            gc.freeze()  # Python need not search all modules for garbage as it ends

    leave(alone)


def leave(work: Callable[[], object], *, errors: int | None = None) -> NoReturn:
    """Work and leave the process: 0 done, 2 input or params refused, 130 Ctrl-C, 143 SIGTERM, 1 anything else.

    Work that returns a whole number leaves with it; `errors` is then the exit code of whatever goes wrong.
    """
    debug = DEBUG in sys.argv
    arguments = announce.set_up(sys.argv)
    sys.argv = [argument for argument in arguments if argument != DEBUG]
    try:
        stop_in_order(_tidy)
        ended = work()
        sys.stdout.flush()
    except BrokenPipeError:
        announce.forget_stdout()
        sys.exit(BROKEN_PIPE)
    except (Exception, KeyboardInterrupt) as error:  # the outermost frame: nothing is hidden
        if stopped := told_to_stop():
            _stopped(stopped)
        if debug:
            print(without_credentials(traceback.format_exc()), end="", file=sys.stderr)
        else:
            LOG.error("%s", without_credentials(in_words(error)))
        announce.flush()
        sys.exit(exit_code(error) if errors is None else errors)
    if stopped := told_to_stop():
        _stopped(stopped)
    sys.exit(ended if isinstance(ended, int) else 0)


def _tidy() -> None:
    remove_own()
    forget_claims()


def model_argument(params: Params) -> str:
    """The model that the command line names."""
    return argument(list(params.models), "a model")


def argument(known: Sequence[str], what: str) -> str:
    """The one argument of the command line, refused if it is none of what params.yaml names."""
    names = sys.argv[1:]
    if len(names) == 1 and names[0] in known:
        return names[0]
    given = " ".join(names) if names else "nothing"
    fix = f"name one of those in {PARAMS}: {', '.join(known)}"
    raise refuse("command line", f"{given!r} is not {what}", fix)


def _stopped(by: Stopped) -> NoReturn:
    LOG.error("%s: stopped by %s; nothing half-written is left", _name(), by.name)
    with suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(by.exit_code)  # at once: what libraries say of their unfinished work helps nobody


def _name() -> str:
    """`load popularity`, from `concord stage load popularity`."""
    return " ".join(sys.argv)
