"""The parts of a comparison. Field by field they are the objects of comparison.json, in this order.

Means and differences have the unit of their metric, shares and probabilities lie in [0, 1]; None stands for a number
that does not exist, null in JSON.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from concord.metrics_core.results.base import OMIT_IF_NONE
from concord.metrics_core.results.rendering import render_sentences

Verdict = Literal[
    "better",
    "better_below_threshold",
    "better_without_interval",
    "equivalent",
    "identical",
    "undecided",
    "too_few_users",
    "no_interval",
    "not_comparable",
    "worse_without_interval",
    "worse_below_threshold",
    "worse",
]
Severity = Literal["serious", "notice"]
OF_VALUES = "values"  # family of metrics whose values were given, and not computed from lists

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
    """A label that was evaluated: `stem` is its name without the cutoff, such as `RBP(p=0.8)`.

    min_effect : the smallest difference that matters, as it was asked for: `0.005`, or `2%` of the baseline's mean
    family     : `accuracy` | `agreement` | `beyond` | `own` | `values`: given, and not computed from lists
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
        """The smallest difference that matters, where it is a share of the baseline's mean."""
        return float(self.min_effect[:-1]) / 100 if self.min_effect.endswith("%") else None


@dataclass(frozen=True)
class Unit:
    """What a value is of, where it is no user: a request, which these columns name, the user's first.

    mean : is a mean over `requests`, all alike, or over `users`, of each user's mean?
    """

    columns: tuple[str, ...]
    mean: Literal["requests", "users"]


@dataclass(frozen=True)
class Score:
    """A row of the leaderboard: the mean of a model over its users, with its interval.

    n_requests                    : of these users, where values are those of requests, as `n_undefined` then is
    best                          : has no model a better mean? Models of equal mean share it
    indistinguishable_from_best   : is no best model significantly better? None where nothing was tested
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
class Difference:
    """Model a minus model b on a label, over the users who have a value with both.

    relative             : the difference as a share of b's mean
    effect_size          : the difference in standard deviations of users' differences
    better, equal, worse : shares of these users
    n_nonzero            : users with different values; for a number over all users, with different lists
    caution              : does the interval rest on few of them?
    p, p_adjusted        : of the paired t test (`test: t`), of sign flips where few users differ (`sign_flips`) or of
                           swapping lists (`swap`)
    adjustment           : `holm` or `max_t` for primary labels, `bh` for others
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
    adjustment: str
    min_effect: float | None
    verdict: Verdict

    def mirrored(self) -> "Difference":
        """The same, told from b's side: b minus a."""
        gained, mean = negated(self.difference), self.mean_a
        return replace(
            self,
            a=self.b,
            b=self.a,
            mean_a=self.mean_b,
            mean_b=self.mean_a,
            difference=gained,
            ci_low=negated(self.ci_high),
            ci_high=negated(self.ci_low),
            effect_size=negated(self.effect_size),
            relative=gained / mean
            if gained is not None and mean is not None and mean > 0
            else None,
            better=self.worse,
            worse=self.better,
            verdict=MIRROR.get(self.verdict, self.verdict),
        )


def negated(number: float | None) -> float | None:
    """Without a minus at 0."""
    return None if number is None else 0.0 - number


@dataclass(frozen=True)
class Definition:
    """A primary metric as one or several presets define it; names of models are the keys.

    says             : the conventions that differ from the pinned ones, in words
    stands_for       : what each of `presets` stands for
    top_two_hold     : does no model pass the first two as pinned?
    flips            : pairs (a, b): a stood above b as pinned, and stands below it here
    verdicts         : against the baseline
    verdicts_changed : the models whose verdict is another than as pinned
    """

    name: str
    presets: tuple[str, ...]
    says: str
    stands_for: tuple[str, ...]
    values: Mapping[str, float | None]
    ranks: Mapping[str, int | None]
    top_two_hold: bool
    flips: tuple[tuple[str, str], ...]
    verdicts: Mapping[str, Verdict]
    verdicts_changed: tuple[str, ...]


@dataclass(frozen=True)
class LeftOut:
    """A preset that gives no value of a metric, and why."""

    preset: str
    why: str


