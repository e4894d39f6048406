"""Shared view of an experiment: MLflow's table and charts open on the primary metrics."""

import json
from typing import Any

from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison import Comparison
from concord.pipeline.mlflow.run_content import metric_key, tag_key

_KEY = "concord"
VIEW_TAG = f"mlflow.sharedViewState.{_KEY}"  # tag of the experiment
PLACE_TAG = "concord.place"
_MAX_METRICS = 5  # MLflow limits the length of a tag
_SECTION = "concord"
_CHARACTER_WIDTH, _MARGIN = 8, 45  # pixels in the head of a column


def view_path(experiment: str) -> str:
    """Return the address of the view, relative to that of the server."""
    return f"/#/experiments/{experiment}/runs?viewStateShareKey={_KEY}"


def shared_view(comparison: Comparison, search: str) -> str:
    """Return MLflow's state of table and charts as JSON.

    The table has the runs that the search finds, sorted by the first primary metric, with a model's
    place, and its mean and verdict on each primary metric; the charts of these metrics come first.
    """
    labels = [parse(text) for text in comparison.primary[:_MAX_METRICS]]
    metrics = [metric_key(label) for label in labels]
    columns = {f"tags.`{PLACE_TAG}`": PLACE_TAG}
    for metric, label in zip(metrics, labels, strict=True):
        verdict = tag_key("verdict", label)
        columns |= {f"metrics.`{metric}`": metric, f"tags.`{verdict}`": verdict}
    widths = {key: _CHARACTER_WIDTH * len(name) + _MARGIN for key, name in columns.items()}
    state = {
        "searchFilter": search,
        "orderByKey": f"metrics.`{metrics[0]}`",
        "orderByAsc": not labels[0].metric.higher_is_better,
        "selectedColumns": [*columns],
        "columnOrder": [*columns],
        "columnWidths": widths,
        "isAccordionReordered": True,  # else MLflow sorts the sections by name
        "compareRunSections": [_section()],
        "compareRunCharts": [_bar_chart(metric) for metric in metrics],
    }
    return json.dumps(state, separators=(",", ":"))


def _section() -> dict[str, Any]:
    return {
        "uuid": _SECTION,
        "name": "primary metrics",
        "display": True,
        "isReordered": True,
        "deleted": False,
        "isGenerated": False,
    }


def _bar_chart(metric: str) -> dict[str, Any]:
    return {
        "type": "BAR",
        "uuid": f"{_SECTION}/{metric}",
        "metricSectionId": _SECTION,
        "metricKey": metric,
        "runsCountToCompare": 10,
        "deleted": False,
        "isGenerated": True,
    }
