"""What a comparison carries along: what was found in the tables, the conventions, where everything came from."""

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


def quality(models: Models, data: EvaluationData) -> dict[str, Any]:
    """What was found in every table, and who was evaluated."""
    of_models = {
        model: {**e.quality, "users": e.summary["users"], "judged_share": e.summary["judged_share"]}
        for model, e in models.items()
    }
    return {**of_models, "truth": data.truth_quality}


def conventions(config: ComparisonConfig) -> PinnedConventions:
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


def provenance(config: ComparisonConfig, models: Models) -> Provenance:
    """The tables that everything rests on, and what computed it."""
    summaries = {model: evaluated.summary for model, evaluated in models.items()}
    truths = {_role(each): each.summary["inputs"]["truth"] for each in models.values()}
    lists = {model: summary["inputs"]["lists"] for model, summary in summaries.items()}
    return Provenance(
        tuple(
            InputFile(role, file["path"], file["sha256"]) for role, file in (truths | lists).items()
        ),
        _versions([summary["versions"] for summary in summaries.values()]),
        config.conventions.fingerprint,
    )


def value_provenance(models: Models) -> Provenance:
    """Users' values that were held in memory, and what computed the statistics."""
    return Provenance(
        tuple(InputFile(model, model, None) for model in models),
        _versions([evaluated.summary["versions"] for evaluated in models.values()]),
        "",
    )


def _role(evaluated: ModelResult) -> str:
    """What its truth is called, where folds have truths of their own."""
    fold = evaluated.quality.get("fold")
    return f"{TRUTH_OF_FOLD}{fold}" if fold else TRUTH


def _versions(of_models: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """One version a program; all of them where models were evaluated with different ones."""
    programs = list(dict.fromkeys(name for versions in of_models for name in versions))
    return {
        name: ", ".join(dict.fromkeys(v[name] for v in of_models if name in v)) for name in programs
    }
