"""How every stage starts and ends: refusals exit with 2, everything else with 1, tracebacks on request."""

import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from pipeline.checks import InputError, refuse
from pipeline.credentials import without_credentials
from pipeline.params import PARAMS, Params

DEBUG = "--debug"


def run(main: Callable[[], None]) -> NoReturn:
    """Run a stage and leave the process: 0 done, 2 input or params refused, 1 anything else."""
    debug = DEBUG in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != DEBUG]
    try:
        main()
    except Exception as error:  # the outermost frame: nothing is hidden, all is reported
        if debug:
            print(without_credentials(traceback.format_exc()), end="", file=sys.stderr)
        else:
            print(without_credentials(_in_words(error)), file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    sys.exit(0)


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


def _in_words(error: Exception) -> str:
    if isinstance(error, InputError):
        return str(error)
    message = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, OSError):
        return message
    return f"{message} (this is a bug in Concord: please report what `{DEBUG}` prints)"
