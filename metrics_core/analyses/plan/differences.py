"""Planned differences: power of each difference, from a comparison or from per-user values."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.analyses.plan.result import PlannedDifference
from concord.metrics_core.comparison.aligned import AlignedValues, align
from concord.metrics_core.comparison.min_effect import Effect, to_absolute
from concord.metrics_core.data.frames import table_from_frame
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.metrics_core.evaluation.score import MEAN_WEIGHT
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.metrics_core.results.evaluation import Evaluation
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.paired_test import paired_tests
from concord.metrics_core.stats.power import (
    Claim,
    VarianceComponents,
    claim_power,
    difference_claim,
    equivalence_claim,
    min_users,
    seeds_needed,
    smallest_effect,
    superiority_claim,
    users_needed,
    variance_from_error,
)

PerUserValues = Mapping[str, Any]  # model -> frame of per-user values, or result of `evaluate`


@dataclass(frozen=True)
class PowerTarget:
    """True difference to detect, and the rules of the test.

    Attributes
    ----------
    power : float
        Probability to detect it.
    alpha : float
        Level of the test.
    effect : float or None
        True difference; None if none was requested.
    min_effect : float
        Minimum relevant difference.
    tests : int
        Number of comparisons in the family.
    family_alpha : float or None
        Level of the comparison in its family; by default `alpha` / `tests`, Bonferroni's.
    """

    power: float
    alpha: float
    effect: float | None
    min_effect: float = 0.0
    tests: int = 1
    family_alpha: float | None = None


def plan_difference(
    target: PowerTarget,
    variance: VarianceComponents | None,
    n_users: int,
    n_nonzero: int | None = None,
    seeds: int | None = None,
    *,
    n_total: int | None = None,
    label: str | None = None,
    model: str | None = None,
    baseline: str | None = None,
) -> PlannedDifference:
    """Return the plan of one difference.

    Parameters
    ----------
    target : PowerTarget
        True difference to detect.
    variance : VarianceComponents or None
        Variance of users' differences; None if it is unknown.
    n_users : int
        Number of users.
    n_nonzero : int, optional
        Number of users who differ.
    n_total : int, optional
        Number of all users, also of those without a value of one of the models.
    seeds : int, optional
        Number of seeds of each model. By default the plan is for the given lists only.
    label, model, baseline : str, optional
        Names of the difference.

    Returns
    -------
    PlannedDifference
        Smallest effects, power, and numbers of users and seeds.
    """
    effect, min_effect = target.effect, target.min_effect
    corrected_alpha = target.family_alpha or target.alpha / target.tests

    def smallest(claim: Claim) -> float | None:
        if variance is None:
            return None
        return smallest_effect(claim, variance, power=target.power, users=n_users, seeds=seeds)

    def power(claim: Claim) -> float | None:
        if variance is None or effect is None:
            return None
        return claim_power(claim, effect, variance, users=n_users, seeds=seeds)

    def users(claim: Claim, effect: float | None) -> int | None:
        if variance is None or effect is None:
            return None
        needed = users_needed(claim, effect, variance, power=target.power, seeds=seeds)
        return needed and max(needed, min_users(n_users, n_nonzero))

    def replicates(claim: Claim) -> int | None:
        if variance is None or effect is None or seeds is None:
            return None
        return seeds_needed(claim, effect, variance, power=target.power, users=n_users)

    single, corrected = difference_claim(target.alpha), difference_claim(corrected_alpha)
    better = superiority_claim(min_effect, corrected_alpha)
    equivalent = equivalence_claim(min_effect or effect or 0.0, corrected_alpha)
    can_be_better = effect is not None and effect > min_effect
    by_seeds = variance if seeds is not None else None
    return PlannedDifference(
        label=label,
        model=model,
        baseline=baseline,
        n_users=n_users,
        n_nonzero=n_nonzero,
        n_total=n_total,
        sd=by_seeds.sd_users if by_seeds else variance.sd_one_seed if variance else None,
        sd_seeds=by_seeds.sd_seeds if by_seeds else None,
        sd_residual=by_seeds.sd_residual if by_seeds else None,
        seeds=seeds,
        tests=target.tests,
        smallest=smallest(single),
        smallest_corrected=smallest(corrected),
        min_effect=min_effect,
        smallest_better=smallest(better),
        effect=effect,
        power=power(single),
        power_corrected=power(corrected),
        users_needed=users(single, effect),
        users_needed_corrected=users(corrected, effect),
        users_better=users(better, effect) if can_be_better else None,
        users_equivalent=users(equivalent, 0.0) if equivalent.bound < 0 else None,
        seeds_needed=replicates(single),
        seeds_needed_corrected=replicates(corrected),
    )


def from_comparison(
    comparison: Comparison, labels: Sequence[str], *, effect: Effect | None, power: float
) -> Iterator[PlannedDifference]:
    """Yield one plan per label and model.

    Parameters
    ----------
    comparison : Comparison
        Comparison with the observed variances.
    labels : sequence of str
        Labels to plan.
    effect : float, str or None
        True difference: a number, a share of the baseline's mean such as "2%", or None for the
        minimum relevant difference.
    power : float
        Probability to detect it.

    Yields
    ------
    PlannedDifference
        Plan of one difference.

    Raises
    ------
    InputError
        If a label has one value over all users, so that its standard deviation is unknown.
    """
    for difference in (each for label in labels for each in comparison.against_baseline(label)):
        if difference.test == "swap":
            problem = (
                f"{difference.label} is one number over all users, so its standard deviation "
                "is unknown"
            )
            raise refuse("metrics", problem, "name a metric that has a value for each user")
        family = [
            each
            for each in comparison.pairs
            if each.primary == difference.primary and each.vs_baseline
        ]
        min_effect = difference.min_effect or 0.0
        yield plan_difference(
            PowerTarget(
                power,
                alpha=1 - comparison.confidence,
                effect=to_absolute(effect or min_effect, difference.mean_b or 0.0) or None,
                min_effect=min_effect,
                tests=max(sum(each.p is not None for each in family), 1),
                family_alpha=1 - difference.level,
            ),
            *_observed_variance(comparison, difference),
            n_total=max(score.n_users for score in comparison.scores_of(difference.label)),
            label=difference.label,
            model=difference.a,
            baseline=difference.b,
        )


def _observed_variance(
    comparison: Comparison, difference: Difference
) -> tuple[VarianceComponents | None, int, int, int | None]:
    """Return the variance, and the numbers of users, users who differ, and seeds.

    With replicates, the plan is valid over new seeds, too.
    """
    n_users, seeds = difference.n_users, None
    variance = variance_from_error(difference.standard_error, n_users)
    replicated = comparison.retrained(difference.a, difference.b, difference.label)
    if replicated is not None and replicated.share == 1:
        variance = None  # nested seeds: their variance includes that of the users
    elif replicated is not None and replicated.share is not None and variance:
        seeds = min(n for n in (replicated.n_replicates_a, replicated.n_replicates_b) if n > 1)
        user_variance = variance.sd_users * variance.sd_users / n_users
        seed_variance = seeds * user_variance * replicated.share / (1 - replicated.share)
        variance = VarianceComponents(variance.sd_users, sd_seeds=math.sqrt(seed_variance))
    return variance, n_users, difference.n_nonzero, seeds


def min_effect_of(comparison: Comparison, label: str) -> Effect:
    """Return the minimum relevant difference of a label.

    That of the first primary label if the label was not evaluated.
    """
    evaluated = label if label in comparison.labels else comparison.primary[0]
    setting = comparison.metric(evaluated).min_effect
    return setting if setting.endswith("%") else float(setting)


def from_values(
    values: PerUserValues,
    labels: Sequence[str] | None,
    *,
    baseline: str,
    effect: Effect | None,
    power: float,
    confidence: float,
) -> Iterator[PlannedDifference]:
    """Yield one plan per label and model, corrected for all models on all labels.

    A difference is over the users who have a value with both models. If the unit is a session,
    users are still the unit of the plan.

    Parameters
    ----------
    values : mapping of str to data frame or Evaluation
        Per-user values of each model.
    labels : sequence of str or None
        Labels to plan; None for all columns.
    baseline : str
        Model that the others are compared with.
    effect : float, str or None
        True difference: a number, or a share of the baseline's mean such as "2%".
    power : float
        Probability to detect it.
    confidence : float
        Level of the intervals.

    Yields
    ------
    PlannedDifference
        Plan of one difference.

    Raises
    ------
    InputError
        If values are invalid, or models differ in their labels or units.
    """
    tables = {model: _values_frame(model, value) for model, value in values.items()}
    labels = _check_labels(tables, labels)
    aligned = align({m: [table] for m, table in tables.items()}, unit_mean=_unit_mean(values))
    pairs = [(model, baseline) for model in tables if model != baseline]
    tests = {
        label: paired_tests(
            aligned.values(label, "skip"),
            pairs,
            confidence=confidence,
            clusters=_clusters(aligned, label, values),
        )
        for label in labels
    }
    n_tests = sum(not np.isnan(test.p) for label_tests in tests.values() for test in label_tests)
    for label in labels:
        for (model, _), test in zip(pairs, tests[label], strict=True):
            target = None if effect is None else to_absolute(effect, test.mean_b) or None
            yield plan_difference(
                PowerTarget(power, 1 - confidence, target, tests=max(n_tests, 1)),
                variance_from_error(test.standard_error, test.n_users),
                test.n_users,
                test.n_nonzero,
                n_total=aligned.user_ids.n_unique(),
                label=label,
                model=model,
                baseline=baseline,
            )


def _clusters(aligned: AlignedValues, label: str, values: PerUserValues) -> Clusters | None:
    """Return the clusters of a label; only results of `evaluate` have conventions for weights."""
    first = next(iter(values.values()))
    if not isinstance(first, Evaluation):
        return aligned.clusters
    return aligned.clusters_for(parse(label), first.conventions)


def _unit_mean(values: PerUserValues) -> str | None:
    means = {
        model: value.conventions.unit_mean if isinstance(value, Evaluation) else None
        for model, value in values.items()
    }
    if len(set(means.values())) > 1:
        units = ", ".join(f"{model} has unit_mean {mean}" for model, mean in means.items())
        fix = "evaluate all models with the same unit"
        raise refuse("values", f"have different units: {units}", fix)
    return next(iter(means.values()))


def _values_frame(model: str, value: Any) -> pl.DataFrame:
    is_evaluation = isinstance(value, Evaluation)
    frame = value.values.by_id if is_evaluation else value
    table = pl.DataFrame(table_from_frame(frame, model))
    if "user" not in table.columns:
        problem = f"has no column 'user' (columns: {', '.join(table.columns) or 'none'})"
        raise refuse(model, problem, "pass per-user values: `user`, then a column per label")
    if not is_evaluation and any(name.startswith(MEAN_WEIGHT) for name in table.columns):
        problem = "has values of `propensity.normalised: over_all`, which do not average over users"
        raise refuse(model, problem, "pass the result of `evaluate` itself")
    if repeated := int(table["user"].is_duplicated().sum()):
        problem = f"users occur more than once: {repeated:,} rows"
        raise refuse(model, problem, "pass one row per user")
    return table


def _check_labels(tables: Mapping[str, pl.DataFrame], labels: Sequence[str] | None) -> list[str]:
    """Return the requested labels, or all; every model must have numbers for each."""
    first = next(iter(tables.values()))
    columns = [name for name in first.columns if name != "user" and not name.startswith("#")]
    labels = columns if labels is None else [*labels]
    problems = [
        Problem(model, f"has no numbers in a column {label!r}", "give every model the same labels")
        for model, table in tables.items()
        for label in labels
        if label not in table.columns or not table[label].dtype.is_numeric()
    ]
    raise_problems(problems)
    if not labels:
        raise refuse("metrics", "is empty", "name a label such as 'nDCG@10'")
    return labels
