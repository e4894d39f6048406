"""Data quality, conventions and provenance of a comparison."""

from collections.abc import Mapping, Sequence
from typing import Any

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.conventions.registry import CONVENTIONS
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult, Models
from concord.metrics_core.metrics.scope import affected_metrics
from concord.metrics_core.results.comparison_parts import (
    TRUTH,
    TRUTH_OF_FOLD,
    InputFile,
    PinnedConvention,
    PinnedConventions,
    Provenance,
)


def collect_quality(models: Models, data: EvaluationData) -> dict[str, Any]:
    """Return the counts of every table, and the counts of evaluated users of every model."""
    by_model = {
        model: {
            **result.quality,
            "users": result.summary["users"],
            "judged_share": result.summary["judged_share"],
        }
        for model, result in models.items()
    }
    return {**by_model, "truth": data.truth_quality}


def collect_conventions(config: ComparisonConfig) -> PinnedConventions:
    """Return every convention with its value and the evaluated metrics that it can change."""
    pinned, evaluated = config.conventions, {label.name for label in config.labels}
    values = tuple(
        PinnedConvention(
            each.name,
            value,
            tuple(name for name in affected_metrics(each.name) if name in evaluated),
        )
        for each in CONVENTIONS
        if (value := getattr(pinned, each.name)) is not None or not each.describes_data
    )
    overrides = pinned.as_dict()["overrides"]
    return PinnedConventions(pinned.preset, pinned.fingerprint, values, overrides)


def collect_provenance(config: ComparisonConfig, models: Models) -> Provenance:
    """Return the input tables, the versions of programs and the fingerprint of the conventions."""
    summaries = {model: result.summary for model, result in models.items()}
    truths = {_truth_role(each): each.summary["inputs"]["truth"] for each in models.values()}
    lists = {model: summary["inputs"]["lists"] for model, summary in summaries.items()}
    return Provenance(
        tuple(
            InputFile(role, file["path"], file["sha256"]) for role, file in (truths | lists).items()
        ),
        _versions([summary["versions"] for summary in summaries.values()]),
        config.conventions.fingerprint,
    )


def collect_value_provenance(models: Models) -> Provenance:
    """Return the files of values, or models without files, and the versions of programs."""
    files = {m: result.summary.get("inputs", {}).get("values", {}) for m, result in models.items()}
    return Provenance(
        tuple(InputFile(m, file.get("path", m), file.get("sha256")) for m, file in files.items()),
        _versions([result.summary["versions"] for result in models.values()]),
        "",
    )


def _truth_role(result: ModelResult) -> str:
    fold = result.quality.get("fold")
    return f"{TRUTH_OF_FOLD}{fold}" if fold else TRUTH


def _versions(by_model: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return program -> version; several versions if models were evaluated with different ones."""
    programs = list(dict.fromkeys(name for versions in by_model for name in versions))
    return {
        name: ", ".join(dict.fromkeys(v[name] for v in by_model if name in v)) for name in programs
    }
