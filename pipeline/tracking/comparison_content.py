"""All runs of an evaluation: one a model, and one above them that carries the report."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from concord.metrics_core.comparison.stored import read_comparison
from concord.pipeline.params.model import Params
from concord.pipeline.tracking.model_content import model_content
from concord.pipeline.tracking.notes import comparison_note
from concord.pipeline.tracking.run_content import Artifact, RunContent, existing

COMPARISON = "comparison"  # the name of the run above the models


class Contents(NamedTuple):
    """What is to be logged: the models in the order of params.yaml, and their comparison."""

    models: tuple[RunContent, ...]
    comparison: RunContent

    @property
    def fingerprints(self) -> dict[str, str]:
        return {content.name: content.fingerprint for content in self.models}


def contents(params: Params) -> Contents:
    """From the results on disk.

    Raises
    ------
    InputError : a result is missing
    """
    models = tuple(model_content(params, model) for model in params.models)
    return Contents(models, _comparison(params, models))


def _comparison(params: Params, models: tuple[RunContent, ...]) -> RunContent:
    """It counts as another as soon as the report or the content of a model is another."""
    page = Path(params.results.report)
    numbers = Path(params.results.comparison) / "comparison.json"
    return RunContent(
        name=COMPARISON,
        points=(),  # a number of one model would stand among those of all
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
            "mlflow.note.content": comparison_note(read_comparison(numbers)),
        },
        datasets=(),
        artifacts=tuple(
            Artifact(existing(file), "")
            for file in (page / "report.html", page / "report.md", numbers)
        ),
    )


def _digest(models: tuple[RunContent, ...]) -> str:
    fingerprints = " ".join(content.fingerprint for content in models)
    return hashlib.sha256(fingerprints.encode()).hexdigest()
