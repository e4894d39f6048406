"""JSON files that Concord wrote before."""

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from concord.metrics_core.checking.files import open_file
from concord.metrics_core.checking.problems import refuse


def load_json(path: Path, fix: str) -> dict[str, Any]:
    """Return the object that a file holds.

    Raises
    ------
    InputError : there is no such file, or it is damaged; `fix` says what makes it again
    """
    try:
        with open_file(path, fix) as file:
            text = file.read()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise refuse(str(path), "there is no such file", fix) from None
    try:
        content = json.loads(text.decode("utf-8"), parse_float=_finite, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise refuse(str(path), f"is damaged, no valid JSON: {error}", fix) from None
    if not isinstance(content, dict):
        raise refuse(str(path), "is damaged: it holds no JSON object", fix)
    return content


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(number: str) -> NoReturn:
    """A number that JSON does not have, or that no float holds."""
    msg = f"{number} is no finite number"
    raise ValueError(msg)
