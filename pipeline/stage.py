"""How every stage starts and ends: refusals exit with 2, everything else with 1, tracebacks on request."""

import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from pipeline.checks import InputError, refuse
from pipeline.credentials import without_credentials
from pipeline.params import PARAMS, Params

DEBUG = "--debug"
_stopped_by: list[int] = []  # signals; a library may turn the interruption into an error of its own


def run(main: Callable[[], None]) -> NoReturn:
    """Run a stage and leave the process: 0 done, 2 input or params refused, 1 anything else.

    Ctrl-C and SIGTERM end it with 130 and 143, after it has cleared up what it left half-done.
    """
    debug = DEBUG in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != DEBUG]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        main()
    except (Exception, KeyboardInterrupt) as error:  # the outermost frame: all is reported
        if _stopped_by:
            print(f"stopped by {signal.Signals(_stopped_by[0]).name}", file=sys.stderr)
            sys.exit(128 + _stopped_by[0])
        if debug:
            print(without_credentials(traceback.format_exc()), end="", file=sys.stderr)
        else:
            print(without_credentials(_in_words(error)), file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    sys.exit(0)


def _stop(number: int, _: FrameType | None) -> NoReturn:
    _stopped_by.append(number)
    raise KeyboardInterrupt


def model_argument(params: Params) -> str:
    """The model that the command line names."""
    names = sys.argv[1:]
    if len(names) == 1 and names[0] in params.models:
        return names[0]
    given = " ".join(names) if names else "nothing"
    known = ", ".join(params.models)
    raise refuse(
        "command line", f"{given!r} names no model", f"name one of those in {PARAMS}: {known}"
    )


def _in_words(error: BaseException) -> str:
    if isinstance(error, InputError):
        return str(error)
    message = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, OSError):
        return message
    return f"{message} (this is a bug in Concord: please report what `{DEBUG}` prints)"
