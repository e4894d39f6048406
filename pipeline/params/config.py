"""The configuration of the comparison as params.yaml has it."""

from collections.abc import Sequence
from dataclasses import replace

from concord.metrics_core.comparison.config import ComparisonConfig, in_report_order
from concord.metrics_core.comparison.replicate_config import (
    ReplicateNames,
    match_replicates,
    model_names,
)
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import InputError, Location, ParamsKeys, refuse
from concord.metrics_core.metrics.label import Label, expand
from concord.pipeline.params.model import PARAMS, Params


def config_from_params(params: Params) -> ComparisonConfig:
    """Return the validated configuration of the comparison.

    Raises
    ------
    InputError
        It is invalid; all problems at once, each with its key.
    """
    config = draft_config(params, labels_of(params), params.pinned)
    try:
        return config.validated(
            compared_models(params),
            lists=params.models,
            folds=params.data.truth.folds,
            tables=params.background,
        )
    except InputError as error:
        raise InputError(
            replace(each, location=f"{PARAMS}: {'.'.join(map(str, keys_of(each.location)))}")
            for each in error.problems
        ) from None


def draft_config(
    params: Params, labels: Sequence[Label], conventions: Conventions
) -> ComparisonConfig:
    """Return the configuration before it is validated."""
    comparison = params.comparison
    return ComparisonConfig(
        labels=in_report_order(labels),
        ks=sorted(params.evaluation.ks),
        conventions=conventions,
        baseline=comparison.baseline,
        primary=comparison.primary,
        min_effect=comparison.min_effect,
        title=params.report.title,
        confidence=comparison.confidence,
        adjustment=comparison.adjustment,
        wilcoxon=comparison.wilcoxon,
        resamples=comparison.resamples,
        seed=comparison.seed,
        max_missing_lists=comparison.max_missing_lists,
        panel=params.evaluation.panel,
        segments={name: each.cut for name, each in params.segments.items()},
        gate=params.gate.config if params.gate else None,
        replicates={model: lists for model, lists in replicate_names(params).items() if lists},
        paired_replicates=comparison.paired_replicates,
        settings=ParamsKeys("comparison"),
    )


def keys_of(location: Location) -> tuple[str, ...]:
    """Return the keys of params.yaml that set a field of the configuration."""
    keys = (location,) if isinstance(location, str) else location
    if keys[0] == "metrics":
        return ("evaluation", *keys)
    return keys if keys[0] in Params.model_fields else ("comparison", *keys)


def labels_of(params: Params) -> list[Label]:
    """Return the labels that params.yaml names, each metric at every cutoff.

    Raises
    ------
    InputError
        A metric is unknown, or named twice.
    """
    try:
        return expand(params.evaluation.metrics, params.evaluation.ks)
    except ValueError as error:
        raise refuse(f"{PARAMS}: evaluation.metrics", str(error), "correct the label") from None


def replicate_names(params: Params) -> ReplicateNames:
    """Return model -> number of the replicate -> entry of `models`."""
    return match_replicates(params.comparison.replicates, params.models)


def compared_models(params: Params) -> list[str]:
    """Return the models that are compared, in the order of params.yaml."""
    return model_names(params.models, replicate_names(params))
