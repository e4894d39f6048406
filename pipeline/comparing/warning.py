"""One warning, as comparison.json holds it."""

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
SERIOUS, NOTICE = "serious", "notice"
MATTERS = 0.01  # a share that a reader must know of


def warning(kind: str, severity: str, who: Sequence[str], sentence: str, fix: str) -> Row:
    return {"kind": kind, "severity": severity, "who": list(who), "sentence": sentence, "fix": fix}
