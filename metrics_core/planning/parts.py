"""Plan: what users and trainings can settle, and how many it takes, as `plan` returns and `concord plan` prints it."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from concord.metrics_core.comparison.tables import frame_of
from concord.metrics_core.statistics.power import Spread

if TYPE_CHECKING:
    import polars as pl

# A model that is as good passes with the power; less often; only if it looks better than it is; not known.
Outlook = Literal["shown", "seldom", "cannot", "unknown"]


@dataclass(frozen=True)
class PlannedPair:
    """A model against the baseline on a label: what these users settle, and how many would.

    label, model, baseline : None where a plan begins with stated numbers
    segmentation, segment  : None over all users
    n_nonzero              : users with different values
    sd                     : standard deviation of users' differences; None where too few differ for an interval
    sd_seeds, sd_rest, seeds : between trainings, what is left, and how many trainings; None: these lists alone, of which
                             sd is all there is
    tests                  : comparisons that are corrected for
    smallest               : smallest true difference that is found significant with the power
    smallest_corrected     : the same after correction, at its worst: alpha / tests
    min_effect             : the smallest difference that matters, as a number
    smallest_better        : smallest true difference that gets the verdict `better`, after correction
    effect                 : the true difference that is asked for; None: nobody said one
    power, power_corrected : with which these users find it
    users_needed, users_needed_corrected : to find it; None where no number is enough, or nothing is asked
    users_better           : to call it `better`, after correction; None also if it is not above `min_effect`
    users_equivalent       : to show of two models that are as good that they differ by less than `min_effect` (without
                             one: than the effect that is asked for)
    seeds_needed, seeds_needed_corrected : trainings of each model with which these users find it; None where no number
                             of them is enough, or trainings have no part in it
    """

    label: str | None
    model: str | None
    baseline: str | None
    segmentation: str | None
    segment: str | None
    n_users: int
    n_nonzero: int | None
    sd: float | None
    sd_seeds: float | None
    sd_rest: float | None
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

    @property
    def spread(self) -> Spread | None:
        """Of users and trainings; None where it is not known."""
        if self.sd is None:
            return None
        return Spread(self.sd, self.sd_seeds or 0.0, self.sd_rest or 0.0)


@dataclass(frozen=True)
class PlannedGuardrail:
    """A guardrail of a gate, checked with a model that is as good as the reference.

    asked, margin : as it was asked for, and as a number
    half_width    : of the interval; a difference of 0 passes only within a wider margin
    chance        : that a model passes that is as good in truth; None where nothing is known of the spread
    users_needed  : with whom it passes with the power; None where no number is enough
    margin_shown  : the smallest margin within which these users show it with the power
    outlook       : `shown`: such a model passes with the power; `seldom`: less often; `cannot`: half the interval is as
                    wide as the margin, so that no difference of 0 passes; `unknown`: there is no interval
    """

    model: str
    label: str
    segmentation: str | None
    segment: str | None
    asked: str
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

    tests        : success metrics of the model, which are corrected for
    smallest     : the smallest true gain that is shown with the power
    users_needed : to show the effect that is asked for; None where none is, or no number is enough
    """

    model: str
    label: str
    n_users: int
    sd: float | None
    tests: int
    smallest: float | None
    effect: float | None
    users_needed: int | None


@dataclass(frozen=True)
class Plan:
    """What can be settled, with this power and at this confidence.

    pairs      : one a label and model that is not the baseline, in segments too where they are asked for
    guardrails : one a guardrail and model that a gate decides on; `success` likewise
    lines      : what the gate can and cannot decide, in sentences
    """

    power: float
    confidence: float
    pairs: tuple[PlannedPair, ...]
    guardrails: tuple[PlannedGuardrail, ...] = ()
    success: tuple[PlannedSuccess, ...] = ()
    lines: tuple[str, ...] = ()

    @property
    def table(self) -> "pl.DataFrame":
        """One row a pair, columns as the fields of `PlannedPair`."""
        return frame_of(PlannedPair, self.pairs)

    @property
    def gate(self) -> "pl.DataFrame":
        """One row a guardrail and model, columns as the fields of `PlannedGuardrail`."""
        return frame_of(PlannedGuardrail, self.guardrails)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every label once, in the order given."""
        return tuple(dict.fromkeys(pair.label for pair in self.pairs if pair.label is not None))

    def __repr__(self) -> str:
        said = f": {self.lines[0]}" if self.lines else ""
        return f"<Plan of {len(self.pairs)} differences, {self.power:.12g} power{said}>"
