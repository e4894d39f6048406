"""Combine the replicates of a model: every user's value is the mean over replicates."""

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
    """Return the results of the compared models, those of replicates combined.

    A model with replicates has the position of its first list.
    """
    return {
        model: combine_results(
            {name: lists[name] for name in config.replicates[model].values()},
            labels=config.labels,
            conventions=config.conventions,
            confidence=config.confidence,
        )
        if model in config.replicates
        else lists[model]
        for model in model_names(lists, config.replicates)
    }


def combine_results(
    replicates: Mapping[str, ModelResult],
    *,
    labels: Sequence[Label],
    conventions: Conventions,
    confidence: float,
) -> ModelResult:
    """Return the result of a model from those of its replicates."""
    results = list(replicates.values())
    values = align({"": [each.values for each in results]}, unit_mean=conventions.unit_mean)
    metrics: dict[str, Any] = {}
    for label in labels:
        text, label_conventions = str(label), label.conventions(conventions)
        summaries = [each.summary["metrics"][text] for each in results]
        if label.metric.is_aggregate or is_pooled(label, conventions):
            mean = _mean([each.mean(text) for each in results])
            metrics[text] = {**summaries[0], "mean": mean, "ci_low": None, "ci_high": None}
            continue
        column = values.column("", text, label_conventions.undefined)
        clusters = values.clusters_for(label, conventions)
        user_values = UserValues(column, clusters, label.bounds(conventions))
        low, high = user_values.interval(confidence)
        user_mean = user_values.mean
        rounding = label_conventions.round or {}
        if "mean" in rounding and math.isfinite(user_mean):
            user_mean = round(user_mean, rounding["mean"])
        metrics[text] = {
            "mean": or_none(user_mean),
            "ci_low": or_none(low),
            "ci_high": or_none(high),
            "n_users": user_values.n_defined,
            "n_undefined": max(each["n_undefined"] for each in summaries),
        }
        if values.unit_mean is not None:
            metrics[text]["n_requests"] = int(user_values.defined.sum())
    first = results[0]
    panel = {text: _definitions(text, results) for text in first.summary.get("panel", {})}
    summary = {**first.summary, "metrics": metrics, "panel": panel}
    return ModelResult(first.values, first.panel, first.lists, summary, first.quality, replicates)


def _definitions(text: str, replicates: Iterable[ModelResult]) -> dict[str, Any]:
    """Return a label's means over replicates, under each definition of the panel."""
    definitions = [each.summary["panel"][text]["definitions"] for each in replicates]
    return {
        "definitions": [
            {"column": same[0]["column"], "mean": _mean([each.get("mean") for each in same])}
            for same in zip(*definitions, strict=True)
        ]
    }


def _mean(means: list[float | None]) -> float | None:
    """Return the mean, None if one is None; it is exact, so that equal numbers have that mean."""
    known = [np.array([mean]) for mean in means if mean is not None]
    return float(mean_of(known, len(known))[0]) if len(known) == len(means) else None
