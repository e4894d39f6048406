"""What the run of one model holds: only what concerns that model, so that other models leave it alone."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from concord.metrics_core.files import load_json, mark_of
from concord.metrics_core.metrics.catalogue import Label, parse, spelled
from concord.pipeline.params.model import Params
from concord.pipeline.running.outputs import MAKE_AGAIN
from concord.pipeline.tracking.content.data_files import data_files
from concord.pipeline.tracking.content.mlflow_names import curve_key, interval_key, metric_key
from concord.pipeline.tracking.content.notes import model_note
from concord.pipeline.tracking.content.run_content import (
    Artifact,
    Json,
    Point,
    RunContent,
    Training,
)

CONVENTIONS = "conventions.yaml"
TRAINING_RUN = "concord.training_run"  # tag: the id of the run that trained the model


def model_content(
    params: Params, model: str, quality: Mapping[str, Any], training_run: str | None
) -> RunContent:
    """The run of a model, from its own results on disk.

    Parameters
    ----------
    quality      : what was found in the tables of all models and of the truth
    training_run : the id of the run that trained the model

    Raises
    ------
    InputError : a result is missing
    """
    metrics_file = Path(params.results.metrics) / f"{model}.json"
    summary = load_json(Path(params.results.summary) / f"{model}.json", MAKE_AGAIN)
    means = {parse(label): value for label, value in load_json(metrics_file, MAKE_AGAIN).items()}
    primary = [spelled(label) for label in params.comparison.primary]
    points = [*_scalars(means), *_curves(means), *_intervals(summary["metrics"], primary)]
    return RunContent(
        name=model,
        points=tuple(point for point in points if math.isfinite(point.value)),
        params=_params(params, model),
        tags={
            "concord.kind": "model",
            **_tags(summary),
            **({TRAINING_RUN: training_run} if training_run else {}),
            "mlflow.note.content": model_note(
                summary["users"], of_requests="unit_mean" in summary["conventions"]
            ),
        },
        datasets=data_files(summary["inputs"], quality, model),
        artifacts=(Artifact(metrics_file, "metrics"),),
        texts={CONVENTIONS: conventions_text(summary["conventions"])},
        training=Training(training_run, params.mlflow.attach) if training_run else None,
    )


def _scalars(means: Mapping[Label, float | None]) -> Iterator[Point]:
    """At step 0, so that MLflow draws bars."""
    for label, mean in means.items():
        yield Point(metric_key(label), _number(mean), 0)


def _curves(means: Mapping[Label, float | None]) -> Iterator[Point]:
    """With k as the step, so that MLflow draws the models over k; a single cutoff is no curve."""
    with_k = [
        (curve_key(label), mean, label.k) for label, mean in means.items() if label.k is not None
    ]
    keys = [key for key, _, _ in with_k]
    for key, mean, k in with_k:
        if keys.count(key) > 1:
            yield Point(key, _number(mean), k)


def _intervals(metrics: Mapping[str, Json], primary: list[str]) -> Iterator[Point]:
    """For the primary labels only: MLflow draws one chart a name."""
    for text in primary:
        for part in ("ci_low", "ci_high", "n_undefined"):
            yield Point(interval_key(parse(text), part), _number(metrics[text][part]), 0)


def _params(params: Params, model: str) -> dict[str, str]:
    return {
        "model": model,
        "lists": params.models[model].path,
        "truth": params.data.truth.path,
        "metrics": ", ".join(params.evaluation.metrics),
        "ks": ", ".join(str(k) for k in sorted(params.evaluation.ks)),
        "preset": params.pinned.preset,
        "primary": ", ".join(params.comparison.primary),
        "confidence": str(params.comparison.confidence),
    }


def _tags(summary: Json) -> dict[str, str]:
    return {
        "concord.conventions": summary["fingerprint"],
        "concord.version": summary["versions"]["concord-eval"],
        **{
            f"concord.{name}_{'sha256' if source['sha256'] else 'etag'}": str(mark_of(source))
            for name, source in summary["inputs"].items()
        },
    }


def conventions_text(pinned: Mapping[str, Any]) -> str:
    """As they stand in params.yaml; JSON is YAML."""
    lines = [f"  {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in pinned.items()]
    return "\n".join(["conventions:", *lines, ""])


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
