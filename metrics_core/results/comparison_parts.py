"""Parts of a comparison. Their fields are the keys of comparison.json, in this order.

Means and differences have the unit of their metric, shares and probabilities lie in [0, 1].
None (null in JSON) is a number that does not exist.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from concord.metrics_core.conventions.presets import PRESETS, UNWEIGHTED
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.results.base import OMIT_IF_NONE, FiniteNumbers
from concord.metrics_core.results.rendering import render_sentences

Verdict = Literal[
    "better",
    "better_below_threshold",
    "better_without_interval",
    "equivalent",
    "identical",
    "undecided",
    "undecided_by_order",
    "too_few_users",
    "no_interval",
    "not_comparable",
    "worse_without_interval",
    "worse_below_threshold",
    "worse",
]
Severity = Literal["serious", "notice"]
OF_VALUES = "values"  # family of metrics that another tool computed

MIRROR: Mapping[Verdict, Verdict] = {
    "better": "worse",
    "worse": "better",
    "better_below_threshold": "worse_below_threshold",
    "worse_below_threshold": "better_below_threshold",
    "better_without_interval": "worse_without_interval",
    "worse_without_interval": "better_without_interval",
}


@dataclass(frozen=True)
class Metric:
    """A label that was evaluated.

    Attributes
    ----------
    stem : str
        The label without its cutoff, such as `RBP(p=0.8)`.
    min_effect : str
        Minimum relevant difference as written: `0.005`, or `2%` of the baseline's mean.
    family : {'accuracy', 'agreement', 'beyond', 'own', 'values'}
        `values`: another tool computed them.
    """

    label: str
    name: str
    stem: str
    k: int | None
    higher_is_better: bool
    primary: bool
    min_effect: str
    family: str
    formula: str
    source: str

    @property
    def share(self) -> float | None:
        """Minimum relevant difference as a share of the baseline's mean; None if it is a number."""
        return float(self.min_effect[:-1]) / 100 if self.min_effect.endswith("%") else None


@dataclass(frozen=True)
class Unit:
    """The evaluated unit if it is a request and not a user.

    Attributes
    ----------
    columns : tuple of str
        Columns that name a request, the user's first.
    mean : {'requests', 'users'}
        What a mean runs over: all requests, or the mean of each user.
    """

    columns: tuple[str, ...]
    mean: Literal["requests", "users"]


@dataclass(frozen=True)
class Score(FiniteNumbers):
    """A row of the leaderboard: the mean of a model over its users, with its interval.

    Attributes
    ----------
    best : bool
        True if no model has a better mean.
    indistinguishable_from_best : bool or None
        True if not every best model is significantly better; None if nothing was tested.
    n_requests : int or None
        Requests of these users, if the unit is a request; `n_undefined` then counts requests too.
    """

    model: str
    label: str
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    n_users: int
    n_undefined: int
    best: bool
    indistinguishable_from_best: bool | None
    n_requests: int | None = field(default=None, metadata=OMIT_IF_NONE)


@dataclass(frozen=True)
class Difference(FiniteNumbers):
    """Model a minus model b on a label, over the users who have a value with both.

    Attributes
    ----------
    ci_low, ci_high : float or None
        The interval that the verdict rests on. For a `min_effect` that is a share of the baseline's
        mean: the interval of the difference as a share of this mean, times the mean.
    level : float
        Confidence level of this interval alone. Those of a family hold together: with the
        comparison's confidence on primary labels, else with its false coverage rate.
    single_low, single_high : float or None
        The interval of this comparison alone, at the comparison's confidence.
    relative : float or None
        The difference as a share of b's mean; None if this mean may be 0.
    effect_size : float or None
        The difference in standard deviations of users' differences.
    better, equal, worse : float or None
        Shares of these users.
    n_nonzero : int
        Users with different values; for a metric with one value over all users, with different
        lists.
    caution : bool
        True if the interval depends on few of them.
    p, p_adjusted : float or None
        p-values of the paired t test (`test: t`), of sign flips if few users differ (`sign_flips`),
        or of swapped lists (`swap`); adjusted by Holm in a family of primary labels, else by
        Benjamini and Hochberg. No verdict rests on them.
    min_effect : float or None
        None if it is a share of a mean that may be 0.
    detectable : float or None
        The smallest true difference that these users show with a probability of 80 %, on primary
        labels.
    verdict : str
        `undecided_by_order`, whatever the interval, if `ties: average` leads to another verdict
        than the pinned order of equal scores; on primary labels of accuracy.
    """

    label: str
    a: str
    b: str
    vs_baseline: bool
    primary: bool
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    level: float
    single_low: float | None
    single_high: float | None
    standard_error: float | None
    relative: float | None
    effect_size: float | None
    better: float | None
    equal: float | None
    worse: float | None
    n_users: int
    n_nonzero: int
    caution: bool
    p: float | None
    p_adjusted: float | None
    p_wilcoxon: float | None
    test: str
    min_effect: float | None
    detectable: float | None
    verdict: Verdict

    @property
    def excludes_zero(self) -> bool:
        """True if the interval does not contain 0, or a test without one found a difference.

        False if the order of equal scores decides.
        """
        if self.verdict == "undecided_by_order":
            return False
        if self.ci_low is None or self.ci_high is None:
            return self.verdict in {"better_without_interval", "worse_without_interval"}
        return self.ci_low > 0 or self.ci_high < 0

    def mirrored(self) -> "Difference":
        """Return the difference b minus a."""
        difference, mean = negated(self.difference), self.mean_a
        return replace(
            self,
            a=self.b,
            b=self.a,
            mean_a=self.mean_b,
            mean_b=self.mean_a,
            difference=difference,
            ci_low=negated(self.ci_high),
            ci_high=negated(self.ci_low),
            single_low=negated(self.single_high),
            single_high=negated(self.single_low),
            effect_size=negated(self.effect_size),
            relative=difference / mean
            if self.relative is not None
            and difference is not None
            and mean is not None
            and mean > 0
            else None,
            better=self.worse,
            worse=self.better,
            verdict=MIRROR.get(self.verdict, self.verdict),
        )


