"""`mlflow.models.evaluate(…, evaluators="concord")`: a frame with one row a user -> metrics, intervals and report on the run."""

from __future__ import annotations

import difflib
import json
import math
import tempfile
import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mlflow import MlflowClient
from mlflow.entities import Metric, RunTag
from mlflow.models.evaluation import EvaluationResult, ModelEvaluator
from mlflow.models.evaluation.artifacts import (
    JsonEvaluationArtifact,
    ParquetEvaluationArtifact,
    TextEvaluationArtifact,
)

from concord.metrics_core.comparison.compare import compare
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import resolve_conventions
from concord.metrics_core.errors import AT_MOST, InputError, Problem, refuse
from concord.metrics_core.evaluation.evaluate import evaluate
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.evaluation import Evaluation
from concord.pipeline.mlflow.model_content import CONVENTIONS, conventions_text
from concord.pipeline.mlflow.run_content import Point, curve_key, interval_key, metric_key
from concord.pipeline.running.messages import LOG

Cells = dict[Hashable, Any]
_CONFIG = "evaluator_config"
_KNOWN = ("metrics", "preset", "conventions", "user", "per_user", "report")
DEFAULT_METRICS = ("nDCG@10", "AP@10", "RR@10", "P@10", "R@10", "Hit@10")


@dataclass(frozen=True)
class Asked:
    """The settings of `evaluator_config`.

    user     : the column with users' ids; None: users are known by their row, from 1
    per_user : are users' values an artifact?
    report   : is there a page?
    """

    metrics: list[str]
    conventions: Conventions
    user: str | None = None
    per_user: bool = False
    report: bool = True


