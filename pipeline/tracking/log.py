"""Stage `log`: the report and each model's results -> MLflow, once. Only this and `pipeline.tracking` import mlflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from concord.metrics_core.errors import in_words
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.announce import LOG, say
from concord.pipeline.running.outputs import prepare
from concord.pipeline.tracking.client import experiment_id, opened
from concord.pipeline.tracking.content.comparison_content import Contents, contents
from concord.pipeline.tracking.content.run_content import RunContent
from concord.pipeline.tracking.environment_tags import circumstances
from concord.pipeline.tracking.receipt import RunIds, write_logged, write_not_logged
from concord.pipeline.tracking.runs import Place, Runs, fill, is_finished
from concord.pipeline.tracking.standings import stand
from concord.pipeline.tracking.store import Tracking, TrackingError
from concord.pipeline.tracking.training import attached, training_runs

if TYPE_CHECKING:
    from mlflow.entities import Run

TAG_OF_MODEL = "concord.run."  # + the model: on the comparison, the id of the run that holds it


def main() -> str:
    params = read_params()
    prepare(params.results, params.results.mlflow)
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
    say(f"to look: {tracking.to_look}")
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
    say(f"{content.name}: {'attached to' if is_new else 'already in'} run {trained.run_id}")
    return str(trained.run_id)


def _finish(runs: Runs, found: Run, content: RunContent) -> str:
    run_id = str(found.info.run_id)
    if is_finished(found) and runs.again:
        fill(runs.client, found, content)
        say(f"{content.name}: complete, run {run_id}")
    elif is_finished(found):
        say(f"{content.name}: already there, run {run_id}")
    else:
        runs.finished(found, content)
        say(f"{content.name}: logged as run {run_id}")
    return run_id
