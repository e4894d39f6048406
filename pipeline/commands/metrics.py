"""`concord metrics`: the catalogue, and a project's own metrics."""

from contextlib import suppress

from concord.metrics_core.errors import InputError
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.metrics.own import known_metrics
from concord.pipeline.params.model import PARAMS
from concord.pipeline.terminal.table import print_table


def list_metrics() -> None:
    """Every metric with its formula, the conventions that it depends on, and its source."""
    if PARAMS.is_file():
        from concord.pipeline.params.read import examined

        with suppress(InputError):
            examined()
    every = (*CATALOGUE, *known_metrics())
    print_table(("metric", "formula"), [(each.name, _told(each)) for each in every])


def _told(metric: Metric) -> str:
    conventions = f"conventions: {', '.join(metric.conventions)}\n" if metric.conventions else ""
    return f"{metric.formula}\n{conventions}source: {metric.source}"
