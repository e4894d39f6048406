"""The result of `plan`: power of a number of users and seeds, and numbers that an effect needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from concord.metrics_core.results.base import OMIT_IF_NONE, BaseResult, frame_of

if TYPE_CHECKING:
    import polars as pl

# Whether a model that is as good as the reference passes a guardrail: with the requested power;
# less often; never, unless its sample difference is a gain; not known.
Outlook = Literal["shown", "seldom", "cannot", "unknown"]


@dataclass(frozen=True)
class PlannedDifference:
    """A model against the baseline on one label.

    Attributes
    ----------
    label, model, baseline : str or None
        None in a plan from stated numbers.
    n_users, n_nonzero : int
        Users with a value of both models, and users whose values differ.
    n_total : int or None
        All users: those without a value of one of the models are left out.
    sd : float or None
        Standard deviation of users' differences; None if too few users differ for an interval.
    sd_seeds, sd_residual, seeds : float, float, int or None
        Between seeds, residual, and the number of seeds; None if the lists are fixed.
    tests : int
        Number of comparisons in the correction.
    smallest, smallest_corrected : float or None
        Smallest true difference that is significant with the requested power, without and with
        correction (in the worst case alpha / tests).
    min_effect : float
        Minimum relevant difference.
    smallest_better : float or None
        Smallest true difference that gets the verdict `better`, after correction.
    effect : float or None
        True difference to find; None if none was requested.
    power, power_corrected : float or None
        Probability that these users find it.
    users_needed, users_needed_corrected : int or None
        Users to find it; None if no number is enough or no effect was requested.
    users_better : int or None
        Users for the verdict `better`, after correction; None also if `effect` is not above
        `min_effect`.
    users_equivalent : int or None
        Users to show that two equally good models differ by less than `min_effect`, or by less
        than `effect` if it is 0.
    seeds_needed, seeds_needed_corrected : int or None
        Seeds of each model with which these users find it; None if no number is enough or the lists
        are fixed.
    """

    label: str | None
    model: str | None
    baseline: str | None
    n_users: int
    n_nonzero: int | None
    n_total: int | None
    sd: float | None
    sd_seeds: float | None
    sd_residual: float | None
    seeds: int | None
    tests: int
    smallest: float | None
    smallest_corrected: float | None
    min_effect: float
    smallest_better: float | None
    effect: float | None
    power: float | None
    power_corrected: float | None
    users_needed: int | None
    users_needed_corrected: int | None
    users_better: int | None
    users_equivalent: int | None
    seeds_needed: int | None
    seeds_needed_corrected: int | None


@dataclass(frozen=True)
class PlannedGuardrail:
    """Power of a guardrail for a model that is as good as the reference.

    Attributes
    ----------
    margin_setting, margin : str, float or None
        The margin as written, and as a number.
    half_width : float or None
        Half the width of the interval; a difference of 0 passes only if the margin is larger.
    chance : float or None
        Probability that the model passes; None if the standard deviation is not known.
    users_needed : int or None
        Users with whom it passes with the requested power; None if no number is enough.
    margin_shown : float or None
        Smallest margin that these users show with the requested power.
    outlook : {'shown', 'seldom', 'cannot', 'unknown'}
        `shown`: the model passes with the requested power; `seldom`: less often; `cannot`: half the
        interval is at least as wide as the margin; `unknown`: there is no interval.
    """

    model: str
    label: str
    segmentation: str | None
    segment: str | None
    margin_setting: str
    margin: float | None
    n_users: int
    n_nonzero: int
    sd: float | None
    half_width: float | None
    chance: float | None
    users_needed: int | None
    margin_shown: float | None
    outlook: Outlook


@dataclass(frozen=True)
class PlannedSuccess:
    """A success metric of a gate.

    Attributes
    ----------
    tests : int
        Number of success metrics of the model, for the correction.
    smallest : float or None
        Smallest true gain that is shown with the requested power.
    users_needed : int or None
        Users to show `effect`; None if none was requested or no number is enough.
    """

    model: str
    label: str
    n_users: int
    sd: float | None
    tests: int
    smallest: float | None
    effect: float | None
    users_needed: int | None


@dataclass(frozen=True, repr=False)
class Plan(BaseResult):
    """Power analysis of a comparison, at a confidence level.

    Attributes
    ----------
    differences : tuple of PlannedDifference
        One for each label and model other than the baseline.
    guardrails, success : tuple
        One for each guardrail (success metric) and model that the gate decides on.
    reference : str or None
        The model that the gate compares with.
    undecided_passes : bool
        True if undecided guardrails let a model pass.
    words : dict or None
        The words that texts show for user, item and request; None if they show these.

    Examples
    --------
    >>> import concord as cc
    >>> plan = cc.plan(sd=0.2, users=1000, effect=0.02)
    >>> plan.differences[0].users_needed
    787
    >>> round(plan.differences[0].power, 3)
    0.885
    """

    power: float
    confidence: float
    differences: tuple[PlannedDifference, ...]
    guardrails: tuple[PlannedGuardrail, ...] = ()
    success: tuple[PlannedSuccess, ...] = ()
    reference: str | None = None
    undecided_passes: bool = False
    words: Mapping[str, str] | None = field(default=None, metadata=OMIT_IF_NONE)

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per planned difference, columns as the fields of `PlannedDifference`."""
        return frame_of(PlannedDifference, self.differences)

    @property
    def gate(self) -> "pl.DataFrame":
        """One row per guardrail and model, columns as the fields of `PlannedGuardrail`."""
        return frame_of(PlannedGuardrail, self.guardrails)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every label once, in order."""
        labels = (each.label for each in self.differences)
        return tuple(dict.fromkeys(label for label in labels if label is not None))
