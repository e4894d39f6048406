"""`mlflow.models.evaluate(…, evaluators="concord")`: a frame with one row a user -> metrics, intervals and report on the run.

MLflow finds the class by the entry point `concord` of the group `mlflow.model_evaluator`, so it is the one module that
imports MLflow as a whole.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, RunTag
from mlflow.models.evaluation import EvaluationResult, ModelEvaluator
from mlflow.models.evaluation.artifacts import (
    JsonEvaluationArtifact,
    ParquetEvaluationArtifact,
    TextEvaluationArtifact,
)

from concord.metrics_core.comparison.compare import compare
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.evaluate import Result, evaluate
from concord.metrics_core.metrics.catalogue import parse
from concord.pipeline.running.announce import LOG
from concord.pipeline.tracking.content.mlflow_names import curve_key, interval_key, metric_key
from concord.pipeline.tracking.content.model_content import CONVENTIONS, conventions_text
from concord.pipeline.tracking.content.run_content import Point
from concord.pipeline.tracking.evaluator_input import Asked, asked_for, lists_and_truth

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


def _points(result: Result) -> Iterator[Point]:
    """As the stage `log` names them: means, curves over k where a metric has several, intervals."""
    labels = [parse(text) for text in result.means]
    curves = [curve_key(label) for label in labels if label.k is not None]
    for label, summary in zip(labels, result.means.values(), strict=True):
        yield Point(metric_key(label), summary.mean, 0)
        if label.k is not None and curves.count(curve_key(label)) > 1:
            yield Point(curve_key(label), summary.mean, label.k)
        for part in ("ci_low", "ci_high", "n_undefined"):
            value = getattr(summary, part)
            yield Point(interval_key(label, part), math.nan if value is None else value, 0)


def _is_curve(point: Point) -> bool:
    return point.step > 0


def _log(client: MlflowClient, run_id: str, result: Result, points: list[Point]) -> None:
    now = int(time.time() * 1000)
    pinned = result.task.conventions
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
    client: MlflowClient, run_id: str, result: Result, page: str | None, *, per_user: bool
) -> dict[str, Any]:
    """In the folder `concord` of the run; the names by which `EvaluationResult.artifacts` knows them."""
    uri = f"{client.get_run(run_id).info.artifact_uri}/concord"
    pinned = result.task.conventions
    summary = json.loads(result.summary.write_json())
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
