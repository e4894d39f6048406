"""The differences: every pair of models on every label, adjusted and judged together."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.comparing.evidence.aligned import Aligned, by_pair
from concord.metrics_core.comparing.evidence.asked import Asked, absolute
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.swaps import swap_results
from concord.metrics_core.comparison.parts import Difference, or_nan, or_none
from concord.metrics_core.metrics.catalogue import Label, is_pooled
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.statistics.max_t import max_t
from concord.metrics_core.statistics.pairs import Paired, adjust, compare, pairs, verdict
from concord.metrics_core.statistics.wilcoxon import wilcoxon

MANY_MODELS = 12  # from here on the rows of all pairs on all labels are too many to read


@dataclass(frozen=True)
class _Found:
    label: Label
    a: str
    b: str
    paired: Paired
    min_effect: float
    p_wilcoxon: float = math.nan


def differences(evidence: Evidence) -> list[Difference]:
    """One a label and pair; from twelve models on, labels that are not primary against the baseline only.

    Over pairs x primary labels Holm, or joint sign flips if they are asked for, never below the p that belongs to
    the interval; Benjamini-Hochberg over the others.
    """
    asked, aligned = evidence.asked, evidence.aligned
    found = [*_compare(evidence), *_swapped(evidence)]
    order = {str(label): place for place, label in enumerate(asked.labels)}
    found.sort(key=lambda each: order[str(each.label)])
    primary = np.array([str(each.label) in asked.primary for each in found], dtype=bool)
    adjusted = adjust(np.array([each.paired.p for each in found], dtype=np.float64), primary)
    if asked.adjustment == "max_t":
        family = [each for each, is_primary in zip(found, primary, strict=True) if is_primary]
        alone = np.array([each.paired.p for each in family], dtype=np.float64)
        adjusted[primary] = np.maximum(_jointly(asked, family, aligned), alone)  # as the interval
    in_family = int(np.count_nonzero(~np.isnan(adjusted[primary])))
    return [
        _difference(each, bool(is_primary), float(p), in_family, asked)
        for each, is_primary, p in zip(found, primary, adjusted, strict=True)
    ]


def _compare(evidence: Evidence) -> Iterator[_Found]:
    asked, models, aligned = evidence.asked, evidence.models, evidence.aligned
    conventions = asked.conventions
    every_pair = pairs(list(models), asked.baseline)
    for label in asked.labels:
        if label.metric.of_catalogue:  # one number over all users: no user differs
            continue
        text = str(label)
        in_full = text in asked.primary or len(models) < MANY_MODELS
        named = every_pair if in_full else every_pair[: len(models) - 1]
        means = {model: or_nan(evaluated.mean(text)) for model, evaluated in models.items()}
        effect = absolute(asked.min_effects[text], means[asked.baseline])
        values = aligned.values(text, label.conventions(conventions).undefined)
        clusters = aligned.whose(label, conventions)
        results = compare(
            values,
            named,
            confidence=asked.confidence,
            clusters=clusters,
            bounds=label.bounds(conventions),
            unlisted=evidence.unlisted,
        )
        for (a, b), result in zip(named, results, strict=True):
            pooled = is_pooled(label, conventions)
            kept = result.of_means(means[a], means[b]) if pooled else result
            tested = asked.wilcoxon and not math.isnan(kept.p)
            p_wilcoxon = wilcoxon(*by_pair(values[a], values[b], clusters)) if tested else math.nan
            yield _Found(label, a, b, kept, effect, p_wilcoxon)


def _jointly(asked: Asked, family: Sequence[_Found], aligned: Aligned) -> Floats:
    """P values of the primary comparisons by joint sign flips; NaN where there is no test."""
    adjusted = np.full(len(family), np.nan)
    tested = [i for i, each in enumerate(family) if not math.isnan(each.paired.p)]
    values = {
        label: aligned.values(str(label), label.conventions(asked.conventions).undefined)
        for label in {family[i].label for i in tested}
    }
    compared = [(family[i].label, family[i].a, family[i].b) for i in tested]
    whose = {label: aligned.whose(label, asked.conventions) for label in values}
    adjusted[tested] = max_t(
        [by_pair(values[label][a], values[label][b], whose[label]) for label, a, b in compared],
        resamples=asked.resamples,
        seed=asked.seed,
    )
    return adjusted


def _swapped(evidence: Evidence) -> Iterator[_Found]:
    """The labels over all users, which no user has a value of: each model against the baseline.

    Lists of several trainings are not swapped: what those models differ by is tested over trainings.
    """
    asked, models = evidence.asked, evidence.models
    tests = swap_results(evidence)
    for label in asked.labels:
        for model in models if label.metric.of_catalogue else ():
            if model == asked.baseline:
                continue
            text = str(label)
            a, b = (or_nan(models[name].mean(text)) for name in (model, asked.baseline))
            effect = absolute(asked.min_effects[text], b)
            if (text, model) in tests:
                test = tests[text, model]
                counts = {"n_users": test.n_users, "n_nonzero": test.n_nonzero}
                found = Paired.of_lists(a, b, **counts, p=test.p)
            else:
                n_users = models[model].summary["metrics"][text]["n_users"]
                counts = {"n_users": n_users, "n_nonzero": n_users}
                found = Paired.of_lists(a, b, **counts, p=math.nan).of_means(a, b)
            if {model, asked.baseline} & evidence.unlisted.keys():
                found = found.as_not_comparable()
            yield _Found(label, model, asked.baseline, found, effect)


def _difference(
    found: _Found, primary: bool, p_adjusted: float, in_family: int, asked: Asked
) -> Difference:
    """The row of a pair. in_family : primary comparisons that are tested."""
    paired, upwards = found.paired, found.label.metric.higher_is_better
    return Difference(
        label=str(found.label),
        a=found.a,
        b=found.b,
        vs_baseline=found.b == asked.baseline,
        primary=primary,
        mean_a=or_none(paired.mean_a),
        mean_b=or_none(paired.mean_b),
        difference=or_none(paired.difference),
        ci_low=or_none(paired.ci_low),
        ci_high=or_none(paired.ci_high),
        relative=or_none(paired.relative),
        effect_size=or_none(paired.effect_size),
        better=or_none(paired.above if upwards else paired.below),
        equal=or_none(paired.equal),
        worse=or_none(paired.below if upwards else paired.above),
        n_users=paired.n_users,
        n_nonzero=paired.n_nonzero,
        caution=paired.caution,
        p=or_none(paired.p),
        p_adjusted=or_none(p_adjusted),
        p_wilcoxon=or_none(found.p_wilcoxon),
        test=paired.test,
        adjustment=asked.adjustment if primary else "bh",
        min_effect=or_none(found.min_effect),
        verdict=verdict(
            paired,
            p_adjusted,
            alpha=asked.alpha,
            min_effect=found.min_effect,
            higher_is_better=upwards,
            tests=in_family if primary and asked.adjustment == "holm" else 1,
        ),
    )