def asked_for(config: Mapping[str, Any]) -> Asked:
    """The settings, checked.

    Raises
    ------
    InputError      : a setting that is unknown or has not its shape
    ConventionError : a preset or a convention that is unknown
    """
    for name in config:
        if name not in _KNOWN:
            near = difflib.get_close_matches(str(name), _KNOWN, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"choose {', '.join(_KNOWN)}"
            raise refuse(f"{_CONFIG}: {name!r}", "is no setting of Concord's", meant)
    for name in ("per_user", "report"):
        if not isinstance(config.get(name, False), bool):
            raise refuse(f"{_CONFIG}: {name!r}", f"is {config[name]!r}", "write True or False")
    conventions = config.get("conventions", {})
    if not isinstance(conventions, Mapping):
        fix = (
            "write a dict of the conventions that differ from the preset, such as {'gain': 'exp2'}"
        )
        raise refuse(f"{_CONFIG}: 'conventions'", f"is {conventions!r}", fix)
    user = config.get("user")
    if not (user is None or isinstance(user, str)):
        raise refuse(f"{_CONFIG}: 'user'", f"is {user!r}", "write the name of one column")
    return Asked(
        metrics=config.get("metrics", list(DEFAULT_METRICS)),
        conventions=_conventions(config.get("preset", "standard"), conventions),
        user=user,
        per_user=config.get("per_user", False),
        report=config.get("report", True),
    )


def _conventions(preset: Any, conventions: Mapping[str, Any]) -> Conventions:
    where = f"{_CONFIG}: 'conventions'"
    if "preset" in conventions:
        fix = f"write `'preset': {conventions['preset']!r}` beside `conventions`"
        raise refuse(where, "names a preset, but must hold only conventions", fix)
    if isinstance(preset, Conventions):
        if conventions:
            fix = "leave `conventions` out, or name the preset"
            raise refuse(where, "is given beside whole conventions", fix)
        return preset
    return resolve_conventions({"preset": preset, **conventions})


def lists_and_truth(dataset: Any, user: str | None) -> tuple[Cells, Cells]:
    """Lists and truth of each user, as `concord.evaluate` takes them.

    Raises
    ------
    InputError : a column is not named, a cell holds no list, or a user stands in two rows
    """
    if dataset.predictions_data is None:
        raise refuse("predictions", "is not given", "name the column with the lists")
    if dataset.labels_data is None:
        raise refuse("targets", "is not given", "name the column with the relevant items")
    users = _users(dataset, user)
    recs = _cells(dataset.predictions_data, dataset.predictions_name, users, grades=False)
    truth = _cells(dataset.labels_data, dataset.targets_name, users, grades=True)
    return recs, _alike(truth, dataset.targets_name)


def _users(dataset: Any, column: str | None) -> list[Hashable]:
    """The ids of the rows."""
    rows = dataset.features_data
    if column is None:
        return list(range(1, len(rows) + 1))
    if column not in rows.columns:
        where = f"{_CONFIG}: 'user'"
        others = ", ".join(map(str, rows.columns)) or "no column beside lists and truth"
        raise refuse(where, f"is {column!r}, but the frame has {others}", "name one of these")
    users = [_plain(value) for value in rows[column]]
    for row, value in enumerate(users, 1):
        if not isinstance(value, str | int):
            where = f"data: column {column!r}, row {row}"
            raise refuse(where, f"{value!r} is no id of a user", "write a text or an integer")
    seen: dict[Hashable, int] = {}
    for row, value in enumerate(users, 1):
        if value in seen:
            where = f"data: column {column!r}, row {row}"
            what = f"user {value!r} stands in row {seen[value]} too"
            raise refuse(where, what, "give every user one row, which holds the whole list")
        seen[value] = row
    return users


def _cells(column: Any, name: str, users: list[Hashable], *, grades: bool) -> Cells:
    """User -> list of items, or, with `grades`, dict of item and grade."""
    found: Cells = {}
    problems = []
    filled = len({frozenset(cell) for cell in column if isinstance(cell, Mapping)}) == 1
    for row, (user, cell) in enumerate(zip(users, column, strict=True), 1):
        held = _held(cell, grades=grades, filled=filled)
        if held is None:
            shown = repr(cell)[:60]
            what = f"holds {shown} ({type(cell).__name__}), which is no list of items"
            kinds = "a list, or a dict of item and grade" if grades else "a list, best item first"
            fix = f"write {kinds}; an empty one for a user with nothing"
            problems.append(Problem(f"data: column {name!r}, row {row}", what, fix))
            if len(problems) == AT_MOST:
                break
        found[user] = held
    if problems:
        raise InputError(problems)
    return found


def _held(cell: Any, *, grades: bool, filled: bool) -> Any:
    """None where it is neither list nor dict.

    filled : do all dicts have the same items? Frames that hold records fill in those of other users with None.
    """
    if grades and isinstance(cell, Mapping):
        return {item: _plain(grade) for item, grade in cell.items() if not (filled and grade is None)}  # fmt: skip
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [_plain(item) for item in cell]
    return None


def _alike(truth: Cells, name: str) -> Cells:
    """All lists, or all dicts; an empty one is either."""
    kinds = {type(held) for held in truth.values() if len(held)}
    if len(kinds) > 1:
        fix = "write a dict of item and grade in every row, or a list in every row"
        raise refuse(f"data: column {name!r}", "holds lists in some rows, dicts in others", fix)
    empty = next(iter(kinds), list)
    return {user: held if len(held) else empty() for user, held in truth.items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


MODEL_TYPES = ("ranker", "recommender")
_MOST_METRICS = 1000  # of a request, as MLflow allows
_INPUT = {"empty_lists": "keep"}  # a row with an empty list is a user whose list is empty
_LISTS = "recs"  # what the lists are called in messages and in the report


class ConcordEvaluator(ModelEvaluator):
    """Evaluates lists that a frame holds; `docs/how-to/mlflow-evaluate.md` tells its settings."""

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Any, **kwargs: Any) -> bool:
        """Only rankers and recommenders: no other type has lists."""
        return model_type in MODEL_TYPES

    def evaluate(
        self,
        *,
        model_type: str,
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any] | None,
        model: Any = None,
        extra_metrics: Any = None,
        custom_artifacts: Any = None,
        predictions: Any = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Log onto the run, and return what was logged.

        Raises
        ------
        ValueError : what is wrong with the frame or with `evaluator_config`, where, and what to do, as
                     `concord.evaluate` and `concord.compare` raise it; nothing is logged
        MlflowException : the tracking store fails
        """
        _refuse_more(model, extra_metrics, custom_artifacts)
        asked = asked_for(evaluator_config or {})
        client = MlflowClient()
        _refuse_cut(client, run_id, dataset)
        recs, truth = lists_and_truth(dataset, asked.user)
        result = evaluate(
            recs, truth, metrics=asked.metrics, conventions=asked.conventions, input=_INPUT
        )
        for each in result.warnings:
            LOG.warning("warning: %s %s", each.sentence, each.fix)
        page = _report(recs, truth, asked) if asked.report else None
        points = [point for point in _points(result) if math.isfinite(point.value)]
        _log(client, run_id, result, points)
        artifacts = _log_artifacts(client, run_id, result, page, per_user=asked.per_user)
        scalars = {point.key: point.value for point in points if not _is_curve(point)}
        return EvaluationResult(scalars, artifacts, run_id)  # type: ignore[no-untyped-call]


def _points(result: Evaluation) -> Iterator[Point]:
    """As the stage `log` names them: means, curves over k where a metric has several, intervals."""
    labels = [parse(text) for text in result.summaries]
    curves = [curve_key(label) for label in labels if label.k is not None]
    for label, summary in zip(labels, result.summaries.values(), strict=True):
        yield Point(metric_key(label), summary.mean, 0)
        if label.k is not None and curves.count(curve_key(label)) > 1:
            yield Point(curve_key(label), summary.mean, label.k)
        for part in ("ci_low", "ci_high", "n_undefined"):
            value = getattr(summary, part)
            yield Point(interval_key(label, part), math.nan if value is None else value, 0)


def _is_curve(point: Point) -> bool:
    return point.step > 0


def _log(client: MlflowClient, run_id: str, result: Evaluation, points: list[Point]) -> None:
    now = int(time.time() * 1000)
    pinned = result.conventions
    tags = {
        "concord.kind": "evaluation",
        "concord.conventions": pinned.fingerprint,
        "concord.preset": pinned.preset,
    }
    for start in range(0, len(points), _MOST_METRICS):
        some = points[start : start + _MOST_METRICS]
        metrics = [Metric(key, float(value), now, step) for key, value, step in some]
        client.log_batch(run_id, metrics=metrics)
    client.log_batch(run_id, tags=[RunTag(key, value) for key, value in tags.items()])


def _log_artifacts(
    client: MlflowClient, run_id: str, result: Evaluation, page: str | None, *, per_user: bool
) -> dict[str, Any]:
    """In the folder `concord` of the run; the names by which `EvaluationResult.artifacts` knows them."""
    uri = f"{client.get_run(run_id).info.artifact_uri}/concord"
    pinned = result.conventions
    summary = json.loads(result.to_frame().write_json())
    text = conventions_text(pinned.as_dict())
    given: list[tuple[str, Any, str, Any]] = [
        ("summary", JsonEvaluationArtifact, "summary.json", summary),
        ("conventions", TextEvaluationArtifact, CONVENTIONS, text),
    ]
    if page is not None:
        given.append(("report", TextEvaluationArtifact, "report.html", page))
    if per_user:
        frame = result.per_user.to_pandas()
        given.append(("per_user", ParquetEvaluationArtifact, "per_user.parquet", frame))
    found = {name: kind(f"{uri}/{file}", content) for name, kind, file, content in given}
    with tempfile.TemporaryDirectory() as folder:
        for artifact in found.values():
            file = Path(folder) / artifact.uri.rpartition("/")[2]
            artifact._save(str(file))
            client.log_artifact(run_id, str(file), "concord")
    return found


def _report(recs: Any, truth: Any, asked: Asked) -> str:
    """The report of `compare`, with one model."""
    alone = compare(
        {_LISTS: recs},
        truth,
        metrics=asked.metrics,
        baseline=_LISTS,
        conventions=asked.conventions,
        input=_INPUT,
        title="Evaluation",
        panel=False,
    )
    return alone.to_html()


def _refuse_more(model: Any, extra_metrics: Any, custom_artifacts: Any) -> None:
    """What MLflow hands to every evaluator, and this one could only pass over."""
    if model is not None:
        fix = "put the lists into a column of the frame, and name it: `predictions='recs'`, without `model`"
        raise refuse("model", "is given, but Concord evaluates lists that are there", fix)
    for name, value in (("extra_metrics", extra_metrics), ("custom_artifacts", custom_artifacts)):
        if value:
            fix = "leave it out, or name labels in `evaluator_config={'metrics': ['nDCG@10']}`"
            raise refuse(name, "is given, which this evaluator does not take", fix)


def _refuse_cut(client: MlflowClient, run_id: str, dataset: Any) -> None:
    """MLflow hands over the first 10,000 rows of a Spark frame, and says how many there are on the run alone."""
    inputs = client.get_run(run_id).inputs
    rows = len(dataset.features_data)
    for used in inputs.dataset_inputs if inputs else []:
        if used.dataset.digest != getattr(dataset, "digest", used.dataset.digest):
            continue  # MLflow 2 does not say which of the run's data sets it is
        profile = json.loads(used.dataset.profile or "null") or {}
        there = profile.get("approx_count") if isinstance(profile, dict) else None
        if isinstance(there, int) and there > rows:
            what = f"is a Spark frame of about {there:,} rows, of which MLflow hands over {rows:,}"
            fix = "pass `data.toPandas()`, or read the files with `concord.evaluate`"
            raise refuse("data", what, fix)
