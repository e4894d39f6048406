"""Stage `log`: the report and each model's results -> MLflow, once; and its receipt for DVC."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from concord.metrics_core.errors import InputError, in_words
from concord.metrics_core.files import load_json
from concord.pipeline.mlflow.client import experiment_id, opened
from concord.pipeline.mlflow.comparison_content import Contents, contents
from concord.pipeline.mlflow.run_content import RunContent
from concord.pipeline.mlflow.runs import Place, Runs, circumstances, fill, is_finished, stand
from concord.pipeline.mlflow.store import AGAIN, Tracking, TrackingError
from concord.pipeline.mlflow.training import attached, training_runs
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.messages import LOG, print_line
from concord.pipeline.running.outputs import prepare_folders, write_json

if TYPE_CHECKING:
    from mlflow.entities import Run

Json = dict[str, Any]


class RunIds(NamedTuple):
    """The runs that hold the results: that of the comparison, and one a model."""

    comparison: str
    models: Mapping[str, str]


def write_logged(params: Params, what: Contents, run_ids: RunIds) -> None:
    """The ids differ by machine, so DVC does not track them."""
    folder = Path(params.results.mlflow)
    ids = {"comparison": run_ids.comparison, "runs": dict(run_ids.models)}
    write_json(folder / "runs.json", {**_where(params), **ids})
    write_json(folder / "receipt.json", {**_where(params), "logged": True, **_fingerprints(what)})


def write_not_logged(params: Params, what: Contents, error: TrackingError) -> None:
    """With the reason in words; which runs hold earlier results says nothing of these."""
    folder = Path(params.results.mlflow)
    (folder / "runs.json").unlink(missing_ok=True)
    why = {"logged": False, "reason": error.reason, "fix": f"run `{AGAIN}`"}
    write_json(folder / "receipt.json", {**_where(params), **why, **_fingerprints(what)})


def read_receipt(params: Params) -> Json | None:
    """None where nothing was logged yet, the stage failed, or the file is no receipt."""
    file = Path(params.results.mlflow) / "receipt.json"
    if not file.is_file():
        return None
    try:
        content = load_json(file, AGAIN)
    except InputError:  # cut off, or a merge conflict
        return None
    return content if {"logged", "tracking_uri", "comparison"} <= set(content) else None


def _where(params: Params) -> Json:
    shown = Tracking(params.mlflow.tracking_uri).shown
    return {"tracking_uri": shown, "experiment": params.mlflow.experiment}


def _fingerprints(what: Contents) -> Json:
    return {"comparison": what.comparison.fingerprint, "fingerprints": what.fingerprints}


TAG_OF_MODEL = "concord.run."  # + the model: on the comparison, the id of the run that holds it


def main() -> str:
    params = read_params()
    prepare_folders(params.results, params.results.mlflow)
    return log(params)


def log(params: Params) -> str:
    """Logs what MLflow does not hold yet, and writes the receipt that DVC tracks; says how many runs there are.

    Raises
    ------
    InputError : a result is missing, or a file that holds the id of a training run
    TrackingError : MLflow cannot be reached, or refuses, and `mlflow.required` is true
    """
    what = contents(params)
    try:
        run_ids = send(params, what)
    except TrackingError as error:
        if params.mlflow.required:
            raise
        LOG.warning("warning: not logged: %s", error)
        write_not_logged(params, what, error)
        return "nothing logged"
    write_logged(params, what, run_ids)
    return in_words(len(what.models), "model")


def send(params: Params, what: Contents, *, again: bool = False) -> RunIds:
    """Brings everything to MLflow, what it should have already too if `again`; the ids of the runs that hold it."""
    tracking = Tracking(params.mlflow.tracking_uri)
    how = circumstances(["dvc.lock", *vars(params.results).values()])
    with tracking.ready(), opened(tracking) as client:
        training = training_runs(client, what, tracking)
        place = Place(experiment_id(client, params.mlflow.experiment, tracking.artifacts))
        runs = Runs(client, how, again=again)
        with runs.ended_if_interrupted():
            run_ids = _log_all(runs, place, what, training)
    print_line(f"to look: {tracking.to_look}")
    return run_ids


def _log_all(runs: Runs, place: Place, what: Contents, training: Mapping[str, Run]) -> RunIds:
    """The best model and the comparison are begun last: MLflow's table shows the newest first."""
    of_model = {content.name: content for content in what.models}
    logged = {
        model: _log_model(runs, place, of_model[model], training.get(model))
        for model in reversed(what.ranked)
    }
    models = {model: logged[model] for model in of_model}
    comparison = runs.begun(what.comparison, place)
    for model, run_id in models.items():
        tag = TAG_OF_MODEL + model
        if comparison.data.tags.get(tag) != run_id:
            runs.client.set_tag(comparison.info.run_id, tag, run_id)
    comparison_id = _finish(runs, comparison, what.comparison)
    for model, run_id in models.items():
        how = (of_model[model], what.standings[model], comparison_id)
        stand(runs.client, run_id, *how, again=runs.again)
    return RunIds(comparison_id, models)


def _log_model(runs: Runs, place: Place, content: RunContent, training: Run | None) -> str:
    """The id of the run that holds the model's results."""
    if training is None:
        return _finish(runs, runs.begun(content, place), content)
    trained = training.info
    if content.training and content.training.attach == "child":
        below = Place(trained.experiment_id, trained.run_id)
        return _finish(runs, runs.begun(content, below), content)
    is_new = attached(runs.client, training, content, again=runs.again)
    print_line(f"{content.name}: {'attached to' if is_new else 'already in'} run {trained.run_id}")
    return str(trained.run_id)


def _finish(runs: Runs, found: Run, content: RunContent) -> str:
    run_id = str(found.info.run_id)
    if is_finished(found) and runs.again:
        fill(runs.client, found, content)
        print_line(f"{content.name}: complete, run {run_id}")
    elif is_finished(found):
        print_line(f"{content.name}: already there, run {run_id}")
    else:
        runs.finished(found, content)
        print_line(f"{content.name}: logged as run {run_id}")
    return run_id
