"""Prediction-powered means, differences and verdicts on the values of one label."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

import numpy as np

from concord.metrics_core.analyses.ppi.prediction_powered import PoweredMean, powered_mean
from concord.metrics_core.analyses.ppi.result import PoweredDifference, PoweredEstimate
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.min_effect import to_absolute
from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS, MIN_T_TEST_USERS
from concord.metrics_core.stats.adjustment import benjamini_hochberg, holm
from concord.metrics_core.stats.floating_point import differences, exact_mean, scale_of
from concord.metrics_core.stats.mean_interval import mean_interval, t_test_p
from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.sign_flip_test import SignFlips
from concord.metrics_core.stats.verdict import verdict


@dataclass(frozen=True)
class PoweredPair:
    """A difference before p-values are adjusted.

    Attributes
    ----------
    n_nonzero : int
        Sampled queries whose values by people differ.
    test : PairedTest
        Test of the prediction-powered difference.
    """

    label: Label
    estimate: PoweredEstimate
    n_nonzero: int
    min_effect: float
    test: PairedTest


@dataclass(frozen=True)
class LabelValues:
    """Values of one label.

    Attributes
    ----------
    is_sampled : (queries,) bool
        True for the queries that people judged.
    people : dict of str to (n,) float64
        Model -> values of the sampled queries by the grades of people.
    judge : dict of str to (queries,) float64
        Model -> values of all queries by the grades of the judge.
    """

    label: Label
    config: ComparisonConfig
    is_sampled: Bools
    people: Mapping[str, Floats]
    judge: Mapping[str, Floats]

    def mean(self, model: str) -> PoweredEstimate:
        """Return the mean of a model."""
        people = self.people[model]
        return self._estimate(model, None, people, self.judge[model], len(people))[0]

    def pair(self, a: str, b: str, means: Mapping[str, float]) -> PoweredPair:
        """Return the difference of two models, with a test if enough queries differ."""
        config, values = self.config, (self.people[a], self.people[b], self.judge[a], self.judge[b])
        scale = scale_of(self._bounds, *values)
        people, judge = (differences(v[a], v[b], scale) for v in (self.people, self.judge))
        n, n_nonzero = len(people), int(np.count_nonzero(people))
        estimate, powered = self._estimate(a, b, people, judge, n_nonzero)
        n_differing = n_nonzero + int(np.count_nonzero(judge))
        test = PairedTest(means[a], means[b], powered.mean, n, n_differing)
        if not isnan(powered.ci_low):
            test = _with_p(test, powered)
        effect = to_absolute(config.min_effects[str(self.label)], means[config.baseline])
        return PoweredPair(self.label, estimate, n_nonzero, effect, test)

    @property
    def _bounds(self) -> Bounds:
        return self.label.bounds(self.config.conventions)

    def _estimate(
        self, a: str, b: str | None, people: Floats, judge: Floats, n_differing: int
    ) -> tuple[PoweredEstimate, PoweredMean]:
        """Return the estimate by people and judge, with those of people and of the judge alone.

        It has no interval if fewer than MIN_DIFFERING_USERS sampled queries differ.
        """
        sampled, others = judge[self.is_sampled], judge[~self.is_sampled]
        bounds, confidence = UNBOUNDED if b else self._bounds, self.config.confidence
        powered = powered_mean(people, sampled, others, confidence=confidence, bounds=bounds)
        low, high = mean_interval(people, confidence, bounds)
        if n_differing < MIN_DIFFERING_USERS:
            powered = replace(powered, ci_low=nan, ci_high=nan, effective_labels=nan)
        has_interval = not isnan(powered.ci_low)
        estimate = PoweredEstimate(
            label=str(self.label),
            model=a,
            versus=b,
            estimate=powered.mean,
            ci_low=powered.ci_low,
            ci_high=powered.ci_high,
            tuning=powered.tuning,
            effective_labels=powered.effective_labels,
            n_corrected=int(np.count_nonzero(people != sampled)),
            people=exact_mean(people),
            people_low=low if has_interval else None,
            people_high=high if has_interval else None,
            judge=exact_mean(judge),
        )
        return estimate, powered


def _with_p(test: PairedTest, powered: PoweredMean) -> PairedTest:
    """Add the p-value: of the t test, and not below that of sign flips if the sample is small."""
    n = test.n_users
    p = t_test_p(n, powered.mean / powered.standard_error)
    if n >= MIN_T_TEST_USERS:
        return replace(test, p=p)
    flips = SignFlips(powered.corrected, np.ones(n), np.zeros(0))
    return replace(test, p=max(p, flips.p), flips=flips)


def with_verdicts(
    pairs: Sequence[PoweredPair], config: ComparisonConfig
) -> Iterator[PoweredDifference]:
    """Yield the differences with adjusted p-values and verdicts, as those of a comparison."""
    primary = np.array([str(pair.label) in config.primary for pair in pairs], dtype=bool)
    p = np.array([pair.test.p for pair in pairs])
    adjusted = np.where(
        primary,
        holm(np.where(primary, p, np.nan)),
        benjamini_hochberg(np.where(primary, np.nan, p)),
    )
    n_tested = int(np.count_nonzero(~np.isnan(adjusted[primary])))
    for pair, is_primary, p_adjusted in zip(pairs, primary, adjusted, strict=True):
        yield PoweredDifference(
            **vars(pair.estimate),
            n_nonzero=pair.n_nonzero,
            primary=bool(is_primary),
            p=pair.test.p,
            p_adjusted=float(p_adjusted),
            min_effect=pair.min_effect,
            verdict=verdict(
                pair.test,
                (pair.estimate.ci_low or nan, pair.estimate.ci_high or nan),
                alpha=config.alpha,
                min_effect=pair.min_effect,
                higher_is_better=pair.label.metric.higher_is_better,
            ),
        )
