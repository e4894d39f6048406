"""Planned differences: what the users of one difference can settle, from a comparison or from per-user values."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.comparison.aligned import Aligned, align
from concord.metrics_core.comparison.min_effect import Effect, absolute
from concord.metrics_core.conventions.conventions import UnitMean
from concord.metrics_core.data.frames import table_from_frame
from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.evaluation.score import MEAN_WEIGHT
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, Segmentation, SegmentCell
from concord.metrics_core.results.evaluation import Evaluation
from concord.metrics_core.results.limits import MIN_T_TEST_USERS
from concord.metrics_core.results.plan import PlannedDifference, VarianceComponents
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.mean_interval import t_quantile
from concord.metrics_core.stats.paired import PairedTest, paired_tests
from concord.metrics_core.stats.power import (
    MIN_COUNT,
    Claim,
    difference_claim,
    equivalence_claim,
    power_of,
    seeds_needed,
    smallest_effect,
    superiority_claim,
    users_needed,
)
from concord.metrics_core.stats.verdict import model_pairs

PerUserValues = Mapping[str, Any]  # model -> frame of per-user values, or result of `evaluate`


@dataclass(frozen=True)
class PowerTarget:
    """The true difference to find, with which power and at which level."""

    power: float
    alpha: float
    effect: float | None


@dataclass(frozen=True)
class ObservedDifference:
    """Users of a difference and how much they vary; `variance` is None if it is not known."""

    n_users: int
    n_nonzero: int | None
    variance: VarianceComponents | None
    seeds: int | None = None
    label: str | None = None
    model: str | None = None
    baseline: str | None = None
    segmentation: str | None = None
    segment: str | None = None


def variance_from_interval(
    low: float | None, high: float | None, n_users: int, confidence: float
) -> VarianceComponents | None:
    """Return sd = half width · √n / t(n - 1) of a t interval; None without an interval."""
    if low is None or high is None:
        return None
    half = (high - low) / 2
    return VarianceComponents(half * math.sqrt(n_users) / t_quantile(n_users, confidence))


def min_users(n_users: int, n_nonzero: int | None) -> int:
    """Return the users of whom thirty differ: with fewer, the t interval carries a caution."""
    if not n_nonzero:
        return MIN_COUNT
    return max(MIN_COUNT, math.ceil(MIN_T_TEST_USERS * n_users / n_nonzero))


def plan_difference(
    observed: ObservedDifference, target: PowerTarget, *, min_effect: float, tests: int
) -> PlannedDifference:
    """Return the plan of one difference, corrected for `tests` comparisons."""
    solver = _Solver(observed, target)
    effect, variance, seeds = target.effect, observed.variance, observed.seeds
    alone, corrected = difference_claim(target.alpha), difference_claim(target.alpha / tests)
    is_better = superiority_claim(min_effect, target.alpha, target.alpha / tests)
    is_equivalent = equivalence_claim(min_effect or effect or 0.0, target.alpha)
    can_be_better = effect is not None and effect > min_effect
    by_seeds = variance if seeds is not None else None
    return PlannedDifference(
        label=observed.label,
        model=observed.model,
        baseline=observed.baseline,
        segmentation=observed.segmentation,
        segment=observed.segment,
        n_users=observed.n_users,
        n_nonzero=observed.n_nonzero,
        sd=by_seeds.sd_users if by_seeds else variance.sd_one_seed if variance else None,
        sd_seeds=by_seeds.sd_seeds if by_seeds else None,
        sd_residual=by_seeds.sd_residual if by_seeds else None,
        seeds=seeds,
        tests=tests,
        smallest=solver.smallest(alone),
        smallest_corrected=solver.smallest(corrected),
        min_effect=min_effect,
        smallest_better=solver.smallest(is_better),
        effect=effect,
        power=solver.power(alone),
        power_corrected=solver.power(corrected),
        users_needed=solver.users(alone, effect),
        users_needed_corrected=solver.users(corrected, effect),
        users_better=solver.users(is_better, effect) if can_be_better else None,
        users_equivalent=solver.users(is_equivalent, 0.0) if is_equivalent.bound < 0 else None,
        seeds_needed=solver.seeds(alone),
        seeds_needed_corrected=solver.seeds(corrected),
    )


@dataclass(frozen=True)
class _Solver:
    """Answers on one difference; None if the variance is not known or no effect was requested."""

    observed: ObservedDifference
    target: PowerTarget

    def smallest(self, claim: Claim) -> float | None:
        observed = self.observed
        if observed.variance is None:
            return None
        return smallest_effect(
            claim,
            observed.variance,
            power=self.target.power,
            users=observed.n_users,
            seeds=observed.seeds,
        )

    def power(self, claim: Claim) -> float | None:
        observed, effect = self.observed, self.target.effect
        if observed.variance is None or effect is None:
            return None
        return power_of(
            claim, effect, observed.variance, users=observed.n_users, seeds=observed.seeds
        )

    def users(self, claim: Claim, effect: float | None) -> int | None:
        observed, power = self.observed, self.target.power
        if observed.variance is None or effect is None:
            return None
        needed = users_needed(claim, effect, observed.variance, power=power, seeds=observed.seeds)
        return needed and max(needed, min_users(observed.n_users, observed.n_nonzero))

    def seeds(self, claim: Claim) -> int | None:
        observed, effect = self.observed, self.target.effect
        if observed.variance is None or effect is None or observed.seeds is None:
            return None
        return seeds_needed(
            claim, effect, observed.variance, power=self.target.power, users=observed.n_users
        )


def from_comparison(
    comparison: Comparison,
    labels: Sequence[str],
    *,
    effect: Effect | None,
    power: float,
    segments: bool,
) -> Iterator[PlannedDifference]:
    """Yield one plan per label and model, then with `segments` one per segment, label and model.

    Parameters
    ----------
    effect : float, str or None
        A number, a share of the baseline's mean such as "2%", or None: the minimum relevant difference.

    Raises
    ------
    InputError
        A label is one number over all users, whose standard deviation is not known.
    """
    alpha = 1 - comparison.confidence
    for label in labels:
        differences = comparison.against_baseline(label)
        if any(difference.test == "swap" for difference in differences):
            problem = f"{label} is one number over all users, so its standard deviation is unknown"
            raise refuse("metrics", problem, "name a metric that has a value for each user")
        for difference in differences:
            min_effect = difference.min_effect or 0.0
            wanted = min_effect if effect is None else absolute(effect, difference.mean_b or 0.0)
            yield plan_difference(
                _observe(comparison, difference),
                PowerTarget(power, alpha, wanted or None),
                min_effect=min_effect,
                tests=_family_size(comparison, difference),
            )
    for segmentation in comparison.segments if segments else ():
        yield from _from_segmentation(comparison, segmentation, labels, effect, power)


def _observe(comparison: Comparison, difference: Difference) -> ObservedDifference:
    """With replicates, the plan is to hold over new seeds too."""
    n_users = difference.n_users
    variance = variance_from_interval(
        difference.ci_low, difference.ci_high, n_users, comparison.confidence
    )
    replicated = comparison.retrained(difference.a, difference.b, difference.label)
    seeds = None
    if replicated is not None and replicated.share == 1:
        variance = None  # nested seeds: their variance includes that of the users
    elif replicated is not None and replicated.share is not None and variance:
        seeds = min(n for n in (replicated.trainings_a, replicated.trainings_b) if n > 1)
        of_users = variance.sd_users * variance.sd_users / n_users
        of_seeds = seeds * of_users * replicated.share / (1 - replicated.share)
        variance = VarianceComponents(variance.sd_users, sd_seeds=math.sqrt(of_seeds))
    return ObservedDifference(
        n_users=n_users,
        n_nonzero=difference.n_nonzero,
        variance=variance,
        seeds=seeds,
        label=difference.label,
        model=difference.a,
        baseline=difference.b,
    )


def _family_size(comparison: Comparison, difference: Difference) -> int:
    """Return the number of tests that are corrected together with this one."""
    family = [each for each in comparison.pairs if each.primary == difference.primary]
    return max(sum(each.p is not None for each in family), 1)


def _from_segmentation(
    comparison: Comparison,
    segmentation: Segmentation,
    labels: Sequence[str],
    effect: Effect | None,
    power: float,
) -> Iterator[PlannedDifference]:
    if segmentation.kind == "recommended_item":
        return  # shares of what is shown are neither better nor worse
    reference = {
        (cell.label, cell.segment): cell
        for cell in segmentation.cells
        if cell.model == comparison.baseline
    }
    tests = max(sum(cell.p_adjusted is not None for cell in segmentation.cells), 1)
    for cell in segmentation.cells:
        is_requested = segmentation.kind != "user" or cell.label in labels
        if cell.model == comparison.baseline or not is_requested:
            continue
        baseline = reference[cell.label, cell.segment]
        min_effect = absolute(min_effect_of(comparison, cell.label), baseline.mean or 0.0)
        wanted = min_effect if effect is None else absolute(effect, baseline.mean or 0.0)
        yield plan_difference(
            _observe_segment(comparison, segmentation.name, cell, baseline),
            PowerTarget(power, 1 - comparison.confidence, wanted or None),
            min_effect=min_effect,
            tests=tests,
        )


def _observe_segment(
    comparison: Comparison, segmentation: str, cell: SegmentCell, baseline: SegmentCell
) -> ObservedDifference:
    n_users = min(cell.n_users, baseline.n_users)
    return ObservedDifference(
        n_users=n_users,
        n_nonzero=cell.n_nonzero,
        variance=variance_from_interval(
            cell.diff_low, cell.diff_high, n_users, comparison.confidence
        ),
        label=cell.label,
        model=cell.model,
        baseline=comparison.baseline,
        segmentation=segmentation,
        segment=cell.segment,
    )


def min_effect_of(comparison: Comparison, label: str) -> Effect:
    """Return the minimum relevant difference of a label; of one that was not evaluated, that of the first primary one."""
    known = label if label in comparison.labels else comparison.primary[0]
    setting = comparison.metric(known).min_effect
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
    """Yield one plan per label and model, corrected for all pairs of models on all labels.

    A difference is over the users who have a value with both models. Results of requests are planned by user.
    """
    tables = {model: _values_frame(model, value) for model, value in values.items()}
    labels = _check_labels(tables, labels)
    aligned = align({m: [table] for m, table in tables.items()}, mean=_unit_mean(values))
    every_pair = model_pairs(list(tables), baseline)
    differences = {
        label: paired_tests(
            aligned.values(label, "skip"),
            every_pair,
            confidence=confidence,
            clusters=_clusters(aligned, label, values),
        )
        for label in labels
    }
    tests = sum(not np.isnan(each.p) for of_label in differences.values() for each in of_label)
    for label in labels:
        for (model, other), difference in zip(every_pair, differences[label], strict=True):
            if other == baseline:
                wanted = None if effect is None else absolute(effect, difference.mean_b)
                yield plan_difference(
                    _observe_values(label, model, baseline, difference, confidence),
                    PowerTarget(power, 1 - confidence, wanted or None),
                    min_effect=0.0,
                    tests=max(tests, 1),
                )


def _observe_values(
    label: str, model: str, baseline: str, difference: PairedTest, confidence: float
) -> ObservedDifference:
    low, high = difference.ci_low, difference.ci_high
    n_users, is_known = difference.n_users, not np.isnan(low)
    variance = variance_from_interval(low, high, n_users, confidence) if is_known else None
    return ObservedDifference(n_users, difference.n_nonzero, variance, None, label, model, baseline)


def _clusters(aligned: Aligned, label: str, values: PerUserValues) -> Clusters | None:
    """Results of `evaluate` know their conventions, frames do not."""
    first = next(iter(values.values()))
    if not isinstance(first, Evaluation):
        return aligned.clusters
    return aligned.whose(parse(label), first.conventions)


def _unit_mean(values: PerUserValues) -> UnitMean | None:
    means = {
        model: value.conventions.unit_mean if isinstance(value, Evaluation) else None
        for model, value in values.items()
    }
    if len(set(means.values())) > 1:
        listed = ", ".join(f"{model} has unit_mean {mean}" for model, mean in means.items())
        raise refuse("values", f"are of different units: {listed}", "evaluate all models alike")
    unit_mean: UnitMean | None = next(iter(means.values()))
    return unit_mean


def _values_frame(model: str, value: Any) -> pl.DataFrame:
    is_evaluation = isinstance(value, Evaluation)
    frame = value.values.by_id if is_evaluation else value
    table = pl.DataFrame(table_from_frame(frame, model))
    if "user" not in table.columns:
        problem = f"has no column 'user' (columns: {', '.join(table.columns) or 'none'})"
        raise refuse(model, problem, "give per-user values: `user`, then a column per label")
    if not is_evaluation and any(name.startswith(MEAN_WEIGHT) for name in table.columns):
        problem = (
            "holds values of `propensity.normalised: over_all`, whose mean is no mean over users"
        )
        raise refuse(model, problem, "give the result of `evaluate` itself")
    if repeated := int(table["user"].is_duplicated().sum()):
        raise refuse(model, f"users occur more than once: {repeated:,} rows", "give one row a user")
    return table


def _check_labels(tables: Mapping[str, pl.DataFrame], labels: Sequence[str] | None) -> list[str]:
    """Return the requested labels, or all; every model must have numbers for each."""
    first = next(iter(tables.values()))
    every = [name for name in first.columns if name != "user" and not name.startswith("#")]
    labels = every if labels is None else [*labels]
    problems = [
        Problem(model, f"has no numbers in a column {label!r}", "give every model the same labels")
        for model, table in tables.items()
        for label in labels
        if label not in table.columns or not table[label].dtype.is_numeric()
    ]
    if problems:
        raise InputError(problems)
    if not labels:
        raise refuse("metrics", "there is none", "name a label such as 'nDCG@10'")
    return labels
