"""Families of comparisons: the level of each interval, and the differences that follow from it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.min_effect import Effect, margin_interval
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.comparison_parts import Difference, Winner
from concord.metrics_core.results.limits import MIN_T_TEST_USERS
from concord.metrics_core.stats.adjustment import benjamini_hochberg, holm
from concord.metrics_core.stats.best_of_many import shrunk_best
from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.power import detectable_difference
from concord.metrics_core.stats.simultaneous import (
    Deviations,
    correlations,
    discovery_alpha,
    joint_alpha,
)
from concord.metrics_core.stats.verdict import verdict


@dataclass(frozen=True)
class PairTest:
    """The test of two models, or of two results of a model, before its family has a level.

    Attributes
    ----------
    effect : float or str
        Minimum relevant difference as configured.
    reference_mean : float
        The mean that a share such as "2%" is of.
    deviations : (users,) float32 or None
        Deviations of users from the difference, of a primary label with a standard error.
    """

    label: Label
    a: str
    b: str
    paired: PairedTest
    effect: Effect
    reference_mean: float
    deviations: Deviations | None = None
    p_wilcoxon: float = math.nan


def decide_differences(
    config: ComparisonConfig, tests: Sequence[PairTest], n_models: int
) -> list[Difference]:
    """Return one difference per test, with the interval of its family and what it says.

    Families are the comparisons of primary labels with the baseline, those of primary labels
    among the other models (one family with both if `family` is "all"), and all other labels.
    There are `n_models` with the baseline.
    """
    p = np.array([test.paired.p for test in tests], dtype=np.float64)
    adjusted, alphas = np.full((2, len(tests)), np.nan)
    primary = [str(test.label) in config.primary for test in tests]
    of_baseline = [test.b == config.baseline for test in tests]
    n_others = math.comb(n_models - 1, 2) * len(config.primary)
    families = [(True, False)] if config.family == "all" else [(True,), (False,)]
    for family in families:
        rows = [i for i in range(len(tests)) if primary[i] and of_baseline[i] in family]
        n_untested = n_others - sum(not of_baseline[i] for i in rows) if False in family else 0
        adjusted[rows] = holm(p[rows])
        alphas[rows] = simultaneous_alphas(
            [tests[i] for i in rows],
            alpha=config.family_alpha(n_models - 1),
            n_untested=n_untested,
        )
    exploratory = [i for i in range(len(tests)) if not primary[i]]
    adjusted[exploratory] = benjamini_hochberg(p[exploratory])
    alphas[exploratory] = discovery_alpha(p[exploratory], config.alpha)
    return [
        _difference(config, test, p_adjusted, alpha)
        for test, p_adjusted, alpha in zip(tests, adjusted.tolist(), alphas.tolist(), strict=True)
    ]


def simultaneous_alphas(
    tests: Sequence[PairTest], *, alpha: float, n_untested: int = 0
) -> list[float]:
    """Return the level of each test, at which all tests err jointly with at most alpha.

    Each of the m comparisons has the share alpha / m. Those with a t interval pool their shares:
    see `joint_alpha`. Pairs that cannot differ, or never significantly, are no comparisons.

    Parameters
    ----------
    tests : sequence of PairTest
        Tests of the family.
    alpha : float
        Probability of any error.
    n_untested : int
        Number of further comparisons of the family, which were chosen not to be made by the data;
        then nothing is pooled.
    """
    tested = [not math.isnan(test.paired.p) for test in tests]
    m = sum(tested) + n_untested
    alphas = [alpha / max(m, 1)] * len(tests)
    deviations = {
        i: test.deviations
        for i, test in enumerate(tests)
        if not n_untested and tested[i] and test.deviations is not None and test.paired.test == "t"
    }
    if deviations:
        joint = joint_alpha(correlations([*deviations.values()]), alpha * len(deviations) / m)
        for i in deviations:
            alphas[i] = joint
    return alphas


def _difference(
    config: ComparisonConfig, test: PairTest, p_adjusted: float, alpha: float
) -> Difference:
    paired, upwards = test.paired, test.label.metric.higher_is_better
    primary = str(test.label) in config.primary
    level = 1 - alpha
    (low, high), min_effect = margin_interval(paired, test.effect, test.reference_mean, level)
    single, _ = margin_interval(paired, test.effect, test.reference_mean, config.confidence)
    decided = verdict(
        paired, (low, high), alpha=alpha, min_effect=min_effect, higher_is_better=upwards
    )
    is_measured = primary and not math.isnan(low)
    relative = paired.relative(config.confidence, in_both_directions=test.b != config.baseline)
    return Difference(
        label=str(test.label),
        a=test.a,
        b=test.b,
        vs_baseline=test.b == config.baseline,
        primary=primary,
        mean_a=paired.mean_a,
        mean_b=paired.mean_b,
        difference=paired.difference,
        ci_low=low,
        ci_high=high,
        level=level,
        single_low=single[0],
        single_high=single[1],
        standard_error=paired.standard_error,
        relative=math.nan if math.isnan(min_effect) else relative,
        effect_size=paired.effect_size,
        better=paired.above if upwards else paired.below,
        equal=paired.equal,
        worse=paired.below if upwards else paired.above,
        n_users=paired.n_users,
        n_nonzero=paired.n_nonzero,
        caution=paired.n_nonzero < MIN_T_TEST_USERS and not math.isnan(low),
        p=paired.p,
        p_adjusted=p_adjusted,
        p_wilcoxon=test.p_wilcoxon,
        test=paired.test,
        min_effect=min_effect,
        detectable=detectable_difference(paired, alpha) if is_measured else math.nan,
        verdict=decided,
    )


def find_winners(config: ComparisonConfig, tests: Sequence[PairTest]) -> Iterator[Winner]:
    """Yield the model with the largest gain on each primary label with several tested models.

    None if more models were tried than are compared: the others would be needed, too. None if the
    best model has no standard error, because all users differ by the same.
    """
    n_models = len({test.a for test in tests if test.b == config.baseline})
    if n_models < (config.tried or 0):
        return
    for label in config.primary_labels:
        compared = [
            test
            for test in tests
            if test.label == label and test.b == config.baseline and test.paired.is_comparable
        ]
        candidates = [test for test in compared if test.deviations is not None]
        gains = [test.paired.difference for test in candidates]
        if len(gains) < 2:  # noqa: PLR2004 - a choice
            continue
        sign = 1 if label.metric.higher_is_better else -1
        best = max(range(len(gains)), key=lambda i: sign * gains[i])
        highest = sign * gains[best]
        others = [test for test in compared if test is not candidates[best]]
        if highest <= 0 or any(sign * test.paired.difference >= highest for test in others):
            continue
        deviations = [test.deviations for test in candidates if test.deviations is not None]
        errors = np.array([test.paired.standard_error for test in candidates])
        covariance = correlations(deviations) * np.outer(errors, errors)
        corrected = shrunk_best(np.array(gains), covariance, best)
        model, n = candidates[best].a, len(gains)
        yield Winner(str(label), model, n, n_models, gains[best], corrected)
