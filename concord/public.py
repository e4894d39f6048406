"""Public names: their functions have short tracebacks, and help shows their public module."""

import os
from collections.abc import Iterable
from functools import wraps
from traceback import walk_tb
from types import FunctionType
from typing import Any

from concord.metrics_core.deprecation import with_new_arguments

PACKAGE = "concord"
_EXAMPLES = {  # of arguments that may be missing
    "metrics": 'metrics=["nDCG@10", "R@20"]',
    "metric": 'metric="nDCG@10"',
    "user": 'user="u1"',
}


def publish(module: str, names: Iterable[str], values: dict[str, Any]) -> None:
    """Make names of a module public; `values` are its globals."""
    for name in names:
        value = values[name]
        if isinstance(value, FunctionType):
            values[name] = value = _with_short_traceback(value)
        value.__module__ = module  # what help() and error messages show, and where pickle looks


def _with_short_traceback(function: Any) -> Any:
    """Return the function; its traceback ends at the call unless `CONCORD_DEBUG` is set.

    This applies to errors whose message is enough: a ValueError that Concord raises, or a wrong
    signature. Other errors keep their traceback. Deprecated arguments get their present names.
    """

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        options = with_new_arguments(function.__name__, options)
        try:
            return function(*arguments, **options)
        except (ValueError, TypeError) as error:
            frames = [frame for frame, _ in walk_tb(error.__traceback__)]
            origin = frames[-1].f_globals.get("__name__", "")
            is_argument_error = len(frames) == 1 or (
                isinstance(error, ValueError) and origin.startswith(f"{PACKAGE}.")
            )
            examples = [text for name, text in _EXAMPLES.items() if repr(name) in str(error)]
            if len(frames) == 1 and "missing" in str(error) and examples:
                error.args = (f"{error}\n  fix: add {', '.join(examples)}",)
            if is_argument_error and not os.environ.get("CONCORD_DEBUG"):
                error.__traceback__ = None
                error.__suppress_context__ = True
            raise  # a bare `raise` adds no frame of this function

    return call