def negated(number: float | None) -> float | None:
    """Return the negative number; 0 keeps its sign."""
    return None if number is None else 0.0 - number


@dataclass(frozen=True)
class Definition:
    """A primary metric as one or several presets define it; dicts map a model's name to a value.

    Attributes
    ----------
    changed : dict
        Convention -> value, for those that differ from the comparison's.
    top_two_hold : bool
        True if no model overtakes the first two.
    flips : tuple of pairs
        (a, b): a ranks above b under the comparison's conventions, and below b here.
    verdicts : dict
        Against the baseline.
    verdicts_changed : tuple of str
        The models with another verdict than under the comparison's conventions.
    """

    name: str
    presets: tuple[str, ...]
    changed: Mapping[str, Any]
    values: Mapping[str, float | None]
    ranks: Mapping[str, int | None]
    top_two_hold: bool
    flips: tuple[tuple[str, str], ...]
    verdicts: Mapping[str, Verdict]
    verdicts_changed: tuple[str, ...]

    @property
    def changed_text(self) -> str:
        """The changed conventions as in params.yaml, such as `gain: exp2; ideal: full_k`."""
        return "; ".join(f"{name}: {value_text(value)}" for name, value in self.changed.items())

    @property
    def meanings(self) -> tuple[str, ...]:
        """Meaning of each of `presets`; empty for a preset that this version does not have."""
        return tuple(_preset_meaning(name) for name in self.presets)


