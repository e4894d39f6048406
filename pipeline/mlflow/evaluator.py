"""Evaluator plug-in of MLflow: `mlflow.models.evaluate(…, evaluators="concord")`.

It evaluates a frame with one row for each user, and logs metrics, intervals and a report.
"""

from __future__ import annotations

import difflib
import json
import math
import tempfile
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mlflow import MlflowClient
from mlflow.models.evaluation import EvaluationResult, ModelEvaluator
from mlflow.models.evaluation.artifacts import (
    JsonEvaluationArtifact,
    ParquetEvaluationArtifact,
    TextEvaluationArtifact,
)

from concord.metrics_core.comparison.compare import compare
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import resolve_conventions
from concord.metrics_core.data.argument_types import PolicyOptions
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.metrics_core.evaluation.definition_search import refuse_other_tables
from concord.metrics_core.evaluation.evaluate import evaluate
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.evaluation import Evaluation
from concord.pipeline.mlflow.run_content import (
    CONVENTIONS,
    Point,
    conventions_text,
    metric_points,
)
from concord.pipeline.mlflow.runs import log_batch
from concord.pipeline.running.messages import LOG

Cells = dict[Hashable, Any]
_CONFIG = "evaluator_config"
_SETTINGS = ("metrics", "preset", "conventions", "user", "per_user", "report")
DEFAULT_METRICS = ("nDCG@10", "AP@10", "RR@10", "P@10", "R@10", "Hit@10")


@dataclass(frozen=True)
class EvaluatorConfig:
    """Settings of `evaluator_config`.

    Attributes
    ----------
    conventions : Conventions
        Conventions of the metrics.
    metrics : sequence of str
        Names of metrics.
    user : str or None
        Column with user ids; None: the number of the row, from 1.
    per_user : bool
        Whether to log per-user values.
    report : bool
        Whether to log a report.
    """

    conventions: Conventions
    metrics: Sequence[str] = DEFAULT_METRICS
    user: str | None = None
    per_user: bool = False
    report: bool = True


def parse_config(config: Mapping[str, Any]) -> EvaluatorConfig:
    """Return the validated settings.

    Raises
    ------
    InputError
        If a setting, a preset or a convention is unknown, a value is invalid, or conventions
        read train or items.
    """
    for name in config:
        if name not in _SETTINGS:
            near = difflib.get_close_matches(str(name), _SETTINGS, n=1)
            fix = f"did you mean {near[0]!r}?" if near else f"choose {', '.join(_SETTINGS)}"
            raise refuse(f"{_CONFIG}: {name!r}", "is not a setting of Concord", fix)
    for name in ("per_user", "report"):
        if not isinstance(config.get(name, False), bool):
            raise refuse(f"{_CONFIG}: {name!r}", f"is {config[name]!r}", "write True or False")
    conventions = config.get("conventions", {})
    if not isinstance(conventions, Mapping):
        fix = "write a dict of those that differ from the preset, such as {'gain': 'exp2'}"
        raise refuse(f"{_CONFIG}: 'conventions'", f"is {conventions!r}", fix)
    user = config.get("user")
    if not (user is None or isinstance(user, str)):
        raise refuse(f"{_CONFIG}: 'user'", f"is {user!r}", "write the name of one column")
    resolved = _conventions(config.get("preset", "standard"), conventions)
    refuse_other_tables(resolved, "mlflow.models.evaluate")
    others = {name: config[name] for name in config.keys() - {"preset", "conventions"}}
    return EvaluatorConfig(resolved, **others)


def _conventions(preset: Any, conventions: Mapping[str, Any]) -> Conventions:
    location = f"{_CONFIG}: 'conventions'"
    if "preset" in conventions:
        fix = f"write `'preset': {conventions['preset']!r}` next to `conventions`"
        raise refuse(location, "names a preset, but must contain only conventions", fix)
    if isinstance(preset, Conventions):
        if conventions:
            fix = "remove `conventions`, or write the preset's name"
            raise refuse(location, "is set, but `preset` has all conventions", fix)
        return preset
    return resolve_conventions({"preset": preset, **conventions})


