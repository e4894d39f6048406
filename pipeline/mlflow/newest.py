"""The newest comparison in MLflow: a tag of its runs, and the view that shows them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison import Comparison
from concord.pipeline.mlflow.run_content import metric_key, tag_key
from concord.pipeline.mlflow.runs import PARENT
from concord.pipeline.mlflow.training_runs import active_run

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


NEWEST = "concord.newest"  # its value is the name of the comparison's experiment
# Prefix of tags of the comparison's run; followed by a model, with the id of the model's run.
MODEL_RUN_TAG = "concord.run."


def newest_search(experiment: str) -> str:
    """Return MLflow's search expression for the runs of an experiment's newest comparison."""
    return f"tags.`{NEWEST}` = '{_value(experiment)}'"


def _value(experiment: str) -> str:
    return experiment.replace("'", "")  # MLflow's searches cannot escape it


def tag_newest(
    client: MlflowClient, experiment: str, experiment_id: str, run_ids: Collection[str]
) -> None:
    """Tag the runs of a comparison and of its models, and remove the tag from all others.

    Comparisons lose it last: they lead to their models if this is interrupted.
    """
    value = _value(experiment)
    for run_id in run_ids:
        if client.get_run(run_id).data.tags.get(NEWEST) != value:
            client.set_tag(run_id, NEWEST, value)
    tagged = client.search_runs([experiment_id], newest_search(experiment))
    models = [model for run in tagged for model in _model_runs(client, run)]
    for run in [*models, *tagged]:
        if run.data.tags.get(NEWEST) == value and run.info.run_id not in run_ids:
            client.delete_tag(run.info.run_id, NEWEST)


def _model_runs(client: MlflowClient, comparison: Run) -> Iterator[Run]:
    """Yield the runs of a comparison's models in other experiments, and their training runs."""
    ids = [value for key, value in comparison.data.tags.items() if key.startswith(MODEL_RUN_TAG)]
    for run_id in ids:
        run = active_run(client, run_id)
        if run is None or run.info.experiment_id == comparison.info.experiment_id:
            continue
        yield run
        parent = run.data.tags.get(PARENT)
        if parent and (training := active_run(client, parent)):
            yield training


_KEY = "concord"
VIEW_TAG = f"mlflow.sharedViewState.{_KEY}"  # tag of the experiment
PLACE_TAG = "concord.place"
_MAX_METRICS = 5  # MLflow limits the length of a tag
_SECTION = "concord"
_PRIMARY_SECTION = {
    "uuid": _SECTION,
    "name": "primary metrics",
    "display": True,
    "isReordered": True,
    "deleted": False,
    "isGenerated": False,
}
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
        "compareRunSections": [_PRIMARY_SECTION],
        "compareRunCharts": [_bar_chart(metric) for metric in metrics],
    }
    return json.dumps(state, separators=(",", ":"))


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
