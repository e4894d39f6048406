"""Leaderboard: means, shares of resamples, trade-offs and distributions of differences."""

from collections.abc import Iterator, Sequence
from itertools import permutations

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
    negated,
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
        best = best_models(inputs, label)
        is_primary = text in config.primary  # every model was compared with the best
        for model, result in models.items():
            others = [other for other in best if other != model] if is_primary else []
            against = [tests[text, frozenset((model, other))] for other in others]
            is_close = model in best or _ties_with_a_best_model(label, model, against)
            yield Score(
                model=model,
                label=text,
                **result.summary["metrics"][text],
                best=model in best,
                indistinguishable_from_best=is_close if is_primary else None,
            )


def best_models(inputs: ComparisonInput, label: Label) -> list[str]:
    """Return the compared models with the best mean."""
    scale = scale_of(label.bounds(inputs.config.conventions))
    means = {model: inputs.models[model].mean(str(label)) for model in inputs.compared}
    known = {model: mean for model, mean in means.items() if mean is not None}
    if not known:
        return []
    value = (max if label.metric.higher_is_better else min)(known.values())
    return [model for model, mean in known.items() if difference(mean, value, scale) == 0]


def _ties_with_a_best_model(
    label: Label, model: str, against_best: Sequence[Difference]
) -> bool | None:
    """True if a best model is not significantly better; None if not all can be tested.

    It may even be significantly worse: means are over each model's users, a test is over the users
    whom both models have.
    """
    if not against_best or any(
        pair.verdict in _NOT_TESTED or pair.difference is None for pair in against_best
    ):
        return None
    return any(not pair.excludes_zero or _is_ahead(label, model, pair) for pair in against_best)


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
        n_users = int(np.count_nonzero(~np.isnan(columns[:, 0])))
        means = weighted_means(columns, resamples=config.resamples, seed=config.seed)
        shares = best_shares(means, higher_is_better=label.metric.higher_is_better)
        known = dict(zip(models, shares.tolist(), strict=True))
        for model in aligned.tables:
            yield BestShare(str(label), model, known.get(model), config.resamples, n_users)


def _columns(aligned: AlignedValues, models: Sequence[str], label: Label, undefined: str) -> Floats:
    """Return the values, shape (n_users, n_models), filled one model at a time to save memory."""
    columns = np.empty((len(aligned.users), len(models)))
    for position, model in enumerate(models):
        columns[:, position] = aligned.column(model, str(label), undefined)
    return columns


def compute_tradeoffs(
    config: ComparisonConfig, models: Models, differences: Sequence[Difference]
) -> list[Tradeoff]:
    """Return one trade-off per beyond-accuracy label at the main cutoff or without a cutoff."""
    y = config.primary_labels[0]
    return [
        _tradeoff(x, y, models, differences)
        for x in config.labels
        if x.metric.family == "beyond" and x.k in {None, config.main_cutoff} and x != y
    ]


def _tradeoff(x: Label, y: Label, models: Models, differences: Sequence[Difference]) -> Tradeoff:
    means = {m: (result.mean(str(x)), result.mean(str(y))) for m, result in models.items()}
    points = {m: (a, b) for m, (a, b) in means.items() if a is not None and b is not None}
    upwards = y.metric.higher_is_better
    best_first = sorted(points, key=lambda model: points[model][1], reverse=upwards)
    found = set(_dominations(x, y, differences))
    return Tradeoff(
        str(x),
        str(y),
        x.metric.higher_is_better,
        upwards,
        tuple(
            Point(model, *point, tuple(a for a in best_first if (a, model) in found))
            for model, point in points.items()
        ),
    )


def _dominations(
    x: Label, y: Label, differences: Sequence[Difference]
) -> Iterator[tuple[str, str]]:
    """Yield (a, b) if a is shown to be better than b on one label and not worse on the other."""
    on_x, on_y = (
        {frozenset((row.a, row.b)): row for row in differences if row.label == str(label)}
        for label in (x, y)
    )
    for models in on_x.keys() & on_y.keys():
        for a, b in permutations(models):
            rows = [
                pair if pair.a == a else pair.mirrored() for pair in (on_x[models], on_y[models])
            ]
            if any(map(_is_better, rows)) and all(map(_is_not_worse, (x, y), rows)):
                yield a, b


def _is_better(row: Difference) -> bool:
    return row.verdict.startswith("better")


def _is_not_worse(label: Label, row: Difference) -> bool:
    """True if model a is shown not to be worse than b by `min_effect` or more."""
    if _is_better(row) or row.verdict in {"equivalent", "identical"}:
        return True
    low = row.ci_low if label.metric.higher_is_better else negated(row.ci_high)
    if row.verdict != "undecided" or low is None or row.min_effect is None:
        return False
    return low > -row.min_effect


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
