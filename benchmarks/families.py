"""One family of comparisons on simulated values, as `concord.compare_values` decides it.

A run that skips tables and pairs among the candidates is faster, so that a table rests on more
runs. `Family.check` raises if `concord.compare_values` gives other intervals or words.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

import concord
from benchmarks.simulated import Floats
from concord.metrics_core.comparison.families import PairTest, simultaneous_alphas
from concord.metrics_core.metrics.metric import UNBOUNDED
from concord.metrics_core.metrics.value_metric import value_label
from concord.metrics_core.results.comparison_parts import Difference, Verdict
from concord.metrics_core.stats.best_of_many import shrunk_best
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.floating_point import differences
from concord.metrics_core.stats.paired_difference import Interval, PairedTest
from concord.metrics_core.stats.paired_test import paired_tests
from concord.metrics_core.stats.simultaneous import correlations, deviation_numbers
from concord.metrics_core.stats.verdict import verdict

ALPHA = 0.05
BASELINE = "base"
_LABEL = value_label("m", higher_is_better=True, bounds=UNBOUNDED)


@dataclass(frozen=True, eq=False)
class Family:
    """Values of a baseline, in the first row, and of candidates; NaN for a missing user.

    Attributes
    ----------
    values : (1 + candidates, users) float64
        One value per user, or per session if `clusters` is set.
    clusters : Clusters or None
        User of each session.
    min_effect : float
        Minimum relevant difference.
    """

    values: Floats
    clusters: Clusters | None = None
    min_effect: float = 0.0

    @cached_property
    def columns(self) -> dict[str, Floats]:
        """Model -> its values."""
        names = [BASELINE, *(f"c{number}" for number in range(1, len(self.values)))]
        return dict(zip(names, self.values, strict=True))

    @cached_property
    def tests(self) -> list[PairTest]:
        """One test per candidate against the baseline."""
        pairs = [(name, BASELINE) for name in self.columns if name != BASELINE]
        tests = paired_tests(self.columns, pairs, confidence=1 - ALPHA, clusters=self.clusters)
        return [
            PairTest(_LABEL, a, b, test, 0.0, test.mean_b, self._deviations(a, test))
            for (a, b), test in zip(pairs, tests, strict=True)
        ]

    def _deviations(self, model: str, test: PairedTest) -> np.ndarray | None:
        if not test.standard_error > 0:
            return None
        diff = differences(self.columns[model], self.columns[BASELINE])
        if self.clusters is not None:
            diff = self.clusters.linearised(diff)
        return deviation_numbers(diff - test.difference)

    @cached_property
    def alphas(self) -> list[float]:
        """1 - level of each interval."""
        return simultaneous_alphas(self.tests, alpha=ALPHA)

    @cached_property
    def intervals(self) -> list[Interval]:
        """One printed interval per candidate; NaN without one."""
        tests = zip(self.tests, self.alphas, strict=True)
        return [each.paired.interval(1 - alpha) for each, alpha in tests]

    @cached_property
    def words(self) -> list[Verdict]:
        """One verdict per candidate."""
        decided = zip(self.tests, self.intervals, self.alphas, strict=True)
        effect = self.min_effect
        return [
            verdict(each.paired, ends, alpha=alpha, min_effect=effect, higher_is_better=True)
            for each, ends, alpha in decided
        ]

    @property
    def has_finding(self) -> bool:
        """True if any candidate is called better or worse."""
        return any(word.startswith(("better", "worse")) for word in self.words)

    @cached_property
    def gains(self) -> Floats:
        """(candidates,) observed differences."""
        return np.array([each.paired.difference for each in self.tests])

    @cached_property
    def covariance(self) -> Floats:
        """(candidates, candidates) estimated covariance of the observed differences."""
        deviations = [each.deviations for each in self.tests if each.deviations is not None]
        errors = np.array([each.paired.standard_error for each in self.tests])
        return np.asarray(correlations(deviations) * np.outer(errors, errors))

    @property
    def best(self) -> int:
        """Position of the candidate with the largest observed difference."""
        return int(np.argmax(self.gains))

    @property
    def corrected(self) -> float:
        """The estimate of the best difference that allows for its choice."""
        return shrunk_best(self.gains, self.covariance, self.best)

    def check(self) -> None:
        """Raise if `concord.compare_values` gives other intervals, words or estimates."""
        users = np.arange(self.values.shape[1])
        frames = {
            name: pl.DataFrame({"user": users, "m": column}).filter(pl.col("m").is_not_nan())
            for name, column in self.columns.items()
        }
        comparison = concord.compare_values(
            frames, baseline=BASELINE, min_effect=self.min_effect, resamples=99
        )
        for each, ends, word in zip(self.tests, self.intervals, self.words, strict=True):
            row = comparison.difference(each.a, each.b, "m")
            assert row is not None, each.a
            assert row.verdict == word, (row.verdict, word)
            assert _is_same(row, ends), (row, ends)
        for winner in comparison.winners:
            is_tested = winner.n_models == len(self.tests)
            assert not is_tested or winner.corrected == self.corrected, winner


def _is_same(row: Difference, ends: Interval) -> bool:
    if row.ci_low is None or row.ci_high is None:
        return not all(map(math.isfinite, ends))
    return math.isclose(row.ci_low, ends[0]) and math.isclose(row.ci_high, ends[1])
