"""The result of `study`: the same models on several data sets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from concord.metrics_core.results.base import PageResult, frame_of
from concord.metrics_core.results.comparison_parts import Metric, PinnedConventions, Verdict

if TYPE_CHECKING:
    import polars as pl

Way = Literal["mean", "mean_rank", "mean_relative_difference", "wins"]
WAYS: tuple[Way, ...] = ("mean", "mean_rank", "mean_relative_difference", "wins")
# Whether the winner would be ahead of every other model over other such data sets.
Certainty = Literal["sure", "undecided", "tie", "too_few_datasets", "same_truth", "no_values"]
# Why a mean difference has no interval, and why a data set does not count in it.
NoInterval = Literal[
    "left_out", "same_truth", "few_datasets", "equal_differences", "baseline_near_zero"
]
LeftOutReason = Literal["no_value", "not_comparable", "not_compared"]


@dataclass(frozen=True)
class StudyDataset:
    """A data set of a study.

    Attributes
    ----------
    source : str
        The project it comes from, as written; may be empty.
    title, baseline : str
        Title and baseline of its comparison.
    n_users : int
        Number of evaluated users.
    fingerprint : str
        Fingerprint of its conventions.
    """

    name: str
    source: str
    title: str
    baseline: str
    n_users: int
    fingerprint: str


@dataclass(frozen=True)
class MissingModel:
    """A model that is left out because some data sets do not have it."""

    model: str
    missing_in: tuple[str, ...]


@dataclass(frozen=True)
class GradeConvention:
    """A convention that belongs to the grades of a data set and differs between data sets.

    Attributes
    ----------
    values : dict
        Value as text -> the data sets that have it.
    """

    convention: str
    values: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Cell:
    """A model on a data set.

    Attributes
    ----------
    difference, diff_low, diff_high : float or None
        To the baseline of the study, and its interval.
    n_with_both : int or None
        Users with values of this model and the baseline, which the difference is over.
    relative : float or None
        The difference as a share of the baseline's mean.
    rank : float or None
        1 is best; equal means share the mean of their ranks. None without a mean.
    rank_low, rank_high : int or None
        Lowest and highest rank that agree with the intervals of pairs on this data set.
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
    n_with_both: int | None
    relative: float | None
    verdict: Verdict | None
    rank: float | None
    rank_low: int | None
    rank_high: int | None


@dataclass(frozen=True)
class Aggregation:
    """The value of a model under one way of aggregation; `winner` is True if none is better."""

    label: str
    way: Way
    model: str
    value: float | None
    winner: bool


@dataclass(frozen=True)
class Pair:
    """Model a minus model b over data sets.

    Attributes
    ----------
    n_datasets : int
        Data sets that count; `Study.left_out` has the others.
    level : float
        Level of the interval. The m pairs with the baseline of all labels that can have an interval
        share the study's error rate, each has 1 - alpha / m; so do all other pairs. If more models
        were tried than are compared, alpha is smaller.
    difference, sd : float or None
        Mean and standard deviation of the differences on these data sets.
    ci_low, ci_high : float or None
        Interval of the mean, on which the verdict rests; of the ratio to the baseline's mean, times
        that mean, if `min_effect` is a percentage.
    p, p_adjusted : float or None
        p-values of the mean, by a t test; adjusted by Holm over the pairs that share the level.
    reason : str or None
        Why there is no interval.
    """

    label: str
    a: str
    b: str
    vs_baseline: bool
    n_datasets: int
    level: float
    difference: float | None = None
    sd: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    verdict: Verdict = "no_interval"
    reason: NoInterval | None = None


@dataclass(frozen=True)
class LeftOut:
    """A data set that does not count in the mean difference of two models.

    Attributes
    ----------
    reason : {'no_value', 'not_comparable', 'not_compared'}
        `no_value`: a model has no value there; `not_comparable`: a model lacks the lists of most
        users; `not_compared`: the models have other users, and their users were not matched.
    """

    label: str
    a: str
    b: str
    dataset: str
    reason: LeftOutReason


@dataclass(frozen=True)
class Answer:
    """The winner of a label.

    Attributes
    ----------
    winners : tuple of str
        The model that wins alone under the most ways; several if they tie, none without values.
    ways, of_ways : int
        Number of ways under which each wins alone, and of all ways that have a value.
    certainty : {'sure', 'undecided', 'tie', 'too_few_datasets', 'same_truth', 'no_values'}
        `sure`: its intervals over all data sets are above 0 against every other model;
        `undecided`: not against every one; `tie`: there are several winners; `too_few_datasets`:
        fewer than 4; `same_truth`: data sets share their ground truth; `no_values`: there is no
        winner.
    behind, ahead : tuple of str
        Models that the intervals over data sets show worse than the only winner, and better than
        one of the winners.
    """

    label: str
    winners: tuple[str, ...]
    ways: int
    of_ways: int
    certainty: Certainty
    behind: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()

    @property
    def is_sure(self) -> bool:
        """True if the winner is ahead of every other model over all data sets."""
        return self.certainty == "sure"


