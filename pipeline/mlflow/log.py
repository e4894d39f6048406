"""Stage `log`: log the results of each model and the report to MLflow, and write a receipt.

`concord log` reads the receipt; `concord log --again` logs missing results.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concord.metrics_core.errors import InputError, format_count, refuse
from concord.metrics_core.files import load_json
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.mlflow.client import (
    DELETED,
    LOG_AGAIN,
    Tracking,
    TrackingError,
    experiment_id,
    open_client,
)
from concord.pipeline.mlflow.evaluation_runs import EvaluationRuns, evaluation_runs
from concord.pipeline.mlflow.newest import (
    MODEL_RUN_TAG,
    VIEW_TAG,
    newest_search,
    tag_newest,
    view_path,
)
from concord.pipeline.mlflow.run_content import RunContent
from concord.pipeline.mlflow.runs import (
    RunLocation,
    Runs,
    fill,
    is_finished,
    source_tags,
)
from concord.pipeline.mlflow.training_runs import (
    active_run,
    find_training_runs,
    log_on_training_run,
    log_primary_metrics,
)
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.read import read_params
from concord.pipeline.params.repository import rerun_command
from concord.pipeline.running.messages import LOG, print_line
from concord.pipeline.running.outputs import logged_view, prepare_folders, write_json

if TYPE_CHECKING:
    from mlflow.entities import Run

Json = dict[str, Any]
STAGE = "log"


def _write_receipt(params: Params, runs: EvaluationRuns, error: TrackingError | None) -> None:
    """Write what was logged, or why nothing was; the content is the same on every machine."""
    outcome: Json = {"logged": True}
    if error is not None:
        outcome = {"logged": False, "reason": error.reason, "fix": f"run `{LOG_AGAIN}`"}
    hashes = {"comparison": runs.comparison.fingerprint, "fingerprints": runs.fingerprints}
    content = {**_store_content(params), **outcome, **hashes}
    write_json(Path(params.results.mlflow) / "receipt.json", content)


def _store_content(params: Params) -> Json:
    uri = Tracking(params.mlflow.tracking_uri).safe_uri
    return {"tracking_uri": uri, "experiment": params.mlflow.experiment}


def main(params: Params) -> str:
    """Log what MLflow lacks, and write the receipt that DVC tracks; return counts as text.

    Raises
    ------
    InputError
        If a result is missing, or a file with the id of a training run.
    TrackingError
        If MLflow cannot be reached or refuses a request, and `mlflow.required` is true.
    """
    prepare_folders(params.results, params.results.mlflow)
    evaluation = evaluation_runs(params)
    try:
        n_new = _log_all(params, evaluation)
    except TrackingError as error:
        if params.mlflow.required:
            raise
        LOG.warning("warning: not logged: %s", error)
        # it names runs of earlier results
        (Path(params.results.mlflow) / "runs.json").unlink(missing_ok=True)
        _write_receipt(params, evaluation, error)
        return "nothing logged"
    return f"{format_count(n_new, 'new run')} for {format_count(len(evaluation.models), 'model')}"


def log_again() -> None:
    """Log the results on disk, and commit the new receipt to DVC.

    Raises
    ------
    InputError
        If the results on disk are not those of params.yaml.
    TrackingError
        If MLflow cannot be reached or refuses a request; the old receipt stays.
    """
    params = read_params()
    _refuse_stale_results()
    evaluation = evaluation_runs(params)
    n_new = _log_all(params, evaluation, refill=True)
    print_line(f"logged: {format_count(n_new, 'new run')}; all others are complete")
    print_line(f"MLflow: {logged_view(params.results)}")
    if Path("dvc.yaml").is_file():
        _run_dvc("commit", "--quiet", "--force", STAGE)


def _log_all(params: Params, evaluation: EvaluationRuns, *, refill: bool = False) -> int:
    """Log what MLflow lacks, and write run ids and receipt; `refill` finished runs too.

    Return the number of new runs.
    """
    tracking = Tracking(params.mlflow.tracking_uri)
    _note_ignored_variables(params)
    tags = source_tags(["dvc.lock", *vars(params.results).values()])
    with tracking.lock(), open_client(tracking) as client:
        training = find_training_runs(client, evaluation.models, tracking)
        experiment = experiment_id(client, params.mlflow.experiment, tracking)
        runs = Runs(client, tags, refill=refill)
        with runs.end_if_interrupted():
            comparison, run_ids = _log_runs(runs, RunLocation(experiment), evaluation, training)
        rows = dict(run_ids)  # the runs that have a model's primary metrics
        if evaluation.on_training:
            rows |= {model: run.info.run_id for model, run in training.items()}
        newest = {comparison, *rows.values()}
        tag_newest(client, params.mlflow.experiment, experiment, newest)
        if client.get_experiment(experiment).tags.get(VIEW_TAG) != evaluation.view:
            client.set_experiment_tag(experiment, VIEW_TAG, evaluation.view)
    view = tracking.view_hint(view_path(experiment))
    # they differ by machine: not in DVC
    ids = {"comparison": comparison, "runs": run_ids, "view": view}
    write_json(Path(params.results.mlflow) / "runs.json", {**_store_content(params), **ids})
    _write_receipt(params, evaluation, None)
    return runs.n_new


def _note_ignored_variables(params: Params) -> None:
    """Name variables of MLflow that name another place than params.yaml, which counts."""
    uri, experiment = params.mlflow.tracking_uri, params.mlflow.experiment
    places = {"MLFLOW_TRACKING_URI": uri, "MLFLOW_EXPERIMENT_NAME": experiment}
    names = [name for name, place in places.items() if os.environ.get(name, place) != place]
    if names:
        message = "note: %s of the environment is ignored: mlflow: in %s names the place"
        LOG.info(message, join_names(names), PARAMS)


def _log_runs(
    runs: Runs, location: RunLocation, evaluation: EvaluationRuns, training: Mapping[str, Run]
) -> tuple[str, dict[str, str]]:
    """Log all runs, the best model and the comparison last: MLflow shows the newest first.

    Returns
    -------
    comparison : str
        Id of the comparison's run.
    run_ids : dict
        Model -> id of its run.
    """
    contents = {content.name: content for content in evaluation.models}
    logged = {
        model: _log_model(runs, location, contents[model], training.get(model))
        for model in reversed(evaluation.ranked)
    }
    run_ids = {model: logged[model] for model in contents}
    comparison = runs.begin(evaluation.comparison, location)
    for model, run_id in run_ids.items():
        tag = MODEL_RUN_TAG + model
        if comparison.data.tags.get(tag) != run_id:
            runs.client.set_tag(comparison.info.run_id, tag, run_id)
    comparison_id = _finish(runs, comparison, evaluation.comparison)
    for model, run_id in run_ids.items():
        standing = evaluation.standings[model]
        runs.log_standing(run_id, contents[model], standing, comparison_id)
    for model, run in training.items() if evaluation.on_training else ():
        log_primary_metrics(runs.client, run, contents[model], evaluation.on_training)
    return comparison_id, run_ids


def _log_model(runs: Runs, location: RunLocation, content: RunContent, training: Run | None) -> str:
    """Return the id of the run with the model's results."""
    if training is None:
        return _finish(runs, runs.begin(content, location), content)
    info = training.info
    if content.training and content.training.attach == "child":
        child = RunLocation(info.experiment_id, info.run_id)
        return _finish(runs, runs.begin(content, child), content)
    is_new = log_on_training_run(runs.client, training, content, refill=runs.refill)
    how = "attached to" if is_new else "already in"
    LOG.debug("%s: %s run %s", content.name, how, info.run_id)
    return str(info.run_id)


