"""Leaderboard: means, shares of resamples, trade-offs and distributions of differences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from concord.metrics_core.comparison.aligned import AlignedValues
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.evaluation.model_result import Models
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.results.comparison_parts import (
    BestShare,
    Difference,
    Distribution,
    Metric,
    Point,
    Score,
    Tradeoff,
)
from concord.metrics_core.stats.bootstrap import best_shares, weighted_means
from concord.metrics_core.stats.floating_point import difference, scale_of

_NOT_TESTED = {"no_interval", "not_comparable"}


def describe_metrics(config: ComparisonConfig) -> Iterator[Metric]:
    """Yield the metric of every label, in report order."""
    for label in config.labels:
        yield Metric(
            label=str(label),
            name=label.name,
            stem=label.stem,
            k=label.k,
            higher_is_better=label.metric.higher_is_better,
            primary=str(label) in config.primary,
            min_effect=str(config.min_effects[str(label)]),
            family=label.metric.family,
            formula=label.metric.formula,
            source=label.metric.source,
        )


def compute_scores(inputs: ComparisonInput, differences: Sequence[Difference]) -> Iterator[Score]:
    """Yield one score per label and model, from the summaries.

    `best` is set for all models with the best mean; a model that is not compared cannot be best.
    """
    config, models = inputs.config, inputs.models
    tests = {(pair.label, frozenset((pair.a, pair.b))): pair for pair in differences}
    for label in config.labels:
        text = str(label)
        means = {model: models[model].mean(text) for model in inputs.compared}
        best = _best_models(label, means, scale_of(label.bounds(config.conventions)))
        is_primary = text in config.primary  # every pair was compared
        for model, result in models.items():
            others = [other for other in best if other != model] if is_primary else []
            against = [tests[text, frozenset((model, other))] for other in others]
            is_close = model in best or _ties_with_a_best_model(label, model, against, config.alpha)
            yield Score(
                model=model,
                label=text,
                **result.summary["metrics"][text],
                best=model in best,
                indistinguishable_from_best=is_close if is_primary else None,
            )


def _best_models(label: Label, means: Mapping[str, float | None], scale: float) -> list[str]:
    known = {model: mean for model, mean in means.items() if mean is not None}
    if not known:
        return []
    value = (max if label.metric.higher_is_better else min)(known.values())
    return [model for model, mean in known.items() if difference(mean, value, scale) == 0]


def _ties_with_a_best_model(
    label: Label, model: str, against_best: Sequence[Difference], alpha: float
) -> bool | None:
    """True if a best model is not significantly better; None if not all can be tested.

    It may even be significantly worse: means are over each model's users, a test is over the users
    whom both models have.
    """
    if not against_best or any(
        pair.verdict in _NOT_TESTED or pair.difference is None for pair in against_best
    ):
        return None
    return any(
        pair.p_adjusted is None or pair.p_adjusted >= alpha or _is_ahead(label, model, pair)
        for pair in against_best
    )


def _is_ahead(label: Label, model: str, pair: Difference) -> bool:
    gain = (pair if pair.a == model else pair.mirrored()).difference
    return gain is not None and (gain > 0 if label.metric.higher_is_better else gain < 0)


def compute_best_shares(inputs: ComparisonInput) -> Iterator[BestShare]:
    """Yield one share per primary label and model, over the users whom all models have.

    Models of equal mean share a resample; models that are not compared have no share.
    """
    config, aligned = inputs.config, inputs.aligned
    models = inputs.compared
    for label in config.primary_labels:
        if is_pooled(label, config.conventions):
            continue
        columns = _columns(aligned, models, label, label.conventions(config.conventions).undefined)
        columns[np.isnan(columns).any(axis=1)] = np.nan  # else a model could lead by easy users
        if (clusters := aligned.clusters_for(label, config.conventions)) is not None:
            columns = np.column_stack([clusters.scores(column) for column in columns.T])
        means = weighted_means(columns, resamples=config.resamples, seed=config.seed)
        shares = best_shares(means, higher_is_better=label.metric.higher_is_better)
        known = dict(zip(models, shares.tolist(), strict=True))
        for model in aligned.tables:
            yield BestShare(str(label), model, known.get(model), config.resamples)


def _columns(aligned: AlignedValues, models: Sequence[str], label: Label, undefined: str) -> Floats:
    """Return the values, shape (n_users, n_models), filled one model at a time to save memory."""
    columns = np.empty((len(aligned.users), len(models)))
    for position, model in enumerate(models):
        columns[:, position] = aligned.column(model, str(label), undefined)
    return columns


def compute_tradeoffs(config: ComparisonConfig, models: Models) -> list[Tradeoff]:
    """Return one trade-off per beyond-accuracy label at the main cutoff or without a cutoff."""
    y = config.primary_labels[0]
    return [
        _tradeoff(x, y, models)
        for x in config.labels
        if x.metric.family == "beyond" and x.k in {None, config.main_cutoff} and x != y
    ]


def _tradeoff(x: Label, y: Label, models: Models) -> Tradeoff:
    means = {m: (result.mean(str(x)), result.mean(str(y))) for m, result in models.items()}
    points = {m: (a, b) for m, (a, b) in means.items() if a is not None and b is not None}
    return Tradeoff(
        str(x),
        str(y),
        x.metric.higher_is_better,
        y.metric.higher_is_better,
        tuple(
            Point(model, *point, pareto=not _is_dominated(point, points.values(), x, y))
            for model, point in points.items()
        ),
    )


def _is_dominated(
    point: tuple[float, float], points: Iterable[tuple[float, float]], x: Label, y: Label
) -> bool:
    """True if another model is at least as good on both labels and better on one."""
    x_sign, y_sign = (1 if label.metric.higher_is_better else -1 for label in (x, y))
    x_value, y_value = x_sign * point[0], y_sign * point[1]
    others = [(x_sign * x_other, y_sign * y_other) for x_other, y_other in points]
    return any(
        other != (x_value, y_value) and other[0] >= x_value and other[1] >= y_value
        for other in others
    )


PERCENTILES = np.arange(101)


def compute_distributions(
    config: ComparisonConfig, aligned: AlignedValues
) -> Iterator[Distribution]:
    """Yield the distribution of differences per primary label and model other than the baseline."""
    for label in config.primary_labels:
        values = aligned.values(str(label), label.conventions(config.conventions).undefined)
        for model in values:
            if model != config.baseline:
                differences = aligned.by_user(values[model] - values[config.baseline])
                yield _distribution(str(label), model, config.baseline, differences)


def _distribution(label: str, a: str, b: str, differences: Floats) -> Distribution:
    differences = differences[~np.isnan(differences)]
    nonzero = differences[differences != 0]
    n_zero = len(differences) - len(nonzero)
    # They are values of the data, so that they need no rounding.
    values = np.percentile(nonzero, PERCENTILES, method="inverted_cdf") if len(nonzero) else nonzero
    return Distribution(label, a, b, len(differences), n_zero, tuple(values.tolist()))
