"""Several trainings of one model -> the results of that model: every user's value is the mean over its trainings."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from concord.metrics_core.comparison.aligned import align
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.replicate_config import model_names
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.evaluation.model_result import ModelResult, Models
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.metrics.user_sums import mean_of
from concord.metrics_core.results.comparison_parts import or_none
from concord.metrics_core.stats.paired_test import UserValues


def with_replicates(lists: Models, config: ComparisonConfig) -> dict[str, ModelResult]:
    """The models that are compared: each that has replicates stands where the first of them stood."""
    models = model_names(lists, config.replicates)
    how: dict[str, Any] = {
        "labels": config.labels,
        "conventions": config.conventions,
        "confidence": config.confidence,
    }
    return {
        model: replicated({name: lists[name] for name in config.replicates[model].values()}, **how)
        if model in config.replicates
        else lists[model]
        for model in models
    }


def replicated(
    trainings: Mapping[str, ModelResult],
    *,
    labels: Sequence[Label],
    conventions: Conventions,
    confidence: float,
) -> ModelResult:
    """One model from its trainings."""
    every = list(trainings.values())
    values = align({"": [each.values for each in every]}, unit_mean=conventions.unit_mean)
    metrics: dict[str, Any] = {}
    for label in labels:
        text, own = str(label), label.conventions(conventions)
        means = [each.mean(text) for each in every]
        found = [each.summary["metrics"][text] for each in every]
        if label.metric.of_catalogue or is_pooled(label, conventions):
            metrics[text] = {**found[0], "mean": _mean(means), "ci_low": None, "ci_high": None}
            continue
        column = values.column("", text, own.undefined)
        whose = values.clusters_for(label, conventions)
        found_mean = UserValues(column, whose, label.bounds(conventions))
        low, high = found_mean.interval(confidence)
        mean = found_mean.mean
        if own.round is not None and "mean" in own.round and math.isfinite(mean):
            mean = round(mean, own.round["mean"])
        metrics[text] = {
            "mean": or_none(mean),
            "ci_low": or_none(low),
            "ci_high": or_none(high),
            "n_users": found_mean.n_defined,
            "n_undefined": max(each["n_undefined"] for each in found),
        }
        if values.unit_mean is not None:
            metrics[text]["n_requests"] = int(found_mean.defined.sum())
    panel = {text: _definitions(text, every) for text in every[0].summary.get("panel", {})}
    first = every[0]
    summary = {**first.summary, "metrics": metrics, "panel": panel}
    return ModelResult(first.values, first.panel, first.lists, summary, first.quality, trainings)


def _definitions(text: str, trainings: Iterable[ModelResult]) -> dict[str, Any]:
    """The means of a label under each definition of the panel, over the trainings."""
    found = [each.summary["panel"][text]["definitions"] for each in trainings]
    return {
        "definitions": [
            {"column": same[0]["column"], "mean": _mean([each.get("mean") for each in same])}
            for same in zip(*found, strict=True)
        ]
    }


def _mean(means: list[float | None]) -> float | None:
    """The mean, rounded once, so that of equal ones it is each of them; None where one of them does not exist."""
    known = [np.array([mean]) for mean in means if mean is not None]
    return float(mean_of(known, len(known))[0]) if len(known) == len(means) else None