def _finish(runs: Runs, run: Run, content: RunContent) -> str:
    run_id = str(run.info.run_id)
    if is_finished(run) and runs.refill:
        fill(runs.client, run, content)
        LOG.debug("%s: complete, run %s", content.name, run_id)
    elif is_finished(run):
        LOG.debug("%s: already there, run %s", content.name, run_id)
    else:
        runs.finish(run, content)
        LOG.debug("%s: logged as run %s", content.name, run_id)
    return run_id


def log_status(params: Params) -> str:
    """Return how many models were logged, and how to find them."""
    experiment = params.mlflow.experiment
    server = f"MLflow at {Tracking(params.mlflow.tracking_uri).safe_uri}"
    return (
        f"logged: {len(params.models)} models, experiment {experiment}, {server}\n"
        f"to find this comparison and its models: {newest_search(experiment)}"
    )


def not_logged_reason(params: Params) -> str | None:
    """Return why the results are not in MLflow, and what to do; None if they are there.

    Raises
    ------
    TrackingError
        If MLflow cannot be reached.
    """
    _note_ignored_variables(params)
    try:
        receipt = load_json(Path(params.results.mlflow) / "receipt.json", LOG_AGAIN)
    except InputError:  # missing, truncated, or with a merge conflict
        receipt = {}
    if not {"logged", "tracking_uri", "experiment", "comparison"} <= set(receipt):
        return f"run `{rerun_command()}`, or `{LOG_AGAIN}` if it failed there"
    if not receipt["logged"]:
        return f"MLflow at {receipt['tracking_uri']} {receipt.get('reason', '')}; run `{LOG_AGAIN}`"
    current = _store_content(params)
    if not current.items() <= receipt.items():
        at = "experiment {experiment}, MLflow at {tracking_uri}".format_map
        last = f"the last results went to {at(receipt)}"
        return f"{PARAMS} names {at(current)}; {last}; run `{LOG_AGAIN}`"
    evaluation = evaluation_runs(params)
    if receipt["comparison"] != evaluation.comparison.fingerprint:
        problem = "the results here differ from those that were logged"
        return f"{problem}; run `{rerun_command()}`"
    database = Tracking(params.mlflow.tracking_uri).database
    if database is not None and not database.exists():
        return (
            f"{database.name} has been removed; "
            f"run `{LOG_AGAIN}`, which creates it again and updates DVC"
        )
    return _missing_in_mlflow(params, evaluation)


