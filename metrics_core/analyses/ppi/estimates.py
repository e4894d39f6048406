"""Prediction-powered means, differences and verdicts on the values of one label."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan, nan

import numpy as np

from concord.metrics_core.analyses.ppi.prediction_powered import (
    PoweredMean,
    powered_mean,
)
from concord.metrics_core.analyses.ppi.result import PoweredDifference, PoweredEstimate
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.min_effect import to_absolute
from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.results.comparison_parts import Verdict
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS, MIN_T_TEST_USERS
from concord.metrics_core.stats.adjustment import benjamini_hochberg, holm
from concord.metrics_core.stats.floating_point import differences, exact_mean, scale_of
from concord.metrics_core.stats.mean_interval import mean_interval, t_quantile, t_test_p
from concord.metrics_core.stats.sign_flip_test import SignFlips
from concord.metrics_core.stats.simultaneous import discovery_alpha
from concord.metrics_core.stats.verdict import interval_verdict


@dataclass(frozen=True)
class PoweredPair:
    """A difference before its family is known.

    Attributes
    ----------
    estimate : PoweredEstimate
        The difference, with intervals at the level of the comparison.
    people : (n,) float64
        Differences of the sampled queries by the grades of people.
    powered : PoweredMean
        The prediction-powered difference.
    n_differing : int
        Sampled queries whose values differ by people, plus all queries that differ by the judge.
    """

    label: Label
    estimate: PoweredEstimate
    people: Floats
    powered: PoweredMean
    n_differing: int
    min_effect: float

    @property
    def n_nonzero(self) -> int:
        """Sampled queries whose values by people differ."""
        return int(np.count_nonzero(self.people))

    @property
    def p(self) -> float:
        """p-value of the t test, and at least that of sign flips below 30 sampled queries."""
        if self.estimate.ci_low is None:
            return nan
        n = len(self.people)
        p = t_test_p(n, self.powered.mean / self.powered.standard_error)
        return p if n >= MIN_T_TEST_USERS else max(p, self._flips.p)

    @property
    def _flips(self) -> SignFlips:
        return SignFlips(self.powered.corrected, np.ones(len(self.people)), np.zeros(0))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval at a level; NaN if these queries can have none.

        It is that of the t test. Below 30 sampled queries it holds the interval of sign flips, too.
        """
        if self.estimate.ci_low is None:
            return nan, nan
        n, centre = len(self.people), self.powered.mean
        half = t_quantile(n, level) * self.powered.standard_error
        low, high = centre - half, centre + half
        if n >= MIN_T_TEST_USERS:
            return low, high
        flips = self._flips.interval(1 - level)
        return (min(low, flips[0]), max(high, flips[1])) if isfinite(flips[0]) else (nan, nan)

    def verdict(self, interval: tuple[float, float]) -> Verdict:
        """Return what an interval says about the difference."""
        if not self.n_differing:
            return "identical"
        if isnan(interval[0]):
            are_equal = self.n_nonzero >= MIN_DIFFERING_USERS and self.estimate.ci_low is None
            return "no_interval" if are_equal else "too_few_users"
        upwards = self.label.metric.higher_is_better
        return interval_verdict(*interval, min_effect=self.min_effect, higher_is_better=upwards)


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
        """Return the difference of two models."""
        config, values = self.config, (self.people[a], self.people[b], self.judge[a], self.judge[b])
        scale = scale_of(self._bounds, *values)
        people, judge = (differences(v[a], v[b], scale) for v in (self.people, self.judge))
        n_nonzero = int(np.count_nonzero(people))
        estimate, powered = self._estimate(a, b, people, judge, n_nonzero)
        n_differing = n_nonzero + int(np.count_nonzero(judge))
        effect = to_absolute(config.min_effects[str(self.label)], means[config.baseline])
        return PoweredPair(self.label, estimate, people, powered, n_differing, effect)

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


def with_verdicts(
    pairs: Sequence[PoweredPair], config: ComparisonConfig
) -> Iterator[PoweredDifference]:
    """Yield the differences, each with the interval at the level of its family and its verdict.

    Primary differences to the baseline are a family of m, those between the others another: each
    interval has the level 1 - α / m. All other differences are one by Benjamini and Hochberg:
    1 - R α / m, where they find R differences (or R = 1), so that an interval excludes 0 if its
    difference is found.
    """
    p = np.array([pair.p for pair in pairs])
    primary = np.array([str(pair.label) in config.primary for pair in pairs], dtype=bool)
    to_baseline = np.array([pair.estimate.versus == config.baseline for pair in pairs], dtype=bool)
    adjusted, levels = np.full(len(pairs), nan), np.full(len(pairs), config.confidence)
    for family in (primary & to_baseline, primary & ~to_baseline, ~primary):
        is_primary = bool(primary[family].all())
        adjusted[family] = (holm if is_primary else benjamini_hochberg)(p[family])
        n_tests = int(np.count_nonzero(~np.isnan(p[family])))
        alpha = config.alpha / max(n_tests, 1)
        levels[family] = 1 - (alpha if is_primary else discovery_alpha(p[family], config.alpha))
    rows = zip(pairs, primary, p.tolist(), adjusted.tolist(), levels.tolist(), strict=True)
    for pair, in_primary, p_value, p_adjusted, level in rows:
        low, high = pair.interval(level)
        single_low, single_high = pair.interval(config.confidence)
        people = mean_interval(pair.people, level) if not isnan(low) else (None, None)
        estimate = replace(
            pair.estimate, ci_low=low, ci_high=high, people_low=people[0], people_high=people[1]
        )
        yield PoweredDifference(
            **vars(estimate),
            level=level,
            single_low=single_low,
            single_high=single_high,
            n_nonzero=pair.n_nonzero,
            primary=bool(in_primary),
            p=p_value,
            p_adjusted=p_adjusted,
            min_effect=pair.min_effect,
            verdict=pair.verdict((low, high)),
        )
