"""All runs of an evaluation: one a model, and one that carries the report."""

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.mlflow.model_content import (
    Standing,
    comparison_note,
    leader_points,
    leader_tags,
    model_content,
    standing,
)
from concord.pipeline.mlflow.run_content import Artifact, RunContent, existing
from concord.pipeline.mlflow.training_ids import training_ids
from concord.pipeline.params.model import Params

COMPARISON = "comparison"  # the name of the run of all models


class Contents(NamedTuple):
    """What is to be logged: the models in the order of params.yaml, their comparison, and how each stands in it.

    `ranked`: the models, best first
    """

    models: tuple[RunContent, ...]
    comparison: RunContent
    standings: Mapping[str, Standing]
    ranked: tuple[str, ...]

    @property
    def fingerprints(self) -> dict[str, str]:
        return {content.name: content.fingerprint for content in self.models}


def contents(params: Params) -> Contents:
    """From the results on disk.

    Raises
    ------
    InputError : a result is missing, or a file that holds the id of a training run
    """
    numbers = Path(params.results.comparison) / "comparison.json"
    comparison = read_comparison(numbers)
    trained = training_ids(params)
    models = tuple(
        model_content(params, model, comparison.quality, trained.get(model))
        for model in params.models
    )
    page = Path(params.results.report)
    report = tuple(Artifact(existing(page / name), "") for name in ("report.html", "report.md"))
    standings = {
        name: standing(comparison, name, report if name in trained else ())
        for name in params.models
    }
    files = (*report, Artifact(numbers, ""))
    ranked = tuple(comparison.ranked_lists)
    return Contents(models, _comparison(params, models, comparison, files), standings, ranked)


def _comparison(
    params: Params,
    models: tuple[RunContent, ...],
    comparison: Comparison,
    files: tuple[Artifact, ...],
) -> RunContent:
    """It counts as another as soon as the report or the content of a model is another."""
    return RunContent(
        name=COMPARISON,
        points=tuple(p for p in leader_points(comparison) if math.isfinite(p.value)),
        params={
            "models": ", ".join(params.models),
            "baseline": params.comparison.baseline,
            "primary": ", ".join(params.comparison.primary),
            "confidence": str(params.comparison.confidence),
            "preset": params.pinned.preset,
        },
        tags={
            "concord.kind": "comparison",
            "concord.models": _digest(models),
            **leader_tags(comparison),
            "mlflow.note.content": comparison_note(comparison),
        },
        datasets=(),
        artifacts=files,
    )


def _digest(models: tuple[RunContent, ...]) -> str:
    fingerprints = " ".join(content.fingerprint for content in models)
    return hashlib.sha256(fingerprints.encode()).hexdigest()
