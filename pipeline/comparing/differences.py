"""The differences of comparison.json: every pair of models on every label, adjusted and judged together."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics_core.metrics.catalogue import Label, is_pooled
from metrics_core.statistics.max_t import max_t
from metrics_core.statistics.pairs import Paired, adjust, compare, pairs, verdict
from metrics_core.statistics.wilcoxon import wilcoxon
from pipeline.comparing.aligned import Aligned, Floats
from pipeline.comparing.choices import Choices, absolute
from pipeline.comparing.evaluations import Evaluation
from pipeline.comparing.swaps import swap_results
from pipeline.params.model import Params

Row = dict[str, Any]
MANY_MODELS = 12  # from here on the rows of all pairs on all labels are too many to read


@dataclass(frozen=True)
class _Found:
    label: Label
    a: str
    b: str
    paired: Paired
    min_effect: float
    p_wilcoxon: float = math.nan


def difference_rows(
    params: Params,
    choices: Choices,
    evaluations: Mapping[str, Evaluation],
    aligned: Aligned,
) -> list[Row]:
    """One row a label and pair; from twelve models on, labels that are not primary against the baseline only.

    Over pairs x primary labels Holm, or joint sign flips if params.yaml asks for them, never below the p that belongs to
    the interval; Benjamini-Hochberg over the others.
    """
    found = [
        *_compare(params, choices, evaluations, aligned),
        *_swapped(params, choices, evaluations),
    ]
    order = {str(label): place for place, label in enumerate(choices.labels)}
    found.sort(key=lambda each: order[str(each.label)])
    primary = np.array([str(each.label) in choices.primary for each in found], dtype=bool)
    adjusted = adjust(np.array([each.paired.p for each in found], dtype=np.float64), primary)
    if params.comparison.adjustment == "max_t":
        family = [each for each, is_primary in zip(found, primary, strict=True) if is_primary]
        alone = np.array([each.paired.p for each in family], dtype=np.float64)
        adjusted[primary] = np.maximum(_jointly(params, family, aligned), alone)  # as the interval
    return [
        _row(each, bool(is_primary), float(p), params)
        for each, is_primary, p in zip(found, primary, adjusted, strict=True)
    ]


def _compare(
    params: Params,
    choices: Choices,
    evaluations: Mapping[str, Evaluation],
    aligned: Aligned,
) -> Iterator[_Found]:
    comparison, conventions = params.comparison, params.pinned
    models = list(evaluations)
    every_pair = pairs(models, comparison.baseline)
    for label in choices.labels:
        if label.metric.of_catalogue:  # one number over all users: no user differs
            continue
        text = str(label)
        in_full = text in choices.primary or len(models) < MANY_MODELS
        named = every_pair if in_full else every_pair[: len(models) - 1]
        means = {m: or_nan(evaluation.mean(text)) for m, evaluation in evaluations.items()}
        effect = absolute(choices.min_effects[text], means[comparison.baseline])
        values = aligned.values(text, label.conventions(conventions).undefined)
        results = compare(values, named, confidence=comparison.confidence)
        for (a, b), result in zip(named, results, strict=True):
            pooled = is_pooled(label, conventions)
            kept = result.of_means(means[a], means[b]) if pooled else result
            asked = comparison.wilcoxon and not math.isnan(kept.p)
            p_wilcoxon = wilcoxon(values[a], values[b]) if asked else math.nan
            yield _Found(label, a, b, kept, effect, p_wilcoxon)


def _jointly(params: Params, family: Sequence[_Found], aligned: Aligned) -> Floats:
    """P values of the primary comparisons by joint sign flips; NaN where there is no test."""
    adjusted = np.full(len(family), np.nan)
    tested = [i for i, each in enumerate(family) if not math.isnan(each.paired.p)]
    values = {
        label: aligned.values(str(label), label.conventions(params.pinned).undefined)
        for label in {family[i].label for i in tested}
    }
    compared = [(family[i].label, family[i].a, family[i].b) for i in tested]
    adjusted[tested] = max_t(
        [(values[label][a], values[label][b]) for label, a, b in compared],
        resamples=params.comparison.resamples,
        seed=params.comparison.seed,
    )
    return adjusted


def _swapped(
    params: Params, choices: Choices, evaluations: Mapping[str, Evaluation]
) -> Iterator[_Found]:
    """The labels over all users, which no user has a value of: each model against the baseline."""
    baseline = params.comparison.baseline
    labels = {str(label): label for label in choices.labels}
    for (text, model), test in swap_results(params, choices, list(evaluations)).items():
        a, b = (or_nan(evaluations[name].mean(text)) for name in (model, baseline))
        effect = absolute(choices.min_effects[text], b)
        counts = {"n_users": test.n_users, "n_nonzero": test.n_nonzero}
        found = Paired.of_lists(a, b, **counts, p=test.p)
        yield _Found(labels[text], model, baseline, found, effect)


def _row(found: _Found, primary: bool, p_adjusted: float, params: Params) -> Row:
    paired, upwards = found.paired, found.label.metric.higher_is_better
    return {
        "label": str(found.label),
        "a": found.a,
        "b": found.b,
        "vs_baseline": found.b == params.comparison.baseline,
        "primary": primary,
        "mean_a": or_null(paired.mean_a),
        "mean_b": or_null(paired.mean_b),
        "difference": or_null(paired.difference),
        "ci_low": or_null(paired.ci_low),
        "ci_high": or_null(paired.ci_high),
        "relative": or_null(paired.relative),
        "effect_size": or_null(paired.effect_size),
        "better": or_null(paired.above if upwards else paired.below),
        "equal": or_null(paired.equal),
        "worse": or_null(paired.below if upwards else paired.above),
        "n_users": paired.n_users,
        "n_nonzero": paired.n_nonzero,
        "caution": paired.caution,
        "p": or_null(paired.p),
        "p_adjusted": or_null(p_adjusted),
        "p_wilcoxon": or_null(found.p_wilcoxon),
        "test": paired.test,
        "adjustment": params.comparison.adjustment if primary else "bh",
        "min_effect": or_null(found.min_effect),
        "verdict": verdict(
            paired,
            p_adjusted,
            alpha=1 - params.comparison.confidence,
            min_effect=found.min_effect,
            higher_is_better=upwards,
        ),
    }


def or_null(number: float) -> float | None:
    """JSON has no NaN: a number that does not exist is null."""
    return number if math.isfinite(number) else None


def or_nan(number: float | None) -> float:
    return math.nan if number is None else number
