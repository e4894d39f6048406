"""Means and differences of models with replicates, over new users and new replicates.

A replicate is one training of a model, with another seed or on another fold.
Numbers have the unit of their metric; None is a number that does not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from concord.metrics_core.results.base import FiniteNumbers
from concord.metrics_core.results.comparison_parts import MIRROR, Verdict, negated

# Simulated coverage of the 95 % interval (benchmarks/SIMULATIONS.md) if effects of trainings are
# roughly symmetric: 0.95 to 0.97 from 3 replicates on. With 2 it is down to 0.91, though the
# interval is up to five times as wide as with known variances: t on one degree of freedom is 12.7.
MIN_INTERVAL_REPLICATES = 3


@dataclass(frozen=True)
class ReplicatedScore(FiniteNumbers):
    """A model on a label, over its replicates; its mean is in the leaderboard.

    Attributes
    ----------
    means : tuple of float or None
        Mean of each replicate, in the order of replicates.
    sd_replicates : float or None
        Standard deviation between replicates, without the variance that the sample of users adds.
    ci_low, ci_high : float or None
        Interval of the mean over new users and new replicates; None with fewer than 3 replicates.
    """

    label: str
    model: str
    means: tuple[float | None, ...]
    sd_replicates: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class ReplicatedDifference(FiniteNumbers):
    """Model a minus model b on a label, over new users and new replicates.

    Attributes
    ----------
    n_replicates_a, n_replicates_b : int
        Replicates of each model; with one, the model is fixed.
    replicates_df : float or None
        Degrees of freedom of the variance between replicates.
    over_users : bool
        True if the interval covers new users too; False for a metric with one value over all users.
    level : float
        Confidence level of this interval alone; as for `Difference`.
    share : float or None
        Share of the variance of the difference that is due to replicates.
    n_reversed, n_pairs : int
        Pairs of single replicates whose order differs from that over all replicates, and all pairs.
    chance : float or None
        Probability of another order with one new training of each model on these users
        (t distribution of a prediction); None if replicates do not differ.
    users_needed, replicates_needed : int or None
        Users, or replicates of each model with replicates, with which the interval would exclude 0;
        None if it already does, or if no number is enough.
    """

    label: str
    a: str
    b: str
    vs_baseline: bool
    primary: bool
    n_replicates_a: int
    n_replicates_b: int
    over_users: bool
    replicates_df: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    level: float
    p: float | None
    p_adjusted: float | None
    verdict: Verdict
    share: float | None
    n_reversed: int
    n_pairs: int
    chance: float | None
    users_needed: int | None
    replicates_needed: int | None

    def mirrored(self) -> "ReplicatedDifference":
        """Return the difference b minus a."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            n_replicates_a=self.n_replicates_b,
            n_replicates_b=self.n_replicates_a,
            difference=negated(self.difference),
            ci_low=negated(self.ci_high),
            ci_high=negated(self.ci_low),
            verdict=MIRROR.get(self.verdict, self.verdict),
        )


@dataclass(frozen=True)
class Replicates:
    """Models with replicates.

    Attributes
    ----------
    models : dict
        Model -> number of the replicate -> name of its lists.
    paired : bool
        True if replicates with the same number have the same seed or fold in all models.
    nested : bool
        True if each replicate has its own users.
    scores : tuple of ReplicatedScore
        One per label and model with replicates.
    pairs : tuple of ReplicatedDifference
        One per label and pair of models of which at least one has replicates.
    """

    models: Mapping[str, Mapping[str, str]]
    paired: bool
    nested: bool
    scores: tuple[ReplicatedScore, ...]
    pairs: tuple[ReplicatedDifference, ...]

    def score(self, model: str, label: str) -> ReplicatedScore | None:
        """Return the score of a model; None if it has no replicates."""
        return self._scores.get((model, label))

    @cached_property
    def _scores(self) -> dict[tuple[str, str], ReplicatedScore]:
        return {(each.model, each.label): each for each in self.scores}
