"""What is known of models that were trained several times: means and differences over new users and new trainings.

A replicate is one training of a model, with another seed or on another fold. Numbers have the unit of their metric;
None stands for a number that does not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from concord.metrics_core.results.comparison_parts import MIRROR, Verdict, negated

# Simulated coverage of the 95 % interval (benchmarks/SIMULATIONS.md), where effects of trainings are roughly symmetric:
# 0.95 to 0.97 from 3 trainings on; with 2 down to 0.91, though up to five times as wide as with known variances, since
# t on one degree of freedom is 12.7.
FEWEST_TRAININGS = 3


@dataclass(frozen=True)
class ReplicatedScore:
    """A model on a label, over its trainings; the mean itself stands in the leaderboard.

    means           : of each training, in their order
    sd_trainings    : the standard deviation between trainings alone, without what chance of users adds to their means
    ci_low, ci_high : for the mean over new users and new trainings; None with fewer than 3 trainings
    """

    label: str
    model: str
    means: tuple[float | None, ...]
    sd_trainings: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class ReplicatedDifference:
    """Model a minus model b on a label, over new users and new trainings; the interval over users alone is elsewhere.

    trainings_a, trainings_b : how many; one: the model is taken as it is
    trainings_df     : degrees of freedom of what trainings add to the variance; users have one less than they are
    over_users       : does the interval cover new users, too? Not for a number over all users
    share            : of the variance of the difference, the share that is due to trainings
    turned, of       : in how many of so many pairs of single trainings the order is another than over all of them
    chance           : that the order is another with one new training of each on these users, by the t
                       distribution of a prediction; None where no training differs from another
    users_needed     : so many would keep the interval off 0, were difference and spreads as they are; None where it
                       does so already, or no number would
    trainings_needed : the same of the trainings of each model that was trained more than once
    """

    label: str
    a: str
    b: str
    vs_baseline: bool
    primary: bool
    trainings_a: int
    trainings_b: int
    over_users: bool
    trainings_df: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: Verdict
    share: float | None
    turned: int
    of: int
    chance: float | None
    users_needed: int | None
    trainings_needed: int | None

    def mirrored(self) -> "ReplicatedDifference":
        """The same, told from b's side: b minus a."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            trainings_a=self.trainings_b,
            trainings_b=self.trainings_a,
            difference=negated(self.difference),
            ci_low=negated(self.ci_high),
            ci_high=negated(self.ci_low),
            verdict=MIRROR.get(self.verdict, self.verdict),
        )


@dataclass(frozen=True)
class Replicates:
    """Models that were trained several times.

    models   : model -> number of the training -> name of its lists
    paired   : is the same number the same seed or fold in all models?
    nested   : has each training users of its own?
    scores   : one a label and model that was trained several times
    pairs    : one a label and pair of which at least one was
    """

    models: Mapping[str, Mapping[str, str]]
    paired: bool
    nested: bool
    scores: tuple[ReplicatedScore, ...]
    pairs: tuple[ReplicatedDifference, ...]

    def score(self, model: str, label: str) -> ReplicatedScore | None:
        """None for a model that was trained once."""
        return self._scores.get((model, label))

    @cached_property
    def _scores(self) -> dict[tuple[str, str], ReplicatedScore]:
        return {(each.model, each.label): each for each in self.scores}
