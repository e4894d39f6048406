"""`concord metrics`: the catalogue."""

from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.metric import Metric
from concord.pipeline.terminal.table import print_table


def list_metrics() -> None:
    """Every metric with its formula, the conventions that it depends on, and its source."""
    print_table(("metric", "formula"), [(each.name, _told(each)) for each in CATALOGUE])


def _told(metric: Metric) -> str:
    knobs = f"conventions: {', '.join(metric.knobs)}\n" if metric.knobs else ""
    return f"{metric.formula}\n{knobs}source: {metric.source}"
