"""Audit: what was looked for in a split, what was found, and what it weighs in the numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from concord.metrics_core.comparison.parts import PinnedConventions, Severity
from concord.metrics_core.comparison.stored import plain
from concord.metrics_core.comparison.tables import frame_of

if TYPE_CHECKING:
    import polars as pl

SCHEMA = 1


@dataclass(frozen=True)
class Count:
    """What a check counted. None: that is not counted, or the check could not be made.

    severity : None: nothing was found
    rows     : of the truth, or where the check says so of train or of the lists; of_rows: how many there are
    users    : touched users of the truth, so the users whom the numbers are told without; of_users: users of the truth
    items    : items of these rows; of_items: items of the table that they are rows of
    bits, bits_by_chance : of `popularity_drift` alone: the divergence, and the mean of those where rows are divided at random
    """

    check: str
    made: bool
    severity: Severity | None
    rows: int | None = None
    of_rows: int | None = None
    users: int | None = None
    of_users: int | None = None
    items: int | None = None
    of_items: int | None = None
    bits: float | None = None
    bits_by_chance: float | None = None


@dataclass(frozen=True)
class Effect:
    """The mean of a model on a label with all users, and without those whom a check touched.

    mean, n_users         : of all users who count
    mean_without, n_without : of those who are not touched; None where nobody is left
    shift                 : mean_without - mean
    ci_low, ci_high       : of the shift; None with under ten users on either side
    """

    check: str
    label: str
    model: str
    mean: float | None
    n_users: int
    mean_without: float | None
    n_without: int
    shift: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class Turn:
    """Two models that change places when touched users are left out.

    difference, ci_low, ci_high : of a - b with all users whom both have a value for
    difference_without, low_without, high_without : without the touched ones
    sure : does neither interval hold 0?
    """

    check: str
    label: str
    a: str
    b: str
    difference: float
    ci_low: float | None
    ci_high: float | None
    difference_without: float
    low_without: float | None
    high_without: float | None
    sure: bool


@dataclass(frozen=True)
class Finding:
    """One check: what was counted, what it means, what to do.

    sentence  : what it means; of a check that could not be made, why not
    fix       : what to do; empty where nothing is to be done
    source    : who described it
    examples  : up to five
    weighs    : a sentence a label: how far the numbers move without the touched users, and whether the order turns
    effects   : one a label and model; `turns`: one a label and pair of models that changes places
    """

    count: Count
    sentence: str
    fix: str
    source: str
    examples: tuple[str, ...] = ()
    weighs: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    turns: tuple[Turn, ...] = ()

    @property
    def name(self) -> str:
        """The name of the check."""
        return self.count.check


@dataclass(frozen=True, repr=False)
class Audit:
    """What `concord.audit` returns.

    primary  : the labels that are told with and without touched users
    n_users  : users who are evaluated
    findings : one a check, in the order in which they are made
    notes    : what the numbers are, and what they are not
    """

    models: tuple[str, ...]
    primary: tuple[str, ...]
    confidence: float
    n_users: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    conventions: PinnedConventions

    @property
    def table(self) -> "pl.DataFrame":
        """One row a check, columns as the fields of `Count`."""
        return frame_of(Count, (finding.count for finding in self.findings))

    @property
    def effects(self) -> "pl.DataFrame":
        """One row a check, label and model, columns as the fields of `Effect`."""
        return frame_of(Effect, (each for finding in self.findings for each in finding.effects))

    @property
    def turns(self) -> "pl.DataFrame":
        """One row a check, label and pair of models that changes places, columns as the fields of `Turn`."""
        return frame_of(Turn, (each for finding in self.findings for each in finding.turns))

    @property
    def found(self) -> tuple[Finding, ...]:
        """The checks that found something, the most serious first."""
        some = [finding for finding in self.findings if finding.count.severity is not None]
        return tuple(sorted(some, key=lambda finding: finding.count.severity != "serious"))

    @property
    def not_made(self) -> tuple[Finding, ...]:
        """The checks that could not be made."""
        return tuple(finding for finding in self.findings if not finding.count.made)

    def __getitem__(self, check: str) -> Finding:
        """The finding of a check; KeyError where there is no such check."""
        return {finding.name: finding for finding in self.findings}[check]

    def to_content(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {"schema": SCHEMA, **plain(self)}

    def __repr__(self) -> str:
        made = [finding for finding in self.findings if finding.count.made]
        said = self.found[0].sentence if self.found else "nothing was found"
        return f"<Audit: {len(self.found)} of {len(made)} checks found something: {said}>"
