"""The tag of the newest comparison and of its models; earlier ones lose it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

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
