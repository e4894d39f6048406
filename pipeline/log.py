"""Stage `log`: each model's results and the report -> one MLflow run a model, once. Nothing else imports mlflow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from metrics_core.row_checks import in_words
from pipeline.outputs import prepare, write_json
from pipeline.params import Params, read_params
from pipeline.running.announce import say
from pipeline.stage import run
from pipeline.tracking.circumstances import circumstances
from pipeline.tracking.run_content import RunContent, contents
from pipeline.tracking.store import Tracking

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Run

FINGERPRINT = "concord.fingerprint"

# MLflow waits for a dead server for minutes, reports its use home and announces its tables, unless told otherwise.
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


def main() -> str:
    params = read_params()
    prepare(params.results, params.results.mlflow)
    return log(params)


def log(params: Params) -> str:
    """Logs what MLflow does not hold yet, and writes the receipt that DVC tracks; says how many runs there are.

    Raises
    ------
    InputError : a result is missing
    TrackingError : MLflow cannot be reached, or refuses
    """
    runs = contents(params)
    tracking = Tracking(params.mlflow.tracking_uri)
    how = circumstances(["dvc.lock", *vars(params.results).values()])
    run_ids = {}
    with tracking.ready(), opened(tracking) as client:
        experiment = experiment_id(client, params.mlflow.experiment, tracking.artifacts)
        for content in runs:
            run_id, is_new = log_run(client, experiment, content, how)
            say(f"{content.model}: {'logged as' if is_new else 'already there,'} run {run_id}")
            run_ids[content.model] = run_id
    say(f"to look: {'make ui' if tracking.database else tracking.shown}")
    _write_receipt(params, tracking, runs, run_ids)
    return in_words(len(runs), "run")


@contextmanager
def opened(tracking: Tracking) -> Iterator[MlflowClient]:
    """A client; what MLflow refuses inside the block becomes one line."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient, MlflowException

    try:
        with tracking.made_whole() as made:
            if made:
                MlflowClient(tracking_uri=made).search_experiments()
        yield MlflowClient(tracking_uri=tracking.resolved)
    except (MlflowException, ImportError, OSError) as error:
        raise tracking.error(error) from None


def experiment_id(client: MlflowClient, name: str, artifacts: str | None) -> str:
    known = client.get_experiment_by_name(name)
    return known.experiment_id if known else client.create_experiment(name, artifacts)


def log_run(
    client: MlflowClient, experiment: str, content: RunContent, how: Mapping[str, str]
) -> tuple[str, bool]:
    """The id of the run that holds this content, and whether it had to be logged.

    A run carries its fingerprint from the start and is finished last: one that is not finished was
    interrupted, and is completed.
    """
    known = _known_run(client, experiment, content.fingerprint)
    if known and known.info.status == "FINISHED":
        return known.info.run_id, False
    tags = {FINGERPRINT: content.fingerprint, **content.tags, **how}
    begun = known or client.create_run(experiment, run_name=content.model, tags=tags)
    _fill(client, begun, content)
    client.set_terminated(begun.info.run_id)
    return begun.info.run_id, True


def _known_run(client: MlflowClient, experiment: str, fingerprint: str) -> Run | None:
    """The run with this content, a finished one first."""
    runs = client.search_runs([experiment], f"tags.`{FINGERPRINT}` = '{fingerprint}'")
    return min(runs, key=lambda run: run.info.status != "FINISHED", default=None)


def _fill(client: MlflowClient, begun: Run, content: RunContent) -> None:
    """All of it, again if need be: MLflow drops a point whose name, value, step and time it has already,
    so the time of every point is the start of the run.
    """
    from mlflow.entities import Metric, Param

    run_id, start = begun.info.run_id, begun.info.start_time
    points = [Metric(key, value, start, step) for key, value, step in content.points]
    client.log_batch(run_id, points, [Param(key, value) for key, value in content.params.items()])
    client.log_inputs(run_id, _datasets(content))
    for file, folder in content.artifacts:
        client.log_artifact(run_id, str(file), folder or None)


def _datasets(content: RunContent) -> list[DatasetInput]:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    purpose = [InputTag("mlflow.data.context", "evaluation")]
    return [
        DatasetInput(Dataset(name, md5, "local", source=json.dumps({"uri": path})), purpose)
        for name, path, md5 in content.datasets
    ]


def _write_receipt(
    params: Params, tracking: Tracking, runs: list[RunContent], run_ids: Mapping[str, str]
) -> None:
    """The receipt is the same on every machine; the ids of the runs are not, so they lie beside it."""
    folder = Path(params.results.mlflow)
    where = {"tracking_uri": tracking.shown, "experiment": params.mlflow.experiment}
    write_json(folder / "runs.json", {**where, "runs": dict(run_ids)})
    receipt = {content.model: content.fingerprint for content in runs}
    write_json(folder / "receipt.json", {**where, "fingerprints": receipt})


if __name__ == "__main__":
    run(main)
