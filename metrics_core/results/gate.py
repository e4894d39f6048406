"""The gate of a comparison: guardrails, success metrics and the decision on each model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from concord.metrics_core.results.base import OMIT_IF_NONE, BaseResult, FiniteNumbers, schema_of
from concord.metrics_core.results.behaviour import BehaviourCheck
from concord.metrics_core.results.comparison_parts import DataWarning, negated
from concord.metrics_core.results.rendering import render_sentences

if TYPE_CHECKING:
    import polars as pl

Margin = float | str  # 0.005, "2%" of the reference's mean, or "min_effect"
Outcome = Literal["pass", "worse", "undecided", "suspicious"]
Kind = Literal["baseline", "revision"]

MIN_EFFECT = "min_effect"


@dataclass(frozen=True)
class Gate:
    """The rules of a gate; labels in the spelling of results.

    Attributes
    ----------
    guardrails : dict
        Label -> margin by which its mean over all users may be worse than the reference's.
    segments : dict
        Segmentation -> label -> such a margin in each of its segments.
    success : tuple of str
        Labels of which at least one must be better; may be empty.
    undecided_passes : bool
        True if undecided guardrails let a model pass.
    models : tuple of str
        Models that must pass; empty for all.
    """

    guardrails: Mapping[str, Margin] = field(default_factory=dict)
    segments: Mapping[str, Mapping[str, Margin]] = field(default_factory=dict)
    success: tuple[str, ...] = ()
    undecided_passes: bool = False
    models: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label of the gate once."""
        in_segments = (label for margins in self.segments.values() for label in margins)
        return tuple(dict.fromkeys([*self.guardrails, *in_segments, *self.success]))


@dataclass(frozen=True)
class MeasuredDifference(FiniteNumbers):
    """Model minus reference on a label, over the users who have a value with both.

    A number that does not exist is None.

    Attributes
    ----------
    segmentation, segment : str or None
        None over all users.
    ci_low, ci_high : float or None
        Two-sided interval: of a guardrail at the gate's confidence, of one of m success metrics at
        1 - α / m. For a margin that is a share of the reference's mean: the interval of the
        difference as a share of this mean, times the mean.
    level : float or None
        Confidence level of this interval.
    standard_error : float or None
        Of the difference; None for a metric over all users.
    n_nonzero : int
        Users with different values; for a metric with one value over all users, with different
        lists.
    n_lost : int
        Users (or requests) with a value with the reference, but not with the model.
    test : {'t', 'sign_flips', 'jackknife', 'none'}
        `sign_flips` if few users differ, `jackknife` for a metric with one value over all users,
        `none` without an interval.
    p : float or None
        Two-sided p-value of no difference: paired t, sign flips, or swapped lists.
    n_requests : int or None
        Requests of these users with a value with both, if requests are the unit.
    n_unlisted : int or None
        Users without a list of either, if they are too many for a comparison.
    n_without_list : int or None
        Users of the segment for whom the model has no list; None if it has one for each of them.
    detectable : float or None
        The smallest true gain that these users show with a probability of 80 %; of success metrics
        whose interval contains 0.
    departed : bool or None
        True if the reference has the label under other conventions or code of a custom metric.
    order_decides : bool or None
        True if `ties: average` leads to another outcome: the order of equal scores decides.
    decimals : int or None
        Decimals with which the comparison shows this label; None if it lacks the label.
    """

    label: str
    higher_is_better: bool
    segmentation: str | None
    segment: str | None
    mean: float | None
    reference: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    level: float | None
    standard_error: float | None
    n_users: int
    n_nonzero: int
    n_lost: int
    test: Literal["t", "sign_flips", "jackknife", "none"]
    p: float | None
    n_requests: int | None = field(default=None, metadata=OMIT_IF_NONE, kw_only=True)
    n_unlisted: int | None = field(default=None, metadata=OMIT_IF_NONE, kw_only=True)
    n_without_list: int | None = field(default=None, metadata=OMIT_IF_NONE, kw_only=True)
    detectable: float | None = field(default=None, metadata=OMIT_IF_NONE, kw_only=True)
    departed: bool | None = field(default=None, metadata=OMIT_IF_NONE, kw_only=True)
    order_decides: bool | None = field(default=None, metadata=OMIT_IF_NONE, kw_only=True)
    decimals: int | None = field(default=None, metadata=OMIT_IF_NONE, kw_only=True)

    @property
    def identical(self) -> bool:
        """True if every user has the same value, or the same list, with both."""
        same = self.n_nonzero == 0 and self.difference == 0 and not self.n_lost
        return same and self.n_users > 0 and self.n_unlisted is None

    @property
    def is_comparable(self) -> bool:
        """False if the model has too few lists or the metric was another one.

        `undecided: pass` does not waive such a guardrail.
        """
        return self.n_unlisted is None and not self.departed

    @property
    def gain(self) -> float | None:
        """The difference; positive if the model is better."""
        return self.difference if self.higher_is_better else negated(self.difference)

    @property
    def gain_low(self) -> float | None:
        """The lower end of the interval of the gain."""
        return self.ci_low if self.higher_is_better else negated(self.ci_high)

    @property
    def gain_high(self) -> float | None:
        """The upper end of the interval of the gain."""
        return self.ci_high if self.higher_is_better else negated(self.ci_low)


