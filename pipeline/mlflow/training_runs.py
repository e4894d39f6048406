"""Runs that trained the models: their ids, and evaluations that are logged on them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.files import open_file
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.mlflow.client import LOG_AGAIN, Tracking
from concord.pipeline.mlflow.run_content import RunContent
from concord.pipeline.mlflow.runs import (
    FINGERPRINT,
    FOLDER,
    log_artifacts,
    log_batch,
    log_datasets,
    next_timestamp,
)
from concord.pipeline.params.checks import shared_run_problems
from concord.pipeline.params.model import PARAMS, Params, RunIdFile
from concord.pipeline.params.paths import check_inside
from concord.pipeline.params.yaml_files import value_at
from concord.pipeline.running.messages import LOG

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

TRAINING_RUN = "concord.training_run"  # tag: id of the run that trained the model
MAX_BYTES = 1_000_000
MAX_ID = 250  # characters
_WRITE = "let the training write the id of its MLflow run there, and evaluate again"


def training_run_ids(params: Params) -> dict[str, str]:
    """Return the ids of the training runs, by model, of models that name one.

    Raises
    ------
    InputError
        If a file has no valid id, or two models share a run on which metrics are logged; all
        problems at once.
    """
    run_ids: dict[str, str] = {}
    problems: list[Problem] = []
    for model, entry in params.models.items():
        source = entry.training_run_id
        if source is None:
            continue
        try:
            run_ids[model] = source if isinstance(source, str) else _read_id(params, model, source)
        except InputError as error:
            problems += error.problems
    for problem in shared_run_problems(params, run_ids):
        problems.append(replace(problem, location=f"{PARAMS}: {problem.where}"))
    raise_problems(problems)
    return run_ids


def _read_id(params: Params, model: str, source: RunIdFile) -> str:
    file, key = Path(source.file), f"models.{model}.training_run_id"
    check_inside(key, file, allow_outside=params.input.allow_outside, part="file")
    text = _read_text(file, key)
    if source.key is not None:
        return _check_id(_value_at_key(text, source, key), f"{file}: {source.key}")
    if text.lstrip().startswith(("{", "[")):
        problem = f"is JSON, and `{key}` names no key of it"
        raise refuse(str(file), problem, f"add `key:` to {key} in {PARAMS}")
    return _check_id(text, str(file))


def _read_text(file: Path, key: str) -> str:
    try:
        with open_file(file, _WRITE) as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        problem = f"cannot be read for {key}: {error.strerror}"
        raise refuse(str(file), problem, _WRITE) from None
    if len(content) > MAX_BYTES:
        raise refuse(str(file), f"has more than {MAX_BYTES:,} bytes", _WRITE)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise refuse(str(file), "is not a text in UTF-8", _WRITE) from None


def _value_at_key(text: str, source: RunIdFile, location: str) -> Any:
    """Return the value at a key, or at a dotted path of keys."""
    key = str(source.key)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        fix = f"write JSON, or remove {location}.key to read the whole text"
        raise refuse(source.file, f"is not valid JSON: {error}", fix) from None
    if isinstance(content, dict) and key in content:
        return content[key]
    if (value := value_at(content, key)) is not None:
        return value
    names = ", ".join(map(str, content)) if isinstance(content, dict) else ""
    hint = f"; it has {names[:200]}" if names else ""
    raise refuse(source.file, f"has no key {key!r}{hint}", f"correct {location}.key in {PARAMS}")


def _check_id(value: Any, location: str) -> str:
    run_id = value.strip() if isinstance(value, str) else ""
    if not run_id or len(run_id) > MAX_ID or not run_id.isprintable():
        raise refuse(location, f"is {value!r:.60}, not a run id", _WRITE)
    return run_id


EVALUATION = "concord.evaluated"  # tag: fingerprint and time of the last evaluation
_UNKNOWN_RUN = {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}


def find_training_runs(
    client: MlflowClient, models: Iterable[RunContent], tracking: Tracking
) -> dict[str, Run]:
    """Return the training runs by model; warn about runs that are unknown or deleted.

    A training often logs to a database of one machine, whereas git brings its id to all.
    """
    runs: dict[str, Run] = {}
    missing = []
    for content in models:
        if content.training is not None:
            if run := active_run(client, content.training.run_id):
                runs[content.name] = run
            else:
                missing.append(content.name)
    if missing:
        LOG.warning(
            "warning: MLflow at %s has no active training run of %s: each has a separate run, "
            "with the id as the tag %s. To attach them, let training and evaluation share one "
            "MLflow (mlflow.tracking_uri), or restore deleted runs (`mlflow runs restore`); "
            "then `%s`",
            tracking.safe_uri,
            join_names(missing),
            TRAINING_RUN,
            LOG_AGAIN,
        )
    return runs


def log_on_training_run(
    client: MlflowClient, training: Run, content: RunContent, *, refill: bool = False
) -> bool:
    """Log an evaluation on a training run; nothing if the run has it and `refill` is false.

    Status and end time of the run stay. Parameters become tags: MLflow's cannot change.

    Returns
    -------
    bool
        True if it was logged.
    """
    run_id, tags = training.info.run_id, training.data.tags
    if tags.get(FINGERPRINT) == content.fingerprint and not refill:
        return False
    timestamp = next_timestamp(tags.get(EVALUATION, ""), content.fingerprint)
    new_tags = {
        **{f"concord.param.{name}": value for name, value in content.params.items()},
        **{name: tag for name, tag in content.tags.items() if not name.startswith("mlflow.")},
    }
    client.set_tag(run_id, EVALUATION, f"{content.fingerprint} {timestamp}")
    log_batch(client, run_id, content.points, timestamp, new_tags)
    log_datasets(client, run_id, content)
    log_artifacts(client, training, content.artifacts, content.texts, folder=FOLDER)
    client.set_tag(run_id, FINGERPRINT, content.fingerprint)
    return True


def log_primary_metrics(
    client: MlflowClient, training: Run, content: RunContent, keys: Collection[str]
) -> None:
    """Log means of primary metrics that a training run lacks, beside its parameters."""
    run_id, data = training.info.run_id, training.data
    points = [
        point
        for point in content.points
        if point.key in keys and data.metrics.get(point.key) != point.value
    ]
    if not points:
        return
    timestamp = next_timestamp(data.tags.get(EVALUATION, ""), content.fingerprint)
    evaluation = {EVALUATION: f"{content.fingerprint} {timestamp}"}
    log_batch(client, run_id, points, timestamp, evaluation)


def active_run(client: MlflowClient, run_id: str) -> Run | None:
    """Return the run; None if it is unknown or deleted."""
    from mlflow import MlflowException

    try:
        run = client.get_run(run_id)
    except MlflowException as error:
        if error.error_code in _UNKNOWN_RUN:
            return None
        raise
    return run if run.info.lifecycle_stage == "active" else None