def value_text(value: Any) -> str:
    """Return a value of a convention as in params.yaml."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number:g}" for name, number in value.items())
    return "null" if value is None else str(value)


def _preset_meaning(name: str) -> str:
    if name == UNWEIGHTED:
        return "As configured, but all relevant items count equally, whatever their propensities."
    return PRESETS[name].sentence if name in PRESETS else ""


@dataclass(frozen=True)
class ExcludedPreset:
    """A preset that gives no value of a metric, and the reason."""

    preset: str
    reason: str


@dataclass(frozen=True)
class PanelEntry:
    """The convention panel of one primary label: the pinned definition first."""

    metric: str
    definitions: tuple[Definition, ...]
    excluded: tuple[ExcludedPreset, ...]


@dataclass(frozen=True)
class Distribution:
    """Distribution of users' differences.

    Attributes
    ----------
    quantiles : tuple of float
        Percentiles 0 to 100 of the differences that are not 0.
    """

    label: str
    a: str
    b: str
    n_users: int
    n_zero: int
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class Winner(FiniteNumbers):
    """The best of several models on a primary label, and what its choice adds to its difference.

    Attributes
    ----------
    n_models : int
        The models that it was chosen from, all compared with the baseline.
    n_compared : int
        All models that are compared with the baseline. Those without a standard error of their
        difference, such as copies of the baseline, are left out of `n_models`.
    difference : float or None
        Observed difference to the baseline.
    corrected : float or None
        Estimate that allows for the choice of the best.
    """

    label: str
    model: str
    n_models: int
    n_compared: int
    difference: float | None
    corrected: float | None


@dataclass(frozen=True)
class TieRange(FiniteNumbers):
    """The means of a model if its equal scores, which ids order, had other orders.

    Attributes
    ----------
    low, high : float or None
        Means if all relevant items came last, or first, among those of equal score.
    average : float or None
        Mean under `ties: average`; None if the label has no expected value.
    n_users : int
        Users whose value depends on the order; with replicates, of the one with most.
    """

    model: str
    label: str
    low: float | None
    high: float | None
    average: float | None
    n_users: int


@dataclass(frozen=True)
class BestShare(FiniteNumbers):
    """The share of resamples of the users in which a model has the best mean.

    It is no probability that the model is best: of equal models, one leads in most resamples.

    Attributes
    ----------
    probability : float or None
        The share; None for a model that is not compared.
    n_users : int
        Users with a value of every compared model; the others are left out.
    """

    label: str
    model: str
    probability: float | None
    resamples: int
    n_users: int


@dataclass(frozen=True)
class Point:
    """A model in a trade-off.

    Attributes
    ----------
    dominated_by : tuple of str
        Models that are shown to be better on one label and, by the interval, not worse by
        `min_effect` on the other; those with the best mean of y first. Without any, it is not shown
        that the model is dominated.
    """

    model: str
    x: float
    y: float
    dominated_by: tuple[str, ...]


@dataclass(frozen=True)
class Tradeoff:
    """A label beyond accuracy (x) against the first primary label (y)."""

    x: str
    y: str
    x_higher_is_better: bool
    y_higher_is_better: bool
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Segment:
    """A group of users or items, and the users with a value in it."""

    name: str
    n_users: int


@dataclass(frozen=True)
class SegmentCell(FiniteNumbers):
    """A model in a group; the difference is that to the baseline, None for the baseline itself.

    Attributes
    ----------
    diff_low, diff_high : float or None
        Interval of the difference, on which the verdict rests, at `level`; as for `Difference`.
    p_adjusted : float or None
        By Benjamini and Hochberg over the cells of the segmentation.
    is_reversed : bool
        True if the difference is significant and has another sign than over all users.
    n_without_list : int or None
        Users of the group for whom the model has no list; None if it has one for each of them.
    n_with_both : int or None
        Users of the difference, who have a value of both models; None if these are `n_users`.
    """

    label: str
    segment: str
    model: str
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    n_users: int
    difference: float | None
    diff_low: float | None
    diff_high: float | None
    level: float
    n_nonzero: int | None
    p_adjusted: float | None
    verdict: Verdict | None
    is_reversed: bool
    n_without_list: int | None = field(default=None, metadata=OMIT_IF_NONE)
    n_with_both: int | None = field(default=None, metadata=OMIT_IF_NONE)


@dataclass(frozen=True)
class Gap(FiniteNumbers):
    """Largest minus smallest mean of one model over groups with enough users.

    The interval is a bootstrap interval.

    Attributes
    ----------
    n_segments : int
        Groups with enough users with a value of the model; the others are left out.
    ratio : float or None
        Smallest mean / largest mean, if gaps are compared.
    difference, diff_low, diff_high, p, p_adjusted : float or None
        This gap minus that of the baseline, with its bootstrap interval and p-values, if gaps are
        compared.
    """

    label: str
    model: str
    low_segment: str
    high_segment: str
    gap: float
    ci_low: float
    ci_high: float
    n_segments: int
    ratio: float | None = field(default=None, metadata=OMIT_IF_NONE)
    difference: float | None = field(default=None, metadata=OMIT_IF_NONE)
    diff_low: float | None = field(default=None, metadata=OMIT_IF_NONE)
    diff_high: float | None = field(default=None, metadata=OMIT_IF_NONE)
    p: float | None = field(default=None, metadata=OMIT_IF_NONE)
    p_adjusted: float | None = field(default=None, metadata=OMIT_IF_NONE)


ACTIVITY_QUESTION = "Does it depend on how much is known of a user? Users by interactions in train."


@dataclass(frozen=True)
class Segmentation:
    """The models in each group of users or items.

    Attributes
    ----------
    kind : {'user', 'truth_item', 'recommended_item'}
        Members of the groups: users, or items by popularity.
    fewest_in_gap : int
        Minimum number of users of a group of which a gap is computed.
    shares : (float, float) or None
        Of items by popularity: shares of the interactions in train with items of the head, and of
        head and middle together.
    """

    name: str
    kind: str
    question: str
    labels: tuple[str, ...]
    segments: tuple[Segment, ...]
    cells: tuple[SegmentCell, ...]
    fewest_in_gap: int
    gaps: tuple[Gap, ...]
    shares: tuple[float, float] | None = field(default=None, metadata=OMIT_IF_NONE)

    @property
    def by_activity(self) -> bool:
        """True if groups are of users by their number of interactions in train."""
        return self.question == ACTIVITY_QUESTION


@dataclass(frozen=True)
class Acknowledgement:
    """Why a warning is accepted.

    Attributes
    ----------
    up_to : str or None
        The largest extent that is accepted: a share such as `25%`, or a count; None for any.
    is_exceeded : bool
        True if the extent of the warning exceeds `up_to`: the warning counts again.
    models : tuple of str
        The models for which it is accepted; empty for all.
    """

    reason: str
    up_to: str | None
    is_exceeded: bool
    models: tuple[str, ...] = field(default=(), metadata=OMIT_IF_NONE)


# Codes of notices whose cause, mostly a setting, changes the values of all models by more than
# their digits.
CHANGES_ALL_VALUES = frozenset(
    {"few_lists", "fractions_irrelevant", "low_threshold", "propensity", "sampled_corrected"}
)
# Codes of near certain accidents: a gate that meets one decides nothing.
SUSPICIOUS = frozenset({"constant_scores", "foreign_ids", "holds_truth", "no_better_than_chance"})


@dataclass(frozen=True)
class DataWarning:
    """A sign of a doubtful evaluation.

    Attributes
    ----------
    code : str
        Name of the warning, such as `short_lists`; `reports/text/warnings.py` has a text for each.
    severity : {'serious', 'notice'}
        Serious: to be read before any number.
    models : tuple of str
        The models that it concerns; empty if it concerns all.
    details : dict
        The numbers and names in its text, as JSON has them.
    acknowledgement : Acknowledgement or None
        None if the warning is not acknowledged.
    """

    code: str
    severity: Severity
    models: tuple[str, ...]
    details: Mapping[str, Any]
    acknowledgement: Acknowledgement | None = field(default=None, metadata=OMIT_IF_NONE)

    @property
    def is_acknowledged(self) -> bool:
        """True if the warning is acknowledged, and its extent is not exceeded."""
        return self.acknowledgement is not None and not self.acknowledgement.is_exceeded

    @property
    def is_prominent(self) -> bool:
        """True if every view shows its sentence next to the answer; never if acknowledged."""
        changes_values = self.severity == "serious" or self.code in CHANGES_ALL_VALUES
        return changes_values and not self.is_acknowledged

    @property
    def is_suspicious(self) -> bool:
        """True if the warning is a near certain accident and not acknowledged."""
        return self.code in SUSPICIOUS and not self.is_acknowledged

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return render_sentences("warning", self)

    @property
    def sentence(self) -> str:
        """The problem, in one sentence."""
        return self._texts[0]

    @property
    def fix(self) -> str:
        """The remedy; empty if it is not known."""
        return self._texts[1]

    def __repr__(self) -> str:
        models = f" ({', '.join(self.models)})" if self.models else ""
        fix = f" What to do: {self.fix}." if self.fix else ""
        return f"<{self.severity} {self.code}{models}: {self.sentence}{fix}>"

    @property
    def model_names(self) -> str:
        """The models that it concerns, in words."""
        return ", ".join(self.models) or "all models"


def most_serious_first(warnings: Iterable[DataWarning]) -> list[DataWarning]:
    """Return serious warnings before notices, otherwise in their order."""
    return sorted(warnings, key=lambda warning: warning.severity != "serious")


@dataclass(frozen=True)
class PinnedConvention:
    """A convention and its value; `changes` names the evaluated metrics that it can change."""

    name: str
    value: Any
    changes: tuple[str, ...]

    @property
    def meaning(self) -> str:
        """Meaning of the convention and of its value; empty if this version does not have it."""
        if self.name not in CONVENTION:
            return ""
        convention = CONVENTION[self.name]
        meaning = convention.explain(self.value)
        return f"{convention.meaning} Here: {meaning}." if meaning else convention.meaning


@dataclass(frozen=True)
class PinnedConventions:
    """All conventions; `overrides`: metric -> convention -> value."""

    preset: str
    fingerprint: str
    values: tuple[PinnedConvention, ...]
    overrides: Mapping[str, Mapping[str, Any]]


TRUTH, TRUTH_OF_FOLD = "truth", "truth of fold "  # roles; the latter is followed by the fold


@dataclass(frozen=True)
class InputFile:
    """A table of the comparison.

    Attributes
    ----------
    sha256 : str or None
        None if it was in memory or in an object store; `quality` has the ETag of the latter.
    """

    role: str
    path: str
    sha256: str | None


@dataclass(frozen=True)
class Provenance:
    """The tables of a comparison, and the versions of the programs that computed it."""

    inputs: tuple[InputFile, ...]
    versions: Mapping[str, str]
    fingerprint: str

    @property
    def truths(self) -> tuple[InputFile, ...]:
        """The ground truth, or that of each fold."""
        return tuple(x for x in self.inputs if x.role == TRUTH or x.role.startswith(TRUTH_OF_FOLD))


def or_none(number: float) -> float | None:
    """Return the number; None if it is NaN or infinite, which JSON does not have."""
    return number if math.isfinite(number) else None


def or_nan(number: float | None) -> float:
    """Return the number; NaN if it is None."""
    return math.nan if number is None else number
