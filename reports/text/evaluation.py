"""An evaluation of one model as text: means with intervals, then warnings."""

import math
from collections.abc import Iterator

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.evaluation import Evaluation
from concord.metrics_core.results.summary import Summary
from concord.reports.text.blocks import Block, TextTable
from concord.reports.text.numbers import PERCENT, conventions_name, number

_DIGITS = 4
_HEADER = ("metric", "mean", f"95{PERCENT} interval", "users", "undefined")


def describe(evaluation: Evaluation) -> Iterator[Block]:
    """Yield who was evaluated, the means, and each warning."""
    users = format_count(evaluation.n_users, "user")
    n_requests = evaluation.values.n_requests
    units = users if n_requests is None else f"{format_count(n_requests, 'request')} of {users}"
    yield f"{units}, conventions {conventions_name(evaluation.conventions)}"
    rows = [_row(label, each) for label, each in evaluation.summaries.items()]
    has_undefined = any(each.n_undefined for each in evaluation.summaries.values())
    n_columns = len(_HEADER) - (not has_undefined)
    yield TextTable(_HEADER[:n_columns], [row[:n_columns] for row in rows])
    for warning in evaluation.warnings:
        fix = f" To fix it: {warning.fix}." if warning.fix else ""
        yield f"Warning: {warning.sentence}{fix}"


def _row(label: str, summary: Summary) -> tuple[str, ...]:
    low, high = (number(each, _DIGITS) for each in (summary.ci_low, summary.ci_high))
    interval = "" if math.isnan(summary.ci_low) else f"{low} to {high}"
    mean = "" if math.isnan(summary.mean) else number(summary.mean, _DIGITS)
    return label, mean, interval, f"{summary.n_users:,}", f"{summary.n_undefined:,}"