@dataclass(frozen=True)
class Guardrail(MeasuredDifference):
    """A metric that must not be worse than the reference by `margin` or more.

    Attributes
    ----------
    margin_setting : str
        The margin as written: `0.005`, `2%`, `min_effect`.
    margin : float or None
        The margin as a number; None if it is a share of a mean that does not exist or may be 0.
    users_needed : int or None
        Of an undecided guardrail: the users with whom it is decided with a probability of 80 %, if
        the true difference is this one; None if no number is enough, or if users are lost.
    revision : str or None
        The revision that lacks the label, or has it under other conventions.
    departure : str or None
        These other conventions.
    """

    margin_setting: str
    margin: float | None
    outcome: Outcome
    users_needed: int | None = field(default=None, metadata=OMIT_IF_NONE, kw_only=True)
    revision: str | None = field(default=None, metadata=OMIT_IF_NONE, kw_only=True)
    departure: str | None = field(default=None, metadata=OMIT_IF_NONE, kw_only=True)

    @cached_property
    def why(self) -> str:
        """The reason for the outcome, in words."""
        return render_sentences("guardrail", self)[0]


@dataclass(frozen=True)
class Success(MeasuredDifference):
    """A success metric: at least one of them must be better.

    Its interval decides. p-values are adjusted by Holm over the success metrics of a model.
    """

    p_adjusted: float | None
    better: bool


@dataclass(frozen=True)
class ModelDecision:
    """The decision on one model.

    Attributes
    ----------
    reference : str or None
        The baseline, if this model is compared with it and others with a revision.
    failed_checks : tuple of BehaviourCheck
        The owner's checks that the model fails, without example users.
    """

    model: str
    outcome: Outcome
    guardrails: tuple[Guardrail, ...]
    success: tuple[Success, ...]
    reference: str | None = field(default=None, metadata=OMIT_IF_NONE)
    failed_checks: tuple[BehaviourCheck, ...] = field(default=(), metadata=OMIT_IF_NONE)

    def guardrails_that(self, outcome: Outcome) -> list[Guardrail]:
        """Return the guardrails with this outcome."""
        return [each for each in self.guardrails if each.outcome == outcome]

    @property
    def gains(self) -> list[Success]:
        """The success metrics that are better."""
        return [each for each in self.success if each.better]


@dataclass(frozen=True)
class UnmatchedModels:
    """Models that vanished since a revision while others are new; they may have been renamed.

    Attributes
    ----------
    example : str
        The setting that declares the renaming of the first two.
    rules : tuple of str
        The values of `gate.new_models` that lead to a decision.
    """

    vanished: tuple[str, ...]
    new: tuple[str, ...]
    example: str
    rules: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Decision(BaseResult):
    """The decision of a gate: the first outcome of its models in this order.

    `suspicious` if lists or baseline are near certainly not what they should be; `worse`;
    `undecided`; `pass`.

    Attributes
    ----------
    reference : str
        The baseline, or the revision whose results each model is compared with.
    undecided_passes : bool
        True if undecided guardrails let a model pass.
    models : tuple of ModelDecision
        The models that must pass.
    unmatched : UnmatchedModels or None
        Models that vanished while others are new.
    doubts : tuple of DataWarning
        Why models or baseline are suspicious; also warnings that are acknowledged.
    """

    against: Kind
    reference: str
    confidence: float
    undecided_passes: bool
    outcome: Outcome
    models: tuple[ModelDecision, ...]
    unmatched: UnmatchedModels | None = field(default=None, metadata=OMIT_IF_NONE)
    doubts: tuple[DataWarning, ...] = field(default=(), metadata=OMIT_IF_NONE)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Three sentences: the decision, its reasons, and other checks or remedies."""
        return render_sentences("decision", self)

    @property
    def waived(self) -> bool:
        """True if a model passes with guardrails that are undecided."""
        return any(m.outcome == "pass" and m.guardrails_that("undecided") for m in self.models)

    def to_frame(self) -> "pl.DataFrame":
        """Return model, rule (guardrail or success) and the fields of both; one row per rule."""
        import polars as pl

        rows = [
            {"model": model.model, "rule": rule, **vars(each)}
            for model in self.models
            for rule, rules in (("guardrail", model.guardrails), ("success", model.success))
            for each in rules
        ]
        schema = {"model": pl.String, "rule": pl.String} | schema_of(Guardrail) | schema_of(Success)
        return pl.DataFrame(rows, schema=schema)
