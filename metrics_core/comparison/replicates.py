"""Combine replicates of a model, and compute differences over new users and new replicates."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from concord.metrics_core.comparison.aligned import align
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.replicate_config import model_names
from concord.metrics_core.evaluation.model_result import ModelResult, Models
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.metrics.user_sums import mean_of
from concord.metrics_core.results.comparison_parts import (
    DataWarning,
    Difference,
    Score,
    or_nan,
    or_none,
)
from concord.metrics_core.results.replicates import (
    ReplicatedDifference,
    ReplicatedScore,
    Replicates,
)
from concord.metrics_core.results.text_format import metric_decimals
from concord.metrics_core.stats.adjustment import benjamini_hochberg, holm
from concord.metrics_core.stats.paired_test import UserValues
from concord.metrics_core.stats.power import min_users
from concord.metrics_core.stats.replicates import (
    OrderReversals,
    ReplicateEstimate,
    ReplicateValues,
    VarianceEstimate,
    find_outlier,
    order_reversals,
    replicates_needed,
    users_needed,
)
from concord.metrics_core.stats.simultaneous import discovery_alpha
from concord.metrics_core.stats.verdict import interval_verdict

_FIXED_USERS = VarianceEstimate(0.0, 2)


def compute_replicates(
    inputs: ComparisonInput, scores: Sequence[Score], pairs: Sequence[Difference]
) -> tuple[Replicates | None, list[DataWarning]]:
    """Return the results over replicates and their warnings; None if no model has replicates."""
    config = inputs.config
    if not config.replicates:
        return None, []
    replicated_scores: list[ReplicatedScore] = []
    measured: list[_Measured] = []
    outliers: list[DataWarning] = []
    is_nested = False
    for label in config.labels:  # only the values of one label are in memory at a time
        replicated_label = _ReplicatedLabel(label, config, _replicate_values(inputs, label))
        label_scores = [each for each in scores if each.label == str(label)]
        label_pairs = [each for each in pairs if each.label == str(label)]
        replicated_scores += replicated_label.scores(label_scores)
        measured += replicated_label.pairs(label_pairs)
        outliers += replicated_label.outliers(metric_decimals(label_pairs, label_scores))
        is_nested = is_nested or replicated_label.is_nested
    over_replicates = Replicates(
        models=config.replicates,
        paired=config.paired_replicates,
        nested=is_nested,
        scores=tuple(replicated_scores),
        pairs=tuple(_decide(config, measured, list(inputs.models))),
    )
    return over_replicates, _one_per_replicate(outliers)


def _replicate_values(inputs: ComparisonInput, label: Label) -> dict[str, ReplicateValues]:
    """Return model -> values per user in each replicate.

    If a label has one value over all users, this value counts as that of one user.
    """
    config, aligned = inputs.config, inputs.aligned
    text = str(label)
    if _is_over_all(label, config):
        return {
            m: ReplicateValues(np.array([[or_nan(e.mean(text))] for e in each.replicate_results]))
            for m, each in inputs.models.items()
        }
    undefined = label.conventions(config.conventions).undefined
    clusters = aligned.clusters_for(label, config.conventions)
    return {
        m: ReplicateValues(aligned.by_replicate(m, text, undefined), clusters)
        for m in inputs.models
    }


def _is_over_all(label: Label, config: ComparisonConfig) -> bool:
    """True if the label has one value over all users."""
    return label.metric.is_aggregate or is_pooled(label, config.conventions)


@dataclass(frozen=True)
class _ReplicatedLabel:
    """The values of a label in each replicate of each model."""

    label: Label
    config: ComparisonConfig
    values: Mapping[str, ReplicateValues]

    @property
    def is_nested(self) -> bool:
        return self.has_user_values and any(
            each.is_nested for each in self.values.values() if each.n > 1
        )

    @property
    def has_user_values(self) -> bool:
        return not _is_over_all(self.label, self.config)

    def scores(self, scores: Sequence[Score]) -> Iterator[ReplicatedScore]:
        for score in scores:
            values = self.values[score.model]
            if values.n > 1:
                users = self._user_variance(values.standard_error, score.n_users, values)
                mean = ReplicateEstimate(or_nan(score.mean), users, (values.variance_of_mean,))
                low, high = mean.interval(self.config.confidence)
                yield ReplicatedScore(
                    label=score.label,
                    model=score.model,
                    means=tuple(map(or_none, values.means)),
                    sd_replicates=math.sqrt(values.replicate_variance),
                    ci_low=low,
                    ci_high=high,
                )

    def pairs(self, pairs: Sequence[Difference]) -> Iterator["_Measured"]:
        for pair in pairs:
            a, b = self.values[pair.a], self.values[pair.b]
            if max(a.n, b.n) > 1:
                yield self._measure(pair, a, b)

    def outliers(self, digits: int) -> Iterator[DataWarning]:
        """Warn of replicates that are far from the others of their model on a primary label.

        A training that fails has a worse mean, so only that side is tested.
        In the difference to the baseline of paired replicates, effects of the common seed or fold
        cancel. There both sides are tested, since the baseline's training may have failed.
        """
        label, baseline = str(self.label), self.config.baseline
        if label not in self.config.primary or not self.has_user_values:
            return
        worse = 1 if self.label.metric.higher_is_better else -1
        for model, lists in self.config.replicates.items():
            values, is_paired = self.values[model], self._is_paired(model, baseline)
            if is_paired and model == baseline:
                continue
            if is_paired:
                values = values.minus(self.values[baseline])
            position = find_outlier(
                values.means, (1, -1) if is_paired else (worse,), values.residual_variance_of_mean
            )
            if position is not None:
                others = [mean for other, mean in enumerate(values.means) if other != position]
                details = {
                    "lists": list(lists.values())[position],
                    "labels": [label],
                    "baseline": baseline if is_paired else None,
                    "value": values.means[position],
                    "low": min(others),
                    "high": max(others),
                    "digits": digits,
                }
                yield DataWarning("outlying_training", "notice", (model,), details)

    def _is_paired(self, a: str, b: str) -> bool:
        return self.config.paired_replicates and self.values[a].n == self.values[b].n

    def _measure(self, pair: Difference, a: ReplicateValues, b: ReplicateValues) -> "_Measured":
        is_paired = self._is_paired(pair.a, pair.b)
        sources = [a.minus(b)] if is_paired else [each for each in (a, b) if each.n > 1]
        difference = or_nan(pair.difference)
        users = VarianceEstimate(math.nan, pair.n_users)
        if pair.verdict != "not_comparable":
            users = self._user_variance(pair.standard_error, pair.n_users, *sources)
        variances = tuple(each.variance_of_mean for each in sources)
        return _Measured(
            pair,
            ReplicateEstimate(difference, users, variances),
            order_reversals(a, b, difference, paired=is_paired),
            (a.n, b.n),
            higher_is_better=self.label.metric.higher_is_better,
            over_users=self.has_user_values,
        )

    def _user_variance(
        self, error: float | None, n_users: int, *values: ReplicateValues
    ) -> VarianceEstimate:
        """Return the variance due to users; 0 if users are fixed or nested in replicates."""
        if not self.has_user_values or any(each.is_nested for each in values):
            return _FIXED_USERS
        return VarianceEstimate(or_nan(error) ** 2, n_users)


def _one_per_replicate(outliers: Sequence[DataWarning]) -> list[DataWarning]:
    """Return one warning per replicate with all its labels; numbers are those of the first."""
    warnings: dict[str, DataWarning] = {}
    for each in outliers:
        lists = each.details["lists"]
        if lists in warnings:
            first = warnings[lists].details
            labels = [*first["labels"], *each.details["labels"]]
            each = replace(each, details={**first, "labels": labels})
        warnings[lists] = each
    return list(warnings.values())


@dataclass(frozen=True)
class _Measured:
    """The difference of a pair over replicates, before its family has a level."""

    pair: Difference
    estimate: ReplicateEstimate
    reversals: OrderReversals
    n_replicates: tuple[int, int]
    higher_is_better: bool
    over_users: bool

    def decide(self, level: float, p_adjusted: float) -> ReplicatedDifference:
        """Return the difference with its interval, and what it says.

        What users do not show, more variance does not either: the interval holds that over users.
        """
        pair, estimate = self.pair, self.estimate
        low, high = estimate.interval(level)
        users_open = or_nan(pair.ci_low) <= 0 <= or_nan(pair.ci_high)
        if self.over_users:
            low = float(np.minimum(low, or_nan(pair.ci_low)))  # NaN if one of them is
            high = float(np.maximum(high, or_nan(pair.ci_high)))
        is_open = low <= 0 <= high
        users = users_needed(estimate, level) if is_open else None
        verdict = pair.verdict if pair.ci_low is None else "no_interval"
        if not math.isnan(low):
            effect, upwards = or_nan(pair.min_effect), self.higher_is_better
            verdict = interval_verdict(low, high, min_effect=effect, higher_is_better=upwards)
        if pair.verdict == "undecided_by_order":
            verdict = pair.verdict
        is_comparable = pair.verdict != "not_comparable"
        return ReplicatedDifference(
            label=pair.label,
            a=pair.a,
            b=pair.b,
            vs_baseline=pair.vs_baseline,
            primary=pair.primary,
            n_replicates_a=self.n_replicates[0],
            n_replicates_b=self.n_replicates[1],
            over_users=self.over_users,
            replicates_df=estimate.replicate_variance.n - 1,
            difference=pair.difference,
            ci_low=low,
            ci_high=high,
            level=level,
            p=estimate.p,
            p_adjusted=p_adjusted,
            verdict=verdict,
            share=estimate.replicate_share,
            n_reversed=self.reversals.count,
            n_pairs=self.reversals.n_pairs,
            chance=self.reversals.probability if is_comparable else None,
            users_needed=users and max(users, min_users(pair.n_users, pair.n_nonzero)),
            replicates_needed=(
                replicates_needed(estimate, level) if is_open and not users_open else None
            ),
        )


def _decide(
    config: ComparisonConfig, measured: Sequence[_Measured], models: Sequence[str]
) -> Iterator[ReplicatedDifference]:
    """Yield the differences in their order, with intervals that hold together.

    The families are those of the differences over users. Each of m primary comparisons has the
    level 1 - α / m (Bonferroni). Pairs that were chosen not to be compared by the data count, too.
    """
    others = [model for model in models if model != config.baseline]
    n_others = math.comb(len(others), 2)
    n_others -= math.comb(sum(model not in config.replicates for model in others), 2)
    p = np.array([each.estimate.p for each in measured], dtype=np.float64)
    adjusted, alphas = np.full((2, len(measured)), config.alpha)
    families: dict[tuple[bool, bool], list[int]] = {}
    for row, each in enumerate(measured):
        is_one_family = not each.pair.primary or config.family == "all"
        key = each.pair.primary, is_one_family or each.pair.vs_baseline
        families.setdefault(key, []).append(row)
    alpha = config.family_alpha(len(others))
    for (is_primary, is_of_baseline), rows in families.items():
        m = max(int(np.count_nonzero(~np.isnan(p[rows]))), 1)
        if is_primary and (config.family == "all" or not is_of_baseline):
            n_compared = sum(not measured[row].pair.vs_baseline for row in rows)
            m += n_others * len(config.primary) - n_compared
        adjusted[rows] = (holm if is_primary else benjamini_hochberg)(p[rows])
        alphas[rows] = alpha / m if is_primary else discovery_alpha(p[rows], config.alpha)
    for each, alpha, p_adjusted in zip(measured, alphas.tolist(), adjusted.tolist(), strict=True):
        yield each.decide(1 - alpha, p_adjusted)


def with_replicates(lists: Models, config: ComparisonConfig) -> dict[str, ModelResult]:
    """Return the results of the compared models, those of replicates combined.

    A model with replicates has the position of its first list.
    """
    return {
        model: combine_results(
            {name: lists[name] for name in config.replicates[model].values()},
            config.labels,
            config,
        )
        if model in config.replicates
        else lists[model]
        for model in model_names(lists, config.replicates)
    }


def combine_results(
    replicates: Mapping[str, ModelResult], labels: Sequence[Label], config: ComparisonConfig
) -> ModelResult:
    """Return the result of a model from those of its replicates."""
    results, conventions = list(replicates.values()), config.conventions
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
        low, high = user_values.interval(config.confidence)
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