@dataclass(frozen=True)
class PanelEntry:
    """The convention panel of one primary label: the pinned definition first."""

    metric: str
    sentence: str
    definitions: tuple[Definition, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class Distribution:
    """How users' differences are spread: `quantiles` are the percentiles 0 to 100 of those that are not 0."""

    label: str
    a: str
    b: str
    n_users: int
    n_zero: int
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class BestChance:
    """The share of resamples of the users in which a model has the best mean."""

    label: str
    model: str
    probability: float | None
    resamples: int


@dataclass(frozen=True)
class Point:
    """A model in a trade-off; `pareto`: no other model is at least as good on both and better on one."""

    model: str
    x: float
    y: float
    pareto: bool


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
class SegmentCell:
    """A model in a group; the difference is that to the baseline, None for the baseline itself.

    p_adjusted : by Benjamini and Hochberg over the cells of the segmentation
    turns      : is the difference significant, with another sign than over all users?
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
    n_nonzero: int | None
    p_adjusted: float | None
    verdict: Verdict | None
    turns: bool


@dataclass(frozen=True)
class Gap:
    """Largest minus smallest mean of a group of enough users, of one model; the interval is by bootstrap.

    Where gaps are compared:

    ratio      : smallest mean / largest mean
    difference : this gap - that of the baseline, with its interval by bootstrap, and p values; None for the baseline
    """

    label: str
    model: str
    low_segment: str
    high_segment: str
    gap: float
    ci_low: float
    ci_high: float
    ratio: float | None = field(default=None, metadata=OMIT_IF_NONE)
    difference: float | None = field(default=None, metadata=OMIT_IF_NONE)
    diff_low: float | None = field(default=None, metadata=OMIT_IF_NONE)
    diff_high: float | None = field(default=None, metadata=OMIT_IF_NONE)
    p: float | None = field(default=None, metadata=OMIT_IF_NONE)
    p_adjusted: float | None = field(default=None, metadata=OMIT_IF_NONE)


@dataclass(frozen=True)
class Segmentation:
    """The models in each group of users or items.

    kind          : `user`, `truth_item` or `recommended_item`
    fewest_in_gap : users of a group that a gap may be taken from
    """

    name: str
    kind: str
    question: str
    labels: tuple[str, ...]
    segments: tuple[Segment, ...]
    cells: tuple[SegmentCell, ...]
    fewest_in_gap: int
    gaps: tuple[Gap, ...]


@dataclass(frozen=True)
class DataWarning:
    """A sign of a doubtful evaluation.

    Attributes
    ----------
    code : str
        What is doubtful, such as `short_lists`; `reports/text/warnings.py` has a text for each.
    severity : {'serious', 'notice'}
        Serious: to be read before any number.
    models : tuple of str
        The models that it concerns; empty if it concerns all.
    details : dict
        The numbers and names in its text, as JSON has them.
    """

    code: str
    severity: Severity
    models: tuple[str, ...]
    details: Mapping[str, Any]

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return render_sentences("warning", self)

    @property
    def sentence(self) -> str:
        """What is doubtful."""
        return self._texts[0]

    @property
    def fix(self) -> str:
        """What to do; empty if that is not known."""
        return self._texts[1]

    @property
    def model_names(self) -> str:
        """The models that it concerns, in words."""
        return ", ".join(self.models) or "all models"


@dataclass(frozen=True)
class PinnedKnob:
    """A convention with its value, in words; `changes` names the evaluated metrics that it can change."""

    name: str
    value: Any
    sentence: str
    changes: tuple[str, ...]


@dataclass(frozen=True)
class PinnedConventions:
    """All conventions; `overrides`: metric -> convention -> value."""

    preset: str
    fingerprint: str
    knobs: tuple[PinnedKnob, ...]
    overrides: Mapping[str, Mapping[str, Any]]


TRUTH, TRUTH_OF_FOLD = "truth", "truth of fold "  # roles; the latter is followed by the fold


@dataclass(frozen=True)
class InputFile:
    """A table that the comparison rests on; one that was held in memory has no hash, one in an object store an etag in `quality`."""

    role: str
    path: str
    sha256: str | None


@dataclass(frozen=True)
class Provenance:
    """The tables that everything rests on, and the programs that made the numbers: name -> version."""

    inputs: tuple[InputFile, ...]
    versions: Mapping[str, str]
    fingerprint: str

    @property
    def truths(self) -> tuple[InputFile, ...]:
        """The truth, or that of each fold."""
        return tuple(x for x in self.inputs if x.role == TRUTH or x.role.startswith(TRUTH_OF_FOLD))


def or_none(number: float) -> float | None:
    """JSON has no NaN: a number that does not exist is None."""
    return number if math.isfinite(number) else None


def or_nan(number: float | None) -> float:
    """The way back, for arithmetic."""
    return math.nan if number is None else number
