"""Names of models that params.yaml may have; imports nothing heavy."""

import re
from collections.abc import Iterator
from typing import Any

from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.errors import Problem
from concord.metrics_core.files import RESERVED_NAMES, SIDE_TABLES, TRUTH

MODEL_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
_DEVICES = frozenset({"con", "prn", "aux", "nul"}) | {
    f"{port}{number}" for port in ("com", "lpt") for number in range(10)
}  # of Windows: it has no file of such a name, whatever its ending


def model_name_problems(models: Any) -> Iterator[Problem]:
    """Yield names of models that DVC ignores (numbers) or cannot handle (dots, `@`, slashes)."""
    fix = (
        "use letters, digits, `_` and `-`, at most 100, starting with a letter or digit; "
        "quote a name of digits only; "
        f"{', '.join(map(repr, (TRUTH, *SIDE_TABLES)))} are reserved"
    )
    names: dict[str, str] = {}
    for name in models if isinstance(models, dict) else []:
        location = ("models", name)
        if isinstance(name, str) and name.lower() in _DEVICES:
            problem = f"{name!r} is a device on Windows, which has no files of this name"
            yield Problem(location, problem, "give it another name")
        elif not is_model_name(name):
            yield Problem(location, f"{format_value(name)} cannot be the name of a model", fix)
        elif (first := names.setdefault(name.lower(), name)) != name:
            problem = (
                f"{name!r} and {first!r} differ only in capitals: many disks write both to one file"
            )
            yield Problem(location, problem, "give one of them another name")


def is_model_name(name: Any) -> bool:
    """True if an entry of `models` may have this name."""
    is_name = isinstance(name, str) and re.fullmatch(MODEL_NAME, name) is not None
    return is_name and name.lower() not in RESERVED_NAMES | _DEVICES