def _missing_in_mlflow(params: Params, evaluation: EvaluationRuns) -> str | None:
    """Return which of the logged runs MLflow lacks, and what to do; None if it has all."""
    tracking, name = Tracking(params.mlflow.tracking_uri), params.mlflow.experiment
    server, again = f"MLflow at {tracking.safe_uri}", f"run `{LOG_AGAIN}`"
    with open_client(tracking) as client:
        experiment = client.get_experiment_by_name(name)
        if experiment is not None and experiment.lifecycle_stage == "deleted":
            return f"{server} {DELETED.reason} {name!r}; {DELETED.fix}, then `{LOG_AGAIN}`"
        comparison = experiment and Runs(client, {}).find(
            evaluation.comparison, RunLocation(experiment.experiment_id)
        )
        if not comparison or not is_finished(comparison):
            return f"{server} has lost the run of the comparison; {again}"
        run_ids = {m: comparison.data.tags.get(MODEL_RUN_TAG + m, "") for m in params.models}
        missing = [model for model, run_id in run_ids.items() if not active_run(client, run_id)]
    return f"{server} has lost the runs of {join_names(missing)}; {again}" if missing else None


def _refuse_stale_results() -> None:
    """Raise InputError for results that are out of date; only the stage `log` may be."""
    if not Path("dvc.yaml").is_file():
        return
    stale = set(json.loads(_run_dvc("status", "--with-deps", "--json", STAGE))) - {STAGE}
    if stale:
        names = ", ".join(sorted(stale))
        problem = f"params.yaml, data or code have changed since the results were made: {names}"
        raise refuse("results", problem, "run `dvc repro`, which also logs them")


def _run_dvc(*arguments: str) -> str:
    process = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments], capture_output=True, text=True, check=False
    )
    if process.returncode:
        message = " ".join(process.stderr.split())
        fix = f"fix that, then run `{LOG_AGAIN}`"
        raise refuse(f"dvc {arguments[0]}", f"failed: {message}", fix)
    return process.stdout
