"""The configuration of a comparison as params.yaml has it."""

from concord.metrics_core.comparison.config import (
    ComparisonConfig,
    choice_findings,
    effects_of,
    in_report_order,
)
from concord.metrics_core.comparison.replicate_config import Named, models_of, named_by
from concord.metrics_core.errors import InputError, ParamsKeys, Problem
from concord.metrics_core.metrics.label import canonical_label
from concord.pipeline.params.labels import labels_of
from concord.pipeline.params.model import Params


def config_from_params(params: Params) -> ComparisonConfig:
    """Return the configuration of the comparison; raise InputError if it names a label that is not evaluated."""
    comparison, settings = params.comparison, ParamsKeys("comparison")
    labels = in_report_order(labels_of(params))
    evaluated = {str(label) for label in labels}
    if found := list(
        choice_findings(comparison.primary, comparison.min_effect, evaluated, settings)
    ):
        raise InputError(
            Problem(settings.location(f"comparison.{key}"), what, fix) for key, what, fix in found
        )
    return ComparisonConfig(
        title=params.report.title,
        conventions=params.pinned,
        labels=labels,
        ks=sorted(params.evaluation.ks),
        primary=[canonical_label(text) for text in comparison.primary],
        min_effects=effects_of(comparison.min_effect, evaluated),
        baseline=comparison.baseline,
        confidence=comparison.confidence,
        adjustment=comparison.adjustment,
        wilcoxon=comparison.wilcoxon,
        resamples=comparison.resamples,
        seed=comparison.seed,
        panel=params.evaluation.panel,
        settings=settings,
        segments={name: each.cut for name, each in params.segments.items()},
        gate=params.gate.config if params.gate else None,
        replicates=replicates_of(params),
        paired_replicates=comparison.paired_replicates,
        max_missing_lists=comparison.max_missing_lists,
    )


def replicates_of(params: Params) -> Named:
    """Model -> number of the training -> entry of `models`, for those that were trained several times."""
    return named_by(params.comparison.replicates, params.models)


def compared_models(params: Params) -> list[str]:
    """The models that are compared, in the order of params.yaml."""
    return models_of(params.models, replicates_of(params))
