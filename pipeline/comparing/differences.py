"""The differences of comparison.json: every pair of models on every label, adjusted and judged together."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics_core.catalogue import Label, is_pooled
from metrics_core.compare import Paired, adjust, compare, pairs, verdict
from pipeline.comparing.aligned import Aligned
from pipeline.comparing.choices import Choices, absolute
from pipeline.comparing.evaluations import Evaluation
from pipeline.params import Params

Row = dict[str, Any]


@dataclass(frozen=True)
class _Found:
    label: Label
    a: str
    b: str
    paired: Paired
    min_effect: float


def difference_rows(
    params: Params,
    choices: Choices,
    evaluations: Mapping[str, Evaluation],
    aligned: Aligned,
) -> list[Row]:
    """One row a label and pair. Holm over pairs x primary labels, Benjamini-Hochberg over the others."""
    found = list(_compare(params, choices, evaluations, aligned))
    primary = np.array([str(each.label) in choices.primary for each in found], dtype=bool)
    adjusted = adjust(np.array([each.paired.p for each in found], dtype=np.float64), primary)
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
    named = pairs(list(evaluations), comparison.baseline)
    for label in choices.labels:
        if label.metric.of_catalogue:  # one number over all users: no user differs
            continue
        text = str(label)
        means = {m: _or_nan(evaluation.mean(text)) for m, evaluation in evaluations.items()}
        effect = absolute(choices.min_effects[text], means[comparison.baseline])
        values = aligned.values(text, label.conventions(conventions).undefined)
        results = compare(values, named, confidence=comparison.confidence)
        for (a, b), result in zip(named, results, strict=True):
            pooled = is_pooled(label, conventions)
            kept = result.of_means(means[a], means[b]) if pooled else result
            yield _Found(label, a, b, kept, effect)


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
        "adjustment": "holm" if primary else "bh",
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


def _or_nan(number: float | None) -> float:
    return math.nan if number is None else number