def read_dataset(dataset: Any, user: str | None) -> tuple[Cells, Cells]:
    """Return the lists and the ground truth of each user, as `concord.evaluate` reads them.

    Parameters
    ----------
    dataset : EvaluationDataset
        MLflow's data set.
    user : str or None
        Column with user ids.

    Raises
    ------
    InputError
        If a column is missing, a cell has no list, or a user has two rows.
    """
    if dataset.predictions_data is None:
        raise refuse("predictions", "is missing", "name the column with the lists")
    if dataset.labels_data is None:
        raise refuse("targets", "is missing", "name the column with the relevant items")
    users = _users(dataset, user)
    recs = _cells(dataset.predictions_data, dataset.predictions_name, users, grades=False)
    truth = _cells(dataset.labels_data, dataset.targets_name, users, grades=True)
    return recs, _unify_types(truth, dataset.targets_name)


def _users(dataset: Any, column: str | None) -> list[Hashable]:
    """Return the user of each row."""
    rows = dataset.features_data
    if column is None:
        return list(range(1, len(rows) + 1))
    if column not in rows.columns:
        location = f"{_CONFIG}: 'user'"
        others = ", ".join(map(str, rows.columns)) or "no other column than lists and truth"
        raise refuse(location, f"is {column!r}, but the frame has {others}", "name one of these")
    users = [_plain(value) for value in rows[column]]
    first_rows: dict[Hashable, int] = {}
    for row, value in enumerate(users, 1):
        location = f"data: column {column!r}, row {row}"
        if not isinstance(value, str | int):
            raise refuse(location, f"{value!r} is not a user id", "write a text or an integer")
        if (first := first_rows.setdefault(value, row)) != row:
            problem = f"user {value!r} occurs in row {first} too"
            raise refuse(location, problem, "write one row for each user, with the whole list")
    return users


def _cells(column: Any, name: str, users: list[Hashable], *, grades: bool) -> Cells:
    """Return user -> list of items, or, with `grades`, dict of item and grade."""
    cells: Cells = {}
    problems = []
    has_filled_items = len({frozenset(c) for c in column if isinstance(c, Mapping)}) == 1
    for row, (user, cell) in enumerate(zip(users, column, strict=True), 1):
        cells[user] = items = _items(cell, grades=grades, has_filled_items=has_filled_items)
        if items is None:
            text = repr(cell)[:60]
            problem = f"is {text} ({type(cell).__name__}), not a list of items"
            kinds = "a list, or a dict of item and grade" if grades else "a list, best item first"
            fix = f"write {kinds}; an empty one for a user without items"
            problems.append(Problem(f"data: column {name!r}, row {row}", problem, fix))
    raise_problems(problems)
    return cells


def _items(cell: Any, *, grades: bool, has_filled_items: bool) -> Any:
    """Return the items of a cell; None if it is neither a list nor a dict.

    Parameters
    ----------
    cell : object
        The cell.
    grades : bool
        Whether the cell may be a dict of item and grade.
    has_filled_items : bool
        Whether items of other users have the grade None, as in frames made from records.
    """
    if grades and isinstance(cell, Mapping):
        return {
            item: _plain(grade)
            for item, grade in cell.items()
            if not (has_filled_items and grade is None)
        }
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [_plain(item) for item in cell]
    return None


