"""Evaluations that are attached to the runs that trained the models; MLflow keeps those as they ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from concord.metrics_core.results.words import listed
from concord.pipeline.mlflow.comparison_content import Contents
from concord.pipeline.mlflow.model_content import TRAINING_RUN
from concord.pipeline.mlflow.run_content import RunContent
from concord.pipeline.mlflow.runs import FINGERPRINT, FOLDER, datasets, upload_all
from concord.pipeline.mlflow.store import Tracking
from concord.pipeline.running.messages import LOG

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

EVALUATED = "concord.evaluated"  # fingerprint and time of the evaluation that was begun last
_UNKNOWN = {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}


def training_runs(client: MlflowClient, what: Contents, tracking: Tracking) -> dict[str, Run]:
    """Return the run that trained each model, and warn of those that MLflow does not know or that are deleted.

    A training often logs into a database of one machine, whereas git carries the ids to all.
    """
    named = {each.name: each.training.run_id for each in what.models if each.training}
    found = {model: _active_run(client, run_id) for model, run_id in named.items()}
    runs = {model: run for model, run in found.items() if run is not None}
    if missing := [model for model in found if model not in runs]:
        LOG.warning(
            "warning: MLflow at %s has no active training run of %s: each has a run of its own, with the id"
            " as the tag %s. To attach them, let training and evaluation share one MLflow (mlflow.tracking_uri),"
            " or restore deleted runs (`mlflow runs restore`); then `%s`",
            tracking.shown,
            listed(missing),
            TRAINING_RUN,
            tracking.again,
        )
    return runs


def attached(
    client: MlflowClient, training: Run, content: RunContent, *, again: bool = False
) -> bool:
    """Writes the evaluation into the training run, unless it is there and not asked for `again`; whether it was written.

    Neither status nor end time is touched. Parameters become tags, since MLflow lets nobody change a parameter.
    The points of one evaluation have one time, later than those of the evaluation before: of two values
    at the same step MLflow shows the later one.
    """
    from mlflow.entities import Metric, RunTag

    run_id, tags = training.info.run_id, training.data.tags
    if tags.get(FINGERPRINT) == content.fingerprint and not again:
        return False
    when = _time(training, content.fingerprint)
    ours = {
        **{f"concord.param.{name}": value for name, value in content.params.items()},
        **{name: tag for name, tag in content.tags.items() if not name.startswith("mlflow.")},
    }
    client.set_tag(run_id, EVALUATED, f"{content.fingerprint} {when}")
    client.log_batch(
        run_id,
        metrics=[Metric(key, value, when, step) for key, value, step in content.points],
        tags=[RunTag(name, value) for name, value in ours.items()],
    )
    client.log_inputs(run_id, datasets(content))
    upload_all(client, run_id, content.artifacts, content.texts, folder=FOLDER)
    client.set_tag(run_id, FINGERPRINT, content.fingerprint)
    return True


def _time(training: Run, fingerprint: str) -> int:
    """In milliseconds: that of an interrupted try of this evaluation, else later than any before."""
    begun, _, last = training.data.tags.get(EVALUATED, "").partition(" ")
    last_time = int(last) if last.isdecimal() else 0
    if begun == fingerprint and last_time:
        return last_time
    return max(int(time.time() * 1000), last_time + 1)


def _active_run(client: MlflowClient, run_id: str) -> Run | None:
    from mlflow import MlflowException

    try:
        run = client.get_run(run_id)
    except MlflowException as error:
        if error.error_code in _UNKNOWN:
            return None
        raise
    return run if run.info.lifecycle_stage == "active" else None
