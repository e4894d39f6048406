"""A check of an own metric as text: one line per property, and the counterexample if it fails."""

from collections.abc import Iterator

from concord.metrics_core.analyses.check_metric.result import MetricCheck
from concord.reports.text.blocks import Block


def describe(check: MetricCheck) -> Iterator[Block]:
    """Yield one line per property."""
    for each in check.properties:
        yield f"{'holds' if each.holds else 'FAILS'}  {each.name} ({each.cases} cases)"
        if not each.holds:
            yield f"       {each.counterexample}"
