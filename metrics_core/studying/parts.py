"""The parts of a study. Field by field they are the objects of study.json; None stands for a number that does not exist."""

from dataclasses import dataclass
from typing import Literal

from concord.metrics_core.comparison.parts import Verdict

Way = Literal["mean", "mean_rank", "mean_relative_difference", "wins"]
WAYS: tuple[Way, ...] = ("mean", "mean_rank", "mean_relative_difference", "wins")
LOWER_IS_BETTER: frozenset[Way] = frozenset({"mean_rank"})


@dataclass(frozen=True)
class Dataset:
    """An evaluated project: `source` says which, `n_users` were evaluated, `fingerprint` is that of its conventions."""

    name: str
    source: str
    title: str
    baseline: str
    n_users: int
    fingerprint: str


@dataclass(frozen=True)
class LeftOut:
    """A model that some data sets have and others have not."""

    model: str
    missing_in: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """A model on a data set.

    difference, diff_low, diff_high : to the baseline of the study, and its interval
    relative          : the difference as a share of the baseline's mean
    rank              : 1 is best, equal means share the mean of their ranks
    rank_low, rank_high : the ranks that the pairwise tests on this data set leave open
    """

    label: str
    dataset: str
    model: str
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    n_users: int
    difference: float | None
    diff_low: float | None
    diff_high: float | None
    relative: float | None
    verdict: Verdict | None
    rank: float | None
    rank_low: int | None
    rank_high: int | None


@dataclass(frozen=True)
class Aggregation:
    """What a way of aggregating gives a model; `winner`: has no model a better value?"""

    label: str
    way: Way
    model: str
    value: float | None
    winner: bool


@dataclass(frozen=True)
class Pair:
    """Model a minus model b over data sets.

    n_datasets      : those in which the difference has an interval
    difference      : mean of a random-effects model, with its interval (modified Hartung-Knapp-Sidik-Jonkman)
    tau             : standard deviation of the true differences between data sets
    predicted_low, predicted_high : where the true difference on another such data set lies
    p_adjusted      : of that mean, by Holm over all pairs of the label
    p_signed_rank   : Wilcoxon's exact test over the differences of all data sets; `…_adjusted` by Holm
    told_apart      : is that adjusted p below 1 - confidence?
    """

    label: str
    a: str
    b: str
    vs_baseline: bool
    n_datasets: int
    difference: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    tau: float | None = None
    predicted_low: float | None = None
    predicted_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    verdict: Verdict = "no_interval"
    p_signed_rank: float | None = None
    p_signed_rank_adjusted: float | None = None
    told_apart: bool = False


@dataclass(frozen=True)
class Shrunk:
    """A model's difference to the baseline on one data set, as found and drawn towards the mean of all data sets."""

    label: str
    model: str
    dataset: str
    difference: float
    standard_error: float
    shrunk: float
    shrunk_low: float
    shrunk_high: float


@dataclass(frozen=True)
class Omnibus:
    """Friedman's test that all models rank alike; `why_none` where it is not made.

    statistic           : chi-squared, on `models - 1` degrees of freedom
    f, df1, df2         : Iman and Davenport's form; None where all data sets agree, and p is exact
    critical_difference : Nemenyi's, of two mean ranks, at 1 - confidence
    """

    label: str
    n_datasets: int
    n_models: int
    statistic: float | None = None
    f: float | None = None
    df1: int | None = None
    df2: int | None = None
    p: float | None = None
    critical_difference: float | None = None
    why_none: str = ""


@dataclass(frozen=True)
class Answer:
    """What is to be said of a label: who wins alone under how many ways, and is that sure; several winners stand level."""

    label: str
    winners: tuple[str, ...]
    ways: int
    of_ways: int
    sentence: str
    sure: str
    is_sure: bool
