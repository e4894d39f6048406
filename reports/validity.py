"""Warnings on the evaluation itself: what makes its numbers doubtful, and what to do."""

from collections.abc import Mapping
from typing import Any

from reports.results import Results

Warning = Mapping[str, Any]
_NAMED = 4  # models of one warning


def warnings(results: Results) -> list[Warning]:
    return list(results.comparison.get("warnings") or [])


def serious(results: Results) -> list[Warning]:
    """Those that a reader must know before any number."""
    return [warning for warning in warnings(results) if warning["severity"] == "serious"]


def who(warning: Warning) -> str:
    names = warning["who"]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