def _unify_types(truth: Cells, name: str) -> Cells:
    """Return only lists or only dicts; empty cells become either.

    Raises
    ------
    InputError
        If the column has both.
    """
    kinds = {type(items) for items in truth.values() if len(items)}
    if len(kinds) > 1:
        fix = "write a dict of item and grade in every row, or a list in every row"
        raise refuse(f"data: column {name!r}", "has lists in some rows, dicts in others", fix)
    empty = next(iter(kinds), list)
    return {user: items if len(items) else empty() for user, items in truth.items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


MODEL_TYPES = ("ranker", "recommender")
_INPUT: PolicyOptions = {"empty_lists": "keep"}  # a user may have an empty list
_LISTS = "recs"  # name of the lists in messages and in the report


class ConcordEvaluator(ModelEvaluator):
    """Evaluator of the lists in a frame; see `docs/how-to/mlflow-evaluate.md` for settings."""

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Any, **kwargs: Any) -> bool:
        """Return True for rankers and recommenders: no other type has lists."""
        return model_type in MODEL_TYPES

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any] | None,
        model: Any = None,
        extra_metrics: Any = None,
        custom_artifacts: Any = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Log the evaluation on the run, and return what was logged.

        Raises
        ------
        ValueError
            If the frame or `evaluator_config` is invalid; nothing is logged.
        MlflowException
            If the tracking store fails.
        """
        _refuse_unused(model, extra_metrics, custom_artifacts)
        config = parse_config(evaluator_config or {})
        client = MlflowClient()
        _refuse_truncated(client, run_id, dataset)
        recs, truth = read_dataset(dataset, config.user)
        result = evaluate(
            recs, truth, metrics=config.metrics, conventions=config.conventions, input=_INPUT
        )
        for warning in result.warnings:
            LOG.warning("warning: %s %s", warning.sentence, warning.fix)
        page = _report(recs, truth, config) if config.report else None
        points = [point for point in _points(result) if math.isfinite(point.value)]
        tags = {
            "concord.kind": "evaluation",
            "concord.conventions": result.conventions.fingerprint,
            "concord.preset": result.conventions.preset,
        }
        log_batch(client, run_id, points, int(time.time() * 1000), tags)
        artifacts = _log_artifacts(client, run_id, result, page, per_user=config.per_user)
        scalars = {point.key: point.value for point in points if point.step == 0}
        return EvaluationResult(scalars, artifacts, run_id)  # type: ignore[no-untyped-call]


def _points(result: Evaluation) -> Iterator[Point]:
    """Return means, curves over k and intervals, under the same keys as the stage `log`."""
    means = {parse(text): summary.mean for text, summary in result.summaries.items()}
    summaries = {text: vars(summary) for text, summary in result.summaries.items()}
    return metric_points(means, summaries, summaries)


def _log_artifacts(
    client: MlflowClient, run_id: str, result: Evaluation, page: str | None, *, per_user: bool
) -> dict[str, Any]:
    """Log artifacts to the run's folder `concord`; return them by name."""
    uri = f"{client.get_run(run_id).info.artifact_uri}/concord"
    summary = json.loads(result.to_frame().write_json())
    conventions = conventions_text(result.conventions.as_dict())
    rows: list[tuple[str, Any, str, Any]] = [
        ("summary", JsonEvaluationArtifact, "summary.json", summary),
        ("conventions", TextEvaluationArtifact, CONVENTIONS, conventions),
    ]
    if page is not None:
        rows.append(("report", TextEvaluationArtifact, "report.html", page))
    if per_user:
        frame = result.per_user.to_pandas()
        rows.append(("per_user", ParquetEvaluationArtifact, "per_user.parquet", frame))
    artifacts = {name: kind(f"{uri}/{file}", content) for name, kind, file, content in rows}
    with tempfile.TemporaryDirectory() as folder:
        for artifact in artifacts.values():
            file = Path(folder) / artifact.uri.rpartition("/")[2]
            artifact._save(str(file))
            client.log_artifact(run_id, str(file), "concord")
    return artifacts


def _report(recs: Any, truth: Any, config: EvaluatorConfig) -> str:
    """Return the report of a comparison with one model."""
    comparison = compare(
        {_LISTS: recs},
        truth,
        metrics=config.metrics,
        baseline=_LISTS,
        conventions=config.conventions,
        input=_INPUT,
        title="Evaluation",
        panel=False,
    )
    return comparison.to_html()


def _refuse_unused(model: Any, extra_metrics: Any, custom_artifacts: Any) -> None:
    """Raise InputError for arguments of MLflow that this evaluator does not use."""
    if model is not None:
        fix = "put the lists into a column of the frame: `predictions='recs'`, without `model`"
        raise refuse("model", "is set, but Concord evaluates existing lists", fix)
    for name, value in (("extra_metrics", extra_metrics), ("custom_artifacts", custom_artifacts)):
        if value:
            fix = "remove it, or name labels in `evaluator_config={'metrics': ['nDCG@10']}`"
            raise refuse(name, "is not supported by this evaluator", fix)


def _refuse_truncated(client: MlflowClient, run_id: str, dataset: Any) -> None:
    """Raise InputError for a Spark frame of which MLflow passes only the first 10,000 rows."""
    inputs = client.get_run(run_id).inputs
    rows = len(dataset.features_data)
    for dataset_input in inputs.dataset_inputs if inputs else []:
        logged = dataset_input.dataset
        if logged.digest != getattr(dataset, "digest", logged.digest):
            continue  # MLflow 2 does not say which of the run's data sets it is
        profile = json.loads(logged.profile or "null") or {}
        n_rows = profile.get("approx_count") if isinstance(profile, dict) else None
        if isinstance(n_rows, int) and n_rows > rows:
            problem = f"is a Spark frame of about {n_rows:,} rows, but MLflow passes only {rows:,}"
            fix = "pass `data.toPandas()`, or read the files with `concord.evaluate`"
            raise refuse("data", problem, fix)