@dataclass(frozen=True, repr=False)
class Study(PageResult):
    """The same models on several data sets, under the same conventions.

    Attributes
    ----------
    primary : tuple of str
        The labels of the study, most important first.
    missing_models : tuple of MissingModel
        Models that some data sets do not have.
    min_effect : dict
        Label -> minimum relevant difference, as a number.
    answers : tuple of Answer
        One per label: the winner, and whether it is sure.
    cells : tuple of Cell
        One per label, data set and model.
    ways : tuple of Aggregation
        One per label, way of aggregating and model.
    pairs : tuple of Pair
        One per label and pair of models, over data sets.
    left_out : tuple of LeftOut
        Data sets that do not count in a mean difference, with the reason.
    conventions : PinnedConventions
        Of the first data set.
    same_truth : tuple of tuple of str
        Data sets that share their ground truth.
    replicated : tuple of str
        Models with replicates on some data set.
    grade_conventions : tuple of GradeConvention
        Conventions of grades that differ between data sets.
    min_effect_share : str or None
        `min_effect` as written, such as `2%`, if it is a share of the baseline's mean.
    tried : int or None
        Largest number of models that were tried on the users of a data set, if configured.

    Examples
    --------
    >>> import concord as cc
    >>> truth = {"u1": ["a"], "u2": ["b"]}
    >>> models = {"old": {"u1": ["b"], "u2": ["a"]}, "new": {"u1": ["a"], "u2": ["c", "b"]}}
    >>> comparison = cc.compare(models, truth, metrics=["RR@2"], baseline="old", panel=False)
    >>> study = cc.study({"books": comparison, "films": comparison})
    >>> study.answers[0].winners
    ('new',)
    """

    title: str
    baseline: str
    primary: tuple[str, ...]
    confidence: float
    models: tuple[str, ...]
    datasets: tuple[StudyDataset, ...]
    missing_models: tuple[MissingModel, ...]
    metrics: tuple[Metric, ...]
    min_effect: Mapping[str, float]
    answers: tuple[Answer, ...]
    cells: tuple[Cell, ...]
    ways: tuple[Aggregation, ...]
    pairs: tuple[Pair, ...]
    left_out: tuple[LeftOut, ...]
    conventions: PinnedConventions
    same_truth: tuple[tuple[str, ...], ...] = ()
    replicated: tuple[str, ...] = ()
    grade_conventions: tuple[GradeConvention, ...] = ()
    min_effect_share: str | None = None
    tried: int | None = None

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per label, data set and model, columns as the fields of `Cell`."""
        return frame_of(Cell, self.cells)

    @property
    def aggregations(self) -> "pl.DataFrame":
        """One row per label, way of aggregation and model, columns as fields of `Aggregation`."""
        return frame_of(Aggregation, self.ways)

    @property
    def differences(self) -> "pl.DataFrame":
        """One row per label and pair of models, columns as the fields of `Pair`."""
        return frame_of(Pair, self.pairs)

    def metric(self, label: str) -> Metric:
        """Return the metric of a label."""
        return next(metric for metric in self.metrics if metric.label == label)

    def cells_of(self, label: str) -> dict[tuple[str, str], Cell]:
        """Return (data set, model) -> cell."""
        return {(c.dataset, c.model): c for c in self.cells if c.label == label}

    def pairs_of(self, label: str) -> list[Pair]:
        """Return the pairs of a label, those with the baseline first."""
        return [pair for pair in self.pairs if pair.label == label]

    def left_out_of(self, pair: Pair) -> list[LeftOut]:
        """Return the data sets that do not count in a mean difference."""
        key = pair.label, pair.a, pair.b
        return [each for each in self.left_out if (each.label, each.a, each.b) == key]

    def values_of(self, label: str, way: Way) -> dict[str, float | None]:
        """Return model -> value under a way of aggregating."""
        return {r.model: r.value for r in self.ways if (r.label, r.way) == (label, way)}

    def winners(self, label: str) -> dict[Way, tuple[str, ...]]:
        """Return way -> its winners; ways without any value are left out."""
        return winners_by_way(row for row in self.ways if row.label == label)

    def ranked(self, label: str) -> list[str]:
        """Return the models by mean rank, best first; those without one last."""
        mean = self.values_of(label, "mean_rank")
        return sorted(self.models, key=lambda m: (mean[m] is None, mean[m] or 0))


def winners_by_way(rows: Iterable[Aggregation]) -> dict[Way, tuple[str, ...]]:
    """Return way -> its winners, for the rows of one label; ways without any value are left out."""
    winners: dict[Way, tuple[str, ...]] = {}
    for row in rows:
        if row.winner:
            winners[row.way] = (*winners.get(row.way, ()), row.model)
    return winners
