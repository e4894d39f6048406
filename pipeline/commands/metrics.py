"""`concord metrics`: the built-in metrics, and a project's own ones."""

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from concord.metrics_core.metrics.metric import Metric

HELP = "list the metrics, their formulas and sources"


def add_arguments(_: argparse.ArgumentParser) -> None: ...


def run(_: argparse.Namespace) -> None:
    """Print every metric with its formula, the conventions it depends on, and its source."""
    from concord.metrics_core.metrics.catalogue import CATALOGUE
    from concord.metrics_core.metrics.custom_metric import known_metrics
    from concord.pipeline.terminal import print_blocks
    from concord.reports.text.blocks import TextTable

    load_own_metrics()
    metrics = (*CATALOGUE, *known_metrics())
    print_blocks(
        [TextTable(("metric", "formula"), [row for each in metrics for row in _rows(each)])]
    )


def load_own_metrics() -> None:
    """Load the own metrics of params.yaml in this folder, if there are any."""
    from concord.metrics_core.errors import InputError
    from concord.pipeline.params.model import PARAMS
    from concord.pipeline.params.read import check_params

    if PARAMS.is_file():
        with suppress(InputError):  # other problems of the file do not matter here
            check_params()


def _rows(metric: "Metric") -> "Iterator[tuple[str, str]]":
    """Yield the formula, the conventions and the source of a metric."""
    yield metric.name, metric.formula
    if metric.conventions:
        yield "", f"conventions: {', '.join(metric.conventions)}"
    yield "", f"source: {metric.source}"
